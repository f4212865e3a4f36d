package placement

import (
	"math/rand/v2"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// A graph is undirected: each edge is in the rows of both of its ends, with its weight. A
// vertex stands for size[v] ranks.
type graph struct {
	matrix.Compressed[int64]
	size []int32
}

// ranks returns how many ranks the vertices stand for.
func (g *graph) ranks() int {
	var sum int
	for _, s := range g.size {
		sum += int(s)
	}
	return sum
}

func (g *graph) maxSize() int {
	var largest int32
	for _, s := range g.size {
		largest = max(largest, s)
	}
	return int(largest)
}

// subgraph returns the graph of the vertices of one part, and the numbers that these vertices have
// in g.
func (g *graph) subgraph(part []int32, which int32) (*graph, []int32) {
	var vertices []int32
	for v, p := range part {
		if p == which {
			vertices = append(vertices, int32(v))
		}
	}
	inside := func(v int32) bool { return part[v] == which }
	return g.induced(vertices, make([]int32, g.Len()), inside), vertices
}

// induced returns the graph of some vertices, those for which inside is true, and sets index to the
// number of each in the new graph.
func (g *graph) induced(vertices, index []int32, inside func(v int32) bool) *graph {
	edges := 0
	for i, v := range vertices {
		index[v] = int32(i)
		edges += g.Start[v+1] - g.Start[v]
	}
	s := &graph{matrix.NewCompressed[int64](len(vertices), edges), make([]int32, len(vertices))}
	for i, v := range vertices {
		s.size[i] = g.size[v]
		peers, weights := g.Row(int(v))
		for j, p := range peers {
			if inside(p) {
				s.Append(index[p], weights[j])
			}
		}
		s.EndRow()
	}
	return s
}

// An edge is part of a graph under construction.
type edge struct {
	a, b   int32
	weight float64
}

// A rowBuilder adds rows to a graph, in which a peer may be added several times.
type rowBuilder struct {
	*graph
	at []int // index of the last entry of each peer
}

func newRowBuilder(g *graph, peers int) *rowBuilder {
	b := &rowBuilder{g, make([]int, peers)}
	for i := range b.at {
		b.at[i] = -1
	}
	return b
}

func (b *rowBuilder) add(peer int32, weight int64) {
	if i := b.at[peer]; i >= b.Start[len(b.Start)-1] {
		b.Value[i] += weight
		return
	}
	b.at[peer] = len(b.Column)
	b.Append(peer, weight)
}

// newGraph returns the graph of edges, in which a pair may occur several times. Weights are scaled
// so that sums of weight × distance fit into 64 bits, see maxWeight.
func newGraph(ranks int, edges []edge, scale float64) *graph {
	next := make([]int, ranks+1)
	for _, e := range edges {
		next[e.a+1]++
		next[e.b+1]++
	}
	for r := range ranks {
		next[r+1] += next[r]
	}
	peer, weight := make([]int32, 2*len(edges)), make([]float64, 2*len(edges))
	enter := func(a, b int32, w float64) {
		peer[next[a]], weight[next[a]] = b, w
		next[a]++ // finally, where the row ends
	}
	for _, e := range edges {
		enter(e.a, e.b, e.weight)
		enter(e.b, e.a, e.weight)
	}
	g := &graph{matrix.NewCompressed[int64](ranks, len(peer)), make([]int32, ranks)}
	b := newRowBuilder(g, ranks)
	for r, i := 0, 0; r < ranks; r++ {
		for g.size[r] = 1; i < next[r]; i++ {
			b.add(peer[i], max(1, int64(weight[i]*scale)))
		}
		g.EndRow()
	}
	return g
}

// generator returns the source of random numbers of one part of the search.
func generator(seed uint64, part ...int) *rand.Rand {
	for _, p := range part {
		seed = (seed ^ uint64(p+1)) * 0x9e3779b97f4a7c15
		seed ^= seed >> 29
	}
	return rand.New(rand.NewPCG(seed, 0x2545f4914f6cdd1d))
}
