package table

import (
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
		return &parquetFlags[T]{batchColumn: batchColumn[T, uint8]{of: c, get: c.Number}}
	case WorldRanks:
		return &parquetLists[T]{listColumn: listColumn[T]{of: c}}
	case Uint8, Int32, Uint32:
		return &parquetNumbers[T, int32]{batchColumn: batchColumn[T, int32]{of: c, get: c.Number}}
	}
	return &parquetNumbers[T, int64]{batchColumn: batchColumn[T, int64]{of: c, get: c.stored()}}
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

func orderOf(t Type) parquetfile.SortOrder {
	switch t {
	case Uint8, Uint32, Uint64:
		return parquetfile.Unsigned
	case Float64, Half:
		return parquetfile.Doubles
	}
	return parquetfile.Signed
}

// parquetNumbers writes a column of integers of 32 or 64 bits.
type parquetNumbers[T any, V int32 | int64] struct {
	batchColumn[T, V]
	chunk parquetfile.Chunk
}

func (c *parquetNumbers[T, V]) take() *parquetfile.Chunk {
	values := c.begin(&c.chunk, c.of.Null)
	parquetfile.SetIntegers(&c.chunk, values, orderOf(c.of.Type), c.of.Unlike == Alike)
	c.empty()
	return &c.chunk
}

// begin sets the nulls of a chunk, and returns the values of the other rows.
func (b *batch[V]) begin(chunk *parquetfile.Chunk, nulls bool) []V {
	chunk.Reset()
	if nulls {
		chunk.SetNulls(b.present)
	}
	return b.dense()
}

// parquetFlags has booleans.
type parquetFlags[T any] struct {
	batchColumn[T, uint8]
	chunk parquetfile.Chunk
}

func (c *parquetFlags[T]) take() *parquetfile.Chunk {
	c.chunk.SetBools(c.begin(&c.chunk, c.of.Null))
	c.empty()
	return &c.chunk
}

// parquetLists has lists of ranks.
type parquetLists[T any] struct {
	listColumn[T]
	chunk parquetfile.Chunk
}

func (c *parquetLists[T]) take() *parquetfile.Chunk {
	c.chunk.Reset()
	c.chunk.SetLists(c.lengths)
	parquetfile.SetIntegers(&c.chunk, c.ranks, parquetfile.Signed, false)
	c.empty()
	return &c.chunk
}
