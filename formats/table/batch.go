package table

import "math"

// batch holds the values of a column for consecutive rows, from which each encoder writes
// them. The values of texts are codes: indices into the words of a dictionary.
type batch[V uint8 | int32 | uint32 | int64 | uint64] struct {
	values  []V     // one for each row, 0 for a null
	present []uint8 // one for each row: 0 for a null, 1 otherwise; empty if the column has no nulls
	nulls   int
}

func (b *batch[V]) empty() { b.values, b.present, b.nulls = b.values[:0], b.present[:0], 0 }

// put adds the value of a row, in a column that has nulls.
func (b *batch[V]) put(v V, ok bool) {
	if !ok {
		v = 0
		b.nulls++
	}
	b.values, b.present = append(b.values, v), append(b.present, uint8(flag(ok)))
}

// has reports whether a row has a value.
func (b *batch[V]) has(row int) bool { return len(b.present) == 0 || b.present[row] != 0 }

// dense returns the values that are not null. It moves these values to the front of b.values.
func (b *batch[V]) dense() []V {
	if b.nulls == 0 {
		return b.values
	}
	n := 0
	for i, v := range b.values {
		b.values[n] = v
		n += int(b.present[i])
	}
	return b.values[:n]
}

// batchColumn collects the values of a column in a batch.
type batchColumn[T any, V uint8 | int32 | uint32 | int64 | uint64] struct {
	of  *Column[T]
	get func(T) (uint64, bool)
	batch[V]
}

func (c *batchColumn[T, V]) add(rows []T) {
	get := c.get
	if c.of.Null {
		for i := range rows {
			v, ok := get(rows[i])
			c.put(V(v), ok)
		}
		return
	}
	for i := range rows {
		v, _ := get(rows[i])
		c.values = append(c.values, V(v))
	}
}

// stored returns the function that gets the numbers of a column of numbers as binary formats store
// them. A Half is stored as a double.
func (c *Column[T]) stored() func(T) (uint64, bool) {
	if c.Type != Half {
		return c.Number
	}
	return func(row T) (uint64, bool) {
		v, ok := c.Number(row)
		return math.Float64bits(float64(v) / 2), ok
	}
}

func (c *Column[T]) isText() bool { return c.Text != nil || c.Words != nil }

// text returns the text of a row of a column of texts, if it has one.
func (c *Column[T]) text(row T) (string, bool) {
	if c.Words == nil {
		return c.Text(row)
	}
	word, ok := c.Number(row)
	if !ok {
		return "", false
	}
	return c.Words[word], true
}

// dictionary numbers the different texts of a column, in the order of their first occurrence.
type dictionary struct {
	codes map[string]uint32
	words []string // by code
	last  string   // most recent text, if there are words: consecutive rows often have the same
	code  uint32   // of last
}

func (d *dictionary) clear() {
	d.words = d.words[:0]
	clear(d.codes)
}

func (d *dictionary) codeOf(s string) uint32 {
	if s == d.last && len(d.words) > 0 {
		return d.code
	}
	code, known := d.codes[s]
	if !known {
		if d.codes == nil {
			d.codes = map[string]uint32{}
		}
		code = uint32(len(d.words))
		d.codes[s] = code
		d.words = append(d.words, s)
	}
	d.last, d.code = s, code
	return code
}

// codes returns the function that gets the codes of the texts of a column. The dictionary is that of
// the column if its words are known.
func (c *Column[T]) codes(d *dictionary) func(T) (uint64, bool) {
	if d.words = c.Words; c.Words != nil {
		return c.Number
	}
	return c.codesIn(d)
}

// codesIn returns the function that gets the codes of the texts of a column in a dictionary.
func (c *Column[T]) codesIn(d *dictionary) func(T) (uint64, bool) {
	return func(row T) (uint64, bool) {
		s, ok := c.text(row)
		if !ok {
			return 0, false
		}
		return uint64(d.codeOf(s)), true
	}
}

// listColumn collects lists of ranks.
type listColumn[T any] struct {
	of      *Column[T]
	ranks   []int32
	lengths []int
}

func (c *listColumn[T]) add(rows []T) {
	for i := range rows {
		ranks := c.of.Ranks(rows[i])
		c.lengths = append(c.lengths, len(ranks))
		for _, r := range ranks {
			c.ranks = append(c.ranks, int32(r))
		}
	}
}

func (c *listColumn[T]) empty() { c.ranks, c.lengths = c.ranks[:0], c.lengths[:0] }
