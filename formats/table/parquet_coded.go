package table

import (
	"encoding/binary"
	"slices"

	"github.com/mpitrace/mpitrace/formats/parquetfile"
)

// codedColumn has texts, or numbers that are the same in all rows of a kind. It
// writes them as indices into a dictionary.
type codedColumn[T any] struct {
	of     *Column[T]
	kinds  *kinds[T] // nil unless the values depend on the kind
	ofKind []optional
	codes  []uint32 // of the rows, noCode for nulls; not used with kinds

	dictionary map[string]uint32 // of the row group
	words      []string          // by code
	last       string            // the most recent value: consecutive rows often have the same
	lastCode   uint32
	present    []uint8
	kindCodes  []uint32
	chunk      parquetfile.Chunk
}

// optional is a value, or a null: a text, or a number encoded in 8 bytes.
type optional struct {
	value string
	ok    bool
}

// Codes that are no index.
const (
	noCode  = ^uint32(0)     // null
	newCode = ^uint32(0) - 1 // of a kind that has not occurred in the row group
)

func newCodedColumn[T any](c *Column[T]) *codedColumn[T] {
	return &codedColumn[T]{of: c, dictionary: map[string]uint32{}, lastCode: noCode}
}

func (c *codedColumn[T]) value(row T) optional {
	switch {
	case c.of.Text != nil:
		text, ok := c.of.Text(row)
		return optional{text, ok}
	case c.of.Words != nil:
		n, ok := c.of.Number(row)
		if !ok {
			return optional{}
		}
		return optional{c.of.Words[n], true}
	}
	n, ok := c.of.parquetNumber(row)
	return optional{string(binary.LittleEndian.AppendUint64(nil, n)), ok}
}

func (c *codedColumn[T]) add(rows []T) {
	for i := range rows {
		c.codes = append(c.codes, c.code(c.value(rows[i])))
	}
}

// code returns the index of a value in the dictionary.
func (c *codedColumn[T]) code(v optional) uint32 {
	if !v.ok {
		return noCode
	}
	if v.value == c.last && c.lastCode != noCode {
		return c.lastCode
	}
	code, known := c.dictionary[v.value]
	if !known {
		code = uint32(len(c.words))
		c.dictionary[v.value] = code
		c.words = append(c.words, v.value)
	}
	c.last, c.lastCode = v.value, code
	return code
}

// codesOfKinds sets the codes of the rows from their kinds.
func (c *codedColumn[T]) codesOfKinds() {
	c.kindCodes = c.kindCodes[:0]
	for range c.ofKind {
		c.kindCodes = append(c.kindCodes, newCode)
	}
	for _, kind := range c.kinds.rows {
		code := c.kindCodes[kind]
		if code == newCode {
			code = c.code(c.ofKind[kind])
			c.kindCodes[kind] = code
		}
		c.codes = append(c.codes, code)
	}
}

func (c *codedColumn[T]) take() *parquetfile.Chunk {
	if c.kinds != nil {
		c.codesOfKinds()
	}
	c.chunk.Reset()
	if c.of.Null {
		c.removeNulls()
	}
	if isText := c.of.Text != nil || c.of.Words != nil; isText {
		c.setTexts()
	} else {
		c.setNumbers()
	}
	c.codes, c.words, c.lastCode = c.codes[:0], c.words[:0], noCode
	clear(c.dictionary)
	return &c.chunk
}

// removeNulls removes the nulls from the codes.
func (c *codedColumn[T]) removeNulls() {
	c.present = c.present[:0]
	for _, code := range c.codes {
		c.present = append(c.present, uint8(flag(code != noCode)))
	}
	c.chunk.SetNulls(c.present)
	c.codes = slices.DeleteFunc(c.codes, func(code uint32) bool { return code == noCode })
}

// dictionaryLimit is the maximum size in bytes of a column's dictionary. A
// larger column stores its texts without a dictionary.
const dictionaryLimit = 16 << 20

func (c *codedColumn[T]) setTexts() {
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
		c.chunk.SetCodes(c.codes, c.words)
		return
	}
	var plain []byte
	for _, code := range c.codes {
		plain = append(plain, c.words[code]...)
	}
	c.chunk.SetTexts(len(c.codes), plain)
}

func (c *codedColumn[T]) setNumbers() {
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
	c.chunk.SetCodes(c.codes, c.words)
}
