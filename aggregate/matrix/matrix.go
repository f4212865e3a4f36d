// Package matrix holds the communication matrices of an MPI job: how many bytes
// and messages each world rank sent to each other one.
//
// A Builder makes matrices from profiles or from lines of .prof files, of
// everything that was sent or of what a Selection selects. Builder.Matrices
// returns one Matrix per Class. A Matrix is sparse: its size depends on the
// number of pairs that communicate, and on the number of members of
// communicators with collectives, not on its square.
package matrix

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Pair is an ordered pair of world ranks, or of lines of a folded matrix: From is
// the row, the sender of the data; To is the column, the receiver.
type Pair struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Compare orders pairs by row, then by column.
func (p Pair) Compare(o Pair) int {
	return cmp.Or(cmp.Compare(p.From, o.From), cmp.Compare(p.To, o.To))
}

// Cell is an entry of a Matrix with its position.
type Cell struct {
	Pair
	Volume
}

// Matrix holds the Volume that each rank (row) sent to each other rank (column).
// Entries may be zero: a call without data is one. Sums are modulo 2^64. The zero
// value is an empty matrix.
//
// Point-to-point entries take 20 bytes each. Collectives are group patterns, which
// become entries only where All, Row, Column and Top return them. A Matrix must not
// be used by several goroutines at once, not even for reading.
type Matrix struct {
	rows     map[int]*vector // by sender; the columns of a row are the vector's indices
	patterns map[patternKey]*groupPattern

	// last and lastFrom cache the row that Add used last, and its rank.
	last     *vector
	lastFrom int

	parts map[int][]rowPart // cache of partsOf; nil after a change
}

// rowPart is the part of a matrix row that comes from one group pattern. index is
// the row's member in the group of rows.
type rowPart struct {
	*groupPattern
	index int
}

// Add adds a volume to one entry.
func (m *Matrix) Add(p Pair, v Volume) {
	if m.last == nil || m.lastFrom != p.From {
		m.last, m.lastFrom = m.row(p.From), p.From
	}
	m.last.add(int32(p.To), v)
}

func (m *Matrix) row(from int) *vector {
	if m.rows == nil {
		m.rows = map[int]*vector{}
	}
	r := m.rows[from]
	if r == nil {
		r = new(vector)
		m.rows[from] = r
	}
	return r
}

// pattern returns the pattern of m that has the key of g; if there is none it adds g.
func (m *Matrix) pattern(g *groupPattern) *groupPattern {
	key := g.key()
	if known := m.patterns[key]; known != nil {
		return known
	}
	if m.patterns == nil {
		m.patterns = map[patternKey]*groupPattern{}
	}
	m.patterns[key] = g
	m.parts = nil
	return g
}

// addPattern adds the volumes of g to the pattern with the same key. It does not
// keep g.
func (m *Matrix) addPattern(g *groupPattern) {
	like := *g
	like.each = vector{}
	m.pattern(&like).each.merge(&g.each)
	m.parts = nil
}

// partsOf returns, for each row, its parts from group patterns.
func (m *Matrix) partsOf() map[int][]rowPart {
	if m.parts == nil {
		m.parts = map[int][]rowPart{}
		for _, g := range m.patterns {
			m.addParts(g)
		}
	}
	return m.parts
}

func (m *Matrix) addParts(g *groupPattern) {
	g.each.settle()
	if !g.transposed {
		g.senders(func(index, rank int, _ Volume) { m.parts[rank] = append(m.parts[rank], rowPart{g, index}) })
		return
	}
	if len(g.each.indices) == 0 {
		return
	}
	for q := range g.to.ranks.Len() {
		if rank := g.to.ranks.At(q); rank >= 0 {
			m.parts[rank] = append(m.parts[rank], rowPart{g, q})
		}
	}
}

// cells visits the entries of the part.
func (p rowPart) cells(visit func(to int, v Volume)) {
	if p.transposed {
		weight := p.weightOf(p.index)
		p.senders(func(from, rank int, each Volume) {
			if weight > 0 && p.reaches(from, p.index) {
				visit(rank, each.times(weight))
			}
		})
		return
	}
	each, _ := p.each.get(int32(p.index))
	for q := range p.to.ranks.Len() {
		if weight := p.weightOf(q); weight > 0 && p.reaches(p.index, q) {
			visit(p.to.ranks.At(q), each.times(weight))
		}
	}
}

// senders returns the rows that may have entries, in ascending order.
func (m *Matrix) senders() []int {
	seen := make(map[int]bool, len(m.rows))
	for from := range m.rows {
		seen[from] = true
	}
	for from := range m.partsOf() {
		seen[from] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Row iterates over the entries of one row, by column: what rank from sent.
func (m *Matrix) Row(from int) iter.Seq2[int, Volume] { return m.expand(from, new(vector)) }

// Column iterates over the entries of one column, by row: what reached rank to.
func (m *Matrix) Column(to int) iter.Seq2[int, Volume] {
	return func(yield func(int, Volume) bool) {
		for _, from := range m.senders() {
			if v, ok := m.at(from, to); ok && !yield(from, v) {
				return
			}
		}
	}
}

// expand does what Row does, but merges the parts of the row in room, which can
// be reused.
func (m *Matrix) expand(from int, room *vector) iter.Seq2[int, Volume] {
	row, parts := m.rows[from], m.partsOf()[from]
	if row != nil {
		row.settle()
	}
	if len(parts) > 0 {
		*room = vector{indices: room.indices[:0], volumes: room.volumes[:0]}
		for _, p := range parts {
			// Members of most groups are in ascending order, so the first part is only
			// appended. Each further one is sorted in.
			p.cells(func(to int, v Volume) { room.append(int32(to), v) })
			room.settle()
		}
		if row != nil {
			room.appendAll(row)
			room.settle()
		}
		row = room
	}
	return func(yield func(int, Volume) bool) {
		if row == nil {
			return
		}
		for i, to := range row.indices {
			if !yield(int(to), row.volumes[i]) {
				return
			}
		}
	}
}

// All iterates over all entries, by row, then by column.
func (m *Matrix) All() iter.Seq2[Pair, Volume] {
	return func(yield func(Pair, Volume) bool) {
		room := new(vector)
		for _, from := range m.senders() {
			for to, v := range m.expand(from, room) {
				if !yield(Pair{from, to}, v) {
					return
				}
			}
		}
	}
}

// At returns the entry of a pair; zeros if there is none.
func (m *Matrix) At(from, to int) Volume {
	v, _ := m.at(from, to)
	return v
}

func (m *Matrix) at(from, to int) (sum Volume, has bool) {
	if row := m.rows[from]; row != nil {
		row.settle()
		sum, has = row.get(int32(to))
	}
	for _, p := range m.partsOf()[from] {
		if v, ok := p.at(to); ok {
			sum.Add(v)
			has = true
		}
	}
	return sum, has
}

// at returns the part's entry in one column.
func (p rowPart) at(to int) (Volume, bool) {
	columns := p.to
	if p.transposed {
		columns = p.from
	}
	column, ok := columns.indexOf(to)
	if !ok {
		return Volume{}, false
	}
	sender, receiver := p.index, column
	if p.transposed {
		sender, receiver = column, p.index
	}
	each, ok := p.each.get(int32(sender))
	weight := p.weightOf(receiver)
	return each.times(weight), ok && weight > 0 && p.reaches(sender, receiver)
}

// Has reports whether a pair has an entry, which may be zero.
func (m *Matrix) Has(p Pair) bool {
	_, ok := m.at(p.From, p.To)
	return ok
}

// Empty reports whether nothing was ever added.
func (m *Matrix) Empty() bool { return len(m.rows) == 0 && len(m.patterns) == 0 }

// Size returns the largest rank of any entry, plus 1; 0 if there is no entry. It is
// the least n for which the matrix is n × n.
func (m *Matrix) Size() int {
	n := 0
	for from, row := range m.rows {
		row.settle()
		if k := len(row.indices); k > 0 {
			n = max(n, from+1, int(row.indices[k-1])+1)
		}
	}
	for _, g := range m.patterns {
		if len(g.each.indices) > 0 && g.to.ranks.Len() > 0 {
			n = max(n, g.from.last()+1, g.to.last()+1)
		}
	}
	return n
}

// Merge adds all entries of o, which stays as it is.
func (m *Matrix) Merge(o *Matrix) {
	for from, row := range o.rows {
		m.row(from).merge(row)
	}
	for _, g := range o.patterns {
		m.addPattern(g)
	}
}

// DropSelf removes the diagonal: what ranks sent to themselves. Group patterns have
// none.
func (m *Matrix) DropSelf() {
	for from, row := range m.rows {
		row.settle()
		m.rows[from] = row.keep(func(to int) bool { return to != from })
		if len(m.rows[from].indices) == 0 {
			delete(m.rows, from)
		}
	}
	m.last = nil
}

// Symmetric returns m plus its transpose, which is twice the mean of both
// directions. Its diagonal is twice that of m.
func (m *Matrix) Symmetric() *Matrix {
	s := &Matrix{rows: make(map[int]*vector, len(m.rows))}
	columns := m.columns()
	for to, column := range columns {
		s.rows[to] = m.rows[to].sum(column)
	}
	for from, row := range m.rows {
		if columns[from] == nil {
			s.rows[from] = row.sum(nil)
		}
	}
	for _, g := range m.patterns {
		transpose := *g
		transpose.transposed = !g.transposed
		s.addPattern(g)
		s.addPattern(&transpose)
	}
	return s
}

// columns returns the rows of the transpose of m's own entries, without group
// patterns. It sorts the rows of m.
func (m *Matrix) columns() map[int]*vector {
	length := map[int32]int{}
	for _, row := range m.rows {
		row.settle()
		for _, to := range row.indices {
			length[to]++
		}
	}
	out := make(map[int]*vector, len(length))
	for to, n := range length {
		out[int(to)] = &vector{indices: make([]int32, 0, n), volumes: make([]Volume, 0, n)}
	}
	for _, from := range slices.Sorted(maps.Keys(m.rows)) { // in order, so that columns are sorted, too
		row := m.rows[from]
		for i, to := range row.indices {
			out[int(to)].append(int32(from), row.volumes[i])
		}
	}
	return out
}
