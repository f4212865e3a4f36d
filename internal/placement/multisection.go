package placement

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// A multisection divides the ranks among the domains of a hierarchy, from the top down.
type multisection struct {
	*tuning
	h     *hierarchy
	seed  uint64
	block []int32 // by rank: the result
	wait  sync.WaitGroup
}

// multisect returns a block for each vertex of g.
func (t *tuning) multisect(g *graph, h *hierarchy, seed uint64) []int32 {
	m := &multisection{tuning: t, h: h, seed: seed, block: make([]int32, g.Len())}
	all := make([]int32, g.Len())
	for v := range all {
		all[v] = int32(v)
	}
	m.divide(g, all, h.levels()-1, 0)
	m.wait.Wait()
	return m.block
}

// minParallel is the least number of ranks for which starting a goroutine pays off.
const minParallel = 128

// divide places the vertices of g, which are ranks, in a domain.
func (m *multisection) divide(g *graph, ranks []int32, level int, domain int32) {
	for level > 0 && m.h.child[level][domain+1]-m.h.child[level][domain] == 1 {
		domain = m.h.child[level][domain]
		level--
	}
	if len(ranks) == 0 {
		return
	}
	if level == 0 {
		for _, r := range ranks {
			m.block[r] = domain
		}
		return
	}
	first, last := m.h.child[level][domain], m.h.child[level][domain+1]
	var caps []int
	for c := first; c < last; c++ {
		caps = append(caps, m.h.capacity(level-1, c))
	}
	r := generator(m.seed, level, int(domain))
	part := make([]int32, g.Len())
	m.split(g, part, caps, r)
	m.refinePairs(g, part, caps, r)
	for c := range caps {
		sub, vertices := g.subgraph(part, int32(c))
		for i, v := range vertices {
			vertices[i] = ranks[v]
		}
		m.start(len(vertices), func() { m.divide(sub, vertices, level-1, first+int32(c)) })
	}
}

// start runs f, in a goroutine if it has many ranks.
func (m *multisection) start(ranks int, f func()) {
	if ranks < minParallel {
		f()
		return
	}
	m.wait.Go(f)
}

// split sets the part of each vertex, by repeated bisection of the parts and of the graph.
func (m *multisection) split(g *graph, part []int32, caps []int, r *rand.Rand) {
	if len(caps) == 1 || g.Len() == 0 {
		return
	}
	half := len(caps) / 2
	side := m.bisect(g, [2]int{sum(caps[:half]), sum(caps[half:])}, r)
	for s, c := range [][]int{caps[:half], caps[half:]} {
		sub, vertices := g.subgraph(side, int32(s))
		below := make([]int32, len(vertices))
		m.split(sub, below, c, r)
		for i, v := range vertices {
			part[v] = below[i] + int32(s*half)
		}
	}
}

func sum(values []int) int {
	n := 0
	for _, v := range values {
		n += v
	}
	return n
}

// refinePairs improves the bisection of each two parts that have an edge in common. Ranks outside
// both parts need not be considered: they are equally far from both.
func (m *multisection) refinePairs(g *graph, part []int32, caps []int, r *rand.Rand) {
	if len(caps) <= 2 {
		return
	}
	p := newPartPairs(g, part, len(caps))
	changed := make([]bool, len(caps))
	for c := range changed {
		changed[c] = true
	}
	for range m.pairs {
		pairs := p.adjacent()
		r.Shuffle(len(pairs), func(a, b int) { pairs[a], pairs[b] = pairs[b], pairs[a] })
		pairs = pairs[:min(len(pairs), m.perPart*len(caps))]
		next := make([]bool, len(caps))
		any := false
		for _, pair := range pairs {
			if (changed[pair[0]] || changed[pair[1]]) && m.refinePair(p, pair, caps, r) {
				next[pair[0]], next[pair[1]], any = true, true, true
			}
		}
		if !any {
			return
		}
		changed = next
	}
}

// partPairs holds the parts of a graph, and makes the graph of any two of them.
type partPairs struct {
	g        *graph
	part     []int32
	vertices [][]int32 // by part
	index    []int32   // by vertex: its number in the graph of two parts
}

func newPartPairs(g *graph, part []int32, parts int) *partPairs {
	p := &partPairs{g: g, part: part, vertices: make([][]int32, parts), index: make([]int32, g.Len())}
	for v, c := range part {
		p.vertices[c] = append(p.vertices[c], int32(v))
	}
	return p
}

// adjacent returns the pairs of parts that have an edge in common.
func (p *partPairs) adjacent() (pairs [][2]int32) {
	seen := make([]int32, len(p.vertices)) // by part: the last part with which it was found, plus 1
	for a, vertices := range p.vertices {
		for _, v := range vertices {
			peers, _ := p.g.Row(int(v))
			for _, peer := range peers {
				if b := p.part[peer]; int(b) > a && seen[b] != int32(a)+1 {
					seen[b] = int32(a) + 1
					pairs = append(pairs, [2]int32{int32(a), b})
				}
			}
		}
	}
	return pairs
}

// graph returns the graph of two parts. Vertices of the first part come first.
func (p *partPairs) graph(pair [2]int32) (*graph, []int32) {
	vertices := slices.Concat(p.vertices[pair[0]], p.vertices[pair[1]])
	inside := func(v int32) bool { return p.part[v] == pair[0] || p.part[v] == pair[1] }
	return p.g.induced(vertices, p.index, inside), vertices
}

// refinePair reports whether it found a smaller cut of two parts.
func (m *multisection) refinePair(p *partPairs, pair [2]int32, caps []int, r *rand.Rand) bool {
	g, vertices := p.graph(pair)
	side := make([]int32, len(vertices))
	for i := len(p.vertices[pair[0]]); i < len(side); i++ {
		side[i] = 1
	}
	room := [2]int{caps[pair[0]], caps[pair[1]]}
	b := newBisection(g, room)
	b.set(side)
	before := b.cut
	b.set(m.rebisect(g, room, side, 1, r))
	if b.cut >= before && m.anew {
		b.set(m.cycle(g, room, nil, r))
	}
	if b.cut >= before || b.overload() > 0 {
		return false
	}
	p.vertices[pair[0]], p.vertices[pair[1]] = nil, nil
	for i, v := range vertices {
		to := pair[b.side[i]]
		p.part[v] = to
		p.vertices[to] = append(p.vertices[to], v)
	}
	return true
}
