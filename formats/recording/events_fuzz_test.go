package recording

import (
	"bytes"
	"os"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// FuzzEvents checks that any file beside a recording causes no panic and takes
// memory in proportion to its size, and that events that were accepted can be
// read.
func FuzzEvents(f *testing.F) {
	w := newTraced(f)
	every := []layout.Event{completed(5, 4), w.ev(aSendrecvMoved, 30, 0, 8, 7), w.ev(aSendrecv, 10, 20, 8, 7)}
	for row := range numTracedRows {
		every = append(every, w.ev(row, 100+10*uint64(row), 10, uint32(row)%3, int32(row)%2))
	}
	w.header.Spilled = 1
	good := w.events(chunkOf(0, 2, every...), chunkOf(1, 3, every...))
	spill := w.encode(nil, []written{chunkOf(0, 1, every...)})
	short := chunkHead + len(every)*eventSize // the rest is room
	f.Add(good, spill[:short])
	f.Add(good[:firstChunk+short], spill[:chunkHead+eventSize+1])
	f.Add(good[:firstChunk+short], []byte{})
	f.Add(good[:40], spill[:10])
	for _, at := range []int{0, 9, 16, 24, firstChunk + 4, firstChunk + 8, firstChunk + 17, firstChunk + chunkHead + 14, firstChunk + chunkHead + 24} {
		flipped := bytes.Clone(good[:firstChunk+short])
		flipped[at] ^= 0x81
		f.Add(flipped, spill[:short])
	}
	p, err := ReadFile(w.path)
	testenv.NoError(f, err)
	recorded, err := os.Stat(w.path)
	testenv.NoError(f, err)
	f.Fuzz(func(t *testing.T, events, spill []byte) {
		w.leave(t, eventsEnding, events)
		w.leave(t, spillEnding, spill)
		most := uint64(4<<20) + 10*uint64(recorded.Size()) + 8*uint64(len(events)+len(spill))
		used := testenv.Allocated(func() {
			if e, err := OpenEvents(p, Clock{scale: 1}); err == nil {
				checkEvents(t, e)
			}
		})
		if used > most {
			t.Errorf("%d bytes of events took %d of memory, more than %d", len(events)+len(spill), used, most)
		}
	})
}

// checkEvents reads all events. Their values may be anything.
func checkEvents(t *testing.T, e *EventReader) {
	var links []int32
	err := e.Each(func(b *profile.Events, kinds []profile.EventKind) error {
		n := b.Len()
		for _, length := range []int{len(b.Duration), len(b.Bytes), len(b.Kind), len(b.Tag), len(b.Link), len(b.Seq)} {
			if length != n {
				t.Fatalf("columns of %d and %d", n, length)
			}
		}
		for i, k := range b.Kind {
			if int(k) >= len(kinds) || b.Duration[i] < 0 {
				t.Fatalf("event %d: kind %d of %d, duration %d", i, k, len(kinds), b.Duration[i])
			}
		}
		links = append(links, b.Link...)
		return nil
	})
	if err != nil || uint64(len(links)) != e.Trace().Events {
		t.Fatalf("%d events, of %d: %v", len(links), e.Trace().Events, err)
	}
	for i := range links {
		checkLink(t, links, i)
	}
}

// checkLink follows an event's link, which must lead back to it or on to a
// third event.
func checkLink(t *testing.T, links []int32, i int) {
	l := int(links[i])
	switch to := i + l; {
	case l == 0:
	case to < 0 || to >= len(links):
		t.Fatalf("event %d is linked to %d of %d", i, to, len(links))
	case l < 0 && int(links[to]) != -l:
		t.Fatalf("event %d is linked to %d, and that to %d", i, to, to+int(links[to]))
	case l > 0 && links[to] <= 0 && int(links[to]) != -l:
		t.Fatalf("event %d is linked to %d, and that to %d", i, to, to+int(links[to]))
	}
}
