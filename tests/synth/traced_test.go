package synth

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// row is one event with its kind.
type row struct {
	event
	profile.EventKind
}

func (r row) end() int64 { return r.start + r.duration }

// rowsOf returns all events of a source.
func rowsOf(t *testing.T, src profile.EventSource) []row {
	t.Helper()
	var all []row
	err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		for i, kind := range e.Kind {
			all = append(all, row{event{e.Start[i], e.Duration[i], e.Bytes[i], kind, e.Tag[i], e.Link[i], e.Seq[i]}, kinds[kind]})
		}
		return nil
	})
	testenv.NoError(t, err)
	return all
}

// eachTraced calls f with jobs of each shape, on grids of each kind.
func eachTraced(t *testing.T, f func(*testing.T, Traced)) {
	for _, ranks := range []int{1, 2, 3, 4, 6, 9, 20} {
		for _, shape := range TraceShapes {
			job, err := NamedTrace(shape, ranks, 4, 3000)
			testenv.NoError(t, err)
			t.Run(fmt.Sprintf("%s of %d", shape, ranks), func(t *testing.T) { f(t, job) })
		}
	}
	t.Run("hub that sends", func(t *testing.T) { f(t, &Hub{Ranks: 9, Steps: 500, Peers: 4, Late: time.Millisecond}) })
	t.Run("hub that receives", func(t *testing.T) { f(t, &Hub{Ranks: 9, Steps: 500, Peers: 4, Receives: true}) })
	for _, c := range CausedJobs() {
		if c.After.Call != "Bcast" { // which does not wait for all
			t.Run("job with "+c.Name, func(t *testing.T) { f(t, c.Job(8, false)) })
		}
	}
	t.Run("token", func(t *testing.T) { f(t, &Token{Ranks: 20, Rounds: 60, Work: time.Millisecond}) })
}

// TestTracedTotals checks that the totals of a job are the sums over its
// events, and that it has at least the requested number of events.
func TestTracedTotals(t *testing.T) {
	eachTraced(t, func(t *testing.T, job Traced) {
		var events, collectives uint64
		var sent, received Volume
		for rank, src := range job.Sources() {
			all := rowsOf(t, src)
			if c := src.Trace(); c.Rank != rank || c.Events != uint64(len(all)) {
				t.Errorf("rank %d is %d and has %d events, not %d", rank, c.Rank, len(all), c.Events)
			}
			events += uint64(len(all))
			for _, r := range all {
				switch {
				case r.Class.Collective():
					collectives++
				case r.Direction == profile.Send:
					sent.add(Volume{r.bytes, 1})
				case r.Direction == profile.Recv:
					received.add(Volume{r.bytes, 1})
				}
			}
		}
		if events != job.Events() || sent != job.Volume() || received != sent {
			t.Errorf("%d events, %+v sent, %+v received; want %d and %+v", events, sent, received, job.Events(), job.Volume())
		}
		if want := job.Collectives() * uint64(len(job.Sources())); collectives != want {
			t.Errorf("%d in collectives, want %d", collectives, want)
		}
		_, halo := job.(*Halo)
		_, asPlanned := job.(*Schedule)
		if (halo || len(job.Sources()) > 1 && !asPlanned) && events < 3000 {
			t.Errorf("%d events", events)
		}
	})
}

// TestTracedOrder checks that events are in the order of their ends, that no
// call starts before the one before it has ended, and that a request and its
// completion link to each other.
func TestTracedOrder(t *testing.T) {
	eachTraced(t, func(t *testing.T, job Traced) {
		for rank, src := range job.Sources() {
			all := rowsOf(t, src)
			for i, r := range all {
				if r.duration < 0 || i > 0 && r.start < all[i-1].end() {
					t.Fatalf("rank %d: event %d starts at %d for %d, after %d", rank, i, r.start, r.duration, all[i-1].end())
				}
				if r.link == 0 {
					continue
				}
				to := i + int(r.link)
				if to < 0 || to >= len(all) || all[to].link != -r.link || r.link > 0 != (r.Action == profile.Called) || all[to].Call != r.Call {
					t.Fatalf("rank %d: event %d, %+v, has link %d", rank, i, r.EventKind, r.link)
				}
			}
			c := src.Trace()
			if first, last := all[0], all[len(all)-1]; first.start != c.Start || first.end() != c.InitEnd || last.start != c.FinalizeStart || last.end() != c.End {
				t.Errorf("rank %d: %+v, but Init %+v and Finalize %+v", rank, c, first, last)
			}
		}
	})
}

type message struct {
	from, to, tag int32
	seq           uint32
}

// TestTracedMessages checks that each message is sent once and received once
// with the same bytes, that it does not arrive earlier than its flight time
// allows, and that the messages of a pair and tag are numbered in order.
func TestTracedMessages(t *testing.T) {
	eachTraced(t, func(t *testing.T, job Traced) {
		sent, received, last := map[message]row{}, map[message]row{}, map[message]uint32{}
		for rank, src := range job.Sources() {
			for _, r := range rowsOf(t, src) {
				if r.seq == 0 {
					continue
				}
				into, m := sent, message{int32(rank), r.Peer, r.tag, r.seq}
				if r.Direction == profile.Recv {
					into, m.from, m.to = received, r.Peer, int32(rank)
				}
				if _, twice := into[m]; twice {
					t.Fatalf("%+v twice", m)
				}
				into[m] = r
				pair := message{m.from, m.to, m.tag, uint32(r.Direction)}
				if m.seq != last[pair]+1 {
					t.Fatalf("%+v follows %d", m, last[pair])
				}
				last[pair] = m.seq
			}
		}
		if len(sent) != len(received) {
			t.Errorf("%d sent, %d received", len(sent), len(received))
		}
		for m, s := range sent {
			if r, ok := received[m]; !ok || r.bytes != s.bytes || r.end()-s.start < 1000 {
				t.Fatalf("%+v: sent %+v, received %+v", m, s, r)
			}
		}
	})
}

// TestTracedCollectives checks that a rank leaves a collective only after all
// have entered it, and that concurrent and repeated reads give the same events.
func TestTracedCollectives(t *testing.T) {
	eachTraced(t, func(t *testing.T, job Traced) {
		came := make([]int64, job.Collectives())
		for again := range 2 {
			for _, src := range job.Sources() {
				k := 0
				for _, r := range rowsOf(t, src) {
					if !r.Class.Collective() {
						continue
					}
					if came[k] = max(came[k], r.start); again == 1 && r.end() <= came[k] {
						t.Fatalf("collective %d left at %d, before all came at %d", k, r.end(), came[k])
					}
					k++
				}
			}
		}
		src := job.Sources()[0]
		if !reflect.DeepEqual(rowsOf(t, src), rowsOf(t, job.Sources()[0])) {
			t.Error("not the same again")
		}
	})
}

// TestTracedError checks that a reader's error ends the iteration.
func TestTracedError(t *testing.T) {
	eachTraced(t, func(t *testing.T, job Traced) {
		stop := errors.New("enough")
		for _, src := range job.Sources() {
			for after := range 3 {
				calls := 0
				err := src.Each(func(*profile.Events, []profile.EventKind) error {
					if calls++; calls > after {
						return stop
					}
					return nil
				})
				if calls > after && !errors.Is(err, stop) || calls > after+1 {
					t.Fatalf("%d calls, %v", calls, err)
				}
			}
		}
	})
}

// waited sums the waiting times by their definitions: in Waitall for the sender
// that started last, and in Allreduce for the rank that entered last.
func waited(t *testing.T, h *Halo) (lateSender, allreduce time.Duration) {
	type key struct{ rank, step int }
	began, waitall, ended, came := map[message]int64{}, map[key]int64{}, map[key]int64{}, make([][]int64, h.Steps)
	for rank, src := range h.Sources() {
		step := 0
		for _, r := range rowsOf(t, src) {
			switch {
			case r.Direction == profile.Send && r.Class == profile.P2P:
				began[message{int32(rank), r.Peer, r.tag, r.seq}] = r.start
			case r.Call == "Waitall":
				waitall[key{rank, step}], ended[key{rank, step}] = r.start, r.end()
			case r.Class.Collective():
				came[step] = append(came[step], r.start)
				step++
			}
		}
	}
	for k, start := range waitall {
		var last int64
		for i, peer := range h.Neighbours(k.rank) {
			last = max(last, began[message{int32(peer), int32(k.rank), int32(i ^ 1), uint32(k.step + 1)}])
		}
		lateSender += time.Duration(max(0, min(last, ended[k])-start))
	}
	for _, starts := range came {
		var last int64
		for _, start := range starts {
			last = max(last, start)
		}
		for _, start := range starts {
			allreduce += time.Duration(last - start)
		}
	}
	return lateSender, allreduce
}

func TestHaloWaits(t *testing.T) {
	for _, ranks := range []int{9, 20, 64} {
		h := NewHalo(ranks, 5)
		h.Steady = true
		if s, a := waited(t, h); s != 0 || a != 0 {
			t.Errorf("%d ranks, nobody late: %v, %v", ranks, s, a)
		}
		h = NewHalo(ranks, 5)
		h.Steady, h.Late = true, []Late{{Rank: 4, Step: 1, By: 50 * time.Millisecond}, {Rank: 0, Step: 3, By: 10 * time.Microsecond}}
		// 4 neighbours wait 50.01 ms each, less (4 + 3 + 2 + 1) times 280 ns,
		// twice.
		want := 4*50_010*time.Microsecond - 2*2800*time.Nanosecond
		s, a := waited(t, h)
		if s != want {
			t.Errorf("%d ranks: late senders %v, want %v", ranks, s, want)
		}
		if byFormula, inAllreduce := h.Waits(); byFormula != want || inAllreduce != a {
			t.Errorf("%d ranks: %v and %v, want %v and %v", ranks, byFormula, inAllreduce, want, a)
		}
	}
}

// TestSkewed checks that a skewed clock gives other times for the same events.
func TestSkewed(t *testing.T) {
	src := NewHalo(4, 10).Sources()[2]
	fast := Skewed(src, 5*time.Millisecond, 1e-3)
	plain, skewed := rowsOf(t, src), rowsOf(t, fast)
	since := plain[0].end() - epoch // about 41 ms, after which the clock is 41 µs ahead
	if d, want := skewed[0].end()-plain[0].end(), 5_000_000+(since+500)/1000; d != want {
		t.Errorf("Init ends %d ns later, want %d", d, want)
	}
	last := len(plain) - 1
	if got, want := fast.Trace().End, skewed[last].end(); got != want {
		t.Errorf("ends at %d, want %d", got, want)
	}
	if got, want := skewed[last].duration, int64(finalizing+9000); got != want && got != want+1 {
		t.Errorf("Finalize takes %d, want %d", got, want)
	}
}

func TestNamedTraceMistakes(t *testing.T) {
	if _, err := NamedTrace("stencil", 4, 1, 10); err == nil {
		t.Error("unknown shape: no error")
	}
	for _, n := range [][2]int{{0, 1}, {1, 0}} {
		if _, err := NamedTrace("halo", n[0], n[1], 10); err == nil {
			t.Errorf("%v: no error", n)
		}
	}
}

func BenchmarkTraced(b *testing.B) {
	for _, shape := range TraceShapes {
		b.Run(shape, func(b *testing.B) {
			job, err := NamedTrace(shape, 64, 64, 2_000_000)
			testenv.NoError(b, err)
			events := 0
			for b.Loop() {
				for _, src := range job.Sources() {
					err = errors.Join(err, src.Each(func(e *profile.Events, _ []profile.EventKind) error {
						events += e.Len()
						return nil
					}))
				}
			}
			testenv.NoError(b, err)
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
