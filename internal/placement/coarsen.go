package placement

import (
	"math/rand/v2"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// coarsen merges vertices in pairs, along heavy edges first. It returns the smaller graph and, for
// each vertex of g, the vertex of the smaller graph that contains it. It does not merge vertices of
// different parts if part is not nil, and makes no vertex larger than maxSize.
func (g *graph) coarsen(part []int32, maxSize int32, r *rand.Rand) (*graph, []int32) {
	mate := g.match(part, maxSize, r)
	into, vertices := make([]int32, g.Len()), int32(0)
	for v, m := range mate {
		if int(m) >= v {
			into[v], into[m] = vertices, vertices
			vertices++
		}
	}
	return g.contract(mate, into, int(vertices)), into
}

// match returns for each vertex the vertex with which it is merged, or the vertex itself.
func (g *graph) match(part []int32, maxSize int32, r *rand.Rand) []int32 {
	mate := make([]int32, g.Len())
	for v := range mate {
		mate[v] = -1
	}
	fits := func(v, p int32) bool {
		return mate[p] < 0 && p != v && g.size[v]+g.size[p] <= maxSize && (part == nil || part[v] == part[p])
	}
	order := permutation(g.Len(), r)
	for _, v := range order {
		if mate[v] >= 0 {
			continue
		}
		best, most := int32(-1), 0.0
		peers, weights := g.Row(int(v))
		for i, p := range peers {
			if fits(v, p) {
				// The rating expansion*2 of Holtgrewe, Sanders and Schulz (2010).
				rating := float64(weights[i]) * float64(weights[i]) / (float64(g.size[v]) * float64(g.size[p]))
				if rating > most {
					best, most = p, rating
				}
			}
		}
		if best >= 0 {
			mate[v], mate[best] = best, v
		}
	}
	g.matchLonely(order, mate, fits)
	return mate
}

// matchLonely merges vertices whose peers all have a mate already: two that have a peer in common,
// or two that have no peers. Without it, stars do not become smaller.
func (g *graph) matchLonely(order, mate []int32, fits func(v, p int32) bool) {
	waiting := make([]int32, g.Len()) // by peer: a vertex that looks for a mate
	for v := range waiting {
		waiting[v] = -1
	}
	isolated := int32(-1)
	for _, v := range order {
		if mate[v] >= 0 {
			continue
		}
		at := &isolated
		if peers, weights := g.Row(int(v)); len(peers) > 0 {
			heaviest := 0
			for i := range peers {
				if weights[i] > weights[heaviest] {
					heaviest = i
				}
			}
			at = &waiting[peers[heaviest]]
		}
		if other := *at; other >= 0 && fits(v, other) {
			mate[v], mate[other] = other, v
			*at = -1
		} else {
			*at = v
		}
	}
	for v := range mate {
		if mate[v] < 0 {
			mate[v] = int32(v)
		}
	}
}

// contract returns the graph in which mates are one vertex.
func (g *graph) contract(mate, into []int32, vertices int) *graph {
	c := &graph{matrix.NewCompressed[int64](vertices, len(g.Column)), make([]int32, 0, vertices)}
	b := newRowBuilder(c, vertices)
	enter := func(v, self int32) {
		peers, weights := g.Row(int(v))
		for i, p := range peers {
			if to := into[p]; to != self {
				b.add(to, weights[i])
			}
		}
	}
	for v, m := range mate {
		if int(m) < v {
			continue
		}
		size := g.size[v]
		enter(int32(v), into[v])
		if int(m) != v {
			size += g.size[m]
			enter(m, into[v])
		}
		c.size = append(c.size, size)
		c.EndRow()
	}
	return c
}

func permutation(n int, r *rand.Rand) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i)
	}
	r.Shuffle(n, func(a, b int) { p[a], p[b] = p[b], p[a] })
	return p
}
