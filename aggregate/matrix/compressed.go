package matrix

import (
	"iter"
	"slices"
)

// Compressed is a sparse matrix in compressed rows (CSR): the entries of row r are those
// from Start[r] to before Start[r+1]. Entry i has the value Value[i], in column Column[i].
type Compressed[V any] struct {
	Start  []int
	Column []int32
	Value  []V
}

// NewCompressed returns a matrix without rows, with room for some rows and entries.
func NewCompressed[V any](rows, entries int) Compressed[V] {
	return Compressed[V]{Start: make([]int, 1, rows+1), Column: make([]int32, 0, entries), Value: make([]V, 0, entries)}
}

// Compress returns a matrix of some rows with entries that are ordered by row.
func Compress[V any](rows, entries int, ordered iter.Seq2[Pair, V]) Compressed[V] {
	c := NewCompressed[V](rows, entries)
	for p, v := range ordered {
		for c.Len() < p.From {
			c.EndRow()
		}
		c.Append(int32(p.To), v)
	}
	for c.Len() < rows {
		c.EndRow()
	}
	return c
}

// Append adds an entry to the row that is being filled, the one after the last complete row.
func (c *Compressed[V]) Append(column int32, v V) {
	c.Column, c.Value = append(c.Column, column), append(c.Value, v)
}

// EndRow completes the row that is being filled.
func (c *Compressed[V]) EndRow() { c.Start = append(c.Start, len(c.Column)) }

// Len returns the number of complete rows.
func (c *Compressed[V]) Len() int { return len(c.Start) - 1 }

// Row returns the columns and the values of a row.
func (c *Compressed[V]) Row(row int) ([]int32, []V) {
	start, end := c.Start[row], c.Start[row+1]
	return c.Column[start:end:end], c.Value[start:end:end]
}

// Find returns the index of an entry; -1 if there is none. Columns of the row must be in
// ascending order.
func (c *Compressed[V]) Find(row, column int) int {
	start, end := c.Start[row], c.Start[row+1]
	if i, ok := slices.BinarySearch(c.Column[start:end], int32(column)); ok {
		return start + i
	}
	return -1
}
