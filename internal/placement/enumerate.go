package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// maxExact is the number of ranks up to which Best considers all orders.
const maxExact = 9

// An enumeration searches all orders of a few ranks, by branch and bound. Of slots that
// are alike, as those of nodes of the same shape that are all empty, it tries the first.
type enumeration struct {
	h      *hierarchy
	shape  [][]int32   // by level and domain: domains with the same number look alike
	child  [][][]int32 // by level and domain: the domains of the level below, as many of a shape as there are ranks
	weight [][]uint64
	rest   []uint64 // by position in ranks: the least that the edges of later ones cost
	ranks  []int    // in the order of placing
	block  []int32  // by rank
	used   [][]int32
	best   []int32
	least  uint64
}

// exact returns an order of the least objective. It returns start if none costs less.
func exact(t *Topology, traffic *RankTraffic, start Order) (Order, Cost) {
	cost := Evaluate(t, traffic, start)
	e := &enumeration{h: newHierarchy(t), weight: traffic.pairs(), block: make([]int32, traffic.Ranks), least: cost.Objective}
	e.setShapes()
	e.setChildren()
	e.setRanks()
	for l := range e.h.levels() {
		e.used = append(e.used, make([]int32, e.h.domains(l)))
	}
	e.place(0, 0)
	if e.best == nil {
		return start, cost
	}
	o := e.h.order(e.best)
	return o, Evaluate(t, traffic, o)
}

// pairs returns what each pair of ranks exchanges, groups included.
func (t *RankTraffic) pairs() [][]uint64 {
	w := make([][]uint64, t.Ranks)
	for r := range w {
		w[r] = make([]uint64, t.Ranks)
	}
	for r := range w {
		for i := t.Start[r]; i < t.Start[r+1]; i++ {
			w[r][t.Column[i]] += t.Value[i]
		}
	}
	for _, g := range t.Groups {
		for i, a := range g.Members {
			for j, b := range g.Members {
				if i < j || i > j && !g.HigherOnly {
					w[a][b] += g.Sent[i] * g.Received[j]
					w[b][a] += g.Sent[i] * g.Received[j]
				}
			}
		}
	}
	return w
}

// setShapes numbers the domains so that those with the same number have the same numbers
// of slots and domains of the same shapes.
func (e *enumeration) setShapes() {
	for l := range e.h.levels() {
		known := map[string]int32{}
		shapes := make([]int32, e.h.domains(l))
		for d := range shapes {
			var key []int32
			if l == 0 {
				key = []int32{int32(e.h.capacity(0, int32(d)))}
			} else {
				key = slices.Sorted(slices.Values(e.shape[l-1][e.h.child[l][d]:e.h.child[l][d+1]]))
			}
			text := fmt.Sprint(key)
			s, seen := known[text]
			if !seen {
				s = int32(len(known))
				known[text] = s
			}
			shapes[d] = s
		}
		e.shape = append(e.shape, shapes)
	}
}

func (e *enumeration) setChildren() {
	e.child = make([][][]int32, e.h.levels())
	for l := 1; l < e.h.levels(); l++ {
		e.child[l] = make([][]int32, e.h.domains(l))
		for d := range e.child[l] {
			alike := map[int32]int{}
			for c := e.h.child[l][d]; c < e.h.child[l][d+1]; c++ {
				if s := e.shape[l-1][c]; alike[s] < len(e.weight) {
					alike[s]++
					e.child[l][d] = append(e.child[l][d], c)
				}
			}
		}
	}
}

// setRanks chooses the order of placing: next the rank that exchanges most with those
// that have a place.
func (e *enumeration) setRanks() {
	n := len(e.weight)
	placed := make([]bool, n)
	attached := make([]uint64, n)
	total := make([]uint64, n)
	for r, row := range e.weight {
		for _, w := range row {
			total[r] += w
		}
	}
	e.rest = make([]uint64, n+1)
	for range n {
		best := -1
		for r := range n {
			if !placed[r] && (best < 0 || cmp.Or(cmp.Compare(attached[r], attached[best]), cmp.Compare(total[r], total[best])) > 0) {
				best = r
			}
		}
		placed[best] = true
		e.rest[len(e.ranks)] = attached[best] * uint64(e.h.distance[0])
		e.ranks = append(e.ranks, best)
		for r := range n {
			attached[r] += e.weight[best][r]
		}
	}
	for i := n - 1; i >= 0; i-- {
		e.rest[i] += e.rest[i+1]
	}
}

// place places the ranks from position i on; those before cost so much.
func (e *enumeration) place(i int, cost uint64) {
	if cost+e.rest[i] >= e.least {
		return
	}
	if i == len(e.ranks) {
		e.best, e.least = slices.Clone(e.block), cost
		return
	}
	e.descend(i, cost, e.h.levels()-1, 0)
}

// descend places the rank of position i in a domain.
func (e *enumeration) descend(i int, cost uint64, level int, domain int32) {
	if int(e.used[level][domain]) == e.h.capacity(level, domain) {
		return
	}
	if level > 0 {
		var tried []int32 // shapes of empty domains
		for _, c := range e.child[level][domain] {
			if e.used[level-1][c] == 0 {
				if slices.Contains(tried, e.shape[level-1][c]) {
					continue
				}
				tried = append(tried, e.shape[level-1][c])
			}
			e.descend(i, cost, level-1, c)
		}
		return
	}
	rank := e.ranks[i]
	for _, r := range e.ranks[:i] {
		cost += e.weight[rank][r] * uint64(e.h.between(domain, e.block[r]))
	}
	e.block[rank] = domain
	e.use(domain, 1)
	e.place(i+1, cost)
	e.use(domain, -1)
}

func (e *enumeration) use(block, n int32) {
	for l := range e.h.levels() {
		e.used[l][e.h.ancestor[int(block)*e.h.levels()+l]] += n
	}
}
