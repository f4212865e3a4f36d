package synth

import (
	"math"
	"math/bits"
)

// newOf returns the job of one of PatternShapes, on a grid of two dimensions that is as
// square as possible.
func newOf(shape string, ranks int) *Job {
	rows := int(math.Sqrt(float64(ranks)))
	for ranks%rows != 0 {
		rows--
	}
	j, each, grid := New(shape, ranks), Exchange{Bytes: 4096, Messages: 30}, []int{ranks / rows, rows}
	switch shape {
	case "torus":
		j.Graph = Cart{each, grid, []bool{true, true}, Faces(2)}
	case "sweep":
		j.Graph = Cart{each, grid, []bool{false, false}, [][]int{{0, 1}, {1, 0}}}
	case "butterfly":
		j.Graph = Butterfly{each, ranks, bits.TrailingZeros(uint(ranks))}
	case "transpose":
		j.Graph = Transpose{each, grid[0], grid[1]}
	case "tree":
		j.Graph = Tree{Exchange: each, Ranks: ranks, Down: true, Up: true}
	case "master":
		j.Graph = Master{Exchange: each, Ranks: ranks, To: true, From: true}
	}
	return j
}

// Exchange is what one rank sends to another in a graph in which all pairs are alike.
type Exchange struct {
	Bytes    uint64 // bytes of one message
	Messages uint64
}

func (Exchange) calls() (send, receive string) { return "Isend", "Irecv" }

func (e Exchange) volume() Volume { return Volume{e.Bytes * e.Messages, e.Messages} }

// links returns links to peers; several to the same peer are added up.
func (e Exchange) links(peers ...int) []Link {
	var links []Link
	at := map[int]int{}
	for _, p := range peers {
		if i, known := at[p]; known {
			links[i].Messages += e.Messages
			continue
		}
		at[p] = len(links)
		links = append(links, Link{Peer: p, Bytes: e.Bytes, Messages: e.Messages})
	}
	return links
}

// Cart sends from each rank to those at some offsets on a grid of any number of
// dimensions. The last coordinate varies fastest, as in MPI_Cart_create.
type Cart struct {
	Exchange
	Grid     []int
	Periodic []bool
	Offsets  [][]int
}

// Faces returns the offsets of the nearest neighbours in n dimensions.
func Faces(n int) [][]int { return offsets(n, 1, func(apart int) bool { return apart == 1 }) }

// Box returns the offsets of all ranks that are at most width away in each of n
// dimensions.
func Box(n, width int) [][]int { return offsets(n, width, func(apart int) bool { return apart > 0 }) }

// offsets returns those up to a width whose sum of distances is as wanted.
func offsets(n, width int, want func(apart int) bool) (out [][]int) {
	offset := make([]int, n)
	var next func(i, apart int)
	next = func(i, apart int) {
		if i == n {
			if want(apart) {
				out = append(out, append([]int(nil), offset...))
			}
			return
		}
		for d := -width; d <= width; d++ {
			offset[i] = d
			next(i+1, apart+max(d, -d))
		}
	}
	next(0, 0)
	return out
}

func (c Cart) at(rank int) []int {
	at := make([]int, len(c.Grid))
	for i := len(c.Grid) - 1; i >= 0; i-- {
		at[i] = rank % c.Grid[i]
		rank /= c.Grid[i]
	}
	return at
}

// neighbours returns the ranks at the offsets times way from a rank.
func (c Cart) neighbours(rank, way int) (peers []int) {
	for _, offset := range c.Offsets {
		peer, inside := 0, true
		for i, x := range c.at(rank) {
			x += way * offset[i]
			if x < 0 || x >= c.Grid[i] {
				inside = inside && c.Periodic[i]
				x = ((x % c.Grid[i]) + c.Grid[i]) % c.Grid[i]
			}
			peer = peer*c.Grid[i] + x
		}
		if inside {
			peers = append(peers, peer)
		}
	}
	return peers
}

// Out implements Graph.
func (c Cart) Out(rank int) []Link { return c.links(c.neighbours(rank, 1)...) }

// In implements Graph.
func (c Cart) In(rank int) []Link { return c.links(c.neighbours(rank, -1)...) }

// Between implements Graph. It counts the offsets that are equal to the difference of
// the coordinates, modulo the extent of periodic dimensions.
func (c Cart) Between(from, to int) Volume {
	a, b := c.at(from), c.at(to)
	var n uint64
	for _, offset := range c.Offsets {
		equal := true
		for i := range a {
			d := b[i] - a[i] - offset[i]
			equal = equal && (d == 0 || c.Periodic[i] && d%c.Grid[i] == 0)
		}
		if equal {
			n++
		}
	}
	return c.volume().times(n)
}

// Total implements Graph.
func (c Cart) Total() Volume {
	var sum Volume
	for _, offset := range c.Offsets {
		n := 1
		for i, extent := range c.Grid {
			if c.Periodic[i] {
				n *= extent
			} else {
				n *= max(extent-max(offset[i], -offset[i]), 0)
			}
		}
		sum.add(c.volume().times(uint64(n)))
	}
	return sum
}

// Groups sends from each rank to all others of its group, Size ranks that are Stride
// apart.
type Groups struct {
	Exchange
	Ranks, Size, Stride int
}

// Out implements Graph.
func (g Groups) Out(rank int) []Link {
	var peers []int
	first := rank - rank/g.Stride%g.Size*g.Stride
	for i := range g.Size {
		if p := first + i*g.Stride; p != rank {
			peers = append(peers, p)
		}
	}
	return g.links(peers...)
}

// In implements Graph.
func (g Groups) In(rank int) []Link { return g.Out(rank) }

// Between implements Graph. Ranks of a group agree in the other coordinates.
func (g Groups) Between(from, to int) Volume {
	if from == to || from%g.Stride != to%g.Stride || from/(g.Stride*g.Size) != to/(g.Stride*g.Size) {
		return Volume{}
	}
	return g.volume()
}

// Total implements Graph.
func (g Groups) Total() Volume { return g.volume().times(uint64(g.Ranks * (g.Size - 1))) }

// Butterfly exchanges between ranks whose numbers differ in one of the lowest Bits bits.
// The number of ranks is a multiple of 2^Bits.
type Butterfly struct {
	Exchange
	Ranks, Bits int
}

// Out implements Graph.
func (b Butterfly) Out(rank int) []Link {
	var peers []int
	for k := range b.Bits {
		peers = append(peers, rank^1<<k)
	}
	return b.links(peers...)
}

// In implements Graph.
func (b Butterfly) In(rank int) []Link { return b.Out(rank) }

// Between implements Graph.
func (b Butterfly) Between(from, to int) Volume {
	if differ := uint(from ^ to); bits.OnesCount(differ) != 1 || bits.Len(differ) > b.Bits {
		return Volume{}
	}
	return b.volume()
}

// Total implements Graph.
func (b Butterfly) Total() Volume { return b.volume().times(uint64(b.Ranks * b.Bits)) }

// Transpose sends from row i, column j of a grid to row j, column i of the transposed
// grid. Ranks that would send to themselves do not.
type Transpose struct {
	Exchange
	Rows, Columns int
}

// Out implements Graph.
func (t Transpose) Out(rank int) []Link {
	i, j := rank/t.Columns, rank%t.Columns
	if to := j*t.Rows + i; to != rank {
		return t.links(to)
	}
	return nil
}

// In implements Graph.
func (t Transpose) In(rank int) []Link { return Transpose{t.Exchange, t.Columns, t.Rows}.Out(rank) }

// Between implements Graph. Except for the last rank, a transpose multiplies ranks by
// the number of rows, modulo the largest rank.
func (t Transpose) Between(from, to int) Volume {
	last := t.Rows*t.Columns - 1
	if from == to || from == last || to == last || from*t.Rows%last != to {
		return Volume{}
	}
	return t.volume()
}

// Total implements Graph. Ranks r with r × (rows-1) divisible by the largest rank send
// to themselves: gcd(rows-1, columns-1) + 1 of them.
func (t Transpose) Total() Volume {
	a, b := t.Rows-1, t.Columns-1
	for b != 0 {
		a, b = b, a%b
	}
	return t.volume().times(uint64(t.Rows*t.Columns - a - 1))
}

// Tree sends from each rank to its children in a tree, and, if Up, from the children to
// the rank. In a tree of Arity k, the children of rank r are k*r+1 … k*r+k; for k = 0
// it is the binomial tree in which a parent lacks the lowest bit of the child. Root is
// the rank in the place of rank 0; the others follow, modulo the number of ranks.
type Tree struct {
	Exchange
	Ranks, Root, Arity int
	Down, Up           bool
}

func (t Tree) children(v int) (out []int) {
	if t.Arity > 0 {
		for c := t.Arity*v + 1; c <= t.Arity*v+t.Arity && c < t.Ranks; c++ {
			out = append(out, c)
		}
		return out
	}
	for bit := 1; v+bit < t.Ranks && (v == 0 || v%(2*bit) == 0); bit *= 2 {
		out = append(out, v+bit)
	}
	return out
}

func (t Tree) parent(v int) int {
	if t.Arity > 0 {
		return (v - 1) / t.Arity
	}
	return v - 1<<bits.TrailingZeros(uint(v))
}

func (t Tree) peers(rank int, parent, children bool) (out []int) {
	v := (rank - t.Root + t.Ranks) % t.Ranks
	if parent && v > 0 {
		out = append(out, (t.parent(v)+t.Root)%t.Ranks)
	}
	if children {
		for _, c := range t.children(v) {
			out = append(out, (c+t.Root)%t.Ranks)
		}
	}
	return out
}

// Out implements Graph.
func (t Tree) Out(rank int) []Link { return t.links(t.peers(rank, t.Up, t.Down)...) }

// In implements Graph.
func (t Tree) In(rank int) []Link { return t.links(t.peers(rank, t.Down, t.Up)...) }

// Between implements Graph. It looks for the difference of the positions in the tree.
func (t Tree) Between(from, to int) Volume {
	above, below := (from-t.Root+t.Ranks)%t.Ranks, (to-t.Root+t.Ranks)%t.Ranks
	used := t.Down
	if above > below {
		above, below, used = below, above, t.Up
	}
	var linked bool
	if d := below - above; t.Arity > 0 {
		linked = below > t.Arity*above && below <= t.Arity*(above+1)
	} else {
		linked = bits.OnesCount(uint(d)) == 1 && above&d == 0 && above%d == 0
	}
	if !linked || !used || above == below {
		return Volume{}
	}
	return t.volume()
}

// Total implements Graph. A tree has an edge for each rank but the root.
func (t Tree) Total() Volume {
	sum := Volume{}
	for _, used := range []bool{t.Down, t.Up} {
		if used {
			sum.add(t.volume().times(uint64(t.Ranks - 1)))
		}
	}
	return sum
}

// Master exchanges between one rank and each other one.
type Master struct {
	Exchange
	Ranks, Master int
	To, From      bool // whether the others send to the master, and it to them
}

// Out implements Graph.
func (m Master) Out(rank int) []Link { return m.links(m.peers(rank, m.To, m.From)...) }

// In implements Graph.
func (m Master) In(rank int) []Link { return m.links(m.peers(rank, m.From, m.To)...) }

func (m Master) peers(rank int, others, master bool) (out []int) {
	if rank != m.Master && others {
		return []int{m.Master}
	}
	for r := range m.Ranks {
		if rank == m.Master && master && r != m.Master {
			out = append(out, r)
		}
	}
	return out
}

// Between implements Graph.
func (m Master) Between(from, to int) Volume {
	if from != to && (m.To && to == m.Master || m.From && from == m.Master) {
		return m.volume()
	}
	return Volume{}
}

// Total implements Graph.
func (m Master) Total() Volume {
	sum := Volume{}
	for _, used := range []bool{m.To, m.From} {
		if used {
			sum.add(m.volume().times(uint64(m.Ranks - 1)))
		}
	}
	return sum
}
