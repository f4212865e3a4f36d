package placement

import "math/rand/v2"

// A bisection divides the vertices of a graph between two sides, which have room for
// caps ranks. It is improved as by Fiduccia and Mattheyses (1982): vertices are moved
// one by one, the best move first even if it is a loss, and each at most once in a pass;
// then all moves after the best state are undone.
type bisection struct {
	g    *graph
	side []int32
	caps [2]int
	load [2]int
	cut  int64

	gain   []int64 // by vertex: how much smaller the cut gets if it moves
	queue  [2]*gainQueue
	locked []int32 // by vertex: the last pass in which it was moved
	pass   int32
	moves  []int32
}

func newBisection(g *graph, caps [2]int) *bisection {
	b := &bisection{
		g: g, caps: caps, side: make([]int32, g.Len()),
		gain: make([]int64, g.Len()), locked: make([]int32, g.Len()),
	}
	b.queue = [2]*gainQueue{newGainQueue(b.gain), newGainQueue(b.gain)}
	return b
}

// set begins with a given side of each vertex.
func (b *bisection) set(side []int32) {
	copy(b.side, side)
	b.load, b.cut = [2]int{}, 0
	for v := range b.side {
		b.load[b.side[v]] += int(b.g.size[v])
		b.cut += b.outside(int32(v))
	}
	b.cut /= 2
}

// outside computes the gain of a vertex, and returns the weight of its edges that are
// cut.
func (b *bisection) outside(v int32) int64 {
	var in, out int64
	peers, weights := b.g.Row(int(v))
	for i, p := range peers {
		if b.side[p] == b.side[v] {
			in += weights[i]
		} else {
			out += weights[i]
		}
	}
	b.gain[v] = out - in
	return out
}

// overload returns by how many ranks the sides exceed their room.
func (b *bisection) overload() int {
	return max(0, b.load[0]-b.caps[0]) + max(0, b.load[1]-b.caps[1])
}

// refine makes passes until one does not help. An overload of up to tolerance ranks is
// accepted. A pass ends after patience moves that did not help.
func (b *bisection) refine(passes, patience, tolerance int, r *rand.Rand) {
	for range passes {
		before, over := b.cut, max(0, b.overload()-tolerance)
		b.improve(patience, tolerance, r)
		if after := max(0, b.overload()-tolerance); after >= over && b.cut >= before {
			return
		}
	}
}

// improve makes one pass.
func (b *bisection) improve(patience, tolerance int, r *rand.Rand) {
	b.pass++
	b.moves = b.moves[:0]
	b.queue[0].clear()
	b.queue[1].clear()
	first := 0
	if n := b.g.Len(); n > 0 {
		first = r.IntN(n) // breaks ties
	}
	for i := range b.side {
		v := int32((i + first) % len(b.side))
		if b.outside(v) > 0 {
			b.queue[b.side[v]].push(v)
		}
	}
	slack := max(tolerance, 1)
	bestCut, bestOver, best := b.cut, max(0, b.overload()-tolerance), 0
	for len(b.moves)-best < patience || bestOver > 0 {
		v := b.next(slack)
		if v < 0 {
			break
		}
		b.move(v)
		b.moves = append(b.moves, v)
		over := max(0, b.overload()-tolerance)
		if over < bestOver || over == bestOver && b.cut < bestCut {
			bestCut, bestOver, best = b.cut, over, len(b.moves)
		}
	}
	for i := len(b.moves) - 1; i >= best; i-- {
		b.turn(b.moves[i], false)
	}
}

// next returns the vertex to move: of a side that is overloaded, or else the one of the
// higher gain whose move overloads the other side by no more than slack. It returns -1
// if there is none.
func (b *bisection) next(slack int) int32 {
	for s := range 2 {
		if b.load[s] > b.caps[s] {
			return b.top(s)
		}
	}
	best := int32(-1)
	for s := range 2 {
		q := b.queue[s]
		if len(q.heap) == 0 {
			continue
		}
		v := q.heap[0]
		if b.load[1-s]+int(b.g.size[v]) > b.caps[1-s]+slack {
			continue
		}
		if best < 0 || b.gain[v] > b.gain[best] ||
			b.gain[v] == b.gain[best] && b.load[s]-b.caps[s] > b.load[1-s]-b.caps[1-s] {
			best = v
		}
	}
	return best
}

// top returns the vertex of a side of the highest gain. If none at the border is left,
// all of the side are entered.
func (b *bisection) top(s int) int32 {
	q := b.queue[s]
	if len(q.heap) == 0 {
		for v := range b.side {
			if int(b.side[v]) == s && b.locked[v] != b.pass {
				q.push(int32(v))
			}
		}
	}
	if len(q.heap) == 0 {
		return -1
	}
	return q.heap[0]
}

// move moves a vertex to the other side, and locks it.
func (b *bisection) move(v int32) {
	b.locked[v] = b.pass
	b.queue[b.side[v]].remove(v)
	b.turn(v, true)
}

// turn gives a vertex the other side and, with queues, corrects these for its peers.
func (b *bisection) turn(v int32, queues bool) {
	b.cut -= b.gain[v]
	b.gain[v] = -b.gain[v]
	was := b.side[v]
	b.load[was] -= int(b.g.size[v])
	b.load[1-was] += int(b.g.size[v])
	b.side[v] = 1 - was
	peers, weights := b.g.Row(int(v))
	side := b.side[v]
	for i, p := range peers {
		if b.side[p] == side {
			b.gain[p] -= 2 * weights[i]
		} else {
			b.gain[p] += 2 * weights[i]
		}
		if !queues || b.locked[p] == b.pass {
			continue
		}
		if q := b.queue[b.side[p]]; q.has(p) {
			q.fix(p)
		} else {
			q.push(p)
		}
	}
}
