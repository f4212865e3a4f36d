package table

import (
	"errors"
	"io"
	"iter"
	"maps"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// maxBatch is the maximum number of rows of a record batch.
const maxBatch = 64 << 10

// WriteArrow writes rows as an Arrow IPC file (Feather version 2), with
// zstd-compressed record batches. It iterates over the rows twice if a column
// has words that are not known beforehand.
func WriteArrow[T any](w io.Writer, cols []Column[T], rows iter.Seq[T], o Options[T]) error {
	t := newArrowWriter(Position(w), cols, o.Metadata)
	for _, step := range []func() error{
		func() error { return t.note(rows) },
		func() error { return t.start(nil) },
		func() error { return t.add(rows) },
		t.finish,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return t.out.Close()
}

// arrowWriter writes an Arrow file. It needs the rows twice: first to collect
// the dictionaries, then to write the batches. All batches of a column share
// one dictionary, which must be complete before the first batch is written.
type arrowWriter[T any] struct {
	cols     []arrowColumn[T]
	of       []Column[T]
	metadata map[string]string
	schema   *arrow.Schema
	file     io.WriteSeeker
	out      recordWriter
	block    []T
	n        int // rows since the last batch
	batches  int
}

// recordWriter writes record batches, and the dictionaries before them.
type recordWriter interface {
	Write(arrow.Record) error
	Close() error
}

func newArrowWriter[T any](file io.WriteSeeker, cols []Column[T], metadata map[string]string) *arrowWriter[T] {
	t := &arrowWriter[T]{of: cols, metadata: maps.Clone(metadata), file: file, block: make([]T, 0, blockRows)}
	for i := range cols {
		t.cols = append(t.cols, newArrowColumn(&cols[i]))
	}
	return t
}

// note adds the rows' words to the dictionaries. Call it for all rows before
// the first add.
func (t *arrowWriter[T]) note(rows iter.Seq[T]) error {
	var words []*wordColumn[T]
	for _, c := range t.cols {
		if c, ok := c.(*wordColumn[T]); ok && c.of.Words == nil {
			words = append(words, c)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return inBlocks(rows, t.block, func(block []T) error {
		for _, c := range words {
			c.note(block)
		}
		return nil
	})
}

// start begins the file, with additional metadata. Call it after note has seen
// all rows.
func (t *arrowWriter[T]) start(metadata map[string]string) (err error) {
	maps.Copy(t.metadata, metadata)
	t.schema = schemaOf(t.of, t.metadata)
	t.out, err = ipc.NewFileWriter(t.file, ipc.WithSchema(t.schema), ipc.WithZstd())
	return err
}

// errChanged is the error for a source that returns other profiles the second
// time. Recordings of a program that still runs can do this.
var errChanged = errors.New("the profiles changed while they were being written")

func (t *arrowWriter[T]) add(rows iter.Seq[T]) error {
	return inBlocks(rows, t.block, func(block []T) error {
		for len(block) > 0 {
			some := block[:min(len(block), maxBatch-t.n)]
			for _, c := range t.cols {
				if !c.add(some) {
					return errChanged
				}
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

func (t *arrowWriter[T]) flush() error {
	arrays := make([]arrow.Array, len(t.cols))
	for i, c := range t.cols {
		arrays[i] = c.take()
	}
	batch := array.NewRecord(t.schema, arrays, int64(t.n))
	t.n, t.batches = 0, t.batches+1
	return t.out.Write(batch)
}

// finish writes the last batch and ends the stream of messages. It does not
// write the footer.
func (t *arrowWriter[T]) finish() error {
	// An empty table has one empty batch: readers need its dictionaries.
	if t.n > 0 || t.batches == 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	_, err := t.file.Write(endOfStream)
	return err
}

// endOfStream ends the stream of messages in an Arrow file. The Go library does
// not write it.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// arrowColumn collects the values of a column.
type arrowColumn[T any] interface {
	add(rows []T) bool // appends the rows' values; false if note has not seen one of them
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

func (c *numberColumn[T, V]) add(rows []T) bool {
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
	return true
}

func (c *numberColumn[T, V]) take() arrow.Array {
	if c.of.Type == Half {
		for i, v := range c.values {
			c.values[i] = V(half(uint64(v)))
		}
	}
	return array.MakeFromData(c.numbers.take(arrowTypes[c.of.Type], arrow.GetBytes(c.values)))
}

// wordColumn holds texts as dictionary codes.
type wordColumn[T any] struct {
	of    *Column[T]
	codes map[string]int32
	texts *array.StringBuilder
	dict  arrow.Array // made from texts by the first take
	plain bool        // take returns the codes only
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

func (c *wordColumn[T]) note(rows []T) {
	for i := range rows {
		s, ok := c.of.Text(rows[i])
		if !ok || s == c.last && c.code >= 0 {
			continue
		}
		c.last, c.code = s, c.noteWord(s)
	}
}

// noteWord returns the code of a word, which it adds to the dictionary if it is
// new.
func (c *wordColumn[T]) noteWord(s string) int32 {
	code, known := c.codes[s]
	if !known {
		code = int32(len(c.codes))
		c.codes[s] = code
		c.texts.Append(valid(s))
	}
	return code
}

func (c *wordColumn[T]) add(rows []T) bool {
	for i := range rows {
		code, ok, known := c.codeOf(rows[i])
		switch {
		case !known:
			return false
		case !ok:
			c.null()
			continue
		case c.of.Null:
			c.mark(true)
		}
		c.values = append(c.values, code)
	}
	return true
}

// codeOf returns the code of a row's text. ok reports whether the row has a
// text, known whether the text is in the dictionary.
func (c *wordColumn[T]) codeOf(row T) (code int32, ok, known bool) {
	if c.of.Words != nil {
		code, ok := c.of.Number(row)
		return int32(code), ok, true
	}
	s, ok := c.of.Text(row)
	if !ok || s == c.last && c.code >= 0 {
		return c.code, ok, true
	}
	if code, known = c.codes[s]; known {
		c.last, c.code = s, code
	}
	return code, true, known
}

func (c *wordColumn[T]) take() arrow.Array {
	codes := array.MakeFromData(c.numbers.take(arrow.PrimitiveTypes.Int32, arrow.GetBytes(c.values)))
	if c.plain {
		return codes
	}
	if c.dict == nil {
		c.dict = c.texts.NewArray()
	}
	return array.NewDictionaryArray(arrowTypes[Word], codes, c.dict)
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

func (c *builderColumn[T]) add(rows []T) bool {
	for i := range rows {
		c.put(rows[i])
	}
	return true
}

func (c *builderColumn[T]) take() arrow.Array { return c.NewArray() }
