package table

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
)

// JSONWriter writes a table as JSON lines: one object a row, with the columns as its
// keys, in their order, numbers plain, nulls null.
//
// That is what pandas.read_json(lines=True), polars.scan_ndjson, DuckDB's
// read_json, jq and line tools take as it is, and what can be cut, joined and
// streamed. One large document with the processes in it was the alternative:
// most readers want it whole in memory.
type JSONWriter[T any] struct {
	out   *bufio.Writer
	cols  []Column[T]
	keys  []string
	texts map[string][]byte // quoted
	line  []byte
}

// NewJSONWriter begins a file.
func NewJSONWriter[T any](w io.Writer, cols []Column[T]) *JSONWriter[T] {
	t := &JSONWriter[T]{out: bufio.NewWriter(w), cols: cols, texts: map[string][]byte{}}
	for i := range cols {
		t.keys = append(t.keys, strconv.Quote(cols[i].Name)+":")
	}
	return t
}

// Add writes rows.
func (t *JSONWriter[T]) Add(rows iter.Seq[T]) error {
	for row := range rows {
		line := append(t.line[:0], '{')
		for i := range t.cols {
			if i > 0 {
				line = append(line, ',')
			}
			line = t.append(append(line, t.keys[i]...), &t.cols[i], row)
		}
		t.line = append(line, '}', '\n')
		if _, err := t.out.Write(t.line); err != nil {
			return err
		}
	}
	return nil
}

func (t *JSONWriter[T]) append(to []byte, c *Column[T], row T) []byte {
	if c.Text != nil {
		if s, ok := c.Text(row); ok {
			return append(to, t.quoted(s)...)
		}
		return append(to, "null"...)
	}
	if v, ok := c.Number(row); ok {
		return appendNumber(to, c.Type, v)
	}
	return append(to, "null"...)
}

func (t *JSONWriter[T]) quoted(s string) []byte {
	q, ok := t.texts[s]
	if !ok {
		if len(t.texts) == maxTexts {
			clear(t.texts)
		}
		q, _ = json.Marshal(s) // a string can be
		q = text.JSON(q)
		t.texts[s] = q
	}
	return q
}

// Close ends the file.
func (t *JSONWriter[T]) Close() error { return t.out.Flush() }
