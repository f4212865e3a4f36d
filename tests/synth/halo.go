package synth

import (
	"math/bits"
	"sync"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Halo is a 2-D halo exchange on a grid that is periodic both ways, as events.
// In each step a rank computes, posts an Irecv for each neighbour, an Isend to
// each, waits for all in one Waitall, and then there is an Allreduce. It has n
// neighbours: two along each side of the grid that is longer than 1, which are
// the same rank where it is 2 long.
//
// Each message is sent at once and arrives Latency + Bytes/(10 B/ns) later at
// the earliest; a Waitall ends when all of its messages are there, an Allreduce
// some time after the last rank came to it. So no event is without its cause.
//
// All may be changed before the first use.
type Halo struct {
	Ranks, Steps int
	PerNode      int           // ranks of a node
	Bytes        uint64        // of a message
	Compute      time.Duration // of a step
	Latency      time.Duration // the shortest
	ComputeNoise time.Duration // mean of what is added to Compute, exponentially distributed
	LatencyNoise time.Duration // mean of what is added to Latency, so too
	Steady       bool          // without any noise, also of the calls
	Late         []Late
	Seed         uint64

	once  sync.Once
	model *haloModel
}

// Late is that a rank computes longer before a step (from 0 on), by so much.
type Late struct {
	Rank, Step int
	By         time.Duration
}

// NewHalo is an exchange of 8 KiB every 30 µs.
func NewHalo(ranks, steps int) *Halo {
	return &Halo{Ranks: ranks, Steps: steps, PerNode: 64, Bytes: 8192, Compute: 20 * time.Microsecond,
		Latency: time.Microsecond, ComputeNoise: 2 * time.Microsecond, LatencyNoise: 500 * time.Nanosecond, Seed: 1}
}

// sides is the grid: as square as can be, the second coordinate runs fastest.
func (h *Halo) sides() (rows, columns int) {
	rows = 1
	for a := 1; a*a <= h.Ranks; a++ {
		if h.Ranks%a == 0 {
			rows = a
		}
	}
	return rows, h.Ranks / rows
}

// Neighbours lists to whom a rank sends in each step, in the order of the
// calls, which is that of the tags. What it receives comes from the same.
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

// degree is n, the same for all ranks.
func (h *Halo) degree() int { return len(h.Neighbours(0)) }

// Events implements Traced: of each rank, 4 for each neighbour and 2 more in
// each step, and Init and Finalize.
func (h *Halo) Events() uint64 {
	return uint64(h.Ranks) * (uint64(h.Steps)*uint64(4*h.degree()+2) + 2)
}

// Volume implements Traced: a message to each neighbour in each step.
func (h *Halo) Volume() Volume {
	return Volume{h.Bytes, 1}.times(uint64(h.Ranks) * uint64(h.Steps) * uint64(h.degree()))
}

// Collectives implements Traced: one Allreduce in each step.
func (h *Halo) Collectives() uint64 { return uint64(h.Steps) }

// Times of the calls, ns.
const (
	haloIrecv    = 120
	haloIsend    = 250
	haloWaitall  = 300 // at least
	haloBetween  = 30  // from the end of a call to the start of the next one
	bytesPerNano = 10
)

// collective is how long an Allreduce takes from when all are there: some
// latencies for each doubling of the ranks.
func (h *Halo) collective() int64 {
	return 400 + 2*int64(h.Latency)*int64(bits.Len(uint(h.Ranks-1)))
}

// flight is the shortest time from the start of an Isend to where the message is
// there.
func (h *Halo) flight() int64 { return int64(h.Latency) + int64(h.Bytes/bytesPerNano) }

// Waits is what all ranks wait in all, if the job is Steady, both sides of its
// grid are at least 3 long, and its Late are of different steps and By is at
// least 10 µs: for late senders in the Waitall, and in the Allreduce for the
// last to arrive. There are no other waits.
//
// A rank that is late by d starts its ith of n Isends, which take t with the gap
// to the next call, d - (n-i) t after its neighbours came to their Waitall.
func (h *Halo) Waits() (lateSender, allreduce time.Duration) {
	n, t := int64(h.degree()), int64(haloIsend+haloBetween)
	usual := max(haloWaitall, h.flight()-t) // a Waitall without anybody late
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
