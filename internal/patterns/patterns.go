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

// A Component is one pattern of a matrix. Fields that a kind has no use for are empty.
type Component struct {
	Kind PatternKind `json:"kind"`
	Text string      `json:"text"` // describes the pattern, without its share

	// Of stencils, rings and sweeps: the grid as in MPI_Cart_create (the last coordinate
	// varies fastest), and for each dimension whether it is periodic and how far the
	// farthest neighbour is, 0 if no neighbour is in this dimension. Offsets are the
	// coordinates of the ranks that a rank sends to, relative to its own.
	Grid     []int   `json:"grid,omitempty"`
	Periodic []bool  `json:"periodic,omitempty"`
	Width    []int   `json:"width,omitempty"`
	Offsets  [][]int `json:"offsets,omitempty"`

	// Of all-to-all: the size of a group, the number of groups, and how far apart the
	// ranks of a group are. Of transposes: Grid is that of rows and columns, a group is
	// as many ranks as it has elements, each of Stride ranks.
	Size   int `json:"size,omitempty"`
	Groups int `json:"groups,omitempty"`
	Stride int `json:"stride,omitempty"`

	Stages []int `json:"stages,omitempty"` // of butterflies: the distances of partners

	Root      *int          `json:"root,omitempty"`      // of trees and master-worker
	Direction TreeDirection `json:"direction,omitempty"` // of trees and master-worker
	Shape     string        `json:"shape,omitempty"`     // of trees: binomial, 2-ary, 3-ary …

	Peers float64 `json:"peers,omitempty"` // of random traffic: to how many a rank sends, on average

	matrix.Volume
	Share float64 `json:"share"` // of the bytes of the part; of its messages if it has no bytes
}

// A Part is what one matrix is made of.
type Part struct {
	Components    []Component   `json:"components"` // the largest share first
	Total         matrix.Volume `json:"total"`
	Residual      matrix.Volume `json:"residual"` // in no component
	ResidualShare float64       `json:"residual_share"`
	// TooLarge is true if there are so many pairs that only all-to-all was looked for.
	TooLarge bool `json:"too_large,omitempty"`
}

// Decomposition is what the matrices of a job are made of.
type Decomposition struct {
	Direct Part `json:"direct"` // point-to-point and one-sided
	// Collectives is the logical volume of collectives. Only all-to-all is looked for:
	// the others are known by the names of their calls.
	Collectives Part `json:"collectives"`
}

// Find returns what the matrices of a job of some ranks are made of.
func Find(ms *matrix.ByClass, ranks int) Decomposition {
	return Decomposition{Direct: Of(ms.Direct(), ranks), Collectives: ofCollectives(&ms[matrix.Collective], ranks)}
}

// Bounds of the search.
const (
	leastShare    = 0.002   // of the bytes, which a component explains at least
	leastFresh    = 64      // a component is new on at least 1 of so many of its pairs
	mostParts     = 16      // components of one matrix: bits of graph.cover
	mostPairs     = 1 << 23 // pairs that are held in memory: 38 bytes each
	leastRanks    = 4       // below, only all-to-all is looked for: all patterns look alike
	mostCube      = 3       // a hypercube of all ranks is a stencil up to so many dimensions, then a butterfly
	mostLinked    = 4       // dimensions of a stencil
	mostShifts    = 64      // distances of a stencil in one dimension
	mostGrids     = 3000    // grids whose explained bytes are estimated in each step
	mostVerified  = 12      // grids that are compared pair by pair in each step; up to 100 in small jobs
	verifiedRanks = 1000000 // ranks × grids that are compared in small jobs
	uniformDense  = 4       // the least volume is that of all-to-all if at least 1 of so many pairs have it
	uniformShare  = 64      // the same for the pairs of other patterns
	leastClique   = 5       // ranks of groups in which all-to-all goes before stencils
	densePercent  = 95      // of all pairs must exist to call a matrix all-to-all
	mostTranspose = 20000   // transposes that are tried
	mostStarts    = 16      // beginnings of the search that are compared
	mostStarted   = 1 << 15 // pairs up to which several beginnings are tried
	mostMasters   = 4       // ranks that are tried as a master in each step
)

// Of returns what the entries of a matrix are made of: what ranks 0 to ranks-1 sent to
// each other, without the group patterns of collectives.
func Of(m *matrix.Matrix, ranks int) Part {
	p := newParts(m, ranks)
	p.allToAll(m)
	if ranks >= leastRanks && !p.part.TooLarge {
		p.search(m)
	}
	return p.finish()
}
