package matrixfile

import (
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Table lists all formats. To add one, write a file with its Write function in this
// package, and add a row here. The help of profile2mat, the manual, docs/commands.md
// (by `make generate`) and the completion of --format are made from this table.
var Table = []SheetFormat{
	{Name: "mat", Doc: "dense text, as Open MPI's script profile2mat writes it",
		Quantities: all, Kind: Dense, MinSize: matMinSize, Write: writeMat},
	{Name: "mtx", Doc: "Matrix Market: scipy, MATLAB, Julia, ...",
		Quantities: all, Kind: Sparse, MinSize: mtxMinSize, Write: writeMtx},
	{Name: "npy", Doc: "NumPy, dense",
		Quantities: all, Kind: Dense, MinSize: npyMinSize, Write: writeNpy},
	{Name: "csv", Doc: "sender,receiver,messages,bytes of each pair that has any",
		Kind: Sparse, MinSize: perPair(len("0,0,0,1\n")), Write: writeCSV},
	{Name: "arrow", Doc: "the columns of csv, as an Arrow IPC file",
		Kind: Sparse, MinSize: unknown, Write: writeArrow},
	{Name: "parquet", Doc: "the columns of csv, as a Parquet file",
		Kind: Sparse, MinSize: unknown, Write: writeParquet},
	{Name: "json", Doc: "the columns of csv, as one JSON object",
		Kind: Sparse, MinSize: perPair(len("\n[0,0,0,1],")), Write: writeJSON},
	{Name: "png", Doc: "a heatmap of the bytes",
		Quantities: []Quantity{Size}, Kind: Picture, MinSize: unknown, Write: writePNG},
	{Name: "svg", Doc: "a heatmap of the bytes, with text as text",
		Quantities: []Quantity{Size}, Kind: Picture, MinSize: unknown, Write: writeSVG},
}

// all lists the quantities of formats that write one file for each quantity.
var all = []Quantity{Size, Msg, Avg}

// SheetFormat is a file format for matrices.
type SheetFormat struct {
	Name string // value of --format, and extension of file names
	Doc  string // description for the help

	// Quantities have one file each. If empty, one file holds both messages and
	// bytes.
	Quantities []Quantity
	Kind       SizeRule
	// MinSize returns a lower bound of a file's size in bytes, for the check of
	// free disk space. It uses Sheet.N and Sheet.Pairs, which must be set. It
	// may count pairs with zero messages and bytes, although sparse formats
	// omit them.
	MinSize func(s *Sheet) uint64
	// Write writes one quantity of a sheet. Formats without Quantities ignore q.
	Write func(w io.Writer, s *Sheet, q Quantity) error
}

// SizeRule describes what determines the size of a file.
type SizeRule int

const (
	Dense   SizeRule = iota // square of the number of lines
	Sparse                  // number of pairs that sent something
	Picture                 // neither
)

// Find returns the formats with the given names, in this order and without
// duplicates.
func Find(names []string) ([]*SheetFormat, error) {
	var out []*SheetFormat
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

func find(name string) *SheetFormat {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

// Names returns the names of all formats.
func Names() []string { return names(func(*SheetFormat) bool { return true }) }

func names(wanted func(f *SheetFormat) bool) []string {
	var out []string
	for i := range Table {
		if f := &Table[i]; wanted(f) {
			out = append(out, f.Name)
		}
	}
	return out
}

// Help returns the part of the help of profile2mat that lists the formats and the
// names of their files.
func Help() string {
	var b strings.Builder
	for _, f := range Table {
		fmt.Fprintf(&b, "  %-7s  %s\n", f.Name, f.Doc)
	}
	each := names(func(f *SheetFormat) bool { return len(f.Quantities) == len(all) })
	one := names(func(f *SheetFormat) bool { return len(f.Quantities) == 1 })
	text.Wrap(&b, fmt.Sprintf("%s have a file for each of size (bytes), msg (messages) and avg (bytes per message), "+
		"named <prefix>_<size|msg|avg>_<class>.<format>; %s have one of size. The files of the other formats have "+
		"all quantities and are named <prefix>_<class>.<format>.", text.List(each), text.List(one)), "\n", "", 80)
	return b.String()
}

// perPair returns a MinSize function that counts the given number of bytes for
// each pair.
func perPair(bytes int) func(s *Sheet) uint64 {
	return func(s *Sheet) uint64 { return uint64(bytes) * uint64(s.Pairs) }
}

// unknown returns 0, the MinSize of formats whose files are small or
// compressed.
func unknown(*Sheet) uint64 { return 0 }
