package placement

import (
	"math/rand/v2"
	"slices"
)

// tuning says how much work the parts of the search do.
type tuning struct {
	starts   int  // searches from the beginning, with other random numbers; see startsFor
	tries    int  // initial bisections of the smallest graph
	passes   int  // of refinement, for each graph
	cycles   int  // times that a bisection is coarsened and refined again
	pairs    int  // rounds over the pairs of the domains of a domain
	perPart  int  // such pairs in a round, by domain; in a plane there are 3, in a power law nearly all
	anew     bool // if refining the parts of such a pair gains nothing, bisect the pair again
	patience int  // moves without success, in 1/16 of the vertices
	sweeps   int  // of swaps, over all ranks

	brief     float64   // swaps that annealing proposes after each start, by rank; see proposals
	heats     []float64 // of the annealing of the best, see anneal
	proposals float64   // swaps that each of it proposes, by rank
	most      float64   // edges that the swaps of one annealing look at, at most; see proposals
}

// coarsest is the number of vertices of the smallest graph.
const coarsest = 48

// bisect divides a graph into two sides, and returns the side of each vertex. caps is the
// largest number of ranks of each side; both together hold all ranks.
func (t *tuning) bisect(g *graph, caps [2]int, r *rand.Rand) []int32 {
	side := t.cycle(g, caps, nil, r)
	return t.rebisect(g, caps, side, t.cycles, r)
}

// rebisect tries to improve a bisection: by coarsening it without merging vertices of
// different sides, and refining it again at each size.
func (t *tuning) rebisect(g *graph, caps [2]int, side []int32, cycles int, r *rand.Rand) []int32 {
	b := newBisection(g, caps)
	b.set(side)
	for range cycles {
		over, cut := b.overload(), b.cut
		b.set(t.cycle(g, caps, b.side, r))
		if b.overload() > over || b.overload() == over && b.cut > cut {
			b.set(side)
		}
		side = slices.Clone(b.side)
	}
	return side
}

// cycle coarsens, bisects the smallest graph, and refines at each size. With sides, it
// begins with them instead of bisecting.
func (t *tuning) cycle(g *graph, caps [2]int, side []int32, r *rand.Rand) []int32 {
	limit := int32(max(1, 2*g.ranks()/coarsest))
	type step struct {
		g    *graph
		into []int32
	}
	var steps []step
	at := g
	for at.Len() > coarsest {
		smaller, into := at.coarsen(side, limit, r)
		if smaller.Len() > at.Len()*19/20 {
			break
		}
		if side != nil {
			merged := make([]int32, smaller.Len())
			for v, m := range into {
				merged[m] = side[v]
			}
			side = merged
		}
		steps = append(steps, step{at, into})
		at = smaller
	}
	if side == nil {
		side = t.initial(at, caps, r)
	} else {
		side = t.refine(at, caps, side, r)
	}
	for _, s := range slices.Backward(steps) {
		finer := make([]int32, s.g.Len())
		for v, m := range s.into {
			finer[v] = side[m]
		}
		side = t.refine(s.g, caps, finer, r)
	}
	return side
}

func (t *tuning) refine(g *graph, caps [2]int, side []int32, r *rand.Rand) []int32 {
	b := newBisection(g, caps)
	b.set(side)
	b.refine(t.passes, t.patienceFor(g), g.maxSize()-1, r)
	return b.side
}

func (t *tuning) patienceFor(g *graph) int { return 20 + g.Len()*t.patience/16 }

// initial returns the best of several bisections: one side grows from a random vertex,
// by the vertex with the heaviest edges into it.
func (t *tuning) initial(g *graph, caps [2]int, r *rand.Rand) []int32 {
	b := newBisection(g, caps)
	tolerance := g.maxSize() - 1
	var best []int32
	var bestCut int64
	var bestOver int
	for try := range t.tries {
		b.grow(b.target(g.ranks(), try), r)
		b.refine(t.passes, t.patienceFor(g), tolerance, r)
		over := max(0, b.overload()-tolerance)
		if best == nil || over < bestOver || over == bestOver && b.cut < bestCut {
			best, bestCut, bestOver = slices.Clone(b.side), b.cut, over
		}
	}
	return best
}

// target returns how many ranks side 0 shall get. If there is room to choose, attempts
// differ: in proportion to the rooms, or one side as full as possible.
func (b *bisection) target(ranks, try int) int {
	least, most := max(0, ranks-b.caps[1]), min(ranks, b.caps[0])
	switch try % 4 {
	case 1:
		return most
	case 3:
		return least
	}
	return min(most, max(least, ranks*b.caps[0]/max(1, b.caps[0]+b.caps[1])))
}

// grow moves vertices from side 1, which has all, to side 0, until that has target ranks.
func (b *bisection) grow(target int, r *rand.Rand) {
	for v := range b.side {
		b.side[v] = 1
	}
	b.set(b.side)
	b.pass++
	q := b.queue[1]
	q.clear()
	b.queue[0].clear()
	unseen := permutation(b.g.Len(), r)
	for b.load[0] < target {
		for len(q.heap) == 0 && len(unseen) > 0 {
			if v := unseen[0]; b.side[v] == 1 {
				q.push(v)
			}
			unseen = unseen[1:]
		}
		if len(q.heap) == 0 {
			return
		}
		b.move(q.heap[0])
	}
}
