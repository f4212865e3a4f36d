package placement

import "math/rand/v2"

// A graph is undirected, in compressed rows: each edge is in the rows of both of its
// ends. A vertex stands for size[v] ranks.
type graph struct {
	start  []int
	peer   []int32
	weight []int64
	size   []int32
}

func (g *graph) len() int { return len(g.size) }

// row returns the peers of a vertex and the weights of their edges.
func (g *graph) row(v int32) ([]int32, []int64) {
	from, to := g.start[v], g.start[v+1]
	return g.peer[from:to:to], g.weight[from:to:to]
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

// subgraph returns the vertices of one part, the edges among them, and the numbers they
// have in g.
func (g *graph) subgraph(part []int32, which int32) (*graph, []int32) {
	var vertices []int32
	for v, p := range part {
		if p == which {
			vertices = append(vertices, int32(v))
		}
	}
	inside := func(v int32) bool { return part[v] == which }
	return g.induced(vertices, make([]int32, g.len()), inside), vertices
}

// induced returns the graph of some vertices, which are those inside, and sets index to
// their numbers in it.
func (g *graph) induced(vertices, index []int32, inside func(v int32) bool) *graph {
	edges := 0
	for i, v := range vertices {
		index[v] = int32(i)
		edges += g.start[v+1] - g.start[v]
	}
	s := &graph{
		start: make([]int, 1, len(vertices)+1), size: make([]int32, len(vertices)),
		peer: make([]int32, 0, edges), weight: make([]int64, 0, edges),
	}
	for i, v := range vertices {
		s.size[i] = g.size[v]
		peers, weights := g.row(v)
		for j, p := range peers {
			if inside(p) {
				s.peer, s.weight = append(s.peer, index[p]), append(s.weight, weights[j])
			}
		}
		s.start = append(s.start, len(s.peer))
	}
	return s
}

// An edge is part of a graph under construction.
type edge struct {
	a, b   int32
	weight float64
}

// newGraph returns the graph of edges, in which a pair may occur several times. Weights
// are scaled so that sums of weight × distance fit into 64 bits, see maxWeight.
func newGraph(ranks int, edges []edge, scale float64) *graph {
	g := &graph{start: make([]int, ranks+1), size: make([]int32, ranks)}
	for _, e := range edges {
		g.start[e.a+1]++
		g.start[e.b+1]++
	}
	for r := range ranks {
		g.size[r] = 1
		g.start[r+1] += g.start[r]
	}
	peer, weight := make([]int32, 2*len(edges)), make([]float64, 2*len(edges))
	next := append([]int(nil), g.start...)
	enter := func(a, b int32, w float64) {
		peer[next[a]], weight[next[a]] = b, w
		next[a]++
	}
	for _, e := range edges {
		enter(e.a, e.b, e.weight)
		enter(e.b, e.a, e.weight)
	}
	// Rows without duplicates: at holds where the row of a vertex has a peer.
	at, start := make([]int, ranks), 0
	for i := range at {
		at[i] = -1
	}
	for r := range ranks {
		first := len(g.peer)
		for i := start; i < g.start[r+1]; i++ {
			p, w := peer[i], max(1, int64(weight[i]*scale))
			if at[p] >= first {
				g.weight[at[p]] += w
				continue
			}
			at[p] = len(g.peer)
			g.peer, g.weight = append(g.peer, p), append(g.weight, w)
		}
		start, g.start[r+1] = g.start[r+1], len(g.peer)
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
