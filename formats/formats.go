// Package formats lists the formats that profiles are read from and written in.
package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// Format is a kind of file.
type Format struct {
	Name      string
	Extension string // of file names, with its dot
	Doc       string // what the file is, for the help of export
	// Is reports whether a file that begins with these bytes is of the format;
	// nil where no bytes tell.
	Is func(head []byte) bool
	// Read opens a file; nil for formats that are written for other tools only. An
	// error with content says what was skipped.
	Read func(path string) (*Content, error)
	// Write writes profiles; nil for recordings, which only the library inside an
	// application writes.
	Write func(w io.Writer, src profile.Source) error
}

// Content is what a file holds: profiles, or the traffic alone. Profiles are
// read as they are walked over: only how the file begins and ends was looked at
// before.
type Content struct {
	Profiles profile.Source
	Traffic  *profile.Traffic
}

// Table lists all formats. To add one, write its file and add its row: help texts
// and messages are made of the rows.
var Table = []Format{
	{"recording", ".rec", "what the library inside a process wrote", recording.Is, readRecording, nil},
	{"prof", ".prof", "Open MPI's format, <program>.<rank>.prof for each rank, in a directory", prof.Is, readProf, writeProf},
	{"arrow", ".arrow", "Arrow IPC (Feather 2)", table.Is, readArrow, table.WriteProfile},
	{"parquet", ".parquet", "Parquet, compressed with zstd", beginsWith("PAR1"), nil, table.WriteParquet},
	{"csv", ".csv", "text: a line with the names of the columns, a line for each row", nil, nil, table.WriteCSV},
	{"json", ".jsonl", "JSON lines: an object for each row (.jsonl)", nil, nil, table.WriteJSON},
}

func beginsWith(magic string) func(head []byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// sniffed is how many bytes tell formats apart.
const sniffed = 512

// Detect finds the format of a file by how it begins, or else by its name, so
// that an empty or damaged file is told to be one by its own reader.
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

// Sniff finds the format of input that begins with head. The name is for errors.
func Sniff(head []byte, name string) (*Format, error) {
	for i := range Table {
		if f := &Table[i]; f.Is != nil && f.Is(head) {
			return f, f.readable(name)
		}
	}
	return nil, &UnknownError{name}
}

// readable returns an error if files of the format are not read.
func (f *Format) readable(name string) error {
	if f.Read == nil {
		return fmt.Errorf("read %s: %s files are written for other tools and not read: give %s", name, f.Name, Readable())
	}
	return nil
}

// UnknownError says that a file is of no known format.
type UnknownError struct{ Path string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("read %s: unknown format: give %s", e.Path, Readable())
}

// Readable names the formats that are read: "recordings (.rec), prof or arrow files".
func Readable() string {
	var names []string
	for _, f := range Table {
		if f.Read != nil && f.Write != nil {
			names = append(names, f.Name)
		}
	}
	return fmt.Sprintf("recordings (%s), %s files", Table[0].Extension, strings.Join(names, " or "))
}

// Help has a line for each format that can be written.
func Help() string {
	var out strings.Builder
	for _, f := range Table {
		if f.Write != nil {
			fmt.Fprintf(&out, "  %-8s %s\n", f.Name, f.Doc)
		}
	}
	return out.String()
}

// Writable are the names of the formats that can be written.
func Writable() []string {
	var out []string
	for _, f := range Table {
		if f.Write != nil {
			out = append(out, f.Name)
		}
	}
	return out
}

// ToWrite finds a format that can be written by its name.
func ToWrite(name string) (*Format, error) {
	for i := range Table {
		if f := &Table[i]; f.Name == name && f.Write != nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("unknown format %q: the formats are %s", name, strings.Join(Writable(), ", "))
}

func readHead(path string) ([]byte, error) {
	f, err := atomicfile.Open(path, atomicfile.AnySize)
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

// recordingFile is a source of one profile.
type recordingFile string

func (path recordingFile) Each(f func(*profile.Profile) error) error {
	p, err := recording.ReadFile(string(path))
	if err != nil {
		return err
	}
	return f(p)
}

func readRecording(path string) (*Content, error) {
	head, err := readHead(path)
	if err == nil && !recording.Is(head) {
		_, err = recording.ReadFile(path) // which says what is wrong
	}
	if err != nil {
		return nil, err
	}
	return &Content{Profiles: recordingFile(path)}, nil
}

func readArrow(path string) (*Content, error) {
	f, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	return &Content{Profiles: f}, nil
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

// writeProf writes one rank's file after the other.
func writeProf(w io.Writer, src profile.Source) error {
	return src.Each(func(p *profile.Profile) error { return prof.Write(w, p.Traffic()) })
}
