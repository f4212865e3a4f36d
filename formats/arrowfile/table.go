package arrowfile

import (
	"io"
	"iter"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// column makes one column of a table out of records of type T.
type column[T any] interface {
	field() arrow.Field
	note(T)            // meets every record once, before the first add
	add(T)             // appends the record's value
	take() arrow.Array // what was added since the last take
}

// write writes a table with the given metadata. It goes over the records
// twice: an Arrow file has one dictionary for all batches of a column, which
// therefore has to be complete before the first batch.
func write[T any](w io.Writer, meta map[string]string, cols []column[T], recs iter.Seq[T]) error {
	schema := schemaOf(meta, cols)
	seal := &sealer{w: w}
	out, err := ipc.NewFileWriter(seal, ipc.WithSchema(schema), ipc.WithZstd())
	if err != nil {
		return err
	}
	for rec := range recs {
		for _, c := range cols {
			c.note(rec)
		}
	}
	n, batches := 0, 0
	flush := func() error {
		arrays := make([]arrow.Array, len(cols))
		for i, c := range cols {
			arrays[i] = c.take()
		}
		batch := array.NewRecord(schema, arrays, int64(n))
		n, batches = 0, batches+1
		return out.Write(batch)
	}
	for rec := range recs {
		for _, c := range cols {
			c.add(rec)
		}
		if n++; n == maxBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	// An empty table has one empty batch: readers want its dictionaries.
	if n > 0 || batches == 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	return seal.close(out.Close)
}

func schemaOf[T any](meta map[string]string, cols []column[T]) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = c.field()
	}
	all := map[string]string{keyFormat: formatVersion, keyTool: tool}
	for k, v := range meta {
		all[k] = v
	}
	md := arrow.MetadataFrom(all)
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
		index:  array.NewInt32Builder(memory.DefaultAllocator),
	}
}

func (t *text[T]) field() arrow.Field { return t.about }

func (t *text[T]) note(rec T) {
	s, ok := t.get(rec)
	if !ok {
		return
	}
	if _, known := t.codes[s]; !known {
		t.codes[s] = int32(len(t.codes))
		t.values.Append(s)
	}
}

func (t *text[T]) add(rec T) {
	if s, ok := t.get(rec); ok {
		t.index.Append(t.codes[s])
	} else {
		t.index.AppendNull()
	}
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
func (p *plain[T]) add(rec T)          { p.put(rec) }
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

func uint8Column[T any](name, unit, doc string, get func(T) uint8) column[T] {
	return values(array.NewUint8Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Uint8, false, unit, doc), always(get))
}

func uint64Column[T any](name, unit, doc string, get func(T) uint64) column[T] {
	return values(array.NewUint64Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Uint64, false, unit, doc), always(get))
}

func optionalUint64[T any](name, unit, doc string, get func(T) (uint64, bool)) column[T] {
	return values(array.NewUint64Builder(memory.DefaultAllocator),
		about(name, arrow.PrimitiveTypes.Uint64, true, unit, doc), get)
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
