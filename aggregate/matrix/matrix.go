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
	"math"
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
// become entries only where All, Row, Column and Top return them. With a Scratch, entries
// beyond a budget of memory are in a file. A Matrix must not
// be used by several goroutines at once, not even for reading.
type Matrix struct {
	rows     map[int]*vector // by sender; the columns of a row are the vector's indices
	patterns map[patternKey]*groupPattern

	scratch *Scratch     // nil if all entries stay in memory
	runs    []*sortedRun // entries in the file; those of a pair may be in several runs, and in rows
	held    int          // estimate of the memory of rows, in bytes
	spare   []*vector    // empty rows, whose memory row uses again

	// last and lastFrom cache the row that Add used last, and its rank.
	last     *vector
	lastFrom int

	parts *partIndex // cache of index; nil after a change
	like  *Matrix    // matrix that has the same patterns, whose index is used; nil if there is none
}

// rowPart is the part of a matrix row that comes from one group pattern. index is
// the row's member in the group of rows.
type rowPart struct {
	*groupPattern
	index int
}

// Spill makes the empty matrix keep entries that need more memory than the budget of a
// Scratch in its file.
func (m *Matrix) Spill(s *Scratch) { m.scratch = s }

// Settle prepares a matrix without group patterns to be read by several goroutines at once.
func (m *Matrix) Settle() {
	for _, row := range m.rows {
		row.settle()
	}
	m.index()
}

// Add adds a volume to one entry.
func (m *Matrix) Add(p Pair, v Volume) {
	if m.last == nil || m.lastFrom != p.From {
		m.last, m.lastFrom = m.row(p.From), p.From
	}
	before := len(m.last.indices)
	m.last.add(int32(p.To), v)
	m.held += entryMemory * (len(m.last.indices) - before)
	if m.scratch != nil && m.held > m.scratch.budget {
		m.spill()
	}
}

func (m *Matrix) row(from int) *vector {
	if m.rows == nil {
		m.rows = map[int]*vector{}
	}
	r := m.rows[from]
	if r != nil {
		return r
	}
	if n := len(m.spare); n > 0 {
		r, m.spare = m.spare[n-1], m.spare[:n-1]
	} else {
		r = new(vector)
	}
	m.rows[from] = r
	m.held += rowMemory
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

// partIndex holds the parts of all rows from group patterns: those of rows[i] are parts[k]
// for start[i] <= k < start[i+1].
type partIndex struct {
	rows     []int32 // in ascending order
	start    []int32
	parts    []packedPart
	patterns []*groupPattern
	room     []rowPart // memory for the result of `of`, valid until its next call
}

// packedPart is a rowPart in half of its memory.
type packedPart struct{ pattern, index int32 }

// at returns the index of a row in rows.
func (x *partIndex) at(row int) (int, bool) {
	if row >= 0 && row < len(x.rows) && int(x.rows[row]) == row { // all ranks have parts
		return row, true
	}
	return slices.BinarySearchFunc(x.rows, row, func(r int32, row int) int { return cmp.Compare(int(r), row) })
}

// of returns the parts of rows[i]. They are valid until the next call.
func (x *partIndex) of(i int) []rowPart {
	x.room = x.room[:0]
	for _, p := range x.parts[x.start[i]:x.start[i+1]] {
		x.room = append(x.room, rowPart{x.patterns[p.pattern], int(p.index)})
	}
	return x.room
}

// index returns the parts of all rows.
func (m *Matrix) index() *partIndex {
	if m.like != nil {
		return m.like.index()
	}
	if m.parts == nil {
		m.parts = m.indexParts()
	}
	return m.parts
}

// partsOf returns the parts of a row. They are valid until the next call, or until the next
// row is visited.
func (m *Matrix) partsOf(row int) []rowPart {
	x := m.index()
	if i, ok := x.at(row); ok {
		return x.of(i)
	}
	return nil
}

func (m *Matrix) indexParts() *partIndex {
	x := new(partIndex)
	for _, g := range m.patterns {
		g.each.settle()
		x.patterns = append(x.patterns, g)
	}
	x.eachPart(func(row int, _ packedPart) { x.rows = append(x.rows, int32(row)) })
	slices.Sort(x.rows)
	n := len(x.rows)
	x.rows = slices.Clone(slices.Compact(x.rows))
	x.start, x.parts = make([]int32, len(x.rows)+1), make([]packedPart, n)
	x.eachPart(func(row int, _ packedPart) {
		i, _ := x.at(row)
		x.start[i+1]++
	})
	for i := range x.rows {
		x.start[i+1] += x.start[i]
	}
	next := slices.Clone(x.start)
	x.eachPart(func(row int, p packedPart) {
		i, _ := x.at(row)
		x.parts[next[i]] = p
		next[i]++
	})
	return x
}

// eachPart visits the parts of all rows.
func (x *partIndex) eachPart(visit func(row int, p packedPart)) {
	for k, g := range x.patterns {
		switch {
		case !g.transposed:
			g.senders(func(index, rank int, _ Volume) { visit(rank, packedPart{int32(k), int32(index)}) })
		case len(g.each.indices) > 0:
			for q := range g.to.ranks.Len() {
				if rank := g.to.ranks.At(q); rank >= 0 {
					visit(rank, packedPart{int32(k), int32(q)})
				}
			}
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

// fullRow is a row with its entries and its parts from group patterns, which are valid until
// another row is read.
type fullRow struct {
	from    int
	entries *vector // settled; nil if there are none
	parts   []rowPart
}

// eachRow visits the rows that may have entries, in ascending order, until visit returns
// false. The entries are valid until visit returns.
func (m *Matrix) eachRow(visit func(fullRow) bool) {
	x := m.index()
	next, more := 0, true // index of the next row with parts
	parted := func(before int) {
		for ; more && next < len(x.rows) && int(x.rows[next]) < before; next++ {
			more = visit(fullRow{int(x.rows[next]), nil, x.of(next)})
		}
	}
	m.eachEntryRow(func(from int, row *vector) bool {
		if parted(from); !more {
			return false
		}
		r := fullRow{from, row, nil}
		if next < len(x.rows) && int(x.rows[next]) == from {
			r.parts = x.of(next)
			next++
		}
		more = visit(r)
		return more
	})
	parted(math.MaxInt)
}

// rowAt returns one row.
func (m *Matrix) rowAt(from int) fullRow { return fullRow{from, m.entryRow(from), m.partsOf(from)} }

// Row iterates over the entries of one row, by column: what rank from sent.
func (m *Matrix) Row(from int) iter.Seq2[int, Volume] { return m.rowAt(from).expand(new(vector)) }

// Column iterates over the entries of one column, by row: what reached rank to.
func (m *Matrix) Column(to int) iter.Seq2[int, Volume] {
	return func(yield func(int, Volume) bool) {
		m.eachRow(func(r fullRow) bool {
			v, ok := r.at(to)
			return !ok || yield(r.from, v)
		})
	}
}

// expand iterates over the entries of the row. It merges its parts in room, which can be
// reused.
func (r fullRow) expand(room *vector) iter.Seq2[int, Volume] {
	return func(yield func(int, Volume) bool) {
		row := r.sum(room)
		for i, to := range row.indices {
			if !yield(int(to), row.volumes[i]) {
				return
			}
		}
	}
}

// sum returns the entries of the row, merged with its parts in room. They must not be
// changed.
func (r fullRow) sum(room *vector) *vector {
	if len(r.parts) == 0 && r.entries != nil {
		return r.entries
	}
	room.clear()
	for _, p := range r.parts {
		// Members of most groups are in ascending order, so the first part is only
		// appended. Each further one is sorted in.
		p.cells(func(to int, v Volume) { room.append(int32(to), v) })
		room.settle()
	}
	if r.entries != nil {
		room.appendAll(r.entries)
		room.settle()
	}
	return room
}

// All iterates over all entries, by row, then by column.
func (m *Matrix) All() iter.Seq2[Pair, Volume] {
	return func(yield func(Pair, Volume) bool) {
		room := new(vector)
		m.eachRow(func(r fullRow) bool {
			for to, v := range r.expand(room) {
				if !yield(Pair{r.from, to}, v) {
					return false
				}
			}
			return true
		})
	}
}

// At returns the entry of a pair; zeros if there is none.
func (m *Matrix) At(from, to int) Volume {
	v, _ := m.rowAt(from).at(to)
	return v
}

func (r fullRow) at(to int) (sum Volume, has bool) {
	if r.entries != nil {
		sum, has = r.entries.get(int32(to))
	}
	for _, p := range r.parts {
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

// Empty reports whether nothing was ever added.
func (m *Matrix) Empty() bool { return len(m.rows) == 0 && len(m.patterns) == 0 && len(m.runs) == 0 }

// Size returns the largest rank of any entry, plus 1; 0 if there is no entry. It is
// the least n for which the matrix is n × n.
func (m *Matrix) Size() int {
	n := 0
	for from, row := range m.rows {
		row.settle()
		n = max(n, row.size(from))
	}
	for _, run := range m.runs {
		n = max(n, run.size)
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
	m.mergeEntries(o)
	for _, g := range o.patterns {
		m.addPattern(g)
	}
}

func (m *Matrix) mergeEntries(o *Matrix) {
	if m.scratch == nil {
		m.scratch = o.scratch
	}
	m.runs = append(m.runs, o.runs...)
	m.spare = nil // matrices are merged when nothing more is added
	for from, row := range o.rows {
		m.row(from).merge(row)
		m.held += entryMemory * len(row.indices)
	}
	if m.last = nil; m.scratch != nil && m.held > m.scratch.budget {
		m.spill()
	}
}

// DropSelf removes the diagonal: what ranks sent to themselves. Group patterns have
// none.
func (m *Matrix) DropSelf() {
	others := m.entriesIf(func(from, to int) bool { return from != to })
	others.patterns, others.like = m.patterns, m.like
	*m = *others
}

// Symmetric returns m plus its transpose, which is twice the mean of both
// directions. Its diagonal is twice that of m.
func (m *Matrix) Symmetric() *Matrix {
	s := &Matrix{scratch: m.scratch}
	for p, v := range m.Entries() {
		s.Add(p, v)
		s.Add(Pair{p.To, p.From}, v)
	}
	for _, g := range m.patterns {
		transpose := *g
		transpose.transposed = !g.transposed
		s.addPattern(g)
		s.addPattern(&transpose)
	}
	return s
}
