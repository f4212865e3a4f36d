package matrixfile

import (
	"fmt"
	"io"
	"strings"
)

// Format is a kind of file that matrices are written as.
type Format struct {
	Name string // and extension of file names
	Doc  string
	// Quantities have a file each; none: one file holds messages and bytes.
	Quantities []Quantity
	Kind       Kind
	// Room is a file's length at least, but for pairs that have an entry of
	// zeros.
	Room func(s *Sheet) uint64
	// Write writes a quantity of a sheet, or all of it.
	Write func(w io.Writer, s *Sheet, q Quantity) error
}

// Kind tells what the length of a file grows with.
type Kind int

const (
	Dense   Kind = iota // lines × lines
	Sparse              // pairs that sent something
	Picture             // neither
)

// all is the quantities that matrices have.
var all = []Quantity{Size, Msg, Avg}

// Table lists all formats.
var Table = []Format{
	{"mat", "dense text, as Open MPI's script", all, Dense, matRoom, writeMat},
	{"mtx", "Matrix Market, sparse", all, Sparse, mtxRoom, writeMtx},
	{"npy", "NumPy, dense", all, Dense, npyRoom, writeNpy},
	{"csv", "sender,receiver,messages,bytes", nil, Sparse, sparseRoom(len("0,0,0,1\n")), writeCSV},
	{"arrow", "the same, as an Arrow IPC file", nil, Sparse, sparseRoom(0), writeArrow},
	{"parquet", "the same, as a Parquet file", nil, Sparse, sparseRoom(0), writeParquet},
	{"json", "the same, as one JSON object", nil, Sparse, sparseRoom(len("\n[0,0,0,1],")), writeJSON},
	{"png", "heatmap of the bytes", []Quantity{Size}, Picture, nothing, writePNG},
	{"svg", "the same, with text as text", []Quantity{Size}, Picture, nothing, writeSVG},
}

// Find is the formats that names stand for, each once.
func Find(names []string) ([]*Format, error) {
	var out []*Format
	have := map[string]bool{}
	for _, name := range names {
		f := find(name)
		if f == nil {
			return nil, fmt.Errorf("unknown format %q: the formats are %s", name, strings.Join(Names(), ", "))
		}
		if !have[name] {
			out = append(out, f)
		}
		have[name] = true
	}
	return out, nil
}

func find(name string) *Format {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

// Names lists the names of all formats.
func Names() []string {
	out := make([]string, len(Table))
	for i := range Table {
		out[i] = Table[i].Name
	}
	return out
}
