package matrix

import (
	"cmp"
	"math"
	"slices"
)

// Total returns the sum of all entries.
func (m *Matrix) Total() Volume {
	var sum Volume
	for _, row := range m.rows {
		sum.Add(row.sumOfAll())
	}
	for _, run := range m.runs {
		sum.Add(run.total)
	}
	for _, g := range m.patterns {
		g.sent(func(_ int, v Volume) { sum.Add(v) })
	}
	return sum
}

// AddLineSums adds the sums of the first rows, which is what each rank sent, and of as many
// columns, which is what each received.
func (m *Matrix) AddLineSums(sent, received []Volume) {
	n := len(sent)
	to := func(sums []Volume) func(int, Volume) {
		return func(rank int, v Volume) {
			if rank < n {
				sums[rank].Add(v)
			}
		}
	}
	row, column := to(sent), to(received)
	m.eachEntryRow(func(from int, entries *vector) bool {
		for i, v := range entries.volumes {
			row(from, v)
			column(int(entries.indices[i]), v)
		}
		return true
	})
	for _, g := range m.patterns {
		if g.transposed {
			row, column = column, row
		}
		g.sent(row)
		g.received(column)
		if g.transposed {
			row, column = column, row
		}
	}
}

// Rows returns the number of rows with entries that are held one by one.
func (m *Matrix) Rows() (n int) {
	m.eachEntryRow(func(int, *vector) bool {
		n++
		return true
	})
	return n
}

// Len returns the number of entries. It expands a row only if groups overlap in a way
// that leaves no other way to count.
func (m *Matrix) Len() int {
	n, _ := m.LenUpTo(math.MaxInt)
	return n
}

// LenUpTo is like Len, but may stop counting beyond most. If exact is false,
// there are at least n entries.
func (m *Matrix) LenUpTo(most int) (n int, exact bool) {
	inside, reach := map[[2]*groupPattern]bool{}, receiverCounts{}
	var mixed []int // rows that have to be expanded
	least := 0      // lower bound of their entries
	m.eachRow(func(r fullRow) bool {
		base, plain := covering(r.parts, inside)
		switch {
		case plain:
			n += base.count() + r.outside(base)
		case len(r.parts) == 1 && !r.parts[0].transposed && r.entries == nil:
			n += reach.of(r.parts[0])
		default:
			mixed = append(mixed, r.from)
			least += reach.most(r.parts)
		}
		return true
	})
	if n+least > most {
		return n + least, len(mixed) == 0
	}
	room := new(vector)
	for _, from := range mixed {
		if n > most {
			return n, false
		}
		for range m.rowAt(from).expand(room) {
			n++
		}
	}
	return n, true
}

// receiverCounts holds, for each pattern, the number of receivers from an index on.
type receiverCounts map[*groupPattern][]int32

// of returns the number of entries in a part that is not transposed.
func (r receiverCounts) of(p rowPart) int {
	after := r[p.groupPattern]
	if after == nil {
		after = make([]int32, p.to.ranks.Len()+1)
		for q := len(after) - 2; q >= 0; q-- {
			after[q] = after[q+1]
			if p.weightOf(q) > 0 {
				after[q]++
			}
		}
		r[p.groupPattern] = after
	}
	if p.higherOnly {
		return int(after[p.index+1])
	}
	n := int(after[0])
	if q, ok := p.to.indexOf(p.from.ranks.At(p.index)); ok && p.weightOf(q) > 0 {
		n--
	}
	return n
}

// most returns the number of entries of the largest part, a lower bound for the row.
func (r receiverCounts) most(parts []rowPart) int {
	n := 0
	for _, p := range parts {
		if !p.transposed {
			n = max(n, r.of(p))
		}
	}
	return n
}

// covering returns the part of a row whose columns include those of all other parts,
// if there is one that is plain: neither transposed, weighted nor higherOnly. inside
// caches whether the receivers of one pattern are among those of another.
func covering(parts []rowPart, inside map[[2]*groupPattern]bool) (rowPart, bool) {
	if len(parts) == 0 {
		return rowPart{}, true
	}
	var most rowPart
	for _, p := range parts {
		plain := !p.transposed && !p.higherOnly && p.weight == nil
		if plain && (most.groupPattern == nil || p.to.ranks.Len() > most.to.ranks.Len()) {
			most = p
		}
	}
	if most.groupPattern == nil {
		return rowPart{}, false
	}
	for _, p := range parts {
		if p.transposed {
			return rowPart{}, false
		}
		pair := [2]*groupPattern{p.groupPattern, most.groupPattern}
		is, known := inside[pair]
		if !known {
			is = p.to.within(most.to)
			inside[pair] = is
		}
		if !is {
			return rowPart{}, false
		}
	}
	return most, true
}

// count returns the number of entries in a plain part.
func (p rowPart) count() int {
	if p.groupPattern == nil {
		return 0
	}
	n := p.to.ranks.Len() - p.to.elsewhere
	if _, ok := p.to.indexOf(p.from.ranks.At(p.index)); ok {
		n--
	}
	return n
}

// outside returns the number of the row's own entries in columns that a plain
// part does not have.
func (r fullRow) outside(base rowPart) int {
	row := r.entries
	if row == nil {
		return 0
	}
	if base.groupPattern == nil {
		return len(row.indices)
	}
	n := 0
	for _, to := range row.indices {
		if _, ok := base.at(int(to)); !ok {
			n++
		}
	}
	return n
}

// Top returns the n entries with the most bytes, sorted by bytes and then by
// messages, largest first. It expands only the rows that can have such an
// entry.
func (m *Matrix) Top(n int) []Cell {
	type bound struct {
		from int
		Volume
	}
	top := make([]Cell, 0, n+1)
	room := new(vector)
	may := func(from int, most Volume) bool { // whether a row can have one of the entries
		return len(top) < n || n > 0 && compareBusy(top[n-1], Cell{Pair{from, 0}, most}) > 0
	}
	expand := func(r fullRow) {
		for to, v := range r.expand(room) {
			c := Cell{Pair{r.from, to}, v}
			if len(top) == n && compareBusy(top[n-1], c) <= 0 {
				continue
			}
			at, _ := slices.BinarySearchFunc(top, c, compareBusy)
			top = slices.Insert(top, at, c)
			top = top[:min(len(top), n)]
		}
	}
	var bounds []bound // of rows that are costly to expand
	m.eachRow(func(r fullRow) bool {
		most := r.most()
		switch {
		case !may(r.from, most):
		case len(r.parts) == 0:
			expand(r)
		default:
			bounds = append(bounds, bound{r.from, most})
		}
		return true
	})
	slices.SortFunc(bounds, func(a, b bound) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.from, b.from))
	})
	for _, b := range bounds {
		if !may(b.from, b.Volume) {
			break
		}
		expand(m.rowAt(b.from))
	}
	return top
}

// most returns an upper bound of the bytes, and of the messages, in any entry of a
// row.
func (r fullRow) most() Volume {
	var most Volume
	raise := func(v Volume) {
		most.Bytes, most.Messages = max(most.Bytes, v.Bytes), max(most.Messages, v.Messages)
	}
	if r.entries != nil {
		for _, v := range r.entries.volumes {
			raise(v)
		}
	}
	own := most
	for _, p := range r.parts {
		most = Volume{}
		if p.weight == nil && !p.transposed {
			each, _ := p.each.get(int32(p.index))
			raise(each)
		} else {
			p.cells(func(_ int, v Volume) { raise(v) })
		}
		own.Add(most)
	}
	return own
}

// compareBusy orders cells as Top does.
func compareBusy(a, b Cell) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages), a.Pair.Compare(b.Pair))
}
