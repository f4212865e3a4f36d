package synth

import "math/bits"

// Graph is the point-to-point pattern of a job: which rank sends to which.
type Graph interface {
	Out(rank int) []Link           // links to the ranks that a rank sends to
	In(rank int) []Link            // links from the ranks that it receives from
	Between(from, to int) Volume   // computed by a formula: zero for most pairs
	Total() Volume                 // sum over all pairs, computed by a formula
	calls() (send, receive string) // names of the calls that send and receive
}

// Link holds the messages between a rank and one peer, in one direction.
type Link struct {
	Peer     int
	Bytes    uint64 // bytes of one message
	Messages uint64
	Site     int // call site in the program, 0 to 2
}

// Ring sends from each rank to the next one, and from the last to the first. In
// a ring of one, the rank sends to itself.
type Ring struct {
	Ranks    int
	Messages uint64
	Bytes    uint64 // bytes of one message of rank 0; those of rank r are r bytes longer
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

// RandomGraph sends from each rank to Degree others that look random. A rank's
// peers can be computed without looking at the other ranks: the ranks are in a
// circle in a shuffled order, and each sends to the ranks at Degree fixed
// distances ahead of it.
type RandomGraph struct {
	Ranks, Degree int
	circle        shuffle // maps a rank to its position in the circle
	steps         shuffle // maps the number of a link to its distance minus 1
}

// NewRandomGraph returns a graph with `degree` links per rank, but at most
// ranks-1.
func NewRandomGraph(ranks, degree int, seed uint64) RandomGraph {
	return RandomGraph{ranks, min(degree, ranks-1), shuffle{ranks, seed}, shuffle{ranks - 1, seed + 1}}
}

func (RandomGraph) calls() (send, receive string) { return "Send", "Recv" }

// link returns the bytes of one message, and the number of messages, of the
// k-th link of any rank.
func link(k int) Volume {
	n := uint64(k + 1)
	return Volume{n * n * n * 97, 1 + n%3}
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

// Between implements Graph. It uses the distance of the two ranks in the
// circle.
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
// on numbers of as many bits as n needs, applied repeatedly until the result is
// below n.
type shuffle struct {
	n    int
	seed uint64
}

const rounds = 4

// half returns the number of bits in each half of a number.
func (s shuffle) half() int { return (bits.Len(uint(max(s.n-1, 1))) + 1) / 2 }

// at returns the position of i in the permutation.
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

// whose returns the i whose position is the given one: the inverse of at.
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

// mix returns a hash of two numbers that looks random: the finalizer of
// splitmix64.
func mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
