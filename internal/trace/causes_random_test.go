package trace

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// randomPlan returns a plan of random steps, which all ranks make from the same numbers: messages,
// small and large, chains of messages, a Waitall for several messages, collectives if wanted. Ranks
// end at random times.
func randomPlan(seed uint64, collectives bool) func(*synth.Plan) {
	return func(p *synth.Plan) {
		r := rand.New(rand.NewPCG(seed, 41))
		work := func(rank int) {
			d := time.Duration(r.Int64N(int64(3 * time.Millisecond)))
			if r.IntN(3) > 0 && rank == p.Rank {
				p.Work(d)
			}
		}
		message := func(from, to int) {
			size, line := []uint64{8, 2 << 20}[r.IntN(2)], 10+r.IntN(3)
			work(from)
			work(to)
			switch p.Rank {
			case from:
				p.Send(line, to, size)
			case to:
				p.Recv(10+line, from)
			}
		}
		for range 30 {
			order := r.Perm(p.Ranks)
			what := r.IntN(6)
			if !collectives {
				what %= 3
			}
			line := 30 + r.IntN(2)
			if what > 2 {
				for rank := range p.Ranks {
					work(rank)
				}
			}
			switch what {
			case 0:
				message(order[0], order[1])
			case 1: // a chain
				for i := range min(4, len(order)-1) {
					message(order[i], order[i+1])
				}
			case 2: // several messages in a Waitall
				waitall(p, order, work)
			case 3:
				p.All("Allreduce", line)
			case 4:
				p.All("Barrier", 40)
			case 5:
				p.Bcast(50, order[0])
			}
		}
	}
}

// waitall lets the first rank of an order receive messages of up to three others, which send them
// late, or early.
func waitall(p *synth.Plan, order []int, work func(int)) {
	var requests []int
	senders := order[1:min(4, len(order))]
	for _, from := range senders {
		if p.Rank == order[0] {
			requests = append(requests, p.Irecv(60, from))
		}
	}
	for _, rank := range order[:1+len(senders)] {
		work(rank)
	}
	switch {
	case p.Rank == order[0]:
		p.Waitall(62, requests...)
	case slices.Contains(senders, p.Rank):
		p.Waitall(63, p.Isend(61, order[0], 64))
	}
}

// retold is a source with other metadata.
type retold struct {
	profile.EventSource
	trace *profile.Trace
}

func (r retold) Trace() *profile.Trace { return r.trace }

// retell returns the sources with copies of their metadata, which change has changed.
func retell(sources []profile.EventSource, change func(i int, t *profile.Trace)) []profile.EventSource {
	out := make([]profile.EventSource, len(sources))
	for i, src := range sources {
		t := *src.Trace()
		change(i, &t)
		out[i] = retold{src, &t}
	}
	return out
}

// folded returns processes with two threads each, which do what two ranks did. The ranks make no
// collectives.
func folded(t *testing.T, sources []profile.EventSource) []profile.EventSource {
	t.Helper()
	var out []profile.EventSource
	for i := 0; i < len(sources); i += 2 {
		trace := *sources[i].Trace()
		trace.Rank, trace.Size, trace.Threads, trace.Events = i/2, len(sources)/2, 2, 0
		trace.FinalizeStart = max(trace.FinalizeStart, sources[i+1].Trace().FinalizeStart)
		trace.End = trace.FinalizeStart + 1000
		limit := trace.EagerLimits[0]
		limit.Path = profile.ToSelf
		trace.EagerLimits = append(slices.Clone(trace.EagerLimits), limit)
		trace.Comms = slices.Clone(trace.Comms)
		trace.Comms[0].Size, trace.Comms[0].Rank = trace.Size, trace.Rank
		out = append(out, foldedProcess(t, trace, sources[i:i+2]))
	}
	return out
}

// threadEvent is an event of a thread, with its index there and that of the linked event.
type threadEvent struct {
	jobs.Event
	thread, index, linked int
}

func foldedProcess(t *testing.T, trace profile.Trace, threads []profile.EventSource) *jobs.Process {
	t.Helper()
	var all []threadEvent
	for thread, src := range threads {
		index := 0
		testenv.NoError(t, src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			for i := range e.Start {
				k := kinds[e.Kind[i]]
				linked := index + int(e.Link[i])
				x := jobs.Event{EventKind: k, Start: e.Start[i], Duration: e.Duration[i], Bytes: e.Bytes[i], Tag: e.Tag[i], Seq: e.Seq[i]}
				x.Thread = int32(thread)
				if k.Peer >= 0 {
					own, peer := int32(thread), k.Peer%2
					x.Peer = k.Peer / 2
					if k.Direction == profile.Send {
						x.Tag = 2*own + peer
					} else if x.Tag >= 0 {
						x.Tag = 2*peer + own
					}
				}
				if !profile.SetsUp(k.Call) || thread == 0 {
					all = append(all, threadEvent{x, thread, index, linked})
				}
				index++
			}
			return nil
		}))
	}
	for i := range all { // Finalize comes when all threads have ended
		if all[i].Call == "Finalize" {
			all[i].Start = trace.FinalizeStart
		}
	}
	slices.SortStableFunc(all, func(a, b threadEvent) int { return cmp.Compare(a.Start+a.Duration, b.Start+b.Duration) })
	at := map[[2]int]int{}
	for i, e := range all {
		at[[2]int{e.thread, e.index}] = i
	}
	p := jobs.ProcessOf(trace)
	p.Batch = 7
	for i, e := range all {
		e.Link = int32(at[[2]int{e.thread, e.linked}] - i)
		p.Add(e.Event)
	}
	return p
}

// TestRandomSums has 1,000 random jobs. The costs of their causes must add up to the time waited, to
// the nanosecond: to that of the table of waits, and to that of the schedule, in which each call takes
// 1 µs beside waiting.
func TestRandomSums(t *testing.T) {
	kinds := map[causes.Class]int{}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 0))
		threads := seed%4 == 3
		ranks := 2 + r.IntN(7)
		if threads {
			ranks = 2 * (1 + r.IntN(4))
		}
		s := synth.NewSchedule(fmt.Sprint("random", seed), ranks, randomPlan(seed, !threads))
		sources := s.Sources()
		if threads {
			sources = folded(t, sources)
		}
		limits := seed%5 > 0
		sources = retell(sources, func(i int, trace *profile.Trace) {
			trace.Program, trace.BuildID = "/opt/ocean", "abc"
			if seed%3 == 0 && i%2 == 1 {
				trace.Program = "/opt/atmos"
			}
			if r.IntN(3) == 0 { // the others leave MPI_Init later
				trace.InitEnd -= r.Int64N(4_000_000)
			}
			if !limits {
				trace.EagerLimits = nil
			}
		})
		got := analyzed(t, sources, Options{}) // compares with the table of waits
		if limits {
			checkScheduled(t, s, sources, got)
		}
		for _, c := range got.Causes {
			kinds[c.Class]++
			if (c.From != "") != (seed%3 == 0 && len(sources) > 1) {
				t.Errorf("from program %q", c.From)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, class := range []causes.Class{causes.Imbalance, causes.Varying, causes.Order, causes.Chain, causes.InCall} {
		if kinds[class] == 0 {
			t.Errorf("no cause of class %v", class)
		}
	}
	if kinds[causes.Unknown] > 0 {
		t.Errorf("%d causes are not known", kinds[causes.Unknown])
	}
}

// checkScheduled requires that the costs add up to what the calls of a schedule take beyond 1 µs, and
// what ranks wait at their end.
func checkScheduled(t *testing.T, s *synth.Schedule, sources []profile.EventSource, got *Result) {
	t.Helper()
	want, last := int64(0), int64(0)
	for _, src := range s.Sources() {
		testenv.NoError(t, src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			for i, ns := range e.Duration {
				if k := kinds[e.Kind[i]]; k.Action == profile.Called && !profile.SetsUp(k.Call) {
					want += ns - 1000
				}
			}
			return nil
		}))
	}
	for _, src := range sources {
		last = max(last, ownEnd(src.Trace()))
	}
	for _, src := range sources {
		want += last - ownEnd(src.Trace())
	}
	sum := int64(0)
	for _, c := range got.Causes {
		sum += c.CostNs
	}
	if sum != want {
		t.Errorf("costs add up to %d ns, scheduled %d", sum, want)
	}
}

// TestSpilledCauses requires the same causes if waits and sums do not fit into memory.
func TestSpilledCauses(t *testing.T) {
	halo := synth.NewHalo(9, 60)
	halo.Late = []synth.Late{{Rank: 5, Step: 10, By: 50 * time.Millisecond}, {Rank: 2, Step: 20, By: time.Millisecond}}
	for _, sources := range [][]profile.EventSource{halo.Sources(),
		synth.NewSchedule("spilled", 8, randomPlan(7, true)).Sources(), folded(t, synth.NewSchedule("folded", 8, randomPlan(8, false)).Sources())} {
		want := analyzed(t, sources, Options{})
		for _, waits := range []int{1, 3, 50} {
			got := analyzed(t, sources, Options{memory: &causesMemory{waits: waits, bytes: 40_000}})
			if diff := gocmp.Diff(want.Causes, got.Causes); diff != "" {
				t.Errorf("%d waits in memory (-want +got):\n%s", waits, diff)
			}
		}
	}
}
