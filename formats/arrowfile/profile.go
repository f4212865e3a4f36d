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
func WriteProfile(w io.Writer, src profile.Source) error {
	if err := writeProfile(w, src); err != nil {
		return fmt.Errorf("write arrow table: %w", err)
	}
	return nil
}

func writeProfile(w io.Writer, src profile.Source) error {
	t, err := newWriter(w, tableProfile, factColumns())
	if err != nil {
		return err
	}
	err = src.Each(func(p *profile.Profile) error {
		for f := range facts.Of(p) {
			t.note(f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	head := new(facts.Header)
	err = src.Each(func(p *profile.Profile) error {
		for f := range facts.Of(p) {
			if err := t.add(f); err != nil {
				return err
			}
		}
		return head.Add(p)
	})
	if err != nil {
		return err
	}
	return t.close(head)
}

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
