package patterns

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// ofCollectives returns which part of the matrix of collectives is all-to-all.
func ofCollectives(m *matrix.Matrix, ranks int) Part {
	p := newParts(m, ranks)
	p.allToAll(m)
	p.part.Total.Add(m.GroupsOnly().Total())
	bySize := map[[2]int]*Component{} // size and stride
	groups := m.Groups()
	slices.SortFunc(groups, func(a, b matrix.GroupTraffic) int { return slices.Compare(a.Senders, b.Senders) })
	for i := range groups {
		g := &groups[i]
		if !exchanges(g) {
			continue
		}
		levelEach(g)
		v := volumeOf(g)
		if v.Bytes == 0 {
			continue
		}
		key := [2]int{len(g.Senders), strideOf(g.Senders)}
		if bySize[key] == nil {
			bySize[key] = &Component{Kind: AllToAll, Size: key[0], Stride: key[1]}
		}
		bySize[key].Groups++
		bySize[key].Volume.Add(v)
	}
	p.byMessages = p.part.Total.Bytes == 0
	for _, c := range bySize {
		p.add(*c)
	}
	slices.SortFunc(p.part.Components, func(a, b Component) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Stride, b.Stride))
	})
	p.merge()
	return p.finish()
}

// merge adds up irregular and regular all-to-all of all ranks.
func (p *parts) merge() {
	c := p.part.Components
	for len(c) > 1 && c[0].Kind == AllToAll && c[1].Kind == AllToAll && c[0].Size == c[1].Size && c[0].Stride == c[1].Stride {
		c[0].Volume.Add(c[1].Volume)
		c = slices.Delete(c, 1, 2)
	}
	p.part.Components = c
}

// exchanges reports whether each member sends to each other one.
func exchanges(g *matrix.GroupTraffic) bool {
	if g.Index != nil || len(g.Senders) < 2 || len(g.Senders) != len(g.Receivers) {
		return false
	}
	a, b := slices.Clone(g.Senders), slices.Clone(g.Receivers)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// levelEach gives each sender of a group the least volume of any if many have it: the
// others are roots of an MPI_Bcast, for example, on the same communicator.
func levelEach(g *matrix.GroupTraffic) {
	least, count := g.Each[0], 0
	for _, v := range g.Each {
		if c := compareVolumes(v, least); c < 0 {
			least, count = v, 1
		} else if c == 0 {
			count++
		}
	}
	for i, v := range g.Each {
		if uniformDense*count >= len(g.Each) {
			g.Each[i] = minus(v, minus(v, least))
		}
	}
}

// strideOf returns how far apart ranks are; 0 if this differs.
func strideOf(ranks []int32) int {
	sorted := slices.Sorted(slices.Values(ranks))
	stride := sorted[1] - sorted[0]
	for i := range sorted[1:] {
		if sorted[i+1]-sorted[i] != stride {
			return 0
		}
	}
	return int(stride)
}

// volumeOf returns the sum of what the members of a group send to each other.
func volumeOf(g *matrix.GroupTraffic) (sum matrix.Volume) {
	var all uint64 // weights
	weight := make(map[int32]uint64, len(g.Receivers))
	for q, rank := range g.Receivers {
		weight[rank] = g.Weight[q]
		all += g.Weight[q]
	}
	for i, each := range g.Each {
		reached := all - weight[g.Senders[i]]
		sum.Add(matrix.Volume{Bytes: each.Bytes * reached, Messages: each.Messages * reached})
	}
	return sum
}
