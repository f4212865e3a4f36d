package parquetfile

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/mpitrace/mpitrace/formats/arrowfile"
	"github.com/mpitrace/mpitrace/formats/events"
	"github.com/mpitrace/mpitrace/profile"
)

// eventRows is the most rows of a row group. What the library spends on the nulls of
// a group grows faster than it: twice as many rows take a third longer.
const eventRows = 64 << 10

// WriteEvents writes the events of all the processes, one process after the
// other. It goes over each source once, and holds a row group in memory.
func WriteEvents(w io.Writer, srcs []profile.EventSource) error {
	if err := writeEvents(w, srcs, eventRows); err != nil {
		return fmt.Errorf("write parquet events: %w", err)
	}
	return nil
}

func writeEvents(w io.Writer, srcs []profile.EventSource, groupRows int) error {
	var meta metadata.KeyValueMetadata
	if err := errors.Join(meta.Append("mpitrace.tool", arrowfile.Tool), meta.Append("mpitrace.table", "events"),
		meta.Append(arrowfile.PandasKey, arrowfile.Pandas(eventFields()))); err != nil {
		return err
	}
	sink := &sink{w: w}
	t := &eventWriter{cols: newEventColumns(), sink: sink, groupRows: groupRows,
		out: file.NewParquetWriter(sink, eventSchema(), file.WithWriterProps(eventProperties()), file.WithWriteMetadata(meta))}
	for _, src := range srcs {
		if err := t.process(src); err != nil {
			return err
		}
	}
	return errors.Join(t.flush(), t.out.Close(), sink.err)
}

// eventProperties are those of the table of facts, but for the encodings: times
// and links differ from row to row by little, and few are alike.
func eventProperties() *parquet.WriterProperties {
	props := common()
	for _, name := range []string{"start_ns", "duration_ns", "link", "seq"} {
		props = append(props, parquet.WithDictionaryFor(name, false), parquet.WithEncodingFor(name, parquet.Encodings.DeltaBinaryPacked))
	}
	return parquet.NewWriterProperties(props...)
}

// eventFields are the columns of integers, as Arrow has them.
func eventFields() (fields []arrow.Field) {
	for _, c := range events.Columns {
		if c.Type == events.Int32 {
			fields = append(fields, arrow.Field{Name: c.Name, Type: arrow.PrimitiveTypes.Int32, Nullable: c.Null})
		}
	}
	return fields
}

func eventSchema() *schema.GroupNode {
	fields := make(schema.FieldList, len(events.Columns))
	for i, c := range events.Columns {
		repetition := parquet.Repetitions.Required
		if c.Null {
			repetition = parquet.Repetitions.Optional
		}
		logical, physical := eventType(c.Type)
		fields[i] = schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.Name, repetition, logical, physical, 0, -1))
	}
	return schema.MustGroup(schema.NewGroupNode("events", parquet.Repetitions.Required, fields, -1))
}

func eventType(t events.Type) (schema.LogicalType, parquet.Type) {
	switch t {
	case events.Int32, events.Uint32:
		return schema.NewIntLogicalType(32, t == events.Int32), parquet.Types.Int32
	case events.Int64, events.Uint64:
		return schema.NewIntLogicalType(64, t == events.Int64), parquet.Types.Int64
	}
	return schema.StringLogicalType{}, parquet.Types.ByteArray
}

// eventWriter gathers events and writes them, a row group at a time.
type eventWriter struct {
	cols      []eventColumn
	sink      *sink
	out       *file.Writer
	groupRows int
	n         int // rows since the last group
}

func (t *eventWriter) process(src profile.EventSource) error {
	for _, c := range t.cols {
		c.begin()
	}
	return src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		for from := 0; from < e.Len(); {
			to := min(from+t.groupRows-t.n, e.Len())
			for _, c := range t.cols {
				c.add(src.Trace(), e, kinds, from, to)
			}
			t.n, from = t.n+to-from, to
			if t.n == t.groupRows {
				if err := t.flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (t *eventWriter) flush() error {
	if t.n == 0 {
		return nil
	}
	t.n = 0
	return errors.Join(writeGroup(t.out, t.cols), t.sink.err)
}

// eventColumn is one of the table of events.
type eventColumn interface {
	held
	begin() // a process, whose kinds are others
	add(t *profile.Trace, e *profile.Events, kinds []profile.EventKind, from, to int)
}

func newEventColumns() []eventColumn {
	out := make([]eventColumn, len(events.Columns))
	for i := range events.Columns {
		switch c := &events.Columns[i]; c.Type {
		case events.Text:
			out[i] = newEventValues(c, func(e events.Event) (parquet.ByteArray, bool) {
				s, ok := c.Text(e)
				return parquet.ByteArray(strings.ToValidUTF8(s, "\uFFFD")), ok
			})
		case events.Int32, events.Uint32:
			out[i] = newEventValues(c, func(e events.Event) (int32, bool) {
				v, ok := c.Number(e)
				return int32(v), ok
			})
		default:
			out[i] = newEventValues(c, func(e events.Event) (int64, bool) {
				v, ok := c.Number(e)
				return int64(v), ok
			})
		}
	}
	return out
}

// eventValues holds the values of a column.
type eventValues[V any] struct {
	of    *events.Column
	value func(events.Event) (V, bool)
	kinds []known[V] // the values of columns that have one for each kind
	cells[V]
}

type known[V any] struct {
	value V
	ok    bool
}

func newEventValues[V any](of *events.Column, value func(events.Event) (V, bool)) eventColumn {
	return &eventValues[V]{of: of, value: value}
}

func (c *eventValues[V]) begin() { c.kinds = c.kinds[:0] }

func (c *eventValues[V]) add(t *profile.Trace, e *profile.Events, kinds []profile.EventKind, from, to int) {
	row := events.Event{Trace: t, Of: e}
	if !c.of.PerKind {
		for row.I = from; row.I < to; row.I++ {
			v, ok := c.value(row)
			c.cells.add(v, ok, c.of.Null)
		}
		return
	}
	for i := len(c.kinds); i < len(kinds); i++ {
		row.EventKind = &kinds[i]
		v, ok := c.value(row)
		c.kinds = append(c.kinds, known[V]{v, ok})
	}
	for _, k := range e.Kind[from:to] {
		c.cells.add(c.kinds[k].value, c.kinds[k].ok, c.of.Null)
	}
}
