package matrix

import (
	"hash/fnv"

	"github.com/mpitrace/mpitrace/profile"
)

// group is the group of a pattern, with the index of each rank.
type group struct {
	ranks     profile.Group
	key       groupKey
	elsewhere int         // members that are processes of other jobs
	indices   map[int]int // by rank; made by indexOf for groups with a list
}

// groupKey is equal for equal groups.
type groupKey struct {
	base, stride, n int
	list            [16]byte // hash of the list, if there is one
}

// newGroup returns the group with the key that any equal group has: a list of
// evenly spaced ranks becomes a group without a list.
func newGroup(g profile.Group) *group {
	if n := g.Len(); g.List != nil {
		if even, ok := strided(g.List); ok {
			g = even
		} else {
			key := groupKey{n: n}
			sum := fnv.New128a()
			var b [4]byte
			elsewhere := 0
			for _, r := range g.List {
				if r < 0 {
					elsewhere++
				}
				b[0], b[1], b[2], b[3] = byte(r), byte(r>>8), byte(r>>16), byte(r>>24)
				sum.Write(b[:])
			}
			sum.Sum(key.list[:0])
			return &group{ranks: g, key: key, elsewhere: elsewhere}
		}
	}
	if g.N == 1 {
		g.Stride = 1
	}
	return &group{ranks: g, key: groupKey{base: g.Base, stride: g.Stride, n: g.N}}
}

// strided returns a list of evenly spaced ranks as a group without a list.
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

// indexOf returns the index of a rank in the group.
func (g *group) indexOf(rank int) (int, bool) {
	r := g.ranks
	if r.List == nil {
		if r.Stride == 0 {
			return 0, r.N > 0 && rank == r.Base
		}
		i, rest := (rank-r.Base)/r.Stride, (rank-r.Base)%r.Stride
		return i, rest == 0 && i >= 0 && i < r.N
	}
	if g.indices == nil {
		g.indices = make(map[int]int, len(r.List))
		for i, rank := range r.List {
			g.indices[int(rank)] = i
		}
	}
	i, ok := g.indices[rank]
	return i, ok
}

// last returns the largest rank; -1 for an empty group.
func (g *group) last() int {
	r := g.ranks
	if r.List == nil && r.N > 0 {
		return max(r.At(0), r.At(r.N-1))
	}
	most := -1
	for _, rank := range r.List {
		most = max(most, int(rank))
	}
	return most
}

// within reports whether all ranks of the group are in o.
func (g *group) within(o *group) bool {
	if g.key == o.key {
		return true
	}
	for i := range g.ranks.Len() {
		if rank := g.ranks.At(i); rank >= 0 {
			if _, ok := o.indexOf(rank); !ok {
				return false
			}
		}
	}
	return true
}
