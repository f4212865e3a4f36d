package aggregate

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Pair is an ordered pair of world ranks: data went From one To the other.
type Pair struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Volume is what went from one process to another.
type Volume struct {
	Bytes    uint64 `json:"bytes"`
	Messages uint64 `json:"messages"`
}

// Cell is an entry of a Matrix.
type Cell struct {
	Pair
	Volume
}

// Matrix is a sparse matrix of what processes sent to each other: row = where
// the data came from, column = where it went. A pair that has an entry of
// zeros was spoken of all the same. Sums are modulo 2^64. The zero value is an
// empty matrix.
//
// Entries are kept in pages of some columns of a row: collectives on many ranks
// fill all of the matrix, for 25 bytes an entry (BenchmarkMatrices), and ranks
// with a few neighbours each take a few pages each.
type Matrix struct {
	pages map[pageKey]*page
	len   int

	// The page that was added to last: collectives go through a row in order.
	last    *page
	lastKey pageKey
}

const pageColumns = 16

type pageKey struct{ from, column int } // column / pageColumns

type page struct {
	has   uint16 // bit i: there is an entry i
	cells [pageColumns]Volume
}

// Add adds to one entry.
func (m *Matrix) Add(p Pair, v Volume) {
	key := pageKey{p.From, p.To / pageColumns}
	if m.last == nil || m.lastKey != key {
		m.last, m.lastKey = m.page(key), key
	}
	i := p.To % pageColumns
	if m.last.has&(1<<i) == 0 {
		m.last.has |= 1 << i
		m.len++
	}
	m.last.cells[i].Bytes += v.Bytes
	m.last.cells[i].Messages += v.Messages
}

func (m *Matrix) page(key pageKey) *page {
	if m.pages == nil {
		m.pages = map[pageKey]*page{}
	}
	p := m.pages[key]
	if p == nil {
		p = new(page)
		m.pages[key] = p
	}
	return p
}

// At is the entry of a pair, zeros where there is none.
func (m *Matrix) At(from, to int) Volume {
	if p := m.pages[pageKey{from, to / pageColumns}]; p != nil {
		return p.cells[to%pageColumns]
	}
	return Volume{}
}

func (m *Matrix) has(p Pair) bool {
	page := m.pages[pageKey{p.From, p.To / pageColumns}]
	return page != nil && page.has&(1<<(p.To%pageColumns)) != 0
}

// Len is the number of entries.
func (m *Matrix) Len() int { return m.len }

// Size is the largest rank of any entry, plus 1; 0 without entries.
func (m *Matrix) Size() int {
	n := 0
	for key, p := range m.pages {
		if p.has != 0 {
			n = max(n, key.from+1, key.column*pageColumns+bits.Len16(p.has))
		}
	}
	return n
}

// All goes through the entries, by row and column.
func (m *Matrix) All() iter.Seq2[Pair, Volume] {
	return func(yield func(Pair, Volume) bool) {
		keys := slices.SortedFunc(maps.Keys(m.pages), func(a, b pageKey) int {
			return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.column, b.column))
		})
		for _, key := range keys {
			p := m.pages[key]
			for i := range p.cells {
				if p.has&(1<<i) != 0 && !yield(Pair{key.from, key.column*pageColumns + i}, p.cells[i]) {
					return
				}
			}
		}
	}
}

func comparePairs(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// Merge adds all entries of o.
func (m *Matrix) Merge(o *Matrix) {
	for p, v := range o.All() {
		m.Add(p, v)
	}
}

// DropSelf removes the diagonal: what processes sent to themselves.
func (m *Matrix) DropSelf() {
	for key, p := range m.pages {
		i := key.from - key.column*pageColumns
		if i >= 0 && i < pageColumns && p.has&(1<<i) != 0 {
			p.has &^= 1 << i
			p.cells[i] = Volume{}
			m.len--
		}
	}
}

// Total is the sum of all entries.
func (m *Matrix) Total() Volume {
	var sum Volume
	for _, v := range m.All() {
		sum.Bytes += v.Bytes
		sum.Messages += v.Messages
	}
	return sum
}

// Symmetric is m plus its transpose: twice the mean of both directions. Its
// diagonal is twice that of m.
func (m *Matrix) Symmetric() *Matrix {
	s := new(Matrix)
	for p, v := range m.All() {
		s.Add(p, v)
		s.Add(Pair{p.To, p.From}, v)
	}
	return s
}

// MatrixClass tells apart the matrices of a job, as the lines of .prof files
// are told apart.
type MatrixClass int

const (
	All MatrixClass = iota
	External
	Internal
	OneSided
	Collective
	NumMatrixClasses
)

var matrixClassNames = [NumMatrixClasses]string{"all", "external", "internal", "osc", "coll"}

// String is the class as file names have it.
func (c MatrixClass) String() string { return matrixClassNames[c] }

// ClassOf is the matrix that flows of a kind belong to, besides All.
func ClassOf(k profile.Kind) MatrixClass {
	switch k {
	case profile.External:
		return External
	case profile.Internal:
		return Internal
	case profile.RemoteRead, profile.RemoteWrite:
		return OneSided
	}
	return Collective
}

// Matrices are a job's, by class.
type Matrices [NumMatrixClasses]Matrix

// Add adds a flow to the matrix of its class and to that of all. A remote read
// is turned round: its data goes from the target to the one who reads. Flows
// from or to what is no rank of this job are left out.
func (ms *Matrices) Add(f profile.Flow) {
	if f.From < 0 || f.To < 0 {
		return
	}
	p := Pair{f.From, f.To}
	if f.Kind == profile.RemoteRead {
		p = Pair{f.To, f.From}
	}
	v := Volume{f.Bytes, f.Messages}
	ms[All].Add(p, v)
	ms[ClassOf(f.Kind)].Add(p, v)
}

// Merge adds the entries of o, class by class.
func (ms *Matrices) Merge(o *Matrices) {
	for c := range ms {
		ms[c].Merge(&o[c])
	}
}

// DropSelf removes the diagonals.
func (ms *Matrices) DropSelf() {
	for c := range ms {
		ms[c].DropSelf()
	}
}
