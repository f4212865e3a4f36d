package trace

// topology is who sends to whom in the neighbourhood collectives of a communicator,
// by rank in it, as far as the members have a trace.
type topology struct {
	outgoing [][]int32
	incoming [][]int32 // found when it is first needed
}

// edges notes a member's outgoing neighbours.
func (c *communicator) edges(rank int, outgoing []int32) {
	if len(outgoing) == 0 || rank < 0 || rank >= c.size {
		return
	}
	if c.topology == nil {
		c.topology = &topology{outgoing: make([][]int32, c.size)}
	}
	c.topology.outgoing[rank] = outgoing
}

func (t *topology) invert() {
	if t.incoming != nil {
		return
	}
	t.incoming = make([][]int32, len(t.outgoing))
	for from, list := range t.outgoing {
		for _, to := range list {
			if to >= 0 && int(to) < len(t.incoming) && int(to) != from {
				t.incoming[to] = append(t.incoming[to], int32(from))
			}
		}
	}
}

// neighbors is what neighbourhood collectives need: who came, and how many of each
// member's incoming neighbours have not.
type neighbors struct {
	of   *topology
	came []arrivals
	left []int
	// waiting is the place of each member in instance.waiting, from 1; 0 if it does
	// not wait there.
	waiting []int32
}

func newNeighbors(of *topology) *neighbors {
	of.invert()
	n := &neighbors{of: of, came: make([]arrivals, len(of.incoming)), left: make([]int, len(of.incoming)), waiting: make([]int32, len(of.incoming))}
	for i, list := range of.incoming {
		n.left[i] = len(list)
	}
	return n
}

// add notes that a member came, and calls f with the place of each that waits for
// nobody else.
func (n *neighbors) add(rank int32, a arrivals, f func(place int)) {
	if rank < 0 || int(rank) >= len(n.came) {
		return
	}
	n.came[rank] = a
	for _, to := range n.of.outgoing[rank] {
		if to < 0 || int(to) >= len(n.left) || to == rank {
			continue
		}
		if n.left[to]--; n.left[to] == 0 && n.waiting[to] > 0 {
			f(int(n.waiting[to]) - 1)
		}
	}
}

// waitsFor is the last of a member's incoming neighbours to come, and whether all
// have.
func (n *neighbors) waitsFor(rank int32) (last arrivals, known bool) {
	if rank < 0 || int(rank) >= len(n.left) || n.left[rank] > 0 {
		return arrivals{}, false
	}
	for _, from := range n.of.incoming[rank] {
		last.add(n.came[from])
	}
	return last, true
}
