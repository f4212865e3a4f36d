package table

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// A Parquet file has zstd-compressed pages. Its metadata contains the Arrow
// schema, so that readers that know Arrow return the same types (words as
// categories), units and meanings as for the Arrow file.
//
// This uses the library's package parquet/file and not parquet/pqarrow, which
// depends on gRPC.

// groupRows is the default of Options.GroupRows.
const groupRows = 128 << 10

// dictionaryLimit is the maximum size in bytes of a column's dictionary. A
// larger column stores its texts without a dictionary.
const dictionaryLimit = 16 << 20

// ParquetWriter writes a table as a Parquet file.
type ParquetWriter[T any] struct {
	cols      []parquetColumn[T]
	sink      *sink
	out       *file.Writer
	groupRows int
	block     []T
	n         int // rows in the current group
}

// NewParquetWriter returns a writer of a table with these columns.
func NewParquetWriter[T any](w io.Writer, cols []Column[T], o Options[T]) (*ParquetWriter[T], error) {
	meta, err := parquetMetadata(cols, &o)
	if err != nil {
		return nil, err
	}
	t := &ParquetWriter[T]{sink: &sink{w: w}, groupRows: cmp.Or(o.GroupRows, groupRows), block: make([]T, 0, blockRows)}
	fields := make(schema.FieldList, len(cols))
	for i := range cols {
		c, err := newParquetColumn(&cols[i], &o)
		if err != nil {
			return nil, err
		}
		t.cols, fields[i] = append(t.cols, c), parquetNode(&cols[i])
	}
	root := schema.MustGroup(schema.NewGroupNode(o.Metadata[KeyTable], parquet.Repetitions.Required, fields, -1))
	t.out = file.NewParquetWriter(t.sink, root, file.WithWriterProps(parquetProperties(cols)), file.WithWriteMetadata(meta))
	return t, nil
}

// sink hides write errors from the library, which ignores some and panics on
// others. It keeps the first error, and writes nothing after it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}

// parquetMetadata returns the table's metadata, and the Arrow schema in the
// form in which Arrow's own libraries store it in Parquet files.
func parquetMetadata[T any](cols []Column[T], o *Options[T]) (out metadata.KeyValueMetadata, err error) {
	for _, key := range slices.Sorted(maps.Keys(o.Metadata)) {
		if err := out.Append(key, o.Metadata[key]); err != nil {
			return nil, err
		}
	}
	if o.NoSchema {
		return out, nil
	}
	var message bytes.Buffer
	if err := ipc.NewWriter(&message, ipc.WithSchema(schemaOf(cols, o.Metadata))).Close(); err != nil {
		return nil, err
	}
	return out, out.Append("ARROW:schema", base64.StdEncoding.EncodeToString(message.Bytes()))
}

func parquetProperties[T any](cols []Column[T]) *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCreatedBy(Tool),
		parquet.WithDictionaryPageSizeLimit(dictionaryLimit),
		parquet.WithVersion(parquet.V2_LATEST),
	}
	for _, c := range cols {
		if c.Unlike != Alike {
			props = append(props, parquet.WithDictionaryFor(c.Name, false))
		}
		if c.Unlike == Neighbors {
			props = append(props, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		}
	}
	return parquet.NewWriterProperties(props...)
}

func parquetNode[T any](c *Column[T]) schema.Node {
	repetition := parquet.Repetitions.Required
	if c.Null {
		repetition = parquet.Repetitions.Optional
	}
	logical, physical := parquetType(c.Type)
	return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.Name, repetition, logical, physical, 0, -1))
}

func parquetType(t Type) (schema.LogicalType, parquet.Type) {
	switch t {
	case Uint8:
		return schema.NewIntLogicalType(8, false), parquet.Types.Int32
	case Int32, Uint32:
		return schema.NewIntLogicalType(32, t == Int32), parquet.Types.Int32
	case Int64, Uint64:
		return schema.NewIntLogicalType(64, t == Int64), parquet.Types.Int64
	case Float64, Half:
		return schema.NoLogicalType{}, parquet.Types.Double
	}
	return schema.StringLogicalType{}, parquet.Types.ByteArray
}

// Add writes rows.
func (t *ParquetWriter[T]) Add(rows iter.Seq[T]) error {
	return inBlocks(rows, t.block, func(block []T) error {
		for len(block) > 0 {
			some := block[:min(len(block), t.groupRows-t.n)]
			for _, c := range t.cols {
				c.add(some)
			}
			block, t.n = block[len(some):], t.n+len(some)
			if t.n == t.groupRows {
				if err := t.flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// NewKinds starts a new numbering of kinds.
func (t *ParquetWriter[T]) NewKinds() {
	for _, c := range t.cols {
		c.newKinds()
	}
}

// Close writes the last group and the footer, with additional metadata.
func (t *ParquetWriter[T]) Close(metadata map[string]string) error {
	if err := t.flush(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if err := t.out.AppendKeyValueMetadata(key, metadata[key]); err != nil {
			return err
		}
	}
	return errors.Join(t.out.Close(), t.sink.err)
}

func (t *ParquetWriter[T]) flush() error {
	if t.n == 0 {
		return nil
	}
	t.n = 0
	return errors.Join(t.writeGroup(), t.sink.err)
}

func (t *ParquetWriter[T]) writeGroup() error {
	group := t.out.AppendRowGroup()
	for _, c := range t.cols {
		chunk, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := errors.Join(c.writeTo(chunk), chunk.Close()); err != nil {
			return err
		}
	}
	return group.Close()
}

// parquetColumn collects the values of a column for a row group.
type parquetColumn[T any] interface {
	add(rows []T)
	newKinds()
	writeTo(file.ColumnChunkWriter) error // writes the values and discards them
}

func newParquetColumn[T any](c *Column[T], o *Options[T]) (parquetColumn[T], error) {
	switch c.Type {
	case Uint8, Int32, Uint32:
		return newCells(c, o, func(row T) (int32, bool) {
			v, ok := c.Number(row)
			return int32(v), ok
		}), nil
	case Int64, Uint64:
		return newCells(c, o, func(row T) (int64, bool) {
			v, ok := c.Number(row)
			return int64(v), ok
		}), nil
	case Float64, Half:
		return newCells(c, o, func(row T) (float64, bool) {
			v, ok := c.Number(row)
			if c.Type == Half {
				v = half(v)
			}
			return math.Float64frombits(v), ok
		}), nil
	case Word, ShortWord, Text:
		return newTexts(c, o), nil
	}
	return nil, fmt.Errorf("column %s is of a type that is not written as Parquet", c.Name)
}

// half returns the bits of n/2 as a double.
func half(n uint64) uint64 { return math.Float64bits(float64(n) / 2) }

// cells holds the values of a column. If the column has nulls, levels has an
// entry for each row: 1 for a value, 0 for a null.
type cells[T, V any] struct {
	of     *Column[T]
	get    func(T) (V, bool)
	kind   func(T) int // nil unless rows of the same kind have the same value
	kinds  []known[V]  // values by kind
	values []V
	levels []int16
}

// known is the value of a kind, if it was computed.
type known[V any] struct {
	value        V
	ok, computed bool
}

func newCells[T, V any](c *Column[T], o *Options[T], get func(T) (V, bool)) *cells[T, V] {
	out := &cells[T, V]{of: c, get: get}
	if c.PerKind {
		out.kind = o.Kind
	}
	return out
}

func (c *cells[T, V]) newKinds() { c.kinds = c.kinds[:0] }

func (c *cells[T, V]) add(rows []T) {
	for i := range rows {
		if c.kind == nil {
			c.append(c.get(rows[i]))
		} else {
			c.append(c.ofKind(rows[i]))
		}
	}
}

func (c *cells[T, V]) append(v V, ok bool) {
	if ok {
		c.values = append(c.values, v)
	}
	if c.of.Null {
		level := int16(0)
		if ok {
			level = 1
		}
		c.levels = append(c.levels, level)
	}
}

func (c *cells[T, V]) ofKind(row T) (V, bool) {
	k := c.kind(row)
	for k >= len(c.kinds) {
		c.kinds = append(c.kinds, known[V]{})
	}
	if of := &c.kinds[k]; !of.computed {
		of.computed = true
		of.value, of.ok = c.get(row)
	}
	return c.kinds[k].value, c.kinds[k].ok
}

func (c *cells[T, V]) writeTo(w file.ColumnChunkWriter) error {
	typed, ok := w.(interface {
		WriteBatch(values []V, defLevels, repLevels []int16) (int64, error)
	})
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

// texts is a column of texts.
type texts[T any] struct {
	*cells[T, parquet.ByteArray]
	known map[string]parquet.ByteArray // texts of the current row group
}

func newTexts[T any](c *Column[T], o *Options[T]) parquetColumn[T] {
	t := &texts[T]{known: map[string]parquet.ByteArray{}}
	words := make([]parquet.ByteArray, len(c.Words))
	for i, word := range c.Words {
		words[i] = parquet.ByteArray(valid(word))
	}
	t.cells = newCells(c, o, func(row T) (parquet.ByteArray, bool) {
		if c.Words != nil {
			n, ok := c.Number(row)
			return words[n], ok
		}
		s, ok := c.Text(row)
		if !ok {
			return nil, false
		}
		text, known := t.known[s]
		if !known {
			text = parquet.ByteArray(valid(s))
			t.known[s] = text
		}
		return text, true
	})
	return t
}

func (t *texts[T]) writeTo(w file.ColumnChunkWriter) error {
	clear(t.known)
	return t.cells.writeTo(w)
}
