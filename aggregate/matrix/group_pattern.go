package matrix

import (
	"hash/fnv"
)

// A groupPattern holds traffic from members of one group to each member of
// another, often the same, group: collectives before they are spread over
// pairs. Its entry for the sender at index a of from and the receiver at index
// b of to is
//
//	each[a] × weight[b]
//
// A rank has no entry with itself. A pattern takes memory for its senders only;
// its entries would take senders × receivers. Sums over lines, blocks and the
// whole matrix are computed without spreading it.
type groupPattern struct {
	from, to   *group
	each       vector   // by index in from: what goes to a receiver of weight 1
	weight     []uint64 // by index in to: how many ranks a line of a folded matrix has; nil means 1 for all
	higherOnly bool     // only to receivers of a higher index than the sender's, as in MPI_Scan; from and to are one group
	transposed bool     // rows are the members of to, columns those of from
}

// patternKey is equal for patterns whose volumes can be added up.
type patternKey struct {
	from, to   groupKey
	higherOnly bool
	transposed bool
	weights    [16]byte // hash of weight
}

func (g *groupPattern) key() patternKey {
	k := patternKey{from: g.from.key, to: g.to.key, higherOnly: g.higherOnly, transposed: g.transposed}
	if g.weight != nil {
		sum := fnv.New128a()
		var b [8]byte
		for _, w := range g.weight {
			for i := range b {
				b[i] = byte(w >> (8 * i))
			}
			sum.Write(b[:])
		}
		sum.Sum(k.weights[:0])
	}
	return k
}

// weightOf returns the weight of the receiver at an index; 0 for processes of other
// jobs.
func (g *groupPattern) weightOf(index int) uint64 {
	switch {
	case g.to.ranks.At(index) < 0:
		return 0
	case g.weight == nil:
		return 1
	}
	return g.weight[index]
}

// reaches reports whether the sender at one index sends to the receiver at another.
func (g *groupPattern) reaches(from, to int) bool {
	return g.from.ranks.At(from) != g.to.ranks.At(to) && (!g.higherOnly || to > from)
}

// senders visits the members that sent, by index. Processes of other jobs are left
// out.
func (g *groupPattern) senders(visit func(index, rank int, each Volume)) {
	g.each.settle()
	for i, at := range g.each.indices {
		if rank := g.from.ranks.At(int(at)); rank >= 0 {
			visit(int(at), rank, g.each.volumes[i])
		}
	}
}

// sent visits each sender with the sum of its entries.
func (g *groupPattern) sent(visit func(rank int, v Volume)) {
	after := make([]uint64, g.to.ranks.Len()+1) // sum of the weights from an index on
	for q := g.to.ranks.Len() - 1; q >= 0; q-- {
		after[q] = after[q+1] + g.weightOf(q)
	}
	g.senders(func(p, rank int, each Volume) {
		reached := after[0]
		if g.higherOnly {
			reached = after[p+1]
		} else if q, ok := g.to.indexOf(rank); ok {
			reached -= g.weightOf(q)
		}
		visit(rank, each.times(reached))
	})
}

// received visits each receiver with the sum of its entries.
func (g *groupPattern) received(visit func(rank int, v Volume)) {
	g.each.settle()
	var all Volume
	if !g.higherOnly {
		g.senders(func(_, _ int, each Volume) { all.Add(each) })
	}
	next := 0 // entry of each, for higherOnly
	for q := range g.to.ranks.Len() {
		rank := g.to.ranks.At(q)
		if rank < 0 {
			continue
		}
		if g.higherOnly {
			for next < len(g.each.indices) && int(g.each.indices[next]) < q {
				if g.from.ranks.At(int(g.each.indices[next])) >= 0 {
					all.Add(g.each.volumes[next])
				}
				next++
			}
			visit(rank, all.times(g.weightOf(q)))
			continue
		}
		sum := all
		if p, ok := g.from.indexOf(rank); ok {
			if own, ok := g.each.get(int32(p)); ok {
				sum.Subtract(own)
			}
		}
		visit(rank, sum.times(g.weightOf(q)))
	}
}
