package patterns

import (
	"fmt"
	"math/bits"
)

// groups is all-to-all in each line of a grid.
type groups struct {
	ranks int
	dimension
}

func (groups) classes() int { return 1 }

func (s groups) each(rank int, visit func(class, to int) bool) {
	first := rank - s.at(rank)*s.stride
	for i := range s.extent {
		if to := first + i*s.stride; to != rank && !visit(0, to) {
			return
		}
	}
}

func (s groups) component() Component {
	return Component{Kind: AllToAll, Size: s.extent, Groups: s.ranks / s.extent, Stride: s.stride}
}

// hub is the pairs of one rank, the master, with all others.
type hub struct {
	ranks, master int
	to, from      bool // whether the others send to the master, and it to them
}

func (hub) classes() int { return 2 }

func (s hub) each(rank int, visit func(class, to int) bool) {
	if rank != s.master {
		if s.to {
			visit(0, s.master)
		}
		return
	}
	for to := range s.ranks {
		if s.from && to != rank && !visit(1, to) {
			return
		}
	}
}

func (s hub) component() Component {
	return Component{Kind: MasterWorker, Root: &s.master, Direction: direction(s.from, s.to)}
}

func direction(fromRoot, toRoot bool) TreeDirection {
	switch {
	case !fromRoot:
		return ToRoot
	case !toRoot:
		return FromRoot
	}
	return BothWays
}

// butterfly is the exchange of each rank r with r xor each stage, a power of two.
type butterfly struct{ stages []int }

func (s butterfly) classes() int { return len(s.stages) }

func (s butterfly) each(rank int, visit func(class, to int) bool) {
	for class, stage := range s.stages {
		if !visit(class, rank^stage) {
			return
		}
	}
}

// without returns the butterfly without the stages that are not used.
func (s butterfly) without(used func(class int) bool) butterfly {
	var out butterfly
	for class, stage := range s.stages {
		if used(class) {
			out.stages = append(out.stages, stage)
		}
	}
	return out
}

func (s butterfly) component() Component { return Component{Kind: Butterfly, Stages: s.stages} }

// transpose is the exchange of blocks on a grid: block i, j goes to where block j, i of
// the transposed grid is. The ranks are in groups of rows × columns × block ranks.
type transpose struct{ ranks, rows, columns, block int }

func (transpose) classes() int { return 1 }

func (s transpose) each(rank int, visit func(class, to int) bool) {
	within := rank % s.block
	at := rank / s.block
	j, i, group := at%s.columns, at/s.columns%s.rows, at/(s.columns*s.rows)
	if to := ((group*s.columns+j)*s.rows+i)*s.block + within; to != rank {
		visit(0, to)
	}
}

func (s transpose) component() Component {
	return Component{Kind: Transpose, Grid: []int{s.rows, s.columns}, Stride: s.block,
		Size: s.rows * s.columns * s.block, Groups: s.ranks / (s.rows * s.columns * s.block)}
}

// tree is a tree of all ranks. Positions in the tree are ranks relative to the root,
// modulo the number of ranks.
type tree struct {
	ranks, root int
	arity       int  // of a k-ary tree, in which k*v+1 … k*v+k are the children of v; or one of the binomial trees
	down, up    bool // whether parents send to children, and children to parents
}

// The arity of binomial trees: the parent of a position has one bit less.
const (
	lowestBit  = 0  // the parent lacks the lowest bit, as in MPICH
	highestBit = -1 // the parent lacks the highest bit, as in Open MPI
	mostArity  = 8
)

func (tree) classes() int { return 2 }

func (s tree) each(rank int, visit func(class, to int) bool) {
	v := (rank - s.root + s.ranks) % s.ranks
	if s.up && v != 0 && !visit(0, (s.parent(v)+s.root)%s.ranks) || !s.down {
		return
	}
	s.children(v, func(child int) bool { return visit(1, (child+s.root)%s.ranks) })
}

func (s tree) parent(v int) int {
	switch s.arity {
	case lowestBit:
		return v & (v - 1)
	case highestBit:
		return v &^ (1 << (bits.Len(uint(v)) - 1))
	}
	return (v - 1) / s.arity
}

func (s tree) children(v int, visit func(child int) bool) {
	switch s.arity {
	case lowestBit:
		for bit := 1; (v == 0 || bit < v&-v) && v+bit < s.ranks && visit(v+bit); bit *= 2 {
		}
	case highestBit:
		for bit := 1 << bits.Len(uint(v)); v+bit < s.ranks && visit(v+bit); bit *= 2 {
		}
	default:
		for child := s.arity*v + 1; child <= s.arity*(v+1) && child < s.ranks && visit(child); child++ {
		}
	}
}

func (s tree) component() Component {
	c := Component{Kind: Tree, Root: &s.root, Direction: direction(s.down, s.up), Shape: "binomial"}
	if s.arity > 0 {
		c.Shape = fmt.Sprintf("%d-ary", s.arity)
	}
	return c
}

// random is pairs without any order. Each has its bit set in graph.cover.
type random struct {
	*graph
	bit uint16
}

func (random) classes() int { return 1 }

func (s random) each(rank int, visit func(class, to int) bool) {
	for i := s.Start[rank]; i < s.Start[rank+1]; i++ {
		if s.cover[i]&s.bit != 0 && !visit(0, int(s.Column[i])) {
			return
		}
	}
}

func (s random) component() Component {
	pairs := 0
	for _, c := range s.cover {
		if c&s.bit != 0 {
			pairs++
		}
	}
	return Component{Kind: Random, Peers: float64(pairs) / float64(s.ranks)}
}
