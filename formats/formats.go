// Package formats lists the file formats of profiles, and detects the format of
// a file.
package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/formats/oldarrow"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// Format is a file format.
type Format struct {
	Name      string
	Extension string // of file names, with the dot
	Doc       string // what the file is, for the help of export
	// Is reports whether a file that begins with head has this format. It is
	// nil for formats without magic bytes.
	Is func(head []byte) bool
	// Read opens a file. It is nil for formats that are only written. If Read
	// returns both content and an error, the error describes what was skipped.
	Read func(path string) (*Content, error)
	// Write writes profiles. It is nil for recordings, which only the library
	// inside the application writes.
	Write func(w io.Writer, src profile.Source) error
}

// Content is what a file holds: profiles, or only the traffic between ranks.
// Read checks the beginning and the end of the file; Profiles.Each reads the
// rest.
type Content struct {
	Profiles profile.Source
	Traffic  *profile.Traffic
}

// Table lists all formats. To add one, write its package or file and add a row
// here. Help texts and messages are made from the rows.
var Table = []Format{
	{"recording", ".rec", "what the library inside a process wrote; containers of them (.node)", recording.Is, readRecording, nil},
	{"prof", ".prof", "Open MPI's format, <program>.<rank>.prof for each rank, in a directory", prof.Is, readProf, writeProf},
	{"arrow", ".arrow", "Arrow IPC (Feather 2)", table.Is, readArrow, table.WriteProfile},
	{"parquet", ".parquet", "Parquet, compressed with zstd", beginsWith("PAR1"), nil, table.WriteParquet},
	{"csv", ".csv", "text: a line with the names of the columns, a line for each row", nil, nil, table.WriteCSV},
	{"json", ".jsonl", "JSON lines: an object for each row (.jsonl)", nil, nil, table.WriteJSON},
}

func beginsWith(magic string) func(head []byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// sniffed is the number of bytes that are read to detect the format of a file.
const sniffed = 512

// Detect returns the format of a file. It looks at the first bytes. If they match no format, it
// looks at the extension of the name, so that the reader of that format can report that the file is
// empty or damaged.
func Detect(path string) (*Format, error) {
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	f, err := Sniff(head, path)
	if unknown := (*UnknownError)(nil); !errors.As(err, &unknown) {
		return f, err
	}
	for i := range Table {
		switch f := &Table[i]; {
		case filepath.Ext(path) != f.Extension:
		case f.Name == "prof" && bytes.IndexByte(head, 0) >= 0:
			return nil, fmt.Errorf("read %s: not text, and so no .prof file", path)
		default:
			return f, f.readable(path)
		}
	}
	return nil, err
}

// Sniff returns the format of input that begins with head. The name is used in
// errors.
func Sniff(head []byte, name string) (*Format, error) {
	for i := range Table {
		if f := &Table[i]; f.Is != nil && f.Is(head) {
			return f, f.readable(name)
		}
	}
	return nil, &UnknownError{name}
}

// readable returns an error if files of the format cannot be read.
func (f *Format) readable(name string) error {
	if f.Read == nil {
		return fmt.Errorf("read %s: %s files are written for other tools and not read: give %s", name, f.Name, readable())
	}
	return nil
}

// UnknownError is the error for a file whose format is not known.
type UnknownError struct{ Path string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("read %s: unknown format: give %s", e.Path, readable())
}

// readable lists the formats that can be read, as in "recordings (.rec, .node),
// prof or arrow files".
func readable() string {
	var names []string
	for _, f := range Table {
		if f.Read != nil && f.Write != nil {
			names = append(names, f.Name)
		}
	}
	return fmt.Sprintf("recordings (%s, %s), %s files", Table[0].Extension, recording.ContainerSuffix, strings.Join(names, " or "))
}

// Help returns one line for each format that can be written.
func Help() string {
	var out strings.Builder
	for _, f := range Table {
		if f.Write != nil {
			fmt.Fprintf(&out, "  %-8s %s\n", f.Name, f.Doc)
		}
	}
	return out.String()
}

// Writable returns the names of the formats that can be written.
func Writable() []string {
	var out []string
	for _, f := range Table {
		if f.Write != nil {
			out = append(out, f.Name)
		}
	}
	return out
}

// ToWrite returns the writable format of this name.
func ToWrite(name string) (*Format, error) {
	for i := range Table {
		if f := &Table[i]; f.Name == name && f.Write != nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("unknown format %q: the formats are %s", name, strings.Join(Writable(), ", "))
}

func readHead(path string) ([]byte, error) {
	f, err := atomicfile.Open(recording.FileOf(path), atomicfile.AnySize)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return head[:n], nil
}

// recordingFiles is a source of the profiles in recordings.
type recordingFiles []string

func (paths recordingFiles) Each(f func(*profile.Profile) error) error {
	for _, path := range paths {
		p, err := recording.ReadFile(path)
		if err != nil {
			return err
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

func readRecording(path string) (*Content, error) {
	files, err := recording.Expand(path)
	if err != nil {
		return nil, err
	}
	head, err := readHead(path)
	if err == nil && !recording.Is(head) {
		_, err = recording.ReadFile(path) // returns an error that describes the damage
	}
	if err != nil {
		return nil, err
	}
	return &Content{Profiles: recordingFiles(files)}, nil
}

func readArrow(path string) (*Content, error) {
	old, err := oldarrow.Open(path, arrowfile.Facts)
	switch {
	case err == nil:
		return &Content{Profiles: arrowfile.WithReadings(old, path)}, nil
	case !errors.Is(err, oldarrow.ErrNoSeal):
		return nil, err
	}
	f, err := arrowfile.Open(path)
	if err != nil {
		return nil, err
	}
	return &Content{Profiles: f}, nil
}

// Names returns the names of call sites that an old merged file has; nil for any other file.
func Names(path string) profile.Symbols {
	old, err := oldarrow.Open(path, arrowfile.Facts)
	if err != nil {
		return nil
	}
	return old.Symbols()
}

func readProf(path string) (*Content, error) {
	f, err := atomicfile.Open(path, atomicfile.AnySize)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := prof.Read(f, path)
	if t == nil {
		return nil, err
	}
	return &Content{Traffic: t}, err
}

// writeProf writes the .prof file of each rank, one after the other.
func writeProf(w io.Writer, src profile.Source) error {
	return src.Each(func(p *profile.Profile) error { return prof.Write(w, p.Traffic()) })
}
