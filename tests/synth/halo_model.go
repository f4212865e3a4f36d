package synth

import (
	"math/bits"
	"time"
)

// haloModel computes when things happen. All times of a step follow from the
// end of the Allreduce before it, so only those ends are stored for the job.
// The events of any rank and step are computed from them and from the random
// draws of the rank and its neighbours.
type haloModel struct {
	h      *Halo
	degree int
	peers  [][maxDegree]int // neighbours, by rank
	keys   []uint64         // seeds of the random draws, by rank
	late   map[place]int64

	irecv, isend, waitall *lengths
	compute, travel       *waits
	leave                 *lengths // from the last rank's entry into the Allreduce to a rank's return from it

	ready []int64 // by step, Unix ns: when the last rank entered the Allreduce of the step before; Steps+1 elements
}

const maxDegree = 4

// place identifies a rank in a step.
type place struct{ rank, step int }

// times holds the starts of a rank's calls in a step, in Unix ns: Irecvs,
// Isends, Waitall.
type times [2*maxDegree + 1]int64

// times returns the model of the job, which the first call computes.
func (h *Halo) times() *haloModel {
	h.once.Do(func() {
		h.model = newHaloModel(h)
		h.model.run()
	})
	return h.model
}

func newHaloModel(h *Halo) *haloModel {
	noise := func(mean time.Duration) *waits {
		if h.Steady {
			mean = 0
		}
		return newWaits(mean)
	}
	m := &haloModel{h: h, degree: h.degree(), peers: make([][maxDegree]int, h.Ranks), keys: make([]uint64, h.Ranks),
		late:  make(map[place]int64, len(h.Late)),
		irecv: newLengths(haloIrecv, h.Steady), isend: newLengths(haloIsend, h.Steady), waitall: newLengths(haloWaitall, h.Steady),
		compute: noise(h.ComputeNoise), travel: noise(h.LatencyNoise),
		leave: newLengths(time.Duration(h.collective()), h.Steady)}
	for rank := range h.Ranks {
		copy(m.peers[rank][:], h.Neighbours(rank))
		m.keys[rank] = mix(h.Seed, uint64(rank))
	}
	for _, l := range h.Late {
		m.late[place{l.Rank, l.Step}] += int64(l.By)
	}
	return m
}

// run computes when the last rank enters each Allreduce. It holds the times of
// all ranks for one step at a time.
func (m *haloModel) run() {
	m.ready = make([]int64, m.h.Steps+1)
	m.ready[0] = initDone
	all := make([]times, m.h.Ranks)
	for step := range m.h.Steps {
		for rank := range all {
			m.start(rank, step, &all[rank])
		}
		for rank := range all {
			var came [maxDegree]int64
			for i := range m.degree {
				came[i] = all[m.peers[rank][i]][m.degree+i^1]
			}
			end := m.waited(rank, step, &all[rank], &came)
			m.ready[step+1] = max(m.ready[step+1], end+haloBetween)
		}
	}
}

// Random draws of a rank in a step.
const (
	drawCalls = iota
	drawTimes
	drawTravel
	numDraws
)

func (m *haloModel) draw(rank, step, what int) uint64 {
	return mix(m.keys[rank], uint64(step)*numDraws+uint64(what))
}

// left returns when a rank leaves the Allreduce before the step, or MPI_Init
// before step 0.
func (m *haloModel) left(rank, step int) int64 {
	return m.leftBy(step, m.draw(rank, step, drawTimes))
}

func (m *haloModel) leftBy(step int, drawn uint64) int64 {
	return m.ready[step] + m.leave.at(drawn>>waitBits)
}

// start computes when a rank starts its calls in a step.
func (m *haloModel) start(rank, step int, t *times) {
	drawn, calls := m.draw(rank, step, drawTimes), m.draw(rank, step, drawCalls)
	at := m.leftBy(step, drawn) + int64(m.h.Compute) + m.compute.at(drawn)
	if len(m.late) > 0 {
		at += m.late[place{rank, step}]
	}
	for i := range m.degree {
		t[i] = at
		at += m.irecv.at(calls) + haloBetween
		calls = bits.RotateLeft64(calls, 8)
	}
	for i := m.degree; i < 2*m.degree; i++ {
		t[i] = at
		at += m.isend.at(calls) + haloBetween
		calls = bits.RotateLeft64(calls, 8)
	}
	t[2*m.degree] = at
}

// waited returns when a rank's Waitall ends: at the arrival of its last
// message. `sent` holds when each message was sent, in the order of the
// receives.
func (m *haloModel) waited(rank, step int, own *times, sent *[maxDegree]int64) int64 {
	drawn := m.draw(rank, step, drawTravel)
	end := own[2*m.degree] + m.waitall.at(drawn>>(maxDegree*waitBits))
	for i := range m.degree {
		end = max(end, sent[i]+m.h.flight()+m.travel.at(drawn>>(i*waitBits)))
	}
	return end
}
