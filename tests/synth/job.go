// Package synth makes synthetic MPI jobs of any size: the profile that each
// rank would have recorded, one rank at a time, and the matrix that must
// result.
//
// The expected numbers come from formulas over pairs of ranks and share no code
// with the profiles. For example, Stencil.Between computes the distance of two
// ranks on the grid, whereas its profiles list the neighbours of a rank. Output
// is reproducible: all random numbers come from fixed seeds.
package synth

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Volume is an amount of traffic, for example from one rank to another.
type Volume struct{ Bytes, Messages uint64 }

func (v *Volume) add(w Volume) { v.Bytes += w.Bytes; v.Messages += w.Messages }

func (v Volume) times(n uint64) Volume { return Volume{v.Bytes * n, v.Messages * n} }

// Job is a synthetic job. Ranks is at least 1. The other exported fields may be
// changed before the first use.
type Job struct {
	Name        string // name of the run and of the program
	Ranks       int
	PerNode     int          // ranks per node
	RoundRobin  bool         // rank r is on node r mod the number of nodes; otherwise nodes are filled one after the other
	Graph       Graph        // point-to-point pattern; nil for none
	Collectives []Collective // in program order
	Phases      int          // number of slices "phase 1" …, each of which repeats all the work; 0 for slice "run" only
	Timing      profile.Timing
	Fault       *Fault // nil for none
	grid        Grid
}

// repeats returns how often the job does its work.
func (j *Job) repeats() uint64 { return uint64(max(j.Phases, 1)) }

// New returns a job without communication.
func New(name string, ranks int) *Job {
	return &Job{Name: name, Ranks: ranks, PerNode: 64, grid: GridOf(ranks)}
}

// NewStencil returns a 3-D stencil with up to 26 neighbours: 100 exchanges, 100
// Allreduces and 10 Bcasts on MPI_COMM_WORLD, and some collectives on lines,
// planes and columns of the grid.
func NewStencil(ranks int) *Job {
	j := New("stencil", ranks)
	j.Graph = Stencil{Grid: j.grid, Messages: 100, Bytes: [3]uint64{32768, 2048, 128}}
	j.Collectives = []Collective{
		{Call: Allreduce, On: World, Times: 100, Bytes: 8},
		{Call: Bcast, On: World, Times: 10, Bytes: 1024},
		{Call: Allreduce, On: Lines, Times: 20, Bytes: 16},
		{Call: Allgather, On: Planes, Times: 5, Bytes: 64},
		{Call: Reduce, On: Columns, Times: 7, Bytes: 512},
	}
	return j
}

// NewRing returns a ring: each rank sends to the next one, the last to the
// first.
func NewRing(ranks int) *Job {
	j := New("ring", ranks)
	j.Graph = Ring{Ranks: ranks, Messages: 50, Bytes: 4096}
	j.Collectives = []Collective{{Call: Barrier, On: World, Times: 50}, {Call: Scan, On: World, Times: 2, Bytes: 24}}
	return j
}

// NewRandom returns a random graph: each rank sends to `degree` others, or to
// all if there are fewer.
func NewRandom(ranks, degree int) *Job {
	j := New("random", ranks)
	j.Graph = NewRandomGraph(ranks, degree, 1)
	j.Collectives = []Collective{{Call: Gather, On: World, Times: 3, Bytes: 40}, {Call: Scatter, On: World, Times: 4, Bytes: 56}}
	return j
}

// NewAllToAll returns a job with a dense matrix: it calls MPI_Alltoall, and
// MPI_Alltoallv with a different number of bytes for each pair.
func NewAllToAll(ranks int) *Job {
	j := New("alltoall", ranks)
	j.Collectives = []Collective{{Call: Alltoall, On: World, Times: 10, Bytes: 2048}, {Call: Alltoallv, On: World, Times: 3, Bytes: 100}}
	return j
}

// Shapes and PatternShapes list the names that Named accepts. The latter have
// point-to-point messages only.
var (
	Shapes        = []string{"stencil", "ring", "random", "alltoall"}
	PatternShapes = []string{"torus", "sweep", "butterfly", "transpose", "tree", "master"}
)

// Named returns the job of a shape, with the shape's default parameters, or with the
// fault of that name.
func Named(shape string, ranks int) (*Job, error) {
	if ranks < 1 {
		return nil, fmt.Errorf("make synthetic job: %d ranks", ranks)
	}
	switch shape {
	case "stencil":
		return NewStencil(ranks), nil
	case "ring":
		return NewRing(ranks), nil
	case "random":
		return NewRandom(ranks, 16), nil
	case "alltoall":
		return NewAllToAll(ranks), nil
	}
	if slices.Contains(PatternShapes, shape) {
		return newOf(shape, ranks), nil
	}
	if slices.Contains(FaultNames, shape) {
		return NewFaulty(shape, ranks, false)
	}
	return nil, fmt.Errorf("make synthetic job: unknown shape %q: the shapes are %v and %v, and the faults %v", shape, Shapes, PatternShapes, FaultNames)
}

// Each implements profile.Source.
func (j *Job) Each(f func(*profile.Profile) error) error {
	for rank := range j.Ranks {
		if err := f(j.Profile(rank)); err != nil {
			return err
		}
	}
	return nil
}

// P2P returns what `from` must have sent to `to` point to point, in all phases.
func (j *Job) P2P(from, to int) Volume {
	if j.Graph == nil {
		return Volume{}
	}
	return j.Graph.Between(from, to).times(j.repeats())
}

// Coll returns the logical volume of the collectives from one rank to another.
func (j *Job) Coll(from, to int) Volume {
	return j.sum(func(c Collective) Volume { return c.between(j.grid, from, to) })
}

// All returns the sum of P2P and Coll.
func (j *Job) All(from, to int) Volume {
	sum := j.P2P(from, to)
	sum.add(j.Coll(from, to))
	return sum
}

// TotalP2P returns the sum of P2P over all pairs, without iterating over them.
func (j *Job) TotalP2P() Volume {
	if j.Graph == nil {
		return Volume{}
	}
	return j.Graph.Total().times(j.repeats())
}

// TotalColl returns the sum of Coll over all pairs, without iterating over
// them.
func (j *Job) TotalColl() Volume {
	return j.sum(func(c Collective) Volume { return c.total(j.grid) })
}

// SentColl returns the sum of Coll from one rank to all, without iterating over
// them.
func (j *Job) SentColl(rank int) Volume {
	return j.sum(func(c Collective) Volume { return c.sent(j.grid, rank) })
}

// ReceivedColl returns the sum of Coll from all ranks to one, without iterating
// over them.
func (j *Job) ReceivedColl(rank int) Volume {
	return j.sum(func(c Collective) Volume { return c.received(j.grid, rank) })
}

// sum returns the sum of a volume over all collectives and phases.
func (j *Job) sum(of func(Collective) Volume) Volume {
	var sum Volume
	for _, c := range j.Collectives {
		sum.add(of(c))
	}
	return sum.times(j.repeats())
}

// Destinations returns the ranks that a rank sends to point to point, in
// ascending order.
func (j *Job) Destinations(from int) []int {
	if j.Graph == nil {
		return nil
	}
	return peersOf(j.Graph.Out(from))
}

// sizeClass returns 0 for an empty message, and k+1 for 2^k <= bytes < 2^(k+1).
func sizeClass(bytes uint64) uint8 { return uint8(bits.Len64(bytes)) }
