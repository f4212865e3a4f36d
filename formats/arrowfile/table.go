package arrowfile

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/mpitrace/mpitrace/formats/facts"
)

// column makes one column of a table out of records of type T.
type column[T any] interface {
	field() arrow.Field
	note(T)            // meets every record once, before the first add
	add(T) bool        // appends the record's value, unless it was not met
	take() arrow.Array // what was added since the last take
}

// writer writes a table. It meets the records twice: an Arrow file has one
// dictionary for all batches of a column, which therefore has to be complete
// before the first batch.
type writer[T any] struct {
	table   string
	cols    []column[T]
	schema  *arrow.Schema
	with    facts.Settings // for the schema's metadata
	seal    *facts.Sealer
	out     *ipc.FileWriter
	n       int // records since the last batch
	batches int
}

func newWriter[T any](w io.Writer, table string, cols []column[T]) *writer[T] {
	return &writer[T]{table: table, cols: cols, schema: schemaOf(table, cols), seal: facts.NewSealer(w)}
}

// start begins the file, once all was met.
func (t *writer[T]) start() (err error) {
	keys, values := t.with.Metadata()
	old := t.schema.Metadata()
	md := arrow.NewMetadata(slices.Concat(old.Keys(), keys), slices.Concat(old.Values(), values))
	t.schema = arrow.NewSchema(t.schema.Fields(), &md)
	t.out, err = ipc.NewFileWriter(t.seal, ipc.WithSchema(t.schema), ipc.WithZstd())
	return err
}

// note meets a record. All are met before the first is added.
func (t *writer[T]) note(rec T) {
	for _, c := range t.cols {
		c.note(rec)
	}
}

// errChanged is of a source that gives other profiles the second time, as one
// of recordings of a program that still runs may.
var errChanged = errors.New("what is written changed meanwhile")

func (t *writer[T]) add(rec T) error {
	for _, c := range t.cols {
		if !c.add(rec) {
			return errChanged
		}
	}
	if t.n++; t.n == maxBatch {
		return t.flush()
	}
	return nil
}

func (t *writer[T]) flush() error {
	arrays := make([]arrow.Array, len(t.cols))
	for i, c := range t.cols {
		arrays[i] = c.take()
	}
	batch := array.NewRecord(t.schema, arrays, int64(t.n))
	t.n, t.batches = 0, t.batches+1
	return t.out.Write(batch)
}

// close ends the file, with what the builder has of its profiles.
func (t *writer[T]) close(head *facts.Header) error {
	// An empty table has one empty batch: readers want its dictionaries.
	if t.n > 0 || t.batches == 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if _, err := t.seal.Write(endOfStream); err != nil {
		return err
	}
	return t.seal.Close(head, t.table, t.out.Close)
}

// endOfStream ends the stream of messages in an Arrow file. The Go library
// leaves it out.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

func schemaOf[T any](table string, cols []column[T]) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = c.field()
	}
	md := arrow.MetadataFrom(map[string]string{keyFormat: facts.FormatVersion, keyTool: Tool, keyTable: table, PandasKey: Pandas(fields)})
	return arrow.NewSchema(fields, &md)
}

// about describes a field: its unit and its meaning.
func about(name string, typ arrow.DataType, nullable bool, unit, doc string) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Nullable: nullable,
		Metadata: arrow.NewMetadata([]string{"unit", "doc"}, []string{unit, doc})}
}

// text is a column of strings out of few distinct ones.
type text[T any] struct {
	about  arrow.Field
	get    func(T) (value string, ok bool)
	codes  map[string]int32
	values *array.StringBuilder
	dict   arrow.Array // made of values at the first take
	index  *array.Int32Builder
	last   string // value that was met last, as rows that follow each other have many in common
	code   int32  // of it, -1 if it is in no dictionary
}

var textType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

func textColumn[T any](name, doc string, get func(T) string) column[T] {
	return optionalText(name, doc, false, func(rec T) (string, bool) { return get(rec), true })
}

func optionalText[T any](name, doc string, nullable bool, get func(T) (string, bool)) column[T] {
	return &text[T]{
		about:  about(name, textType, nullable, "text", doc),
		get:    get,
		codes:  map[string]int32{},
		values: array.NewStringBuilder(memory.DefaultAllocator),
		code:   -1,
		index:  array.NewInt32Builder(memory.DefaultAllocator),
	}
}

func (t *text[T]) field() arrow.Field { return t.about }

func (t *text[T]) note(rec T) {
	s, ok := t.get(rec)
	if !ok || s == t.last && t.code >= 0 {
		return
	}
	code, known := t.codes[s]
	if !known {
		code = int32(len(t.codes))
		t.codes[s] = code
		t.values.Append(strings.ToValidUTF8(s, "\uFFFD")) // paths need not be, and readers would refuse the table
	}
	t.last, t.code = s, code
}

func (t *text[T]) add(rec T) bool {
	s, ok := t.get(rec)
	if !ok {
		t.index.AppendNull()
		return true
	}
	if s != t.last || t.code < 0 {
		code, known := t.codes[s]
		if !known {
			return false
		}
		t.last, t.code = s, code
	}
	t.index.Append(t.code)
	return true
}

func (t *text[T]) take() arrow.Array {
	if t.dict == nil {
		t.dict = t.values.NewArray()
	}
	return array.NewDictionaryArray(textType, t.index.NewArray(), t.dict)
}

// plain is a column of anything else.
type plain[T any] struct {
	about   arrow.Field
	builder array.Builder
	put     func(T)
}

func (p *plain[T]) field() arrow.Field { return p.about }
func (p *plain[T]) note(T)             {}
func (p *plain[T]) add(rec T) bool     { p.put(rec); return true }
func (p *plain[T]) take() arrow.Array  { return p.builder.NewArray() }

// appender is what the builders of fixed-width values have in common.
type appender[V any] interface {
	array.Builder
	Append(V)
}

func values[T, V any](b appender[V], field arrow.Field, get func(T) (V, bool)) column[T] {
	return &plain[T]{about: field, builder: b, put: func(rec T) {
		if v, ok := get(rec); ok {
			b.Append(v)
		} else {
			b.AppendNull()
		}
	}}
}

func always[T, V any](get func(T) V) func(T) (V, bool) {
	return func(rec T) (V, bool) { return get(rec), true }
}

func int32Column[T any](name, unit, doc string, get func(T) int32) column[T] {
	return values(array.NewInt32Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Int32, false, unit, doc), always(get))
}

func optionalInt32[T any](name, unit, doc string, get func(T) (int32, bool)) column[T] {
	return values(array.NewInt32Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Int32, true, unit, doc), get)
}

func uint64Column[T any](name, unit, doc string, get func(T) uint64) column[T] {
	return values(array.NewUint64Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Uint64, false, unit, doc), always(get))
}

func int64Column[T any](name, unit, doc string, get func(T) int64) column[T] {
	return values(array.NewInt64Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Int64, false, unit, doc), always(get))
}

func optionalUint64[T any](name, unit, doc string, get func(T) (uint64, bool)) column[T] {
	return values(array.NewUint64Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Uint64, true, unit, doc), get)
}

func optionalFloat64[T any](name, unit, doc string, get func(T) (float64, bool)) column[T] {
	return values(array.NewFloat64Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Float64, true, unit, doc), get)
}

func boolColumn[T any](name, doc string, get func(T) bool) column[T] {
	return values(array.NewBooleanBuilder(memory.DefaultAllocator),
		about(name, arrow.FixedWidthTypes.Boolean, false, "yes or no", doc), always(get))
}

var timeType = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}

// timeColumn is a point in time; 0 is none.
func timeColumn[T any](name, doc string, unixNs func(T) int64) column[T] {
	return values(array.NewTimestampBuilder(memory.DefaultAllocator, timeType),
		about(name, timeType, true, "ns since 1970-01-01 UTC", doc),
		func(rec T) (arrow.Timestamp, bool) {
			ns := unixNs(rec)
			return arrow.Timestamp(ns), ns != 0
		})
}

// ranksColumn is a list of ranks a row; nil is an empty one.
func ranksColumn[T any](name, doc string, get func(T) []int) column[T] {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32)
	items := b.ValueBuilder().(*array.Int32Builder)
	return &plain[T]{about: about(name, arrow.ListOf(arrow.PrimitiveTypes.Int32), false, "world rank", doc),
		builder: b, put: func(rec T) {
			b.Append(true)
			for _, rank := range get(rec) {
				items.Append(int32(rank))
			}
		}}
}
