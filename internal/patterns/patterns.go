// Package patterns finds which well-known patterns a communication matrix is made of:
// stencils, rings, sweeps, all-to-all, master-worker, butterflies, transposes, trees
// and random traffic.
//
// The search is greedy and deterministic. It takes the pattern that explains the most
// bytes, marks what this explains, and goes on with the rest until no pattern explains
// leastShare of all bytes. docs/patterns.md describes the rules.
package patterns

import "github.com/mpitrace/mpitrace/aggregate/matrix"

// PatternKind is the name of a pattern.
type PatternKind string

// The kinds.
const (
	Self         PatternKind = "self"          // ranks send to themselves
	AllToAll     PatternKind = "all-to-all"    // each rank of a group sends to each other one
	MasterWorker PatternKind = "master-worker" // one rank and all others
	Ring         PatternKind = "ring"          // a periodic stencil in one dimension and one direction
	Sweep        PatternKind = "sweep"         // a stencil that is not periodic, in one direction of a dimension or several
	Stencil      PatternKind = "stencil"       // neighbours on a grid
	Butterfly    PatternKind = "butterfly"     // r with r xor 2^k
	Transpose    PatternKind = "transpose"     // row i, column j of a grid to row j, column i
	Tree         PatternKind = "tree"
	Random       PatternKind = "random"
)

// TreeDirection says which way the data of a tree, or of a master, go.
type TreeDirection string

// The directions.
const (
	FromRoot TreeDirection = "from root"
	ToRoot   TreeDirection = "to root"
	BothWays TreeDirection = "both"
)

// A Component is one pattern of a matrix. Fields that do not apply to its kind are empty.
type Component struct {
	Kind PatternKind `json:"kind"`
	Text string      `json:"text"` // describes the pattern, without its share

	// For stencils, rings and sweeps: the grid as in MPI_Cart_create (the last coordinate varies
	// fastest) and, for each dimension, whether it is periodic and the distance of the farthest
	// neighbour, 0 if there is none in this dimension. Offsets are the coordinates of the ranks
	// that a rank sends to, relative to its own.
	Grid     []int   `json:"grid,omitempty"`
	Periodic []bool  `json:"periodic,omitempty"`
	Width    []int   `json:"width,omitempty"`
	Offsets  [][]int `json:"offsets,omitempty"`

	// For all-to-all: the size of a group, the number of groups, and the distance between the ranks
	// of a group. For transposes: Grid has the numbers of rows and columns. A group has as many
	// ranks as the grid has elements, each of Stride ranks.
	Size   int `json:"size,omitempty"`
	Groups int `json:"groups,omitempty"`
	Stride int `json:"stride,omitempty"`

	Stages []int `json:"stages,omitempty"` // of butterflies: the distances of partners

	Root      *int          `json:"root,omitempty"`      // of trees and master-worker
	Direction TreeDirection `json:"direction,omitempty"` // of trees and master-worker
	Shape     string        `json:"shape,omitempty"`     // of trees: binomial, 2-ary, 3-ary …

	// for random traffic: to how many ranks a rank sends, on average
	Peers float64 `json:"peers,omitempty"`

	matrix.Volume
	Share float64 `json:"share"` // of the bytes of the part; of its messages if it has no bytes
}

// A Part is what one matrix is made of.
type Part struct {
	Components    []Component   `json:"components"` // the largest share first
	Total         matrix.Volume `json:"total"`
	Residual      matrix.Volume `json:"residual"` // in no component
	ResidualShare float64       `json:"residual_share"`
	// TooLarge is true if there are so many pairs that only all-to-all was searched for.
	TooLarge bool `json:"too_large,omitempty"`
}

// Decomposition is what the matrices of a job are made of.
type Decomposition struct {
	Direct Part `json:"direct"` // point-to-point and one-sided
	// Collectives is the logical volume of collectives. Only all-to-all is searched for in it: the
	// names of the calls tell the other patterns.
	Collectives Part `json:"collectives"`
}

// Find returns what the matrices of a job of some ranks are made of.
func Find(ms *matrix.ByClass, ranks int) Decomposition {
	return Decomposition{Direct: Of(ms.Direct(), ranks), Collectives: ofCollectives(&ms[matrix.Collective], ranks)}
}

// Bounds of the search.
const (
	leastShare = 0.002   // least share of the bytes that a component explains
	leastFresh = 64      // at least one in so many pairs of a component is in no earlier component
	mostParts  = 16      // largest number of components of one matrix: the bits of graph.cover
	mostPairs  = 1 << 23 // largest number of pairs that are held in memory: 38 bytes each
	// with fewer ranks there are no patterns, because all look alike
	leastRanks = 3
	// a hypercube of all ranks is a stencil up to so many dimensions, and a butterfly beyond
	mostCube   = 3
	mostLinked = 4    // dimensions of a stencil
	mostShifts = 64   // largest number of distances of a stencil in one dimension
	mostGrids  = 3000 // largest number of grids whose explained bytes are estimated in each step
	// largest number of grids that are compared pair by pair in each step; up to 100 in small jobs
	mostVerified  = 12
	verifiedRanks = 1000000 // largest number of ranks × grids that are compared in small jobs
	// the least volume is that of all-to-all if at least one in so many pairs has it
	uniformDense = 4
	uniformShare = 64 // as uniformDense, for the pairs of other patterns
	// least number of ranks of a group for which all-to-all is preferred to stencils
	leastClique   = 5
	densePercent  = 95      // least share of all pairs that must exist for a matrix to be all-to-all
	mostTranspose = 20000   // transposes that are tried
	mostStarts    = 16      // largest number of beginnings of the search that are compared
	mostStarted   = 1 << 15 // largest number of pairs with which several beginnings are tried
	mostMasters   = 4       // largest number of ranks that are tried as a master in each step
)

// Of returns what the entries of a matrix are made of: what ranks 0 to ranks-1 sent to
// each other, without the group patterns of collectives.
func Of(m *matrix.Matrix, ranks int) Part {
	p := newParts(m, ranks)
	if ranks < leastRanks {
		return p.finish()
	}
	p.allToAll(m)
	if !p.part.TooLarge {
		p.search(m)
	}
	return p.finish()
}
