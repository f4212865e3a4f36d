package placement

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// A multisection divides ranks over the domains of a hierarchy, from the top down.
type multisection struct {
	*tuning
	h     *hierarchy
	seed  uint64
	block []int32 // by rank: the result
	spare chan struct{}
	wait  sync.WaitGroup
}

// multisect returns a block for each vertex of g.
func (t *tuning) multisect(g *graph, h *hierarchy, seed uint64, spare chan struct{}) []int32 {
	m := &multisection{tuning: t, h: h, seed: seed, block: make([]int32, g.len()), spare: spare}
	all := make([]int32, g.len())
	for v := range all {
		all[v] = int32(v)
	}
	m.divide(g, all, h.levels()-1, 0)
	m.wait.Wait()
	return m.block
}

// minParallel is how many ranks make another goroutine worth while.
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
	part := make([]int32, g.len())
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

// start runs f, in a goroutine if it is large and a processor is idle. What f computes
// does not depend on it.
func (m *multisection) start(ranks int, f func()) {
	if ranks < minParallel {
		f()
		return
	}
	select {
	case m.spare <- struct{}{}:
		m.wait.Go(func() {
			defer func() { <-m.spare }()
			f()
		})
	default:
		f()
	}
}

// split sets the part of each vertex, by bisecting the parts and the graph again and
// again.
func (m *multisection) split(g *graph, part []int32, caps []int, r *rand.Rand) {
	if len(caps) == 1 || g.len() == 0 {
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

// refinePairs improves the bisection of each two parts that have an edge in common.
// What is outside of a pair of domains of a domain is equally far from both.
func (m *multisection) refinePairs(g *graph, part []int32, caps []int, r *rand.Rand) {
	if len(caps) <= 2 {
		return
	}
	changed := make([]bool, len(caps))
	for c := range changed {
		changed[c] = true
	}
	for range m.pairs {
		pairs := adjacentParts(g, part, len(caps))
		r.Shuffle(len(pairs), func(a, b int) { pairs[a], pairs[b] = pairs[b], pairs[a] })
		next := make([]bool, len(caps))
		any := false
		for _, p := range pairs {
			if (changed[p[0]] || changed[p[1]]) && m.refinePair(g, part, p, caps, r) {
				next[p[0]], next[p[1]], any = true, true, true
			}
		}
		if !any {
			return
		}
		changed = next
	}
}

func adjacentParts(g *graph, part []int32, parts int) (pairs [][2]int32) {
	seen := make([]bool, parts*parts)
	for v := range part {
		peers, _ := g.row(int32(v))
		for _, p := range peers {
			if a, b := part[v], part[p]; a < b && !seen[int(a)*parts+int(b)] {
				seen[int(a)*parts+int(b)] = true
				pairs = append(pairs, [2]int32{a, b})
			}
		}
	}
	return pairs
}

// refinePair reports whether it found a smaller cut of two parts.
func (m *multisection) refinePair(g *graph, part []int32, pair [2]int32, caps []int, r *rand.Rand) bool {
	both := make([]int32, len(part))
	for v, p := range part {
		if p == pair[0] || p == pair[1] {
			both[v] = 1
		}
	}
	sub, vertices := g.subgraph(both, 1)
	side := make([]int32, len(vertices))
	for i, v := range vertices {
		if part[v] == pair[1] {
			side[i] = 1
		}
	}
	room := [2]int{caps[pair[0]], caps[pair[1]]}
	b := newBisection(sub, room)
	b.set(side)
	before := b.cut
	b.set(m.rebisect(sub, room, slices.Clone(side), 1, r))
	if b.cut >= before {
		return false
	}
	for i, v := range vertices {
		part[v] = pair[b.side[i]]
	}
	return true
}
