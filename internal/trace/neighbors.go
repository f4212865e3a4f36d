package trace

// topology says who sends to whom in the neighbourhood collectives of a
// communicator, by rank in it, as far as the members have traces.
type topology struct {
	outgoing [][]int32
	incoming [][]int32 // computed when first needed
}

// edges adds a member's outgoing neighbours.
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

// neighbors is the state of a neighbourhood collective: who has arrived, and
// how many incoming neighbours of each member have not.
type neighbors struct {
	of   *topology
	came []arrivals
	left []int
	// waiting is the index+1 of each member in instance.waiting; 0 if it does
	// not wait.
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

// add records that a member arrived, and calls f with the position of each
// member whose neighbours have now all arrived.
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

// waitsFor returns the last of a member's incoming neighbours to arrive. known
// is false if some have not.
func (n *neighbors) waitsFor(rank int32) (last arrivals, known bool) {
	if rank < 0 || int(rank) >= len(n.left) || n.left[rank] > 0 {
		return arrivals{}, false
	}
	for _, from := range n.of.incoming[rank] {
		last.add(n.came[from])
	}
	return last, true
}
