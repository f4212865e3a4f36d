package recording

import (
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A truncated receive has the tag that the probe or the receive asked for.
func TestTagOfAside(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.ev(anMprobe, 10, 5, 1, 7), w.ev(anImrecv, 20, 5, 1, layout.EventNoTag),
		w.ev(anIrecvTruncated, 35, 0, 1, layout.EventNoTag), w.ev(anIrecv, 40, 5, 2, 8), w.ev(anIrecvTruncated, 45, 0, 2, layout.EventNoTag))))
	all, _ := readEvents(t, w.open(t))
	testenv.Equal(t, []int32{7, profile.NoTag, 7, 8, 8}, all.Tag)
}

// found has the links and the message numbers of events, once all were read.
type found struct {
	Link []int32
	Seq  []uint32
}

// of reads the events of one thread.
func of(t *testing.T, events func(w *traced) []layout.Event) (found, []profile.EventKind) {
	t.Helper()
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, events(w)...)))
	e := w.open(t)
	all, kinds := readEvents(t, e)
	if len(e.Problems) > 0 {
		t.Errorf("problems: %q", e.Problems)
	}
	var by []profile.EventKind
	for _, k := range all.Kind {
		by = append(by, kinds[k])
	}
	return found{all.Link, all.Seq}, by
}

func TestLinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		events func(w *traced) []layout.Event
		want   found
	}{
		{"a receive that Wait completed", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIrecv, 10, 5, 1, 7), w.ev(aWait, 20, 10, 0, 1), w.ev(anIrecvMoved, 30, 0, 1, 7)}
		}, found{[]int32{2, 0, -2}, []uint32{0, 0, 1}}},
		{"a send that Wait completed", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIsend, 10, 5, 1, 7), w.ev(aWait, 20, 10, 0, 1), completed(30, 1)}
		}, found{[]int32{2, 0, -2}, []uint32{1, 0, 0}}},
		{"a Sendrecv whose half comes first", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(aSendrecvMoved, 30, 0, 1, 7), w.ev(aSendrecv, 10, 20, 1, 7)}
		}, found{[]int32{1, -1}, []uint32{1, 1}}},
		{"a Sendrecv whose half comes last", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(aSendrecv, 10, 20, 1, 7), w.ev(aSendrecvMoved, 30, 0, 1, 7)}
		}, found{[]int32{1, -1}, []uint32{1, 1}}},
		{"a Sendrecv to nobody", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(aSendrecvMoved, 30, 0, 1, 7), w.ev(aSendrecvToNobody, 10, 20, 1, 7),
				w.ev(aSendrecvToNobody, 40, 20, 2, 7), w.ev(aSendrecvMoved, 60, 0, 2, 7)}
		}, found{[]int32{1, -1, 1, -1}, []uint32{1, 0, 0, 2}}},
		{"a receive that Start posted", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(aStart, 10, 5, 1, 7), w.ev(aStartPosted, 15, 0, 1, 7), w.ev(aWait, 20, 10, 0, 1),
				w.ev(aStartMoved, 30, 0, 1, 7)}
		}, found{[]int32{1, 2, 0, -2}, []uint32{0, 0, 0, 1}}},
		{"a send that Startall started", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(aStartall, 10, 5, 0, 1), w.ev(aStartallSent, 15, 0, 1, 7), w.ev(aWait, 20, 10, 0, 1), completed(30, 1)}
		}, found{[]int32{0, 2, 0, -2}, []uint32{0, 1, 0, 0}}},
		{"a message found, and received nonblocking", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anMprobe, 10, 5, 1, 7), w.ev(anImrecv, 20, 5, 1, layout.EventNoTag), w.ev(aWait, 30, 5, 0, 1),
				w.ev(anImrecvMoved, 35, 0, 1, 7)}
		}, found{[]int32{1, 2, 0, -2}, []uint32{0, 0, 0, 1}}},
		{"a message found, and received", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anMprobe, 10, 5, 1, 7), w.ev(anMrecv, 20, 5, 1, 7)}
		}, found{[]int32{1, -1}, []uint32{0, 1}}},
		{"a receive that was cancelled", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIrecvFromAny, 10, 5, 1, -1), w.ev(aWait, 20, 5, 0, 1), w.ev(anIrecvCancelled, 25, 0, 1, layout.EventNoTag)}
		}, found{[]int32{2, 0, -2}, []uint32{0, 0, 0}}},
		{"receives behind one that was truncated and one that was freed", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIrecv, 10, 5, 1, 7), w.ev(anIrecv, 20, 5, 2, 7), w.ev(anIrecvFreed, 25, 0, 2, layout.EventNoTag),
				w.ev(anIrecv, 30, 5, 3, 7), w.ev(aWait, 40, 5, 0, 1), w.ev(anIrecvMoved, 45, 0, 3, 7), w.ev(aWait, 50, 5, 0, 1),
				w.ev(anIrecvTruncated, 55, 0, 1, layout.EventNoTag)}
		}, found{[]int32{7, 1, -1, 2, 0, -2, 0, -7}, []uint32{0, 0, 2, 0, 0, 3, 0, 1}}},
		{"a receive that was truncated, of any tag", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIrecv, 10, 5, 1, -1), w.ev(aWait, 20, 5, 0, 1), w.ev(anIrecvTruncated, 25, 0, 1, layout.EventNoTag)}
		}, found{[]int32{2, 0, -2}, []uint32{0, 0, 0}}},
		{"ends without a beginning, then their numbers again", func(w *traced) []layout.Event {
			return []layout.Event{completed(5, 1), w.ev(anIrecvMoved, 6, 0, 2, 7), w.ev(anIsend, 10, 5, 1, 7), w.ev(anIrecv, 20, 5, 2, 7),
				completed(30, 1), w.ev(anIrecvMoved, 30, 0, 2, 7)}
		}, found{[]int32{0, 0, 2, 2, -2, -2}, []uint32{0, 1, 1, 0, 0, 2}}},
		{"numbers again of what never ended", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIrecv, 10, 5, 1, 7), w.ev(anIsend, 20, 5, 2, 7), w.ev(anIsend, 30, 5, 1, 7), w.ev(anIrecv, 40, 5, 2, 7),
				completed(50, 1), w.ev(anIrecvMoved, 50, 0, 2, 7)}
		}, found{[]int32{0, 0, 2, 2, -2, -2}, []uint32{0, 1, 2, 0, 0, 1}}},
		{"the largest numbers", func(w *traced) []layout.Event {
			return []layout.Event{w.ev(anIsend, 10, 5, 1<<32-1, 7), w.ev(anIsend, 20, 5, 1<<31, 7), completed(30, 1<<32-1), completed(30, 1<<31)}
		}, found{[]int32{2, 2, -2, -2}, []uint32{1, 2, 0, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := of(t, c.events)
			testenv.Equal(t, c.want, got)
		})
	}
}

// An end has the kind of its beginning if that is there, otherwise no kind.
func TestCompletedKind(t *testing.T) {
	_, kinds := of(t, func(w *traced) []layout.Event {
		return []layout.Event{w.ev(anIsend, 10, 5, 1, 7), completed(20, 1), completed(30, 2)}
	})
	if k := kinds[1]; k.Action != profile.Completed || k.Call != "Isend" || k.Direction != profile.None || k.Peer != 3 || k.Comm != 0 {
		t.Errorf("known: %+v", k)
	}
	if k := kinds[2]; k.Action != profile.Completed || k.Call != "unknown" || k.Peer != profile.PeerLost || k.Comm != -1 {
		t.Errorf("unknown: %+v", k)
	}
}

// More requests are open at a time than their low bits can distinguish.
func TestManyOpenRequests(t *testing.T) {
	const n = nearRequests + 100
	r := newRequests()
	for i := range int32(n) {
		r.put(uint32(i)+1, i)
	}
	if len(r.far) != 100 {
		t.Errorf("%d are far, want 100", len(r.far))
	}
	r.put(1, 7) // which was far
	for i := range int32(n) {
		want := i
		if i == 0 {
			want = 7
		}
		if got, open := r.get(uint32(i) + 1); !open || got != want {
			t.Fatalf("request %d: %d, %v; want %d", i+1, got, open, want)
		}
		r.delete(uint32(i) + 1)
		if _, open := r.get(uint32(i) + 1); open {
			t.Fatalf("request %d is still open", i+1)
		}
	}
	if _, open := r.get(0); open || len(r.far) != 0 {
		t.Errorf("none is open, and %d are far", len(r.far))
	}
}

// Receives are numbered in the order of posting: a receive from any source gets
// its message before a later receive with the same source and tag, whichever
// completes first.
func TestNumbersByPosting(t *testing.T) {
	got, kinds := of(t, func(w *traced) []layout.Event {
		return []layout.Event{
			w.ev(anIrecvFromAny, 10, 5, 1, -1), w.ev(anIrecv, 20, 5, 2, 7), w.ev(aRecv, 30, 5, 0, 7), w.ev(anIrecv, 40, 5, 3, 8),
			w.ev(aWait, 50, 5, 0, 3), w.ev(anIrecvMoved, 55, 0, 3, 8), w.ev(anIrecvMoved, 55, 0, 2, 7), w.ev(anIrecvMoved, 55, 0, 1, 7),
		}
	})
	if want := []uint32{0, 0, 3, 0, 0, 1, 2, 1}; !slices.Equal(got.Seq, want) {
		t.Errorf("numbers %v, want %v", got.Seq, want)
	}
	if kinds[0].Peer != profile.PeerAnySource || kinds[7].Peer != 2 {
		t.Errorf("posted to %d, got from %d", kinds[0].Peer, kinds[7].Peer)
	}
}

// Of two threads, the send of the first begins first and ends last. Its chunk
// has a second event, and those of the other thread come between the two.
func TestNumbersOfThreads(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(
		chunkOf(0, 1, w.ev(aSend, 10, 90, 0, 7), w.ev(aSend, 110, 10, 0, 7)),
		chunkOf(1, 2, w.ev(aSendOfThread1, 20, 10, 0, 7), w.ev(aSendOfThread1, 40, 10, 0, 7), w.ev(aSendOfThread1, 105, 10, 0, 7))))
	all, kinds := readEvents(t, w.open(t))
	var threads []int32
	for _, k := range all.Kind {
		threads = append(threads, kinds[k].Thread)
	}
	if want := []int32{1, 1, 0, 1, 0}; !slices.Equal(threads, want) {
		t.Errorf("threads %v, want %v", threads, want)
	}
	if want := []uint32{2, 3, 1, 4, 5}; !slices.Equal(all.Seq, want) {
		t.Errorf("numbers %v, want %v", all.Seq, want)
	}
}

// Communicators share one sequence of message numbers after they are unified,
// and have two before.
func TestNumbersOfUnified(t *testing.T) {
	w := newTraced(t)
	w.leave(t, eventsEnding, w.events(chunkOf(0, 1, w.ev(aSend, 10, 5, 0, 7), w.ev(aSendInTwin, 20, 5, 0, 7), w.ev(aSend, 30, 5, 0, 7))))
	p := readPath(t, w.path)
	for _, want := range [][]uint32{{1, 1, 2}, {1, 2, 3}} {
		e, err := OpenEvents(p, Clock{})
		if err != nil {
			t.Fatal(err)
		}
		if all, _ := readEvents(t, e); !slices.Equal(all.Seq, want) {
			t.Errorf("numbers %v, want %v", all.Seq, want)
		}
		profile.Unify([]*profile.Profile{p})
	}
}
