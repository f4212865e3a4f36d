package synth

import "math/bits"

// Graph is who sends to whom point to point.
type Graph interface {
	Out(rank int) []Link           // to whom a rank sends
	In(rank int) []Link            // from whom it receives
	Between(from, to int) Volume   // by formula: zero for most pairs
	Total() Volume                 // by formula, over all pairs
	calls() (send, receive string) // that the ranks do it with
}

// Link is the messages to, or from, one rank.
type Link struct {
	Peer     int
	Bytes    uint64 // of one message
	Messages uint64
	Site     int // 0 to 2: which call in the program
}

// Ring sends from each rank to the next, from the last to the first; in a ring
// of one the rank sends to itself.
type Ring struct {
	Ranks    int
	Messages uint64
	Bytes    uint64 // of one message of rank 0; each rank's are one byte longer than those of the rank before
}

func (Ring) calls() (send, receive string) { return "Sendrecv", "Sendrecv" }

// Out implements Graph.
func (r Ring) Out(rank int) []Link {
	return []Link{{Peer: (rank + 1) % r.Ranks, Bytes: r.Bytes + uint64(rank), Messages: r.Messages}}
}

// In implements Graph.
func (r Ring) In(rank int) []Link {
	before := (rank + r.Ranks - 1) % r.Ranks
	return []Link{{Peer: before, Bytes: r.Bytes + uint64(before), Messages: r.Messages}}
}

// Between implements Graph.
func (r Ring) Between(from, to int) Volume {
	if next := from+1 == to || from == r.Ranks-1 && to == 0; !next {
		return Volume{}
	}
	return Volume{r.Messages * (r.Bytes + uint64(from)), r.Messages}
}

// Total implements Graph.
func (r Ring) Total() Volume {
	n := uint64(r.Ranks)
	return Volume{r.Messages * (n*r.Bytes + n*(n-1)/2), r.Messages * n}
}

// RandomGraph sends from each rank to Degree others that look picked at random,
// and that each rank can tell without looking at all others: the ranks stand in
// a circle in a shuffled order, and each sends to those that are certain steps
// ahead of it.
type RandomGraph struct {
	Ranks, Degree int
	circle        shuffle // place in the circle, by rank
	steps         shuffle // steps ahead, less 1, by the number of the link
}

// NewRandomGraph has at most ranks-1 links a rank.
func NewRandomGraph(ranks, degree int, seed uint64) RandomGraph {
	return RandomGraph{ranks, min(degree, ranks-1), shuffle{ranks, seed}, shuffle{ranks - 1, seed + 1}}
}

func (RandomGraph) calls() (send, receive string) { return "Send", "Recv" }

// link is what the k-th link of any rank carries.
func link(k int) Volume {
	n := uint64(k + 1)
	return Volume{n * n * n * 97, 1 + n%3} // bytes of one message
}

func (g RandomGraph) links(rank int, ahead bool) []Link {
	links := make([]Link, g.Degree)
	for k := range links {
		step := g.steps.at(k) + 1
		if !ahead {
			step = g.Ranks - step
		}
		v := link(k)
		links[k] = Link{g.circle.whose((g.circle.at(rank) + step) % g.Ranks), v.Bytes, v.Messages, k % 3}
	}
	return links
}

// Out implements Graph.
func (g RandomGraph) Out(rank int) []Link { return g.links(rank, true) }

// In implements Graph.
func (g RandomGraph) In(rank int) []Link { return g.links(rank, false) }

// Between implements Graph, by the distance in the circle.
func (g RandomGraph) Between(from, to int) Volume {
	step := (g.circle.at(to) - g.circle.at(from) + g.Ranks) % g.Ranks
	if step == 0 {
		return Volume{}
	}
	k := g.steps.whose(step - 1)
	if k >= g.Degree {
		return Volume{}
	}
	v := link(k)
	return Volume{v.Bytes * v.Messages, v.Messages}
}

// Total implements Graph.
func (g RandomGraph) Total() Volume {
	var each Volume
	for k := range g.Degree {
		v := link(k)
		each.add(Volume{v.Bytes * v.Messages, v.Messages})
	}
	return each.times(uint64(g.Ranks))
}

// shuffle is a permutation of 0 … n-1 that needs no memory: a Feistel network
// on the numbers of as many bits as n needs, walked until it comes back below n.
type shuffle struct {
	n    int
	seed uint64
}

const rounds = 4

// half is the bits of each half of a number.
func (s shuffle) half() int { return (bits.Len(uint(max(s.n-1, 1))) + 1) / 2 }

// at is where i goes.
func (s shuffle) at(i int) int {
	x, h := uint64(i), s.half()
	for ok := false; !ok; ok = x < uint64(s.n) {
		left, right := x>>h, x&(1<<h-1)
		for round := range rounds {
			left, right = right, left^s.mix(right, round)
		}
		x = left<<h | right
	}
	return int(x)
}

// whose is the inverse of at.
func (s shuffle) whose(i int) int {
	x, h := uint64(i), s.half()
	for ok := false; !ok; ok = x < uint64(s.n) {
		left, right := x>>h, x&(1<<h-1)
		for round := rounds - 1; round >= 0; round-- {
			left, right = right^s.mix(left, round), left
		}
		x = left<<h | right
	}
	return int(x)
}

func (s shuffle) mix(v uint64, round int) uint64 {
	return mix(v, s.seed<<8|uint64(round)) & (1<<s.half() - 1)
}

// mix makes a number of two that looks random: the finalizer of splitmix64.
func mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
