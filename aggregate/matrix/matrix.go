package matrix

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Pair is an ordered pair of world ranks: data went From one To the other.
type Pair struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Compare orders pairs by row, then by column.
func (p Pair) Compare(o Pair) int {
	return cmp.Or(cmp.Compare(p.From, o.From), cmp.Compare(p.To, o.To))
}

// Cell is an entry of a Matrix.
type Cell struct {
	Pair
	Volume
}

// Matrix is what processes sent to each other: row = where the data came from,
// column = where it went. A pair that has an entry of zeros was spoken of all
// the same. Sums are modulo 2^64. The zero value is an empty matrix.
//
// It holds entries one by one, 20 bytes each, and collectives as they are
// (fan): these become entries where All, Row and Top give them out, and nowhere
// else. It is not safe for use by several goroutines, not even for reading.
type Matrix struct {
	rows     map[int]*vector
	patterns map[patternKey]*groupPattern

	// The row that was added to last.
	last     *vector
	lastFrom int

	parts map[int][]rowPart // of each row, see partsOf; nil after a change
}

// part is a line of a fan: what a row has from it.
type rowPart struct {
	*groupPattern
	index int
}

// Add adds to one entry.
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

// fan finds the fan that is like f, or makes it one of m.
func (m *Matrix) pattern(f *groupPattern) *groupPattern {
	key := f.key()
	if known := m.patterns[key]; known != nil {
		return known
	}
	if m.patterns == nil {
		m.patterns = map[patternKey]*groupPattern{}
	}
	m.patterns[key] = f
	m.parts = nil
	return f
}

// addFan adds what f holds to the fan that is like it.
func (m *Matrix) addPattern(f *groupPattern) {
	like := *f
	like.each = vector{}
	m.pattern(&like).each.merge(&f.each)
	m.parts = nil
}

// partsOf lists what each row has from fans.
func (m *Matrix) partsOf() map[int][]rowPart {
	if m.parts == nil {
		m.parts = map[int][]rowPart{}
		for _, f := range m.patterns {
			m.addParts(f)
		}
	}
	return m.parts
}

func (m *Matrix) addParts(f *groupPattern) {
	f.each.settle()
	if !f.transposed {
		f.senders(func(place, rank int, _ Volume) { m.parts[rank] = append(m.parts[rank], rowPart{f, place}) })
		return
	}
	if len(f.each.indices) == 0 {
		return
	}
	for q := range f.to.ranks.Len() {
		if rank := f.to.ranks.At(q); rank >= 0 {
			m.parts[rank] = append(m.parts[rank], rowPart{f, q})
		}
	}
}

// cells gives the entries of one row that a part stands for.
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

// senders lists the rows that may have entries, in order.
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

// Row goes through the entries of one row by column.
func (m *Matrix) Row(from int) iter.Seq2[int, Volume] { return m.expand(from, new(vector)) }

// Column goes through the entries of one column by row.
func (m *Matrix) Column(to int) iter.Seq2[int, Volume] {
	return func(yield func(int, Volume) bool) {
		for _, from := range m.senders() {
			if v, ok := m.at(from, to); ok && !yield(from, v) {
				return
			}
		}
	}
}

// expand is Row in memory that is used again.
func (m *Matrix) expand(from int, room *vector) iter.Seq2[int, Volume] {
	row, parts := m.rows[from], m.partsOf()[from]
	if row != nil {
		row.settle()
	}
	if len(parts) > 0 {
		*room = vector{indices: room.indices[:0], volumes: room.volumes[:0]}
		for _, p := range parts {
			// Each part comes in the order of its group, mostly ascending: one is
			// appended, the next sorted in.
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

// All goes through the entries, by row and column.
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

// At is the entry of a pair, zeros where there is none.
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

// at is one entry of the row that p is a part of.
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

func (m *Matrix) Has(p Pair) bool {
	_, ok := m.at(p.From, p.To)
	return ok
}

// Empty tells whether nothing was ever added.
func (m *Matrix) Empty() bool { return len(m.rows) == 0 && len(m.patterns) == 0 }

// Size is the largest rank of any entry, plus 1; 0 without entries.
func (m *Matrix) Size() int {
	n := 0
	for from, row := range m.rows {
		row.settle()
		if k := len(row.indices); k > 0 {
			n = max(n, from+1, int(row.indices[k-1])+1)
		}
	}
	for _, f := range m.patterns {
		if len(f.each.indices) > 0 && f.to.ranks.Len() > 0 {
			n = max(n, f.from.last()+1, f.to.last()+1)
		}
	}
	return n
}

// Merge adds all entries of o.
func (m *Matrix) Merge(o *Matrix) {
	for from, row := range o.rows {
		m.row(from).merge(row)
	}
	for _, f := range o.patterns {
		m.addPattern(f)
	}
}

// DropSelf removes the diagonal: what processes sent to themselves.
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

// Restrict is the part of m whose senders and receivers are wanted.
func (m *Matrix) Restrict(sender, receiver func(rank int) bool) *Matrix {
	out := new(Matrix)
	for from, row := range m.rows {
		if !sender(from) {
			continue
		}
		row.settle()
		if kept := row.keep(receiver); len(kept.indices) > 0 {
			out.row(from).merge(kept)
		}
	}
	for _, f := range m.patterns {
		out.addPattern(f.restrict(sender, receiver))
	}
	return out
}

func (f *groupPattern) restrict(sender, receiver func(rank int) bool) *groupPattern {
	if f.transposed {
		sender, receiver = receiver, sender
	}
	out := &groupPattern{from: f.from, to: f.to, weight: f.weight, higherOnly: f.higherOnly, transposed: f.transposed}
	if kept := f.receivers(receiver); len(kept) < f.to.ranks.Len() {
		out.setReceivers(f, kept)
	}
	f.senders(func(place, rank int, each Volume) {
		if sender(rank) {
			out.each.add(int32(place), each)
		}
	})
	return out
}

// receivers are the places in to of the ranks that are wanted.
func (f *groupPattern) receivers(wanted func(rank int) bool) []int {
	var places []int
	for q := range f.to.ranks.Len() {
		if rank := f.to.ranks.At(q); rank >= 0 && wanted(rank) {
			places = append(places, q)
		}
	}
	return places
}

// leave makes f one to the receivers of whole at some places: a group of these
// alone or, where the places of others count, one in which others have no
// weight.
func (f *groupPattern) setReceivers(whole *groupPattern, places []int) {
	if f.higherOnly {
		f.weight = make([]uint64, f.to.ranks.Len())
		for _, q := range places {
			f.weight[q] = whole.weightOf(q)
		}
		return
	}
	ranks := make([]int32, len(places))
	f.weight = nil
	for i, q := range places {
		ranks[i] = int32(whole.to.ranks.At(q))
		if whole.weight != nil {
			f.weight = append(f.weight, whole.weight[q])
		}
	}
	f.to = newGroup(profile.Group{List: ranks})
}

// Symmetric is m plus its transpose: twice the mean of both directions. Its
// diagonal is twice that of m.
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
	for _, f := range m.patterns {
		turned := *f
		turned.transposed = !f.transposed
		s.addPattern(f)
		s.addPattern(&turned)
	}
	return s
}

// columns are the rows of the transpose. It settles those of m.
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
	for _, from := range slices.Sorted(maps.Keys(m.rows)) { // so that columns come in order
		row := m.rows[from]
		for i, to := range row.indices {
			out[int(to)].append(int32(from), row.volumes[i])
		}
	}
	return out
}

// MatrixClass tells apart the matrices of a job, as the lines of .prof files
// are told apart.
type Class int

const (
	All Class = iota
	External
	Internal
	OneSided
	Collective
	NumClasses

	Direct = NumClasses // External and OneSided together, which Matrices do not hold
)

var classNames = [...]string{"all", "external", "internal", "osc", "coll", "direct"}

// String is the class as file names have it.
func (c Class) String() string { return classNames[c] }

// ClassOf is the matrix that flows of a kind belong to, besides All.
func classOf(k profile.Kind) Class {
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

// Matrices are a job's, by class. Some may share their entries: they are not to
// be added to. All has the entries of the others, but for Internal where the
// rows of profiles have what the program asked for (Tally.Beside).
type ByClass [NumClasses]Matrix

// DropSelf removes the diagonals.
func (ms *ByClass) DropSelf() {
	for c := range ms {
		ms[c].DropSelf()
	}
}

// Direct is what the program sent, wrote and read, without collectives.
func (ms *ByClass) Direct() *Matrix {
	if ms[OneSided].Empty() {
		return &ms[External] // and no second copy
	}
	sum := new(Matrix)
	for _, c := range []Class{External, OneSided} {
		sum.Merge(&ms[c])
	}
	return sum
}
