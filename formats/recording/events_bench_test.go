package recording

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const benchEvents = 1 << 20

// exchanges returns at least n events of several threads: groups of four
// receives, four sends and the call that waits for them. Some requests stay
// open for long.
func exchanges(t testing.TB, n, threads int) *EventReader {
	w := newTraced(t)
	var chunks []written
	request, sequence := uint32(0), uint64(0)
	for from := 0; from < n/threads; from += layout.ChunkEvents / 17 * 17 {
		for thread := range uint32(threads) {
			sequence++
			c := chunkOf(thread, sequence)
			now := 1000 + uint64(from)*100
			for len(c.events)+17 <= layout.ChunkEvents {
				c.events = w.exchange(c.events, now, request)
				request, now = request+8, now+1700
			}
			c.Count = uint64(len(c.events))
			chunks = append(chunks, c)
		}
	}
	w.leave(t, eventsEnding, w.events(chunks...))
	return w.open(t)
}

func (w *traced) exchange(to []layout.Event, now uint64, request uint32) []layout.Event {
	for i := range uint32(4) {
		to = append(to, w.ev(anIrecv, now+uint64(i)*200, 50, request+i+1, int32(i)))
		to = append(to, w.ev(anIsend, now+uint64(i)*200+100, 80, request+i+5, int32(i)))
	}
	now += 1000
	to = append(to, w.ev(aWait, now, 500, 0, 8))
	for i := range uint32(4) {
		to = append(to, w.ev(anIrecvMoved, now+500, 0, request+i+1, int32(i)), completed(now+500, request+i+5))
	}
	return to
}

func BenchmarkEvents(b *testing.B) {
	for name, threads := range map[string]int{"a thread": 1, "four threads": 4} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			e := exchanges(b, benchEvents, threads)
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				if err := e.Each(func(all *profile.Events, _ []profile.EventKind) error { n += all.Len(); return nil }); err != nil || uint64(n) != e.Trace().Events {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(e.Trace().Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// BenchmarkConvert converts the events of two processes at a time to trace
// files.
func BenchmarkConvert(b *testing.B) {
	two := []*EventReader{exchanges(b, benchEvents, 1), exchanges(b, benchEvents, 1)}
	for b.Loop() {
		var work errgroup.Group
		for _, e := range two {
			work.Go(func() error { return tracefile.Write(io.Discard, e) })
		}
		testenv.NoError(b, work.Wait())
	}
	b.ReportMetric(2*float64(two[0].Trace().Events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
