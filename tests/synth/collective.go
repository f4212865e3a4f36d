package synth

// Part is a partition of the ranks into communicators along the grid.
type Part uint8

const (
	World   Part = iota
	Lines        // ranks that differ only in the last coordinate: consecutive in the world
	Columns      // ranks that differ only in the first coordinate: one plane apart in the world
	Planes       // ranks with the same first coordinate: consecutive in the world
	numParts
)

// comm holds the members of a communicator, as world ranks: base, base+stride,
// …
type comm struct {
	part               Part
	base, stride, size int
}

// comm returns the communicator of the part that contains the rank.
func (p Part) comm(g Grid, rank int) comm {
	plane := g[1] * g[2]
	switch p {
	case Lines:
		return comm{p, rank - rank%g[2], 1, g[2]}
	case Columns:
		return comm{p, rank % plane, plane, g[0]}
	case Planes:
		return comm{p, rank - rank%plane, 1, plane}
	}
	return comm{p, 0, 1, g.Ranks()}
}

// rank returns the rank in c of a world rank that is a member of c.
func (c comm) rank(world int) int { return (world - c.base) / c.stride }

// Call is a collective that a synthetic job can call.
type Call uint8

const (
	Allreduce Call = iota
	Allgather
	Alltoall
	Barrier
	Alltoallv // rank i sends 3i + j more than Collective.Bytes to rank j
	Scan
	Bcast // from here on the rooted ones; the root changes from call to call
	Scatter
	Gather
	Reduce
)

var callNames = [...]string{"Allreduce", "Allgather", "Alltoall", "Barrier", "Alltoallv", "Scan", "Bcast", "Scatter", "Gather", "Reduce"}

func (c Call) String() string { return callNames[c] }

func (c Call) fromRoot() bool { return c == Bcast || c == Scatter }

func (c Call) toRoot() bool { return c == Gather || c == Reduce }

// Collective is a collective that all ranks call Times times.
type Collective struct {
	Call  Call
	On    Part
	Times int
	Bytes uint64 // bytes of one message; of the smallest one for Alltoallv; 0 for Barrier
}

// root returns the root of the i-th call, as a rank in the communicator.
func (c Collective) root(i, size int) int { return i * 37 % size }

// rooted returns in how many calls a rank of the communicator is the root.
func (c Collective) rooted(rank, size int) uint64 {
	n := uint64(0)
	for i := range c.Times {
		if c.root(i, size) == rank {
			n++
		}
	}
	return n
}

// pair returns the bytes of one message of an Alltoallv between two ranks of
// the communicator.
func (c Collective) pair(from, to int) uint64 { return c.Bytes + 3*uint64(from) + uint64(to) }

// between returns what one world rank sends to another, according to the
// Standard's definition of the call.
func (c Collective) between(g Grid, from, to int) Volume {
	on := c.On.comm(g, from)
	if from == to || c.On.comm(g, to) != on {
		return Volume{}
	}
	f, t := on.rank(from), on.rank(to)
	one := Volume{c.Bytes, 1}
	switch {
	case c.Call.fromRoot():
		return one.times(c.rooted(f, on.size))
	case c.Call.toRoot():
		return one.times(c.rooted(t, on.size))
	case c.Call == Scan && t < f:
		return Volume{}
	case c.Call == Alltoallv:
		one.Bytes = c.pair(f, t)
	}
	return one.times(uint64(c.Times))
}

// total returns the sum over all pairs: that of one communicator, times the
// number of communicators.
func (c Collective) total(g Grid) Volume {
	size := c.On.comm(g, 0).size
	n, times := uint64(size), uint64(c.Times)*uint64(g.Ranks()/size)
	pairs := n * (n - 1)
	one := Volume{c.Bytes, 1}
	switch {
	case c.Call.fromRoot() || c.Call.toRoot():
		return one.times((n - 1) * times)
	case c.Call == Scan:
		return one.times(pairs / 2 * times)
	case c.Call == Alltoallv: // each rank i is n-1 times the sender, which adds 3i, and n-1 times the receiver, which adds i
		return Volume{pairs*c.Bytes + 4*(n-1)*(pairs/2), pairs}.times(times)
	}
	return one.times(pairs * times)
}

// sent returns the sum of what a rank sends, over all destinations.
func (c Collective) sent(g Grid, rank int) Volume {
	on := c.On.comm(g, rank)
	r, n, times := uint64(on.rank(rank)), uint64(on.size), uint64(c.Times)
	one := Volume{c.Bytes, 1}
	switch {
	case c.Call.fromRoot():
		return one.times(c.rooted(int(r), on.size) * (n - 1))
	case c.Call.toRoot():
		return one.times(times - c.rooted(int(r), on.size))
	case c.Call == Scan:
		return one.times(times * (n - 1 - r))
	case c.Call == Alltoallv: // n(n-1)/2 - r is the sum of all ranks except r
		return Volume{(n-1)*(c.Bytes+3*r) + n*(n-1)/2 - r, n - 1}.times(times)
	}
	return one.times(times * (n - 1))
}

// received returns the sum of what a rank receives, over all sources.
func (c Collective) received(g Grid, rank int) Volume {
	on := c.On.comm(g, rank)
	r, n, times := uint64(on.rank(rank)), uint64(on.size), uint64(c.Times)
	one := Volume{c.Bytes, 1}
	switch {
	case c.Call.fromRoot():
		return one.times(times - c.rooted(int(r), on.size))
	case c.Call.toRoot():
		return one.times(c.rooted(int(r), on.size) * (n - 1))
	case c.Call == Scan:
		return one.times(times * r)
	case c.Call == Alltoallv:
		return Volume{(n-1)*(c.Bytes+r) + 3*(n*(n-1)/2-r), n - 1}.times(times)
	}
	return one.times(times * (n - 1))
}
