// Package synth makes synthetic MPI jobs of any size: what each rank would have
// recorded, one rank at a time, and what the job's matrix must then be.
//
// The expected numbers come from formulas over pairs of ranks, and share no
// code with the profiles' own sums: a Stencil's between asks how far apart two
// ranks are on the grid, where its profiles list a rank's neighbours. Two
// calls give the same bytes: nothing is random but what a seed makes.
package synth

import (
	"fmt"
	"math/bits"

	"github.com/mpitrace/mpitrace/profile"
)

// Volume is what went from one rank to another.
type Volume struct{ Bytes, Messages uint64 }

func (v *Volume) add(w Volume) { v.Bytes += w.Bytes; v.Messages += w.Messages }

func (v Volume) times(n uint64) Volume { return Volume{v.Bytes * n, v.Messages * n} }

// Job is a synthetic job. Ranks is at least 1; the rest may be changed before
// the first use.
type Job struct {
	Name        string // of the run and the program
	Ranks       int
	PerNode     int          // ranks of a node
	Graph       Graph        // who sends to whom, point to point; nil if nobody
	Collectives []Collective // in program order
	Phases      int          // slices "phase 1" … in each of which all is done again; 0 for none but "run"
	Timing      profile.Timing
	grid        Grid
}

// repeats is how often all is done.
func (j *Job) repeats() uint64 { return uint64(max(j.Phases, 1)) }

// New is a job in which nothing happens.
func New(name string, ranks int) *Job {
	return &Job{Name: name, Ranks: ranks, PerNode: 64, grid: GridOf(ranks)}
}

// NewStencil is a 3-D stencil of 26 neighbours: 100 exchanges, 100 Allreduces
// and 10 Bcasts on the world, and some on lines, planes and columns of the grid.
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

// NewRing is a ring: each rank sends to the next one, the last to the first.
func NewRing(ranks int) *Job {
	j := New("ring", ranks)
	j.Graph = Ring{Ranks: ranks, Messages: 50, Bytes: 4096}
	j.Collectives = []Collective{{Call: Barrier, On: World, Times: 50}, {Call: Scan, On: World, Times: 2, Bytes: 24}}
	return j
}

// NewRandom is a random graph: each rank sends to `degree` others, or to all if
// there are fewer.
func NewRandom(ranks, degree int) *Job {
	j := New("random", ranks)
	j.Graph = NewRandomGraph(ranks, degree, 1)
	j.Collectives = []Collective{{Call: Gather, On: World, Times: 3, Bytes: 40}, {Call: Scatter, On: World, Times: 4, Bytes: 56}}
	return j
}

// NewAllToAll is dense: MPI_Alltoall, and MPI_Alltoallv whose bytes differ for
// each pair.
func NewAllToAll(ranks int) *Job {
	j := New("alltoall", ranks)
	j.Collectives = []Collective{{Call: Alltoall, On: World, Times: 10, Bytes: 2048}, {Call: Alltoallv, On: World, Times: 3, Bytes: 100}}
	return j
}

// Shapes lists the names that Named knows.
var Shapes = []string{"stencil", "ring", "random", "alltoall"}

// Named is the job of a shape with its usual parameters.
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
	return nil, fmt.Errorf("make synthetic job: unknown shape %q: the shapes are %v", shape, Shapes)
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

// P2P is what `from` must have sent to `to` point to point, in all phases.
func (j *Job) P2P(from, to int) Volume {
	if j.Graph == nil {
		return Volume{}
	}
	return j.Graph.Between(from, to).times(j.repeats())
}

// Coll is the logical volume of the collectives from one rank to another.
func (j *Job) Coll(from, to int) Volume {
	return j.sum(func(c Collective) Volume { return c.between(j.grid, from, to) })
}

// All is both.
func (j *Job) All(from, to int) Volume {
	sum := j.P2P(from, to)
	sum.add(j.Coll(from, to))
	return sum
}

// TotalP2P is the sum of P2P over all pairs, without going over them.
func (j *Job) TotalP2P() Volume {
	if j.Graph == nil {
		return Volume{}
	}
	return j.Graph.Total().times(j.repeats())
}

// TotalColl is the sum of Coll over all pairs, without going over them.
func (j *Job) TotalColl() Volume {
	return j.sum(func(c Collective) Volume { return c.total(j.grid) })
}

// SentColl is the sum of Coll from one rank to all, without going over them.
func (j *Job) SentColl(rank int) Volume {
	return j.sum(func(c Collective) Volume { return c.sent(j.grid, rank) })
}

// ReceivedColl is the sum of Coll from all to one rank, without going over them.
func (j *Job) ReceivedColl(rank int) Volume {
	return j.sum(func(c Collective) Volume { return c.received(j.grid, rank) })
}

// sum adds up something of each collective, over all phases.
func (j *Job) sum(of func(Collective) Volume) Volume {
	var sum Volume
	for _, c := range j.Collectives {
		sum.add(of(c))
	}
	return sum.times(j.repeats())
}

// Destinations lists to whom a rank sends point to point, in ascending order.
func (j *Job) Destinations(from int) []int {
	if j.Graph == nil {
		return nil
	}
	return peersOf(j.Graph.Out(from))
}

// sizeClass is 0 for an empty message, k+1 for 2^k <= bytes < 2^(k+1).
func sizeClass(bytes uint64) uint8 { return uint8(bits.Len64(bytes)) }
