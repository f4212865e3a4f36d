package patterns

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// classSum is what is known about a class of pairs of a component from the pairs that
// are in no other component.
type classSum struct {
	pairs int
	votes int           // of the majority vote
	usual matrix.Volume // the volume that most pairs have, if most have one
	same  int           // pairs that have it
	sum   matrix.Volume // attributed to the class
}

// uniform reports whether most pairs have the usual volume.
func (c *classSum) uniform() bool { return c.pairs > 0 && 2*c.same >= c.pairs }

// pairClass says that a pair is in a class of a component.
type pairClass struct {
	pair      int
	component int
	class     int
}

// attribute adds the components with what each explains. A pair in one component is all
// of it. Of a pair in several components, each takes the volume that its class usually
// has, as known from pairs in one component, and one of which this is not known takes
// the rest.
func (g *graph) attribute() {
	sums, shared := g.sums()
	slices.SortFunc(shared, func(a, b pairClass) int {
		return cmp.Or(cmp.Compare(a.pair, b.pair), cmp.Compare(a.component, b.component))
	})
	for len(shared) > 0 {
		n := 1
		for n < len(shared) && shared[n].pair == shared[0].pair {
			n++
		}
		split(g.Value[shared[0].pair], shared[:n], sums)
		shared = shared[n:]
	}
	g.addFound(sums)
}

// sums returns what is known about the classes of the components, and the pairs that are
// in several components.
func (g *graph) sums() (sums [][]classSum, shared []pairClass) {
	for _, s := range g.found {
		sums = append(sums, make([]classSum, s.classes()))
	}
	g.visit(func(m pairClass, alone bool) {
		if s := &sums[m.component][m.class]; alone {
			s.vote(g.Value[m.pair])
		}
	})
	g.visit(func(m pairClass, alone bool) {
		s := &sums[m.component][m.class]
		if !alone {
			shared = append(shared, m)
			return
		}
		if g.Value[m.pair] == s.usual {
			s.same++
		}
		s.sum.Add(g.Value[m.pair])
	})
	return sums, shared
}

// deviations counts the pairs that have another volume than is usual in their class.
func (g *graph) deviations() (n int) {
	sums, _ := g.sums()
	for c := range sums {
		for _, s := range sums[c] {
			n += s.pairs - s.same
		}
	}
	return n
}

// visit visits all pairs of all components. alone says that a pair is in no other one.
func (g *graph) visit(f func(m pairClass, alone bool)) {
	for c, s := range g.found {
		g.eachPair(s, func(class, i int) { f(pairClass{i, c, class}, g.cover[i]&(g.cover[i]-1) == 0) })
	}
}

// vote counts a pair, and keeps the volume of the majority if there is one.
func (c *classSum) vote(v matrix.Volume) {
	c.pairs++
	switch {
	case c.votes == 0:
		c.usual, c.votes = v, 1
	case c.usual == v:
		c.votes++
	default:
		c.votes--
	}
}

// split attributes the volume of a pair to the components that it is in.
func split(v matrix.Volume, among []pairClass, sums [][]classSum) {
	rest := among[0] // takes what the others leave
	chosen := false
	for _, m := range among {
		if s := &sums[m.component][m.class]; !s.uniform() && (!chosen || s.pairs == 0) {
			rest, chosen = m, true
		}
	}
	left := v
	for _, m := range among {
		if s := &sums[m.component][m.class]; m != rest && s.uniform() {
			took := minus(left, minus(left, s.usual))
			s.sum.Add(took)
			left = minus(left, took)
		}
	}
	sums[rest.component][rest.class].sum.Add(left)
}

// addFound adds the components, without the neighbours of a stencil, or the stages of a
// butterfly, that have no share. Stencils on the same grid are one.
func (g *graph) addFound(sums [][]classSum) {
	type result struct {
		shape
		matrix.Volume
	}
	var out []result
	for c, s := range g.found {
		var v matrix.Volume
		for i := range sums[c] {
			v.Add(sums[c][i].sum)
		}
		used := func(class int) bool { return sums[c][class].sum != (matrix.Volume{}) }
		switch of := s.(type) {
		case *stencil:
			without := of.without(used)
			s = without
			for i := range out {
				if other, ok := out[i].shape.(*stencil); ok {
					if both := other.with(without); both != nil {
						out[i].shape = both
						out[i].Volume.Add(v)
						v = matrix.Volume{}
						break
					}
				}
			}
		case butterfly:
			s = of.without(used)
		}
		out = append(out, result{s, v})
	}
	for _, r := range out {
		if g.enough(g.weight(r.Volume)) {
			c := r.component()
			c.Volume = r.Volume
			g.add(c)
		}
	}
}
