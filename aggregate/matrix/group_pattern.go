package matrix

import (
	"hash/fnv"

	"github.com/mpitrace/mpitrace/profile"
)

// A fan is what members of one group sent to each member of a group: collectives,
// before they are spread over pairs. Its entry for sender a and receiver b is
//
//	each[a] × weight[b]
//
// but none for a process and itself. It takes room for its senders, where the
// entries would take senders × receivers; sums over lines, blocks and all of it
// are computed from it as it is.
type groupPattern struct {
	from, to   *group
	each       vector   // by place in from: what goes to each in to, for each unit of its weight
	weight     []uint64 // by place in to: how many processes a line of a folded matrix stands for; nil: 1 each
	higherOnly bool     // only to those of a later place than the sender's: from and to are one group
	transposed bool     // the transpose: rows are to, columns are from
}

// fanKey is equal for fans that can be added up.
type patternKey struct {
	from, to   groupKey
	higherOnly bool
	transposed bool
	weights    [16]byte // of weight
}

func (f *groupPattern) key() patternKey {
	k := patternKey{from: f.from.key, to: f.to.key, higherOnly: f.higherOnly, transposed: f.transposed}
	if f.weight != nil {
		sum := fnv.New128a()
		var b [8]byte
		for _, w := range f.weight {
			for i := range b {
				b[i] = byte(w >> (8 * i))
			}
			sum.Write(b[:])
		}
		sum.Sum(k.weights[:0])
	}
	return k
}

// weightOf is that of a place in to; ranks of other worlds have none.
func (f *groupPattern) weightOf(place int) uint64 {
	switch {
	case f.to.ranks.At(place) < 0:
		return 0
	case f.weight == nil:
		return 1
	}
	return f.weight[place]
}

// reaches tells whether the sender at a place sends to the receiver at one.
func (f *groupPattern) reaches(from, to int) bool {
	return f.from.ranks.At(from) != f.to.ranks.At(to) && (!f.higherOnly || to > from)
}

// senders goes through those that sent, by place.
func (f *groupPattern) senders(visit func(place, rank int, each Volume)) {
	f.each.settle()
	for i, at := range f.each.indices {
		if rank := f.from.ranks.At(int(at)); rank >= 0 {
			visit(int(at), rank, f.each.volumes[i])
		}
	}
}

// sent gives the sum of what each sender sent.
func (f *groupPattern) sent(visit func(rank int, v Volume)) {
	after := make([]uint64, f.to.ranks.Len()+1) // weights from a place on
	for q := f.to.ranks.Len() - 1; q >= 0; q-- {
		after[q] = after[q+1] + f.weightOf(q)
	}
	f.senders(func(p, rank int, each Volume) {
		reached := after[0]
		if f.higherOnly {
			reached = after[p+1]
		} else if q, ok := f.to.indexOf(rank); ok {
			reached -= f.weightOf(q)
		}
		visit(rank, each.times(reached))
	})
}

// received gives the sum of what reached each receiver.
func (f *groupPattern) received(visit func(rank int, v Volume)) {
	f.each.settle()
	var all Volume
	if !f.higherOnly {
		f.senders(func(_, _ int, each Volume) { all.Add(each) })
	}
	next := 0 // of each, for higher
	for q := range f.to.ranks.Len() {
		rank := f.to.ranks.At(q)
		if rank < 0 {
			continue
		}
		if f.higherOnly {
			for next < len(f.each.indices) && int(f.each.indices[next]) < q {
				if f.from.ranks.At(int(f.each.indices[next])) >= 0 {
					all.Add(f.each.volumes[next])
				}
				next++
			}
			visit(rank, all.times(f.weightOf(q)))
			continue
		}
		sum := all
		if p, ok := f.from.indexOf(rank); ok {
			if own, ok := f.each.get(int32(p)); ok {
				sum.Subtract(own)
			}
		}
		visit(rank, sum.times(f.weightOf(q)))
	}
}

// members are a group as a fan has it, with the places of ranks.
type group struct {
	ranks     profile.Group
	key       groupKey
	elsewhere int         // of a list, that are of other worlds
	indices   map[int]int // of a list, made when it is first asked for
}

// memberKey is equal for equal groups.
type groupKey struct {
	base, stride, n int
	list            [16]byte
}

// newMembers makes a list of even distances one without a list.
func newGroup(g profile.Group) *group {
	if n := g.Len(); g.List != nil {
		if even, ok := strided(g.List); ok {
			g = even
		} else {
			key := groupKey{n: n}
			sum := fnv.New128a()
			var b [4]byte
			strangers := 0
			for _, r := range g.List {
				if r < 0 {
					strangers++
				}
				b[0], b[1], b[2], b[3] = byte(r), byte(r>>8), byte(r>>16), byte(r>>24)
				sum.Write(b[:])
			}
			sum.Sum(key.list[:0])
			return &group{ranks: g, key: key, elsewhere: strangers}
		}
	}
	if g.N == 1 {
		g.Stride = 1
	}
	return &group{ranks: g, key: groupKey{base: g.Base, stride: g.Stride, n: g.N}}
}

func strided(list []int32) (profile.Group, bool) {
	if len(list) == 0 || list[0] < 0 {
		return profile.Group{}, len(list) == 0
	}
	g := profile.Group{Base: int(list[0]), Stride: 1, N: len(list)}
	if len(list) > 1 {
		g.Stride = int(list[1]) - int(list[0])
	}
	for i, r := range list {
		if int(r) != g.At(i) || r < 0 || g.Stride == 0 {
			return g, false
		}
	}
	return g, true
}

// place is where a rank is in the group.
func (m *group) indexOf(rank int) (int, bool) {
	g := m.ranks
	if g.List == nil {
		if g.Stride == 0 {
			return 0, g.N > 0 && rank == g.Base
		}
		at, rest := (rank-g.Base)/g.Stride, (rank-g.Base)%g.Stride
		return at, rest == 0 && at >= 0 && at < g.N
	}
	if m.indices == nil {
		m.indices = make(map[int]int, len(g.List))
		for i, r := range g.List {
			m.indices[int(r)] = i
		}
	}
	at, ok := m.indices[rank]
	return at, ok
}

// last is the largest rank; -1 of an empty group.
func (m *group) last() int {
	g := m.ranks
	if g.List == nil && g.N > 0 {
		return max(g.At(0), g.At(g.N-1))
	}
	most := -1
	for _, r := range g.List {
		most = max(most, int(r))
	}
	return most
}

// within tells whether all of them are in o.
func (m *group) within(o *group) bool {
	if m.key == o.key {
		return true
	}
	for i := range m.ranks.Len() {
		if rank := m.ranks.At(i); rank >= 0 {
			if _, ok := o.indexOf(rank); !ok {
				return false
			}
		}
	}
	return true
}
