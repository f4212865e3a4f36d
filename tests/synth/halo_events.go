package synth

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// haloRank makes the events of a rank.
type haloRank struct {
	h    *Halo
	rank int
}

func (r *haloRank) trace() *profile.Trace {
	h, m := r.h, r.h.times()
	t := newTrace("halo", r.rank, h.Ranks, h.PerNode)
	t.InitEnd, t.FinalizeStart = m.left(r.rank, 0), m.left(r.rank, h.Steps)
	t.End = t.FinalizeStart + finalizing
	t.Events = h.Events() / uint64(h.Ranks)
	return t
}

// kinds returns the event kinds of a rank with n neighbours, from kindFirst on:
// n Irecv, n Isend, a Waitall, n messages received, n sends completed, an
// Allreduce. A step has one event of each kind, in this order.
func (r *haloRank) kinds() []profile.EventKind {
	var kinds []profile.EventKind
	peers := r.h.Neighbours(r.rank)
	each := func(name string, action profile.Action, way profile.Direction, line int) {
		for _, peer := range peers {
			kinds = append(kinds, call(name, action, profile.P2P, way, 0, int32(peer), fmt.Sprintf("exchange app.c:%d", line)))
		}
	}
	each("Irecv", profile.Called, profile.None, 40)
	each("Isend", profile.Called, profile.Send, 44)
	kinds = append(kinds, call("Waitall", profile.Called, profile.P2P, profile.None, -1, profile.PeerNone, "exchange app.c:47"))
	each("Irecv", profile.Moved, profile.Recv, 40)
	each("Isend", profile.Completed, profile.None, 44)
	return append(kinds, call("Allreduce", profile.Called, profile.AllToAll, profile.Send, 0, profile.PeerNone, "main app.c:60"))
}

// steps writes batches of whole steps. It fills the columns that are the same
// in each step once; times and sequence numbers are set for each step.
func (r *haloRank) steps(b *batch) error {
	m := r.h.times()
	each := 4*m.degree + 2
	room := min(max(batchEvents/each, 1), r.h.Steps)
	e := r.repeated(room, each)
	for first := 0; first < r.h.Steps; first += room {
		n := min(room, r.h.Steps-first)
		for i := range n {
			r.step(m, first+i, e, i*each)
		}
		if err := b.f(head(e, n*each), b.kinds); err != nil {
			return err
		}
	}
	return nil
}

// repeated returns the events of some steps, with the columns that do not
// change from step to step.
func (r *haloRank) repeated(steps, each int) *profile.Events {
	e := newColumns(steps * each)
	n := r.h.degree()
	toEnd := int32(2*n + 1) // distance in events from an Irecv or Isend to its message or completion
	for i := range e.Kind {
		k := i % each
		e.Kind[i], e.Tag[i] = kindFirst+uint32(k), profile.NoTag
		switch {
		case k < n: // Irecv; its tag is that of the peer's Isend in the opposite direction
			e.Tag[i], e.Link[i] = int32(k^1), toEnd
		case k < 2*n: // Isend
			e.Tag[i], e.Link[i], e.Bytes[i] = int32(k-n), toEnd, r.h.Bytes
		case k == 2*n: // Waitall
		case k <= 3*n: // message received
			e.Tag[i], e.Link[i], e.Bytes[i] = int32((k-2*n-1)^1), -toEnd, r.h.Bytes
		case k <= 4*n: // send completed
			e.Tag[i], e.Link[i] = int32(k-3*n-1), -toEnd
		default:
			e.Bytes[i] = 8
		}
	}
	return e
}

// head returns the first n events.
func head(e *profile.Events, n int) *profile.Events {
	return &profile.Events{Start: e.Start[:n], Duration: e.Duration[:n], Bytes: e.Bytes[:n],
		Kind: e.Kind[:n], Tag: e.Tag[:n], Link: e.Link[:n], Seq: e.Seq[:n]}
}

// step sets the times of a step, and the sequence numbers of its messages, from
// event `at` on.
func (r *haloRank) step(m *haloModel, step int, e *profile.Events, at int) {
	n := m.degree
	var own, other times
	var sent [maxDegree]int64
	m.start(r.rank, step, &own)
	for i := range n {
		m.start(m.peers[r.rank][i], step, &other)
		sent[i] = other[n+i^1]
	}
	start, duration, seq := e.Start[at:at+4*n+2], e.Duration[at:at+4*n+2], e.Seq[at:at+4*n+2]
	for i := range 2 * n {
		start[i], duration[i] = own[i], own[i+1]-own[i]-haloBetween
	}
	end := m.waited(r.rank, step, &own, &sent)
	start[2*n], duration[2*n] = own[2*n], end-own[2*n]
	for i := 2*n + 1; i <= 4*n; i++ {
		start[i] = end
	}
	for i := range n {
		seq[n+i], seq[2*n+1+i] = uint32(step+1), uint32(step+1)
	}
	start[4*n+1] = end + haloBetween
	duration[4*n+1] = m.left(r.rank, step+1) - start[4*n+1]
}
