// Package formats is the table of the formats that profiles are kept in.
package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/formats/csvfile"
	"github.com/mpitrace/mpitrace/formats/jsonfile"
	"github.com/mpitrace/mpitrace/formats/parquetfile"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// Format is a kind of file.
type Format struct {
	Name      string
	Extension string                 // of file names, with its dot
	Is        func(head []byte) bool // by the first bytes of a file; nil like Read
	// Read opens a file; nil where profiles cannot be read back. An error with
	// content says what had to be skipped.
	Read func(path string) (*Content, error)
	// Write writes profiles; nil for recordings, which only the library
	// inside an application writes.
	Write func(w io.Writer, src profile.Source) error
}

// Content is what a file holds: profiles, or the traffic alone. Profiles are
// read as they are walked over: only how the file begins and ends was looked at
// before.
type Content struct {
	Profiles profile.Source
	Traffic  *profile.Traffic
}

// Table lists all formats.
var Table = []Format{
	{Name: "recording", Extension: ".rec", Is: recording.Is, Read: readRecording},
	{Name: "prof", Extension: ".prof", Is: prof.Is, Read: readProf, Write: writeProf},
	{Name: "arrow", Extension: ".arrow", Is: arrowfile.Is, Read: readArrow, Write: arrowfile.WriteProfile},
	{Name: "parquet", Extension: ".parquet", Is: parquetfile.Is, Read: readParquet, Write: parquetfile.Write},
	{Name: "csv", Extension: ".csv", Write: csvfile.Write},
	{Name: "json", Extension: ".jsonl", Write: jsonfile.Write},
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
	for i := range Table {
		if f := &Table[i]; f.Is != nil && f.Is(head) {
			return f, nil
		}
	}
	for i := range Table {
		switch f := &Table[i]; {
		case filepath.Ext(path) != f.Extension:
		case f.Name == "prof" && bytes.IndexByte(head, 0) >= 0:
			return nil, fmt.Errorf("read %s: not text, and so no .prof file", path)
		case f.Read == nil:
			return nil, fmt.Errorf("read %s: of format %s, which is written for other programs and cannot be read back", path, f.Name)
		default:
			return f, nil
		}
	}
	return nil, &UnknownError{path}
}

// UnknownError says that a file is of no format that is read.
type UnknownError struct{ Path string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("read %s: neither a recording nor an Arrow or Parquet file nor a .prof file", e.Path)
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
	f, err := arrowfile.Open(path)
	if err != nil {
		return nil, err
	}
	return &Content{Profiles: f}, nil
}

func readParquet(path string) (*Content, error) {
	f, err := parquetfile.Open(path)
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
