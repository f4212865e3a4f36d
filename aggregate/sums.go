package aggregate

import (
	"cmp"
	"math"
	"slices"
)

// Total is the sum of all entries.
func (m *Matrix) Total() Volume {
	var sum Volume
	for _, row := range m.rows {
		for _, v := range row.volume {
			sum.plus(v)
		}
	}
	for _, f := range m.fans {
		f.sent(func(_ int, v Volume) { sum.plus(v) })
	}
	return sum
}

// Lines are the sums of the first n rows (what each sent) and columns (what
// reached it).
func (m *Matrix) Lines(n int) (sent, received []Volume) {
	sent, received = make([]Volume, n), make([]Volume, n)
	to := func(sums []Volume) func(int, Volume) {
		return func(rank int, v Volume) {
			if rank < n {
				sums[rank].plus(v)
			}
		}
	}
	row, column := to(sent), to(received)
	for from, entries := range m.rows {
		for i, v := range entries.volume {
			row(from, v)
			column(int(entries.at[i]), v)
		}
	}
	for _, f := range m.fans {
		if f.turned {
			row, column = column, row
		}
		f.sent(row)
		f.received(column)
		if f.turned {
			row, column = column, row
		}
	}
	return sent, received
}

// Len is the number of entries. It spreads a row only where groups that
// overlap leave no other way to count.
func (m *Matrix) Len() int {
	n, _ := m.LenUpTo(math.MaxInt)
	return n
}

// LenUpTo is Len, but beyond most it may stop counting, and says so: the sum is
// exact, or else there are at least so many entries.
func (m *Matrix) LenUpTo(most int) (n int, exact bool) {
	inside, reach := map[[2]*fan]bool{}, reaches{}
	var mixed []int // rows that have to be spread
	least := 0      // entries of these
	for _, from := range m.senders() {
		parts := m.partsOf()[from]
		base, plain := covering(parts, inside)
		switch {
		case plain:
			n += base.count() + m.outside(from, base)
		case len(parts) == 1 && !parts[0].turned && m.rows[from] == nil:
			n += reach.of(parts[0])
		default:
			mixed = append(mixed, from)
			least += reach.most(parts)
		}
	}
	if n+least > most {
		return n + least, len(mixed) == 0
	}
	room := new(vector)
	for _, from := range mixed {
		if n > most {
			return n, false
		}
		for range m.expand(from, room) {
			n++
		}
	}
	return n, true
}

// reaches is, of each fan, how many receivers there are from a place on.
type reaches map[*fan][]int32

// of is how many entries a row has from a part that is not turned.
func (r reaches) of(p part) int {
	after := r[p.fan]
	if after == nil {
		after = make([]int32, p.to.group.Len()+1)
		for q := len(after) - 2; q >= 0; q-- {
			after[q] = after[q+1]
			if p.weightOf(q) > 0 {
				after[q]++
			}
		}
		r[p.fan] = after
	}
	if p.higher {
		return int(after[p.place+1])
	}
	n := int(after[0])
	if q, ok := p.to.place(p.from.group.At(p.place)); ok && p.weightOf(q) > 0 {
		n--
	}
	return n
}

// most is the entries of the part that has most of them: a row has as many at
// least.
func (r reaches) most(parts []part) int {
	n := 0
	for _, p := range parts {
		if !p.turned {
			n = max(n, r.of(p))
		}
	}
	return n
}

// covering is the part that has the entries of all parts of a row, if one has
// and its size is plain. What is found out of two fans is kept in inside.
func covering(parts []part, inside map[[2]*fan]bool) (part, bool) {
	if len(parts) == 0 {
		return part{}, true
	}
	var most part
	for _, p := range parts {
		plain := !p.turned && !p.higher && p.weight == nil
		if plain && (most.fan == nil || p.to.group.Len() > most.to.group.Len()) {
			most = p
		}
	}
	if most.fan == nil {
		return part{}, false
	}
	for _, p := range parts {
		if p.turned {
			return part{}, false
		}
		pair := [2]*fan{p.fan, most.fan}
		is, known := inside[pair]
		if !known {
			is = p.to.within(most.to)
			inside[pair] = is
		}
		if !is {
			return part{}, false
		}
	}
	return most, true
}

// count is how many entries a row has from a plain part.
func (p part) count() int {
	if p.fan == nil {
		return 0
	}
	n := p.to.group.Len() - p.to.strangers
	if _, ok := p.to.place(p.from.group.At(p.place)); ok {
		n--
	}
	return n
}

// outside is how many entries of a row are not among those of a plain part.
func (m *Matrix) outside(from int, base part) int {
	row := m.rows[from]
	if row == nil {
		return 0
	}
	row.settle()
	if base.fan == nil {
		return len(row.at)
	}
	n := 0
	for _, to := range row.at {
		if _, ok := base.at(int(to)); !ok {
			n++
		}
	}
	return n
}

// Top are the n entries with the most bytes, then messages. Rows are spread
// only as long as one may have such an entry.
func (m *Matrix) Top(n int) []Cell {
	type bound struct {
		from int
		Volume
	}
	var bounds []bound
	for _, from := range m.senders() {
		bounds = append(bounds, bound{from, m.most(from)})
	}
	slices.SortFunc(bounds, func(a, b bound) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.from, b.from))
	})
	top := make([]Cell, 0, n+1)
	room := new(vector)
	for _, b := range bounds {
		if len(top) == n && (n == 0 || compareBusy(top[n-1], Cell{Pair{b.from, 0}, b.Volume}) <= 0) {
			break
		}
		for to, v := range m.expand(b.from, room) {
			c := Cell{Pair{b.from, to}, v}
			if len(top) == n && compareBusy(top[n-1], c) <= 0 {
				continue
			}
			at, _ := slices.BinarySearchFunc(top, c, compareBusy)
			top = slices.Insert(top, at, c)
			top = top[:min(len(top), n)]
		}
	}
	return top
}

// most is a bound of the entries of a row: none has more bytes, or more
// messages.
func (m *Matrix) most(from int) Volume {
	var most Volume
	raise := func(v Volume) {
		most.Bytes, most.Messages = max(most.Bytes, v.Bytes), max(most.Messages, v.Messages)
	}
	if row := m.rows[from]; row != nil {
		for _, v := range row.volume {
			raise(v)
		}
	}
	own := most
	for _, p := range m.partsOf()[from] {
		most = Volume{}
		if p.weight == nil && !p.turned {
			each, _ := p.each.get(int32(p.place))
			raise(each)
		} else {
			p.cells(func(_ int, v Volume) { raise(v) })
		}
		own.plus(most)
	}
	return own
}

func compareBusy(a, b Cell) int {
	return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages), a.Pair.Compare(b.Pair))
}
