package synth

import (
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Token is a traced job in which the ranks compute in turn: a message goes round, and
// each rank computes for Work when it has it. In each round a rank also computes for
// Alone before it waits for the message; all ranks do that at the same time.
type Token struct {
	Ranks, Rounds int
	Work, Alone   time.Duration
}

// Durations, ns.
const (
	tokenSend    = 300
	tokenLatency = 1000 // from the start of a Send to the end of its Recv
)

// hop returns the time from one rank's turn to the next, and round that of a round.
func (k *Token) hop() int64 { return int64(k.Work) + tokenLatency }

func (k *Token) round() int64 { return int64(k.Alone) + int64(k.Ranks)*k.hop() + tokenSend }

// Runtime returns the time from Init to Finalize, which is that of all ranks.
func (k *Token) Runtime() time.Duration { return time.Duration(k.Rounds) * time.Duration(k.round()) }

// Events implements Traced. In a round each rank receives, except for rank 0, and
// sends, except for the last rank. Then all wait in a Barrier.
func (k *Token) Events() uint64 {
	return 2*k.Volume().Messages + uint64(k.Ranks)*(k.Collectives()+2)
}

// Volume implements Traced.
func (k *Token) Volume() Volume {
	return Volume{8, 1}.times(uint64(k.Rounds) * uint64(k.Ranks-1))
}

// Collectives implements Traced.
func (k *Token) Collectives() uint64 { return uint64(k.Rounds) }

// Sources implements Traced.
func (k *Token) Sources() []profile.EventSource {
	sources := make([]profile.EventSource, k.Ranks)
	for rank := range sources {
		trace := func() *profile.Trace {
			t := newTrace("token", rank, k.Ranks, k.Ranks)
			t.InitEnd, t.FinalizeStart = initDone, initDone+int64(k.Runtime())
			t.End = t.FinalizeStart + finalizing
			t.Events = 2 + 3*uint64(k.Rounds)
			if rank == 0 || rank == k.Ranks-1 {
				t.Events -= uint64(k.Rounds)
			}
			return t
		}
		kinds := func() []profile.EventKind {
			return []profile.EventKind{
				call("Recv", profile.Called, profile.P2P, profile.Recv, 0, int32(rank-1), "turn app.c:30"),
				call("Send", profile.Called, profile.P2P, profile.Send, 0, int32(rank+1), "turn app.c:32"),
				call("Barrier", profile.Called, profile.AllToAll, profile.Send, 0, profile.PeerNone, "main app.c:40"),
			}
		}
		sources[rank] = newRank(trace, kinds, func(b *batch) error { return k.calls(b, rank) })
	}
	return sources
}

// calls adds the calls of a rank in all rounds. The token comes to rank r after r hops.
func (k *Token) calls(b *batch, rank int) error {
	for round := range k.Rounds {
		seq := uint32(round + 1)
		begins := initDone + int64(round)*k.round() + int64(k.Alone)
		ends := initDone + int64(round+1)*k.round()
		has := begins + int64(rank)*k.hop()
		now := has + int64(k.Work)
		if rank > 0 {
			b.add(event{start: begins, duration: has - begins, bytes: 8, kind: kindFirst, seq: seq})
		}
		if rank < k.Ranks-1 {
			b.add(event{start: now, duration: tokenSend, bytes: 8, kind: kindFirst + 1, seq: seq})
			now += tokenSend
		}
		b.add(event{start: now, duration: ends - now, kind: kindFirst + 2, tag: profile.NoTag})
		if err := b.flush(batchEvents); err != nil {
			return err
		}
	}
	return nil
}
