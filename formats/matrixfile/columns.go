package matrixfile

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/table"
)

// Edge is a row in the table of sparse formats: a pair that has messages or bytes.
type Edge struct {
	matrix.Pair
	matrix.Volume
}

// Columns returns the columns of a sheet: lines as numbers or as names, volumes as
// integers or, where they are means, as halves.
func (s *Sheet) Columns() []table.Column[Edge] {
	line := func(name, doc string, get func(Edge) int32) table.Column[Edge] {
		c := table.Numbers(name, s.Line, doc, get)
		if s.Labels != nil {
			c.Type, c.Words = table.Word, s.Labels
		}
		return c
	}
	volume := func(name, doc string, get func(Edge) uint64) table.Column[Edge] {
		c := table.Numbers(name, name, doc, get)
		if s.Symmetric {
			c.Type, c.Doc = table.Half, doc+", mean of both directions"
		}
		return c
	}
	return []table.Column[Edge]{
		line("sender", "sender of the data", func(e Edge) int32 { return int32(e.From) }),
		line("receiver", "receiver of the data", func(e Edge) int32 { return int32(e.To) }),
		volume("messages", "messages from sender to receiver", func(e Edge) uint64 { return e.Messages }),
		volume("bytes", "bytes from sender to receiver", func(e Edge) uint64 { return e.Bytes }),
	}
}

// entries iterates over the pairs that have messages or bytes, by row and column.
func (s *Sheet) entries(yield func(matrix.Pair, matrix.Volume) bool) {
	for p, v := range s.cells() {
		if v != (matrix.Volume{}) && !yield(p, v) {
			return
		}
	}
}

func (s *Sheet) edges(yield func(Edge) bool) {
	for p, v := range s.entries {
		if !yield(Edge{p, v}) {
			return
		}
	}
}

// parquetGroup is the number of rows of a row group, which takes 24 MB of
// memory until it is written.
const parquetGroup = 1 << 20

// options returns the metadata of a sheet, under the keys that tables of
// profiles use.
func (s *Sheet) options() table.Options[Edge] {
	metadata := map[string]string{table.KeyFormat: "1", table.KeyTool: table.Tool, table.KeyTable: "matrix",
		"mpitrace.n": fmt.Sprint(s.N), "mpitrace.symmetric": fmt.Sprint(s.Symmetric)}
	for _, is := range s.about() {
		metadata["mpitrace."+is[0]] = is[1]
	}
	return table.Options[Edge]{Metadata: metadata, GroupRows: parquetGroup}
}

// writeArrow writes an Arrow IPC file with a row for each pair that has messages or
// bytes.
func writeArrow(w io.Writer, s *Sheet, _ Quantity) error {
	return table.WriteArrow(w, s.Columns(), s.edges, s.options())
}

// writeParquet writes the rows of writeArrow as a Parquet file.
func writeParquet(w io.Writer, s *Sheet, _ Quantity) error {
	return table.WriteAll(table.NewParquetWriter(w, s.Columns(), s.options()), s.edges)
}

// writeCSV writes the rows of writeArrow as CSV.
func writeCSV(w io.Writer, s *Sheet, _ Quantity) error {
	return table.WriteAll(table.NewCSVWriter(w, s.Columns(), s.options()), s.edges)
}
