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
	cols  []Column[T]
	keys  []string
	texts map[string][]byte // texts in their quoted form
	line  []byte
}

// NewJSONWriter returns a writer of a table with these columns.
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
		q, _ = json.Marshal(s) // cannot fail for a string
		q = text.JSON(q)
		t.texts[s] = q
	}
	return q
}

// Close flushes the file.
func (t *JSONWriter[T]) Close() error { return t.out.Flush() }
