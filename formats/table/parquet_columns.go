package table

import (
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/formats/parquetfile"
)

// parquetColumn collects the values of a column for a row group.
type parquetColumn interface {
	take() *parquetfile.Chunk // returns the values and discards them; valid until the next take
}

// rowColumn is a column that has a value for each row.
type rowColumn[T any] interface {
	parquetColumn
	add(rows []T)
}

func (t *ParquetWriter[T]) addColumn(c *Column[T]) {
	if c.PerKind && t.kinds.of != nil {
		coded := newCodedColumn(c)
		coded.kinds = &t.kinds
		t.kinds.cols = append(t.kinds.cols, coded)
		t.cols = append(t.cols, coded)
		return
	}
	column := newRowColumn(c)
	t.perRow, t.cols = append(t.perRow, column), append(t.cols, column)
}

func newRowColumn[T any](c *Column[T]) rowColumn[T] {
	switch c.Type {
	case Word, ShortWord, Text:
		return newCodedColumn(c)
	case Bool:
		return &flagColumn[T]{of: c}
	case WorldRanks:
		return &listColumn[T]{of: c}
	case Uint8, Int32, Uint32:
		return &integerColumn[T, int32]{of: c}
	}
	return &integerColumn[T, int64]{of: c}
}

// kinds has the kinds of the rows of a row group. The number of a kind is base
// plus the number that the rows have.
type kinds[T any] struct {
	of    func(T) int // nil if there are no kinds
	cols  []*codedColumn[T]
	base  int
	known []bool   // kinds whose values the columns have, by number
	rows  []uint32 // numbers of the rows' kinds
}

func (k *kinds[T]) add(rows []T) {
	if k.of == nil {
		return
	}
	for i := range rows {
		kind := k.base + k.of(rows[i])
		if kind >= len(k.known) || !k.known[kind] {
			k.learn(kind, rows[i])
		}
		k.rows = append(k.rows, uint32(kind))
	}
}

func (k *kinds[T]) learn(kind int, row T) {
	k.known = resized(k.known, kind+1)
	k.known[kind] = true
	for _, c := range k.cols {
		c.ofKind = resized(c.ofKind, kind+1)
		c.ofKind[kind] = c.value(row)
	}
}

// resized returns s with at least n elements.
func resized[V any](s []V, n int) []V {
	if n <= len(s) {
		return s
	}
	return append(s, make([]V, n-len(s))...)
}

// forget discards the rows of the group, and the kinds of earlier numberings.
func (k *kinds[T]) forget() {
	k.rows = k.rows[:0]
	k.known = slices.Delete(k.known, 0, k.base)
	for _, c := range k.cols {
		c.ofKind = slices.Delete(c.ofKind, 0, min(k.base, len(c.ofKind)))
	}
	k.base = 0
}

// half returns the bits of n/2 as a double.
func half(n uint64) uint64 { return math.Float64bits(float64(n) / 2) }

// parquetNumber returns the number of a row as Parquet stores it.
func (c *Column[T]) parquetNumber(row T) (uint64, bool) {
	v, ok := c.Number(row)
	if c.Type == Half {
		v = half(v)
	}
	return v, ok
}

func orderOf(t Type) parquetfile.SortOrder {
	switch t {
	case Uint8, Uint32, Uint64:
		return parquetfile.Unsigned
	case Float64, Half:
		return parquetfile.Doubles
	}
	return parquetfile.Signed
}

// integerColumn has numbers of 32 or 64 bits.
type integerColumn[T any, V int32 | int64] struct {
	of      *Column[T]
	values  []V
	present []uint8 // 1 for a value, 0 for a null, if the column has nulls
	chunk   parquetfile.Chunk
}

func (c *integerColumn[T, V]) add(rows []T) {
	get, nulls := c.of.Number, c.of.Null
	if c.of.Type == Half {
		get = c.of.parquetNumber
	}
	for i := range rows {
		v, ok := get(rows[i])
		if ok {
			c.values = append(c.values, V(v))
		}
		if nulls {
			c.present = append(c.present, uint8(flag(ok)))
		}
	}
}

func (c *integerColumn[T, V]) take() *parquetfile.Chunk {
	c.chunk.Reset()
	if c.of.Null {
		c.chunk.SetNulls(c.present)
	}
	parquetfile.SetIntegers(&c.chunk, c.values, orderOf(c.of.Type), c.of.Unlike == Alike)
	c.values, c.present = c.values[:0], c.present[:0]
	return &c.chunk
}

// flagColumn has booleans.
type flagColumn[T any] struct {
	of              *Column[T]
	values, present []uint8
	chunk           parquetfile.Chunk
}

func (c *flagColumn[T]) add(rows []T) {
	for i := range rows {
		v, ok := c.of.Number(rows[i])
		if ok {
			c.values = append(c.values, uint8(v))
		}
		c.present = append(c.present, uint8(flag(ok)))
	}
}

func (c *flagColumn[T]) take() *parquetfile.Chunk {
	c.chunk.Reset()
	if c.of.Null {
		c.chunk.SetNulls(c.present)
	}
	c.chunk.SetBools(c.values)
	c.values, c.present = c.values[:0], c.present[:0]
	return &c.chunk
}

// listColumn has lists of ranks.
type listColumn[T any] struct {
	of      *Column[T]
	ranks   []int32
	lengths []int
	chunk   parquetfile.Chunk
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

func (c *listColumn[T]) take() *parquetfile.Chunk {
	c.chunk.Reset()
	c.chunk.SetLists(c.lengths)
	parquetfile.SetIntegers(&c.chunk, c.ranks, parquetfile.Signed, false)
	c.ranks, c.lengths = c.ranks[:0], c.lengths[:0]
	return &c.chunk
}
