package table

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/formats/parquetfile"
)

// A Parquet file has zstd-compressed pages. Its metadata contains the Arrow
// schema, so that readers that know Arrow return the same types (words as
// categories), units and meanings as for the Arrow file.

// groupRows is the default of Options.GroupRows.
const groupRows = 128 << 10

// ParquetWriter writes a table as a Parquet file.
type ParquetWriter[T any] struct {
	cols      []parquetColumn
	perRow    []rowColumn[T]
	out       *parquetfile.Writer
	groupRows int
	block     []T
	n         int // rows in the current group
	kinds     kinds[T]
	chunks    []*parquetfile.Chunk
}

// NewParquetWriter returns a writer of a table with these columns.
func NewParquetWriter[T any](w io.Writer, cols []Column[T], o Options[T]) *ParquetWriter[T] {
	t := &ParquetWriter[T]{groupRows: cmp.Or(o.GroupRows, groupRows), block: make([]T, 0, blockRows), kinds: kinds[T]{of: o.Kind}}
	fields := make(schema.FieldList, len(cols))
	for i := range cols {
		fields[i] = parquetNode(&cols[i])
		t.addColumn(&cols[i])
	}
	root := schema.MustGroup(schema.NewGroupNode(o.Metadata[KeyTable], parquet.Repetitions.Required, fields, -1))
	t.out = parquetfile.NewWriter(w, root, parquetfile.Options{CreatedBy: Tool, Metadata: parquetMetadata(cols, &o),
		SortedBy: o.sortedBy(cols), Packer: pagePacker()})
	return t
}

// pagePacker compresses pages. The default level of zstd takes longer, and the
// files of events are hardly smaller: see package tracefile.
var pagePacker = Packer(zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1))

// parquetMetadata returns the table's metadata, and the Arrow schema in the
// form in which Arrow's own libraries store it in Parquet files.
func parquetMetadata[T any](cols []Column[T], o *Options[T]) map[string]string {
	if o.NoSchema {
		return o.Metadata
	}
	var message bytes.Buffer
	if err := ipc.NewWriter(&message, ipc.WithSchema(schemaOf(cols, o.Metadata))).Close(); err != nil {
		panic(err) // cannot fail: it writes to memory
	}
	out := maps.Clone(o.Metadata)
	out["ARROW:schema"] = base64.StdEncoding.EncodeToString(message.Bytes())
	return out
}

// sortedBy returns the indices of the columns by which the rows are sorted.
func (o *Options[T]) sortedBy(cols []Column[T]) (indices []int) {
	for _, name := range o.SortedBy {
		indices = append(indices, slices.IndexFunc(cols, func(c Column[T]) bool { return c.Name == name }))
	}
	return indices
}

func parquetNode[T any](c *Column[T]) schema.Node {
	repetition := parquet.Repetitions.Required
	if c.Null {
		repetition = parquet.Repetitions.Optional
	}
	if c.Type == WorldRanks {
		item := schema.NewInt32Node("element", parquet.Repetitions.Required, -1)
		return schema.MustGroup(schema.ListOfWithName(c.Name, item, repetition, -1))
	}
	logical, physical := parquetType(c.Type)
	return schema.MustPrimitive(schema.NewPrimitiveNodeLogical(c.Name, repetition, logical, physical, 0, -1))
}

// parquetType returns the types of a column. A Time is an integer, since Spark
// reads no timestamps in ns.
func parquetType(t Type) (schema.LogicalType, parquet.Type) {
	switch t {
	case Bool:
		return schema.NoLogicalType{}, parquet.Types.Boolean
	case Uint8:
		return schema.NewIntLogicalType(8, false), parquet.Types.Int32
	case Int32, Uint32:
		return schema.NewIntLogicalType(32, t == Int32), parquet.Types.Int32
	case Int64, Uint64, Time:
		return schema.NewIntLogicalType(64, t != Uint64), parquet.Types.Int64
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
			t.kinds.add(some)
			for _, c := range t.perRow {
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
func (t *ParquetWriter[T]) NewKinds() { t.kinds.base = len(t.kinds.known) }

// Size returns the number of bytes written. Rows of the current group are not
// among them.
func (t *ParquetWriter[T]) Size() int64 { return t.out.Size() }

// Close writes the last group and the footer, with additional metadata.
func (t *ParquetWriter[T]) Close(metadata map[string]string) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.out.SetMetadata(metadata)
	return t.out.Close()
}

func (t *ParquetWriter[T]) flush() error {
	if t.n == 0 {
		return nil
	}
	t.chunks = t.chunks[:0]
	for _, c := range t.cols {
		t.chunks = append(t.chunks, c.take())
	}
	rows := t.n
	t.n = 0
	t.kinds.forget()
	return t.out.WriteGroup(rows, t.chunks)
}
