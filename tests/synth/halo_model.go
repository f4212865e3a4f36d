package synth

import (
	"math/bits"
	"time"
)

// haloModel is when what happens. All of a step follows from when the Allreduce
// before it ended, so of the whole job that alone is kept, and a rank's events
// are made from its own draws and its neighbours', at any place.
type haloModel struct {
	h      *Halo
	degree int
	peers  [][maxDegree]int // by rank: its neighbours
	keys   []uint64         // by rank: what its draws come from
	late   map[place]int64

	irecv, isend, waitall *lengths
	compute, travel       *waits
	leave                 *lengths // from when the Allreduce is done to where a rank goes on

	ready []int64 // by step: when the last rank came to the Allreduce of the step before, Unix ns; one more than steps
}

const maxDegree = 4

// place is a rank in a step.
type place struct{ rank, step int }

// times is when a rank starts its calls in a step: Irecvs, Isends, Waitall.
type times [2*maxDegree + 1]int64

// times of the job are made when they are first asked for.
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

// run goes through the job and keeps when the last rank came to each Allreduce.
// It has what all ranks do in a step in memory, once.
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

// Draws of a rank in a step.
const (
	drawCalls = iota
	drawTimes
	drawTravel
	numDraws
)

func (m *haloModel) draw(rank, step, what int) uint64 {
	return mix(m.keys[rank], uint64(step)*numDraws+uint64(what))
}

// left is when a rank goes on after the Allreduce before the step.
func (m *haloModel) left(rank, step int) int64 {
	return m.leftBy(step, m.draw(rank, step, drawTimes))
}

func (m *haloModel) leftBy(step int, drawn uint64) int64 {
	return m.ready[step] + m.leave.at(drawn>>waitBits)
}

// start says when a rank starts its calls.
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

// waited is when a rank's Waitall ends: when the last message is there, each of
// which was sent when `sent` says, in the order of the receives.
func (m *haloModel) waited(rank, step int, own *times, sent *[maxDegree]int64) int64 {
	drawn := m.draw(rank, step, drawTravel)
	end := own[2*m.degree] + m.waitall.at(drawn>>(maxDegree*waitBits))
	for i := range m.degree {
		end = max(end, sent[i]+m.h.flight()+m.travel.at(drawn>>(i*waitBits)))
	}
	return end
}
