package table

import (
	"encoding/binary"
	"slices"

	"github.com/mpitrace/mpitrace/formats/parquetfile"
)

// codedColumn has texts, or numbers that are the same in all rows of a kind. It
// writes them as indices into a dictionary.
type codedColumn[T any] struct {
	batchColumn[T, uint32]
	dictionary           // of the row group; a number is encoded in 8 bytes
	kinds      *kinds[T] // nil if the values do not depend on the kind
	ofKind     []optional
	kindCodes  []uint32
	chunk      parquetfile.Chunk
}

// optional is a value, or a null: a text, or a number encoded in 8 bytes.
type optional struct {
	value string
	ok    bool
}

// newCode is the code of a kind that has not occurred in the row group.
const newCode = ^uint32(0)

func newCodedColumn[T any](c *Column[T]) *codedColumn[T] {
	coded := &codedColumn[T]{batchColumn: batchColumn[T, uint32]{of: c}}
	coded.get = c.codesIn(&coded.dictionary)
	return coded
}

// value returns the value of a row, which is that of all rows of its kind.
func (c *codedColumn[T]) value(row T) optional {
	if c.of.isText() {
		text, ok := c.of.text(row)
		return optional{text, ok}
	}
	n, ok := c.of.stored()(row)
	return optional{string(binary.LittleEndian.AppendUint64(nil, n)), ok}
}

// addKinds adds the values of the rows from their kinds.
func (c *codedColumn[T]) addKinds() {
	c.kindCodes = c.kindCodes[:0]
	for range c.ofKind {
		c.kindCodes = append(c.kindCodes, newCode)
	}
	for _, kind := range c.kinds.rows {
		v, code := c.ofKind[kind], c.kindCodes[kind]
		if v.ok && code == newCode {
			code = c.codeOf(v.value)
			c.kindCodes[kind] = code
		}
		if c.of.Null {
			c.put(code, v.ok)
		} else {
			c.values = append(c.values, code)
		}
	}
}

func (c *codedColumn[T]) take() *parquetfile.Chunk {
	if c.kinds != nil {
		c.addKinds()
	}
	codes := c.begin(&c.chunk, c.of.Null)
	if c.of.isText() {
		c.setTexts(codes)
	} else {
		c.setNumbers(codes)
	}
	c.empty()
	c.clear()
	return &c.chunk
}

// dictionaryLimit is the maximum size in bytes of a column's dictionary. A
// larger column stores its texts without a dictionary.
const dictionaryLimit = 16 << 20

func (c *codedColumn[T]) setTexts(codes []uint32) {
	size := 0
	for i, text := range c.words {
		c.words[i] = valid(text)
		size += len(text)
	}
	if len(c.words) > 0 {
		c.chunk.SetTextRange(slices.Min(c.words), slices.Max(c.words))
	}
	for i, text := range c.words {
		c.words[i] = string(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	}
	if size <= dictionaryLimit {
		c.chunk.SetCodes(codes, c.words)
		return
	}
	var plain []byte
	for _, code := range codes {
		plain = append(plain, c.words[code]...)
	}
	c.chunk.SetTexts(len(codes), plain)
}

func (c *codedColumn[T]) setNumbers(codes []uint32) {
	numbers := make([]int64, len(c.words))
	for i, word := range c.words {
		numbers[i] = int64(binary.LittleEndian.Uint64([]byte(word)))
	}
	switch c.of.Type {
	case Uint8, Int32, Uint32:
		short := make([]int32, len(numbers))
		for i, n := range numbers {
			short[i], c.words[i] = int32(n), c.words[i][:4]
		}
		parquetfile.SetIntegerRange(&c.chunk, short, orderOf(c.of.Type))
	default:
		parquetfile.SetIntegerRange(&c.chunk, numbers, orderOf(c.of.Type))
	}
	c.chunk.SetCodes(codes, c.words)
}
