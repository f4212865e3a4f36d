package parquetfile

import (
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/mpitrace/mpitrace/formats/facts"
)

// held is a column's values until they are written.
type held interface {
	writeTo(file.ColumnChunkWriter) error // and forgets them
}

// column is one of the table of facts.
type column interface {
	held
	add(facts.Fact)
}

func newColumns() []column {
	out := make([]column, len(facts.Columns))
	for i := range facts.Columns {
		switch c := &facts.Columns[i]; c.Kind {
		case facts.Text:
			out[i] = &textColumn{of: c, known: map[string]parquet.ByteArray{}}
		case facts.Uint64:
			out[i] = &numberColumn[int64]{of: c}
		default:
			out[i] = &numberColumn[int32]{of: c}
		}
	}
	return out
}

// typedWriter is what the library's writers of columns have in common.
type typedWriter[V any] interface {
	WriteBatch(values []V, defLevels, repLevels []int16) (int64, error)
}

// cells are the values of a column; where it has nulls, levels tells them: 1
// for a value.
type cells[V any] struct {
	values []V
	levels []int16
}

func (c *cells[V]) add(v V, ok, nulls bool) {
	if ok {
		c.values = append(c.values, v)
	}
	switch {
	case nulls && ok:
		c.levels = append(c.levels, 1)
	case nulls:
		c.levels = append(c.levels, 0)
	}
}

func (c *cells[V]) writeTo(w file.ColumnChunkWriter) error {
	typed, ok := w.(typedWriter[V])
	if !ok {
		return fmt.Errorf("column %s is written as %T", w.Descr().Name(), w)
	}
	if c.values == nil {
		c.values = []V{}
	}
	_, err := typed.WriteBatch(c.values, c.levels, nil)
	c.values, c.levels = c.values[:0], c.levels[:0]
	return err
}

// numberColumn holds numbers as Parquet does, unsigned ones in signed.
type numberColumn[V int32 | int64] struct {
	of *facts.Column
	cells[V]
}

func (c *numberColumn[V]) add(f facts.Fact) {
	v, ok := c.of.Number(f)
	c.cells.add(V(v), ok, c.of.Null)
}

type textColumn struct {
	of    *facts.Column
	known map[string]parquet.ByteArray // texts of this row group
	cells[parquet.ByteArray]
}

func (c *textColumn) add(f facts.Fact) {
	s, ok := c.of.Text(f)
	if !ok {
		c.cells.add(nil, false, c.of.Null)
		return
	}
	text, known := c.known[s]
	if !known {
		text = parquet.ByteArray(strings.ToValidUTF8(s, "\uFFFD")) // paths need not be, and readers would refuse the table
		c.known[s] = text
	}
	c.cells.add(text, true, c.of.Null)
}

func (c *textColumn) writeTo(w file.ColumnChunkWriter) error {
	clear(c.known)
	return c.cells.writeTo(w)
}
