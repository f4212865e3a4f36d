package synth

import (
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Hub is a traced job: in each step, rank 0 exchanges one message with each of its
// peers, the ranks from 1 on, and is late by a known time. The peers wait for it: in
// Recv if it sends (a late sender), in Ssend if it receives (a late receiver). All
// ranks compute for the rest of the step.
type Hub struct {
	Ranks, Steps int
	Peers        int           // fewer than half of the ranks: if most had messages, rank 0 would have far more than the median
	Receives     bool          // whether rank 0 receives
	Late         time.Duration // of rank 0 in each step, after the others call
}

// Times of a step, ns, and the bytes of a message.
const (
	hubStep    = 10_000_000
	hubWork    = 1_000_000 // until all ranks but 0 call
	hubCall    = 1000      // a call of rank 0
	hubEach    = 1030      // from one call of rank 0 to the next
	hubLatency = 1000
	hubBytes   = 4096
)

// begins returns when rank 0 calls for a rank in a step, in ns after that rank calls.
func (h *Hub) begins(rank int) int64 { return int64(h.Late) + int64(rank-1)*hubEach }

// Waits returns how long the peers together wait for rank 0.
func (h *Hub) Waits() time.Duration {
	n := time.Duration(h.Peers)
	return time.Duration(h.Steps) * (n*h.Late + hubEach*n*(n-1)/2)
}

// Runtime returns the time from Init to Finalize, which is that of all ranks.
func (h *Hub) Runtime() time.Duration { return time.Duration(h.Steps) * hubStep }

// Events implements Traced. Each message has two, each rank has Init and Finalize.
func (h *Hub) Events() uint64 { return 2*h.Volume().Messages + 2*uint64(h.Ranks) }

// Volume implements Traced.
func (h *Hub) Volume() Volume {
	return Volume{hubBytes, 1}.times(uint64(h.Steps) * uint64(h.Peers))
}

// Collectives implements Traced.
func (h *Hub) Collectives() uint64 { return 0 }

// Sources implements Traced.
func (h *Hub) Sources() []profile.EventSource {
	sources := make([]profile.EventSource, h.Ranks)
	for rank := range sources {
		trace := func() *profile.Trace {
			t := newTrace("hub", rank, h.Ranks, h.Ranks)
			t.InitEnd, t.FinalizeStart = initDone, initDone+int64(h.Runtime())
			t.End = t.FinalizeStart + finalizing
			switch t.Events = 2; {
			case rank == 0:
				t.Events += h.Volume().Messages
			case rank <= h.Peers:
				t.Events += uint64(h.Steps)
			}
			return t
		}
		sources[rank] = newRank(trace, func() []profile.EventKind { return h.kinds(rank) }, func(b *batch) error { return h.calls(b, rank) })
	}
	return sources
}

// kinds returns those of rank 0 by peer, or the only one of a peer.
func (h *Hub) kinds(rank int) []profile.EventKind {
	send := func(peer int, site string) profile.EventKind {
		return call("Ssend", profile.Called, profile.P2P, profile.Send, 0, int32(peer), site)
	}
	receive := func(peer int, site string) profile.EventKind {
		return call("Recv", profile.Called, profile.P2P, profile.Recv, 0, int32(peer), site)
	}
	own, others := send, receive
	if h.Receives {
		own, others = receive, send
	}
	if rank > 0 {
		return []profile.EventKind{others(0, "spoke app.c:20")}
	}
	var kinds []profile.EventKind
	for peer := 1; peer <= h.Peers; peer++ {
		kinds = append(kinds, own(peer, "hub app.c:10"))
	}
	return kinds
}

// calls adds the calls of a rank in all steps.
func (h *Hub) calls(b *batch, rank int) error {
	if rank > h.Peers {
		return nil
	}
	for step := range h.Steps {
		at := initDone + int64(step)*hubStep + hubWork
		e := event{start: at, bytes: hubBytes, kind: kindFirst, seq: uint32(step + 1)}
		if rank > 0 {
			e.duration = h.begins(rank) + hubLatency
			b.add(e)
			continue
		}
		for peer := 1; peer <= h.Peers; peer++ {
			e.start, e.duration, e.kind = at+h.begins(peer), hubCall, kindFirst+uint32(peer-1)
			b.add(e)
		}
		if err := b.flush(batchEvents); err != nil {
			return err
		}
	}
	return nil
}
