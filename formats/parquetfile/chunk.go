package parquetfile

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
)

// Chunk holds the values of a column in a row group, encoded. Its memory is
// used again by Reset.
type Chunk struct {
	levels   []byte // encoded repetition and definition levels
	count    int    // number of levels, or of values if there are none
	nulls    int
	values   []byte
	encoding parquet.Encoding

	dictionary []byte // encoded with PLAIN
	words      int    // number of entries of the dictionary

	min, max []byte // nil if not known
	signed   bool   // the order of min and max

	lookup lookup
	codes  []uint32
}

// Reset empties the chunk.
func (c *Chunk) Reset() {
	c.levels, c.values, c.dictionary = c.levels[:0], c.values[:0], c.dictionary[:0]
	c.count, c.nulls, c.words = 0, 0, 0
	c.min, c.max = nil, nil
	c.encoding, c.signed = parquet.Encodings.Plain, false
}

// SetNulls makes the chunk one of a column with nulls. present has 1 for each
// row with a value and 0 for each null.
func (c *Chunk) SetNulls(present []uint8) {
	c.count = len(present)
	for _, p := range present {
		c.nulls += 1 - int(p)
	}
	c.addLevels(present)
}

// SetLists makes the chunk one of a column of lists. lengths has the length of each list.
func (c *Chunk) SetLists(lengths []int) {
	var repetition, definition []uint8
	for _, n := range lengths {
		repetition = append(repetition, 0) // 0 starts a list
		definition = append(definition, uint8(min(n, 1)))
		for range n - 1 {
			repetition, definition = append(repetition, 1), append(definition, 1)
		}
	}
	c.count = len(repetition)
	c.addLevels(repetition)
	c.addLevels(definition)
}

// addLevels appends levels of 0 and 1.
func (c *Chunk) addLevels(levels []uint8) {
	start := len(c.levels)
	c.levels = appendHybrid(append(c.levels, 0, 0, 0, 0), levels, 1)
	little.PutUint32(c.levels[start:], uint32(len(c.levels)-start-4))
}

func (c *Chunk) has(values int) {
	if len(c.levels) == 0 {
		c.count = values
	}
}

// SetBools sets values of 0 and 1.
func (c *Chunk) SetBools(values []uint8) {
	c.has(len(values))
	p := packer{out: c.values}
	for _, v := range values {
		p.add(uint64(v), 1)
	}
	c.values = p.close(len(c.values) + (len(values)+7)/8)
	if len(values) > 0 {
		c.min, c.max, c.signed = []byte{slices.Min(values)}, []byte{slices.Max(values)}, true
	}
}

// SortOrder is the order of a column's numbers.
type SortOrder uint8

const (
	Signed SortOrder = iota
	Unsigned
	Doubles // the numbers are the bits of doubles
)

// SetIntegers sets numbers. If alike is set, many of the numbers are equal. SetIntegers then
// encodes them with a dictionary, unless there are too many different ones.
func SetIntegers[V int32 | int64](c *Chunk, values []V, order SortOrder, alike bool) {
	c.has(len(values))
	smallest, largest := rangeOf(values, order)
	c.setRange(smallest, largest, order)
	switch {
	case alike && coded(c, values):
	case order == Doubles:
		c.values = appendPlain(c.values, values)
	default:
		c.encoding = parquet.Encodings.DeltaBinaryPacked
		c.values = appendDelta(c.values, values)
	}
}

// coded encodes numbers with a dictionary, and reports whether it did.
func coded[V int32 | int64](c *Chunk, values []V) bool {
	if len(values) == 0 {
		return false
	}
	codes, dictionary := c.codes[:0], c.lookup.start()
	last, code := values[0], dictionary.code(unsigned(values[0]))
	for _, v := range values {
		if v != last {
			if code = dictionary.code(unsigned(v)); code == lookupLimit {
				return false
			}
			last = v
		}
		codes = append(codes, code)
	}
	c.codes = codes
	words := make([]V, len(dictionary.words))
	for i, w := range dictionary.words {
		words[i] = V(w)
	}
	c.dictionary = appendPlain(c.dictionary, words)
	c.setCodes(codes, len(words))
	return true
}

// SetCodes sets values by their indices in a dictionary. Each entry of the
// dictionary is encoded with PLAIN.
func (c *Chunk) SetCodes(codes []uint32, dictionary []string) {
	c.has(len(codes))
	if len(dictionary) == 0 {
		return
	}
	for _, word := range dictionary {
		c.dictionary = append(c.dictionary, word...)
	}
	c.setCodes(codes, len(dictionary))
}

func (c *Chunk) setCodes(codes []uint32, words int) {
	c.words, c.encoding = words, parquet.Encodings.RLEDict
	width := max(bits.Len(uint(words-1)), 1)
	c.values = appendHybrid(append(c.values, byte(width)), codes, width)
}

// SetTexts sets values that are encoded with PLAIN, without a dictionary.
func (c *Chunk) SetTexts(n int, plain []byte) {
	c.has(n)
	c.values = append(c.values, plain...)
}

// longestBound is the maximum length of a text in the statistics. Texts cannot
// be shortened, since readers may use them as the smallest or largest value.
const longestBound = 256

// SetTextRange sets the smallest and the largest text.
func (c *Chunk) SetTextRange(smallest, largest string) {
	if max(len(smallest), len(largest)) <= longestBound {
		c.min, c.max = []byte(smallest), []byte(largest)
	}
}

// SetIntegerRange sets the smallest and the largest of the numbers, which are
// integers.
func SetIntegerRange[V int32 | int64](c *Chunk, values []V, order SortOrder) {
	smallest, largest := rangeOf(values, order)
	c.setRange(smallest, largest, order)
}

func (c *Chunk) setRange(smallest, largest []byte, order SortOrder) {
	c.min, c.max, c.signed = smallest, largest, order != Unsigned
}

// rangeOf returns the smallest and the largest number, encoded; nil if there
// are none.
func rangeOf[V int32 | int64](values []V, order SortOrder) (smallest, largest []byte) {
	if len(values) == 0 {
		return nil, nil
	}
	low, high := values[0], values[0]
	switch order {
	case Signed:
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
	case Unsigned:
		for _, v := range values {
			if unsigned(v) < unsigned(low) {
				low = v
			}
			if unsigned(v) > unsigned(high) {
				high = v
			}
		}
	default:
		compare := func(a, b V) int {
			return cmp.Compare(math.Float64frombits(unsigned(a)), math.Float64frombits(unsigned(b)))
		}
		low, high = slices.MinFunc(values, compare), slices.MaxFunc(values, compare)
		if math.IsNaN(math.Float64frombits(unsigned(low))) { // orders before all numbers
			return nil, nil
		}
	}
	return appendPlain(nil, []V{low}), appendPlain(nil, []V{high})
}
