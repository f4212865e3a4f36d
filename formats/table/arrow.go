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
	t := NewArrowWriter(w, cols, o)
	if err := t.Add(rows); err != nil {
		return err
	}
	return t.Close(nil)
}

// ArrowWriter writes a table as an Arrow IPC file with zstd-compressed record
// batches. All batches of a column share one dictionary, which is complete only
// when all rows are known. Until then the batches are in a spool, with codes in
// place of words. A table whose words are known beforehand needs no spool.
type ArrowWriter[T any] struct {
	of       []Column[T]
	cols     []arrowColumn[T]
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
	for i := range cols {
		c := &cols[i]
		t.cols = append(t.cols, newArrowColumn(c))
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
	for i, c := range t.cols {
		if c, ok := c.(*wordColumn[T]); ok {
			t.words[i] = c.texts.NewArray()
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

func newArrowColumn[T any](c *Column[T]) arrowColumn[T] {
	switch c.Type {
	case Word:
		return newWordColumn(c)
	case Uint8:
		return &numberColumn[T, uint8]{of: c}
	case Int32, Uint32:
		return &numberColumn[T, uint32]{of: c}
	case Int64, Uint64, Float64, Half, Time:
		return &numberColumn[T, uint64]{of: c}
	}
	return newBuilderColumn(c)
}

// numbers holds values, and which of them are valid (not null).
type numbers[V any] struct {
	values []V
	valid  []byte // one bit per value, if the column has nulls
	nulls  int
}

func (c *numbers[V]) null() {
	c.mark(false)
	c.values = append(c.values, *new(V))
	c.nulls++
}

// mark appends the validity bit of the next value.
func (c *numbers[V]) mark(ok bool) {
	i := len(c.values)
	if i%8 == 0 {
		c.valid = append(c.valid, 0)
	}
	if ok {
		c.valid[i/8] |= 1 << (i % 8)
	}
}

// take returns the values as an Arrow array, and empties the column. raw holds
// the bytes of the values.
func (c *numbers[V]) take(typ arrow.DataType, raw []byte) *array.Data {
	var valid *memory.Buffer
	if c.nulls > 0 {
		valid = memory.NewBufferBytes(c.valid)
	}
	data := array.NewData(typ, len(c.values), []*memory.Buffer{valid, memory.NewBufferBytes(raw)}, nil, c.nulls, 0)
	c.values, c.valid, c.nulls = c.values[:0], c.valid[:0], 0
	return data
}

// numberColumn holds numbers of 8, 32 or 64 bits.
type numberColumn[T any, V uint8 | uint32 | uint64] struct {
	of *Column[T]
	numbers[V]
}

func (c *numberColumn[T, V]) add(rows []T) {
	get := c.of.Number
	for i := range rows {
		v, ok := get(rows[i])
		switch {
		case !ok:
			c.null()
			continue
		case c.of.Null:
			c.mark(true)
		}
		c.values = append(c.values, V(v))
	}
}

func (c *numberColumn[T, V]) take() arrow.Array {
	if c.of.Type == Half {
		for i, v := range c.values {
			c.values[i] = V(half(uint64(v)))
		}
	}
	return array.MakeFromData(c.numbers.take(arrowTypes[c.of.Type], arrow.GetBytes(c.values)))
}

// wordColumn holds texts as codes of a dictionary.
type wordColumn[T any] struct {
	of    *Column[T]
	codes map[string]int32
	texts *array.StringBuilder // the dictionary
	numbers[int32]
	last string // most recent text: consecutive rows often have the same text
	code int32  // of last; -1 before the first text
}

func newWordColumn[T any](c *Column[T]) *wordColumn[T] {
	w := &wordColumn[T]{of: c, codes: map[string]int32{}, texts: array.NewStringBuilder(memory.DefaultAllocator), code: -1}
	for _, text := range c.Words {
		w.texts.Append(valid(text))
	}
	return w
}

// valid replaces bytes that are not UTF-8, which paths may contain: readers
// would reject the table.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (c *wordColumn[T]) add(rows []T) {
	for i := range rows {
		code, ok := c.codeOf(rows[i])
		switch {
		case !ok:
			c.null()
			continue
		case c.of.Null:
			c.mark(true)
		}
		c.values = append(c.values, code)
	}
}

// codeOf returns the code of a row's text, if it has one.
func (c *wordColumn[T]) codeOf(row T) (code int32, ok bool) {
	if c.of.Words != nil {
		code, ok := c.of.Number(row)
		return int32(code), ok
	}
	s, ok := c.of.Text(row)
	if !ok || s == c.last && c.code >= 0 {
		return c.code, ok
	}
	code, known := c.codes[s]
	if !known {
		code = int32(len(c.codes))
		c.codes[s] = code
		c.texts.Append(valid(s))
	}
	c.last, c.code = s, code
	return code, true
}

func (c *wordColumn[T]) take() arrow.Array {
	return array.MakeFromData(c.numbers.take(codeType, arrow.GetBytes(c.values)))
}

// builderColumn is a column of a less frequent type. It uses Arrow's builders.
type builderColumn[T any] struct {
	array.Builder
	put func(T)
}

func newBuilderColumn[T any](c *Column[T]) arrowColumn[T] {
	switch c.Type {
	case Bool:
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		return &builderColumn[T]{b, func(row T) {
			if v, ok := c.Number(row); ok {
				b.Append(v != 0)
			} else {
				b.AppendNull()
			}
		}}
	case Text:
		b := array.NewStringBuilder(memory.DefaultAllocator)
		return &builderColumn[T]{b, func(row T) {
			if s, ok := c.Text(row); ok {
				b.Append(valid(s))
			} else {
				b.AppendNull()
			}
		}}
	}
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.PrimitiveTypes.Int32)
	items := b.ValueBuilder().(*array.Int32Builder)
	return &builderColumn[T]{b, func(row T) {
		b.Append(true)
		for _, rank := range c.Ranks(row) {
			items.Append(int32(rank))
		}
	}}
}

func (c *builderColumn[T]) add(rows []T) {
	for i := range rows {
		c.put(rows[i])
	}
}

func (c *builderColumn[T]) take() arrow.Array { return c.NewArray() }
