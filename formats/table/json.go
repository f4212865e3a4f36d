package table

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
)

// JSONWriter writes a table as JSON lines: one object per row. The keys are the
// names of the columns, in order. Numbers are plain, and nulls are null.
//
// pandas.read_json(lines=True), polars.scan_ndjson, DuckDB's read_json, jq and
// line tools read this format directly. Files can be cut, joined and streamed.
// The alternative, one large document with a list of processes, was rejected:
// most readers would have to load all of it into memory.
type JSONWriter[T any] struct {
	out   *bufio.Writer
	cols  []cells[T]
	keys  []string
	block []T
	line  []byte
}

// NewJSONWriter returns a writer of a table with these columns.
func NewJSONWriter[T any](w io.Writer, cols []Column[T]) *JSONWriter[T] {
	t := &JSONWriter[T]{out: bufio.NewWriter(w), cols: cellsOf(cols, "null", quoted), block: make([]T, 0, blockRows)}
	for i := range cols {
		t.keys = append(t.keys, strconv.Quote(cols[i].Name)+":")
	}
	return t
}

func quoted(s string) string {
	q, _ := json.Marshal(s) // cannot fail for a string
	return string(text.JSON(q))
}

// Add writes rows.
func (t *JSONWriter[T]) Add(rows iter.Seq[T]) error {
	return inBlocks(rows, t.block, func(block []T) error {
		for i := range t.cols {
			t.cols[i].set(block)
		}
		for row := range block {
			line := append(t.line[:0], '{')
			for i := range t.cols {
				if i > 0 {
					line = append(line, ',')
				}
				line = t.cols[i].append(append(line, t.keys[i]...), row)
			}
			t.line = append(line, '}', '\n')
			if _, err := t.out.Write(t.line); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close flushes the file.
func (t *JSONWriter[T]) Close() error { return t.out.Flush() }
