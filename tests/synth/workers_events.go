package synth

import (
	"github.com/mpitrace/mpitrace/profile"
)

// worker makes the events of a rank that sends results.
type worker struct {
	*Workers
	rank int
}

// The only kind of a worker: its Send.
const kindResult = kindFirst

func (w worker) trace() *profile.Trace {
	t := newTrace("workers", w.rank, w.Ranks, w.PerNode)
	r := w.results(w.rank, newWaits(w.LatencyNoise))
	t.InitEnd, t.FinalizeStart = r.start, r.start
	for r.next() {
		t.FinalizeStart = r.start + workerSend
	}
	t.End = t.FinalizeStart + finalizing
	t.Events = uint64(w.Results) + 2
	return t
}

func (w worker) kinds() []profile.EventKind {
	return []profile.EventKind{call("Send", profile.Called, profile.P2P, profile.Send, 0, 0, "work app.c:50")}
}

func (w worker) sends(b *batch) error {
	b.room()
	for r := w.results(w.rank, newWaits(w.LatencyNoise)); r.next(); {
		b.add(event{start: r.start, duration: workerSend, bytes: w.Bytes, kind: kindResult, tag: r.tag(), seq: r.seq()})
		if err := b.flush(batchEvents); err != nil {
			return err
		}
	}
	return nil
}

// workersMaster makes the events of rank 0.
type workersMaster struct{ *Workers }

// Kinds of the master: Irecv from any source, Wait, and from kindCame on two
// per worker, a message received by the Irecv and one received by a Recv.
const (
	kindIrecv = kindFirst + iota
	kindWait
	kindCame
)

func (w workersMaster) kinds() []profile.EventKind {
	kinds := []profile.EventKind{
		call("Irecv", profile.Called, profile.P2P, profile.None, 0, profile.PeerAnySource, "collect app.c:70"),
		call("Wait", profile.Called, profile.P2P, profile.None, -1, profile.PeerNone, "collect app.c:71"),
	}
	for rank := 1; rank < w.Ranks; rank++ {
		kinds = append(kinds, call("Irecv", profile.Moved, profile.P2P, profile.Recv, 0, int32(rank), "collect app.c:70"),
			call("Recv", profile.Called, profile.P2P, profile.Recv, 0, int32(rank), "collect app.c:75"))
	}
	return kinds
}

func (w workersMaster) trace() *profile.Trace {
	ended, _ := w.taken(func(uint64, *results, int64, int64) error { return nil }) // f returns no error
	t := newTrace("workers", 0, w.Ranks, w.PerNode)
	t.InitEnd, t.FinalizeStart = w.began(0), ended
	t.End = t.FinalizeStart + finalizing
	t.Events = w.master() + 2
	return t
}

func (w workersMaster) collects(b *batch) error {
	b.room()
	_, err := w.taken(func(n uint64, r *results, asked, got int64) error {
		b.takes(n, r, asked, got)
		return b.flush(batchEvents)
	})
	return err
}

// takes adds the events of the master for its n-th result.
func (b *batch) takes(n uint64, r *results, asked, got int64) {
	came := event{bytes: r.w.Bytes, kind: kindCame + 2*uint32(r.rank-1), tag: r.tag(), seq: r.seq()}
	if n%2 == 1 {
		came.kind++
		came.start, came.duration = asked, got-asked
		b.add(came)
		return
	}
	b.add(event{start: asked, duration: masterIrecv, kind: kindIrecv, tag: profile.AnyTag, link: 2})
	b.add(event{start: asked + 2*masterIrecv, duration: got - asked - 2*masterIrecv, kind: kindWait, tag: profile.NoTag})
	came.start, came.link = got, -2
	b.add(came)
}
