package synth

import (
	"math/bits"
	"sync"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Halo is a traced job: a 2-D halo exchange on a grid that is periodic in both
// dimensions. In each step a rank computes, posts one Irecv and then one Isend
// per neighbour, waits for all of them in one Waitall, and calls Allreduce. A
// rank has two neighbours along each dimension of the grid that is longer than
// 1; both are the same rank if the dimension is 2.
//
// A message arrives at the earliest Latency + Bytes/(10 B/ns) after the start
// of its Isend. A Waitall ends when all its messages have arrived, an Allreduce
// some time after the last rank has entered it. Each time in the trace
// therefore follows from earlier events.
//
// The exported fields may be changed before the first use.
type Halo struct {
	Ranks, Steps int
	PerNode      int           // ranks per node
	Bytes        uint64        // bytes of one message
	Compute      time.Duration // shortest computing time of a step
	Latency      time.Duration // shortest latency of a message
	ComputeNoise time.Duration // mean of the exponentially distributed time that is added to Compute
	LatencyNoise time.Duration // mean of the exponentially distributed time that is added to Latency
	Steady       bool          // no noise at all: calls also take constant times
	Late         []Late
	Seed         uint64

	once  sync.Once
	model *haloModel
}

// Late makes a rank compute longer, by By, in a step. Steps count from 0.
type Late struct {
	Rank, Step int
	By         time.Duration
}

// NewHalo returns an exchange of messages of 8 KiB about every 30 µs.
func NewHalo(ranks, steps int) *Halo {
	return &Halo{Ranks: ranks, Steps: steps, PerNode: 64, Bytes: 8192, Compute: 20 * time.Microsecond,
		Latency: time.Microsecond, ComputeNoise: 2 * time.Microsecond, LatencyNoise: 500 * time.Nanosecond, Seed: 1}
}

// sides returns the dimensions of the grid, which is as square as possible. The
// second coordinate varies fastest.
func (h *Halo) sides() (rows, columns int) {
	rows = 1
	for a := 1; a*a <= h.Ranks; a++ {
		if h.Ranks%a == 0 {
			rows = a
		}
	}
	return rows, h.Ranks / rows
}

// Neighbours lists the ranks that a rank sends to in each step, in the order of
// its calls. The index of a neighbour is the message's tag. A rank receives
// from the same ranks.
func (h *Halo) Neighbours(rank int) []int {
	rows, columns := h.sides()
	row, column := rank/columns, rank%columns
	at := func(row, column int) int { return (row+rows)%rows*columns + (column+columns)%columns }
	var all []int
	if columns > 1 {
		all = append(all, at(row, column+1), at(row, column-1))
	}
	if rows > 1 {
		all = append(all, at(row+1, column), at(row-1, column))
	}
	return all
}

// degree returns the number of neighbours, which is the same for all ranks.
func (h *Halo) degree() int { return len(h.Neighbours(0)) }

// Events implements Traced. In each step a rank has 4 events per neighbour and
// 2 more; Init and Finalize are 2 more per rank.
func (h *Halo) Events() uint64 {
	return uint64(h.Ranks) * (uint64(h.Steps)*uint64(4*h.degree()+2) + 2)
}

// Volume implements Traced. In each step a rank sends one message to each
// neighbour.
func (h *Halo) Volume() Volume {
	return Volume{h.Bytes, 1}.times(uint64(h.Ranks) * uint64(h.Steps) * uint64(h.degree()))
}

// Collectives implements Traced. There is one Allreduce in each step.
func (h *Halo) Collectives() uint64 { return uint64(h.Steps) }

// Durations of the calls, ns.
const (
	haloIrecv    = 120
	haloIsend    = 250
	haloWaitall  = 300 // shortest
	haloBetween  = 30  // from the end of a call to the start of the next
	bytesPerNano = 10
)

// collective returns how long an Allreduce takes after the last rank has
// entered it, in ns: 400 ns, and two latencies for each doubling of the number
// of ranks.
func (h *Halo) collective() int64 {
	return 400 + 2*int64(h.Latency)*int64(bits.Len(uint(h.Ranks-1)))
}

// flight returns the shortest time from the start of an Isend to the arrival of
// its message, in ns.
func (h *Halo) flight() int64 { return int64(h.Latency) + int64(h.Bytes/bytesPerNano) }

// Waits returns the waiting time of all ranks together: in Waitall for late
// senders, and in Allreduce for the last rank. It is valid only if the job is
// Steady, both dimensions of its grid are at least 3, each Late has a step of
// its own, and each By is at least 10 µs. There is then no other waiting time.
//
// Let t be the time of an Isend and the gap to the next call. A rank that is
// late by d starts the i-th of its n Isends d - (n-i) t after its neighbours
// have entered Waitall.
func (h *Halo) Waits() (lateSender, allreduce time.Duration) {
	n, t := int64(h.degree()), int64(haloIsend+haloBetween)
	usual := max(haloWaitall, h.flight()-t) // duration of a Waitall if no neighbour is late
	for _, late := range h.Late {
		d := int64(late.By)
		last, ends := d+haloWaitall, []int64{d + haloWaitall}
		for i := range n {
			began := d - (n-i)*t
			lateSender += time.Duration(began)
			ends = append(ends, began+h.flight())
			last = max(last, began+h.flight())
		}
		for range h.Ranks - len(ends) {
			ends = append(ends, usual)
		}
		for _, end := range ends {
			allreduce += time.Duration(last - end)
		}
	}
	return lateSender, allreduce
}

// Sources implements Traced.
func (h *Halo) Sources() []profile.EventSource {
	sources := make([]profile.EventSource, h.Ranks)
	for rank := range sources {
		r := &haloRank{h, rank}
		sources[rank] = newRank(r.trace, r.kinds, r.steps)
	}
	return sources
}
