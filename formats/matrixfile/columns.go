package matrixfile

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/position"
)

// arrowBatch is how many rows a record batch has.
const arrowBatch = 64 << 10

// batch is some entries of a sheet, by column.
type batch struct {
	from, to        []int32
	messages, bytes []uint64
}

// batches gives all entries, in batches of at most so many rows: at least one,
// since readers want its dictionaries.
func (s *Sheet) batches(most int, put func(*batch) error) error {
	b, given := new(batch), false
	for p, v := range s.entries {
		b.from, b.to = append(b.from, int32(p.From)), append(b.to, int32(p.To))
		b.messages, b.bytes = append(b.messages, v.Messages), append(b.bytes, v.Bytes)
		if len(b.from) < most {
			continue
		}
		if err := put(b); err != nil {
			return err
		}
		*b, given = batch{b.from[:0], b.to[:0], b.messages[:0], b.bytes[:0]}, true
	}
	if len(b.from) == 0 && given {
		return nil
	}
	return put(b)
}

// halves are the means of sums.
func halves(sums []uint64) []float64 {
	out := make([]float64, len(sums))
	for i, n := range sums {
		out[i] = float64(n) / 2
	}
	return out
}

// schema is the columns of a sheet: lines as numbers or as names, volumes as
// integers or, where they are means, as doubles.
func (s *Sheet) schema() *arrow.Schema {
	line, volume, mean := arrow.DataType(arrow.PrimitiveTypes.Int32), arrow.DataType(arrow.PrimitiveTypes.Uint64), ""
	if s.Labels != nil {
		line = namesType
	}
	if s.Symmetric {
		volume, mean = arrow.PrimitiveTypes.Float64, ", mean of both directions"
	}
	meta := arrow.MetadataFrom(s.metadata())
	return arrow.NewSchema([]arrow.Field{
		field("sender", line, s.Line, "where the data came from"),
		field("receiver", line, s.Line, "where the data went"),
		field("messages", volume, "messages", "messages from sender to receiver"+mean),
		field("bytes", volume, "bytes", "bytes from sender to receiver"+mean),
	}, &meta)
}

var namesType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

func field(name string, typ arrow.DataType, unit, doc string) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Metadata: arrow.NewMetadata([]string{"unit", "doc"}, []string{unit, doc})}
}

// metadata is what is known of a sheet, by the keys that the tables of profiles
// have, too.
func (s *Sheet) metadata() map[string]string {
	out := map[string]string{"mpitrace.format": "1", "mpitrace.tool": "mpitrace", "mpitrace.table": "matrix",
		"mpitrace.n": fmt.Sprint(s.N), "mpitrace.symmetric": fmt.Sprint(s.Symmetric)}
	for _, is := range s.about() {
		out["mpitrace."+is[0]] = is[1]
	}
	return out
}

// writeArrow writes an Arrow IPC file with a row for each pair that has
// messages or bytes, in record batches compressed by zstd.
func writeArrow(w io.Writer, s *Sheet, _ Quantity) error {
	schema := s.schema()
	out, err := ipc.NewFileWriter(position.New(w), ipc.WithSchema(schema), ipc.WithZstd())
	if err != nil {
		return err
	}
	var names arrow.Array
	if s.Labels != nil {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(s.Labels, nil)
		names = b.NewArray()
	}
	err = s.batches(arrowBatch, func(b *batch) error {
		arrays := []arrow.Array{lines(b.from, names), lines(b.to, names), s.volumes(b.messages), s.volumes(b.bytes)}
		return out.Write(array.NewRecord(schema, arrays, int64(len(b.from))))
	})
	if err != nil {
		return err
	}
	return out.Close()
}

func lines(at []int32, names arrow.Array) arrow.Array {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.AppendValues(at, nil)
	if names == nil {
		return b.NewArray()
	}
	return array.NewDictionaryArray(namesType, b.NewArray(), names)
}

func (s *Sheet) volumes(sums []uint64) arrow.Array {
	if s.Symmetric {
		b := array.NewFloat64Builder(memory.DefaultAllocator)
		b.AppendValues(halves(sums), nil)
		return b.NewArray()
	}
	b := array.NewUint64Builder(memory.DefaultAllocator)
	b.AppendValues(sums, nil)
	return b.NewArray()
}

// entries goes through what sparse files hold: the pairs that have messages or
// bytes, by row and column.
func (s *Sheet) entries(yield func(matrix.Pair, matrix.Volume) bool) {
	for p, v := range s.cells() {
		if v != (matrix.Volume{}) && !yield(p, v) {
			return
		}
	}
}
