package table

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// maxBatch is the maximum number of rows of a record batch.
const maxBatch = 64 << 10

// WriteArrow writes rows as an Arrow IPC file (Feather version 2).
func WriteArrow[T any](w io.Writer, cols []Column[T], rows iter.Seq[T], o Options[T]) error {
	return WriteAll(NewArrowWriter(w, cols, o), rows)
}

// ArrowWriter writes a table as an Arrow IPC file with zstd-compressed record
// batches. All batches of a column share one dictionary, which is complete only
// when all rows are known. Until then the batches are in a spool, with codes in
// place of words. A table whose words are known beforehand needs no spool.
type ArrowWriter[T any] struct {
	of       []Column[T]
	cols     []arrowColumn[T]
	texts    []dictionary // by column
	metadata map[string]string
	block    []T
	n        int // rows since the last batch
	batches  int

	spool   spool
	codes   *arrow.Schema // of the batches in the spool
	spooled *ipc.Writer   // nil without a spool

	file   io.WriteSeeker
	schema *arrow.Schema
	words  []arrow.Array   // dictionaries, by column
	out    *ipc.FileWriter // nil until start
}

// NewArrowWriter returns a writer of a table with these columns.
func NewArrowWriter[T any](w io.Writer, cols []Column[T], o Options[T]) *ArrowWriter[T] {
	t := &ArrowWriter[T]{file: Position(w), of: cols, metadata: o.Metadata, spool: spool{dir: o.Scratch}, block: make([]T, 0, blockRows)}
	fields := slices.Clone(schemaOf(cols, nil).Fields())
	known := true
	t.texts = make([]dictionary, len(cols))
	for i := range cols {
		c := &cols[i]
		t.cols = append(t.cols, newArrowColumn(c, &t.texts[i]))
		if c.Type == Word {
			fields[i].Type = codeType
			known = known && c.Words != nil
		}
	}
	if !known {
		t.codes = arrow.NewSchema(fields, nil)
		t.spooled = ipc.NewWriter(&t.spool, ipc.WithSchema(t.codes))
	}
	return t
}

// codeType is the type of words in the spool.
var codeType = arrow.PrimitiveTypes.Int32

// Add writes rows.
func (t *ArrowWriter[T]) Add(rows iter.Seq[T]) error {
	return inBlocks(rows, t.block, func(block []T) error {
		for len(block) > 0 {
			some := block[:min(len(block), maxBatch-t.n)]
			for _, c := range t.cols {
				c.add(some)
			}
			block, t.n = block[len(some):], t.n+len(some)
			if t.n == maxBatch {
				if err := t.flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// flush writes a batch.
func (t *ArrowWriter[T]) flush() error {
	arrays := make([]arrow.Array, len(t.cols))
	for i, c := range t.cols {
		arrays[i] = c.take()
	}
	rows := int64(t.n)
	t.n, t.batches = 0, t.batches+1
	if t.spooled != nil {
		return t.spooled.Write(array.NewRecord(t.codes, arrays, rows))
	}
	if err := t.start(nil); err != nil {
		return err
	}
	return t.write(arrays, rows)
}

// start begins the file, unless it has begun. No words may follow.
func (t *ArrowWriter[T]) start(metadata map[string]string) (err error) {
	if t.out != nil {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, t.metadata)
	maps.Copy(all, metadata)
	t.schema = schemaOf(t.of, all)
	t.words = make([]arrow.Array, len(t.cols))
	for i := range t.of {
		if t.of[i].Type == Word {
			t.words[i] = t.texts[i].arrow()
		}
	}
	t.out, err = ipc.NewFileWriter(t.file, ipc.WithSchema(t.schema), ipc.WithZstd())
	return err
}

// write writes a batch to the file.
func (t *ArrowWriter[T]) write(arrays []arrow.Array, rows int64) error {
	arrays = slices.Clone(arrays)
	for i, words := range t.words {
		if words != nil {
			arrays[i] = array.NewDictionaryArray(arrowTypes[Word], arrays[i], words)
		}
	}
	return t.out.Write(array.NewRecord(t.schema, arrays, rows))
}

// Close ends the file. Additional metadata is for tables with words that are not
// known beforehand.
func (t *ArrowWriter[T]) Close(metadata map[string]string) error {
	defer t.Discard()
	if t.n > 0 || t.batches == 0 { // an empty table has one empty batch: readers need its dictionaries
		if err := t.flush(); err != nil {
			return err
		}
	}
	if err := cmp.Or(t.start(metadata), t.unspool()); err != nil {
		return err
	}
	if _, err := t.file.Write(endOfStream); err != nil {
		return err
	}
	return t.out.Close()
}

// unspool writes the batches of the spool.
func (t *ArrowWriter[T]) unspool() error {
	if t.spooled == nil {
		return nil
	}
	if err := t.spooled.Close(); err != nil {
		return err
	}
	content, err := t.spool.reader()
	if err != nil {
		return err
	}
	in, err := ipc.NewReader(content)
	if err != nil {
		return err
	}
	defer in.Release()
	for in.Next() {
		if err := t.write(in.Record().Columns(), in.Record().NumRows()); err != nil {
			return err
		}
	}
	return in.Err()
}

// Discard frees the spool of a file that is not wanted. Close does it, too.
func (t *ArrowWriter[T]) Discard() { t.spool.close() }

// endOfStream ends the stream of messages in an Arrow file. The Go library does
// not write it.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// arrowColumn collects the values of a column.
type arrowColumn[T any] interface {
	add(rows []T)
	take() arrow.Array // returns the values added since the last take; valid until the next add
}

// newArrowColumn returns a column. The words of a dictionary of all batches are in d.
func newArrowColumn[T any](c *Column[T], d *dictionary) arrowColumn[T] {
	switch c.Type {
	case Word:
		return &arrowNumbers[T, int32]{batchColumn[T, int32]{of: c, get: c.codes(d)}, codeType}
	case Text:
		return &arrowTexts[T]{batchColumn[T, uint32]{of: c, get: c.codesIn(d)}, d}
	case Bool:
		return &arrowFlags[T]{batchColumn[T, uint8]{of: c, get: c.Number}}
	case WorldRanks:
		return &arrowLists[T]{listColumn[T]{of: c}}
	case Uint8:
		return &arrowNumbers[T, uint8]{batchColumn[T, uint8]{of: c, get: c.Number}, arrowTypes[c.Type]}
	case Int32, Uint32:
		return &arrowNumbers[T, int32]{batchColumn[T, int32]{of: c, get: c.Number}, arrowTypes[c.Type]}
	}
	return &arrowNumbers[T, int64]{batchColumn[T, int64]{of: c, get: c.stored()}, arrowTypes[c.Type]}
}

// array returns the rows of the batch as an Arrow array, and empties it. raw holds the bytes
// of the values.
func (b *batch[V]) array(typ arrow.DataType, raw []byte) arrow.Array {
	var valid *memory.Buffer
	if b.nulls > 0 {
		valid = memory.NewBufferBytes(bitsOf(b.present))
	}
	data := array.NewData(typ, len(b.values), []*memory.Buffer{valid, memory.NewBufferBytes(raw)}, nil, b.nulls, 0)
	b.empty()
	return array.MakeFromData(data)
}

// bitsOf returns values of 0 and 1 as bits.
func bitsOf(values []uint8) []byte {
	bits := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		bits[i/8] |= v << (i % 8)
	}
	return bits
}

// arrowNumbers has numbers, or codes of words.
type arrowNumbers[T any, V uint8 | int32 | int64] struct {
	batchColumn[T, V]
	typ arrow.DataType
}

func (c *arrowNumbers[T, V]) take() arrow.Array { return c.array(c.typ, arrow.GetBytes(c.values)) }

type arrowFlags[T any] struct{ batchColumn[T, uint8] }

func (c *arrowFlags[T]) take() arrow.Array { return c.array(arrowTypes[Bool], bitsOf(c.values)) }

// arrowTexts has texts without a dictionary.
type arrowTexts[T any] struct {
	batchColumn[T, uint32]
	*dictionary // of the batch
}

func (c *arrowTexts[T]) take() arrow.Array {
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	for row, code := range c.values {
		if c.has(row) {
			texts.Append(valid(c.words[code]))
		} else {
			texts.AppendNull()
		}
	}
	c.empty()
	c.clear()
	return texts.NewArray()
}

type arrowLists[T any] struct{ listColumn[T] }

func (c *arrowLists[T]) take() arrow.Array {
	lists := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32)
	items, ranks := lists.ValueBuilder().(*array.Int32Builder), c.ranks
	for _, n := range c.lengths {
		lists.Append(true)
		items.AppendValues(ranks[:n], nil)
		ranks = ranks[n:]
	}
	c.empty()
	return lists.NewArray()
}

// arrow returns the words as an Arrow array.
func (d *dictionary) arrow() arrow.Array {
	words := array.NewStringBuilder(memory.DefaultAllocator)
	for _, word := range d.words {
		words.Append(valid(word))
	}
	return words.NewArray()
}

// valid replaces bytes that are not UTF-8, which paths may contain: readers
// would reject the table.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
