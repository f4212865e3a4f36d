package arrowfile

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/profile"
)

// WriteProfile writes the table of facts of all the profiles, in the order of
// the source, each profile's rows in their own order. It goes over the source
// twice.
func WriteProfile(w io.Writer, src profile.Source) error { return writeTables(src, newFactTable(w)) }

// WriteTables writes all tables, and goes over the source no more often than for
// one: that of a large job is thousands of files. That of performance variables is
// left out if pvars is nil.
func WriteTables(profiles, comms, ranks, pvars io.Writer, src profile.Source) error {
	tables := []output{newFactTable(profiles), newCommTable(comms), newRankTable(ranks)}
	if pvars != nil {
		tables = append(tables, newPvarTable(pvars))
	}
	return writeTables(src, tables...)
}

// output is a table that is made of profiles.
type output interface {
	note(*profile.Profile) // meets every profile once, before the start
	start() error
	add(*profile.Profile) error
	close() error
}

func writeTables(src profile.Source, tables ...output) error {
	each := func(f func(output) error) error {
		for _, t := range tables {
			if err := f(t); err != nil {
				return fmt.Errorf("write arrow table: %w", err)
			}
		}
		return nil
	}
	err := src.Each(func(p *profile.Profile) error {
		return each(func(t output) error { t.note(p); return nil })
	})
	if err == nil {
		err = each(output.start)
	}
	if err != nil {
		return err
	}
	err = src.Each(func(p *profile.Profile) error {
		return each(func(t output) error { return t.add(p) })
	})
	if err != nil {
		return err
	}
	return each(output.close)
}

// factTable is profile.arrow.
type factTable struct {
	*writer[facts.Fact]
	head facts.Header
}

func newFactTable(w io.Writer) *factTable {
	return &factTable{writer: newWriter(w, tableProfile, factColumns())}
}

func (t *factTable) note(p *profile.Profile) {
	t.with.Note(p)
	for f := range facts.Of(p) {
		t.writer.note(f)
	}
}

func (t *factTable) add(p *profile.Profile) error {
	for f := range facts.Of(p) {
		if err := t.writer.add(f); err != nil {
			return err
		}
	}
	return t.head.Add(p)
}

func (t *factTable) close() error { return t.writer.close(&t.head) }

// FactSchema is the schema of profile.arrow.
func FactSchema() *arrow.Schema { return schemaOf(tableProfile, factColumns()) }

// factColumns are the columns of profile.arrow.
func factColumns() []column[facts.Fact] {
	out := make([]column[facts.Fact], len(facts.Columns))
	for i := range facts.Columns {
		out[i] = factColumn(&facts.Columns[i])
	}
	return out
}

func factColumn(c *facts.Column) column[facts.Fact] {
	switch c.Kind {
	case facts.Int32:
		return numbers(c, array.NewInt32Builder(memory.DefaultAllocator), arrow.PrimitiveTypes.Int32)
	case facts.Uint8:
		return numbers(c, array.NewUint8Builder(memory.DefaultAllocator), arrow.PrimitiveTypes.Uint8)
	case facts.Uint64:
		return numbers(c, array.NewUint64Builder(memory.DefaultAllocator), arrow.PrimitiveTypes.Uint64)
	}
	return optionalText(c.Name, c.Doc, c.Null, c.Text)
}

func numbers[V int32 | uint8 | uint64](c *facts.Column, b appender[V], typ arrow.DataType) column[facts.Fact] {
	return values(b, about(c.Name, typ, c.Null, c.Unit, c.Doc), func(f facts.Fact) (V, bool) {
		v, ok := c.Number(f)
		return V(v), ok
	})
}
