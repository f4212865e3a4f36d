package trace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// replayed returns a job after its first replay.
func replayed(t testing.TB, sources []profile.EventSource) *replay {
	t.Helper()
	sources, err := ranked(sources)
	testenv.NoError(t, err)
	r := newReplay(sources, Options{})
	testenv.NoError(t, r.all())
	return r
}

// TestUnchanged replays jobs with a change of no burst: the run time must be the recorded one, to the
// nanosecond.
func TestUnchanged(t *testing.T) {
	check := func(name string, sources []profile.EventSource) {
		t.Helper()
		r := replayed(t, sources).again()
		r.changes = []change{{burstKey: burstKey{-1, -1}, ranks: make([]rankChange, len(sources))}}
		testenv.NoError(t, r.all())
		if got, want := r.runtimeWith(0), r.runtime(); got != want {
			t.Errorf("%s takes %d ns, want %d", name, got, want)
		}
	}
	for _, test := range slices.Concat(messagePrograms, onesidedPrograms) {
		j := job(3, 100)
		test.do(j)
		check(test.name, jobs.Sources(j...))
	}
	check("pipeline", jobs.Sources(pipeline()...))
	for _, shape := range synth.TraceShapes {
		s, err := synth.NamedTrace(shape, 9, 4, 20_000)
		testenv.NoError(t, err)
		check(shape, s.Sources())
		skewed := s.Sources()
		for i := range skewed[:4] { // messages arrive before they are sent
			skewed[i] = synth.Skewed(skewed[i], time.Millisecond, 0)
		}
		check(shape+" of other clocks", skewed)
	}
	check("hub", (&synth.Hub{Ranks: 9, Steps: 50, Peers: 4, Receives: true, Late: 3_000_000}).Sources())
	for _, c := range synth.CausedJobs() {
		check(c.Name, c.Job(8, false).Sources())
	}
	for seed := range uint64(20) {
		check("random", randomJob(seed, 6, 10, func(r, step int) time.Duration { return time.Duration(r*step) * time.Millisecond }).Sources())
	}
}

// TestSavings takes the first cause of each job out in the generator. The run time must change as the
// replay said, within 1 %.
func TestSavings(t *testing.T) {
	for _, c := range synth.CausedJobs() {
		t.Run(c.Name, func(t *testing.T) {
			with, without := c.Job(8, false), c.Job(8, true)
			want := (with.Runtime() - without.Runtime()).Seconds()
			first := analyzed(t, with.Sources(), Options{}).Causes[0]
			burst := causes.Burst{Before: causes.Stop{Call: c.Before.Call, Callsite: c.Before.Site()}, After: causes.Stop{Call: c.After.Call, Callsite: c.After.Site()}}
			if first.Class.String() != c.Class || first.Burst == nil || *first.Burst != burst {
				t.Fatalf("first cause %+v, want %s at %+v", first, c.Class, burst)
			}
			if named := profile.RankSetOf(c.Ranks...); first.Named.String() != named.String() {
				t.Errorf("named %v, want %v", first.Named, named)
			}
			got := first.BoundS
			if s := first.SavesS; s != nil {
				got = *s
			}
			if math.Abs(got-want) > 0.01*want || want < 0.1*with.Runtime().Seconds() {
				t.Errorf("saves %.6f s of %v, want %.6f s", got, with.Runtime(), want)
			}
		})
	}
}

// randomJob is a job of random calls and computing. In each step, each rank also computes as long as
// work says, between two calls that wait for nobody.
func randomJob(seed uint64, ranks, steps int, work func(rank, step int) time.Duration) *synth.Schedule {
	return synth.NewSchedule("random", ranks, func(p *synth.Plan) {
		same := rand.New(rand.NewPCG(seed, 1)) // gives each rank the same numbers
		own := rand.New(rand.NewPCG(seed, uint64(p.Rank)+2))
		left, right := (p.Rank+ranks-1)%ranks, (p.Rank+1)%ranks
		for step := range steps {
			p.Work(time.Duration(own.IntN(1_000_000)))
			p.Local(10)
			p.Work(work(p.Rank, step))
			p.Local(11)
			for range same.IntN(3) {
				bytes := uint64(64)
				if same.IntN(2) == 0 {
					bytes = 1 << 20 // waits for the receiver
				}
				switch call := same.IntN(5); {
				case call == 0:
					p.All("Allreduce", 20)
				case call == 1:
					p.Bcast(21, same.IntN(ranks))
				case call == 2:
					p.Waitall(24, p.Irecv(22, left), p.Isend(23, right, 64))
				case p.Rank%2 == 0 && right != 0:
					p.Send(25, right, bytes)
				case p.Rank%2 == 1:
					p.Recv(26, left)
				}
				p.Work(time.Duration(own.IntN(500_000)))
			}
		}
	})
}

// TestRandomSavings evens out the work of random jobs in the generator, in the way of each cause that
// the analysis finds in it. The run time must change as the replay said, within 1 %.
func TestRandomSavings(t *testing.T) {
	const ranks, steps = 7, 12
	burst := causes.Burst{Before: causes.Stop{Call: "Iprobe", Callsite: "step app.c:10"}, After: causes.Stop{Call: "Iprobe", Callsite: "step app.c:11"}}
	var shorter [causes.InCall]int // number of causes that save something, by class
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		works, sums := make([][]time.Duration, ranks), make([]time.Duration, ranks)
		var all time.Duration
		for r := range works {
			most := 1 + random.IntN(6_000_000)
			for range steps {
				d := time.Duration(1 + random.IntN(most))
				works[r] = append(works[r], d)
				sums[r] += d
				all += d
			}
		}
		with := randomJob(seed, ranks, steps, func(r, step int) time.Duration { return works[r][step] })
		for _, c := range analyzed(t, with.Sources(), Options{}).Causes {
			if c.Burst == nil || *c.Burst != burst || c.SavesS == nil || c.Class == causes.Order {
				continue
			}
			without := randomJob(seed, ranks, steps, func(r, step int) time.Duration {
				switch {
				case c.Class == causes.Varying:
					return sums[r] / steps
				case c.Named.Contains(r):
					return time.Duration(float64(works[r][step]) * float64(all) / ranks / float64(sums[r]))
				}
				return works[r][step]
			})
			want := max((with.Runtime() - without.Runtime()).Seconds(), 0)
			if got := *c.SavesS; math.Abs(got-want) > 0.01*want+1e-6 {
				t.Errorf("seed %d: %v saves %.6f s of %v, want %.6f s", seed, c.Class, got, with.Runtime(), want)
			}
			if want > 0 {
				shorter[c.Class]++
			}
		}
	}
	if shorter[causes.Imbalance] < 150 || shorter[causes.Varying] < 150 {
		t.Errorf("jobs become shorter without %d causes", shorter)
	}
}

// TestSavingsTogether tries causes side by side. Each saves as much as alone.
func TestSavingsTogether(t *testing.T) {
	sources := synth.NewSchedule("two", 4, func(p *synth.Plan) {
		for step := range 12 {
			p.Work(time.Duration(1+p.Rank) * time.Millisecond)
			p.All("Barrier", 61)
			p.Work(time.Duration(1+(p.Rank+step)%4) * time.Millisecond)
			p.All("Allreduce", 60)
		}
	}).Sources()
	stop := func(call, site string) causes.Stop { return causes.Stop{Call: call, Callsite: site} }
	allreduce, barrier := stop("Allreduce", "step app.c:60"), stop("Barrier", "step app.c:61")
	list := []causes.Cause{
		{Class: causes.Imbalance, Share: 0.3, Burst: &causes.Burst{Before: allreduce, After: barrier}, Named: profile.RankSetOf(2, 3)},
		{Class: causes.Chain, Share: 0.2, Burst: &causes.Burst{Before: barrier, After: allreduce}},
		{Class: causes.Varying, Share: 0.2, Burst: &causes.Burst{Before: barrier, After: allreduce}},
		{Class: causes.InCall, Share: 0.1, Call: &barrier},
		{Class: causes.Varying, Share: 0.01, Burst: &causes.Burst{Before: allreduce, After: barrier}},
	}
	testenv.NoError(t, replayed(t, sources).savings(list))
	// In each phase the slowest rank takes 4 ms, and the mean is 2.5 ms. The first burst before a
	// barrier comes after MPI_Init, so it is another kind.
	want := []float64{11 * 0.0015, 0, 12 * 0.0015}
	for i, w := range want {
		if s := list[i].SavesS; (s == nil) != (w == 0) || s != nil && !near(*s, w) {
			t.Errorf("cause %d saves %v, want %g", i, s, w)
		}
	}
	if list[3].SavesS != nil || list[4].SavesS != nil {
		t.Errorf("a call, and less than 2 %%, were tried: %+v", list[3:])
	}
	if want := 0.096 + 24e-6 - 0.078; !near(list[1].BoundS, want) { // rank 3 computes 12 × (4 + 2.5) ms
		t.Errorf("a chain saves at most %g s, want %g", list[1].BoundS, want)
	}
}

// TestSavesOnlyTogether has two ranks with work of their own. If all share that of the one which comes
// last, the other comes last, and as late.
func TestSavesOnlyTogether(t *testing.T) {
	got := analyzed(t, synth.NewSchedule("both", 4, func(p *synth.Plan) {
		own := []time.Duration{8 * time.Millisecond, 7 * time.Millisecond, 0, 0}[p.Rank]
		for range 10 {
			p.All("Barrier", 61)
			p.Work(4 * time.Millisecond)
			p.Local(10 + 10*p.Rank)
			p.Work(own)
			p.Local(11 + 10*p.Rank)
		}
	}).Sources(), Options{})
	c := got.Causes[0]
	if c.Named.String() != "rank 0" || c.SavesS == nil || *c.SavesS >= 0.5*1e-9*float64(c.CostNs)/4 {
		t.Errorf("%+v saves %v s, want less than half of its cost on 4 ranks", c, c.SavesS)
	}
}

// edited has another head than the source.
type edited struct {
	profile.EventSource
	edit func(*profile.Trace)
}

func (s edited) Trace() *profile.Trace {
	t := *s.EventSource.Trace()
	s.edit(&t)
	return &t
}

// TestSavingsOfUnknownLimits has receivers that are late for large messages. Only the run shows that
// their senders wait for them.
func TestSavingsOfUnknownLimits(t *testing.T) {
	for _, c := range synth.CausedJobs() {
		if c.Class != causes.Order.String() {
			continue
		}
		sources := c.Job(8, false).Sources()
		want := *analyzed(t, sources, Options{}).Causes[0].SavesS
		for i := range sources {
			sources[i] = edited{sources[i], func(t *profile.Trace) { t.EagerLimits = nil }}
		}
		if got := *analyzed(t, sources, Options{}).Causes[0].SavesS; got != want || want < 0.1 {
			t.Errorf("%s: saves %g s, want %g", c.Name, got, want)
		}
	}
}

// TestSavingsOfPrograms has two programs with the same call sites. The mean is that of the program
// whose rank is named: 10, 10, 10 and 30 ms.
func TestSavingsOfPrograms(t *testing.T) {
	sources := synth.NewSchedule("programs", 8, func(p *synth.Plan) {
		for range 11 {
			switch {
			case p.Rank >= 4:
				p.Work(2 * time.Millisecond)
			case p.Rank == 3:
				p.Work(30 * time.Millisecond)
			default:
				p.Work(10 * time.Millisecond)
			}
			p.All("Allreduce", 60)
		}
	}).Sources()
	for i := range sources {
		sources[i] = edited{sources[i], func(t *profile.Trace) { t.Program = []string{"ocean", "atmosphere"}[i/4] }}
	}
	from := map[string]bool{}
	for _, c := range analyzed(t, sources, Options{}).Causes[:2] {
		if c.To != "ocean" || c.Class != causes.Imbalance || c.Named.String() != "rank 3" || c.SavesS == nil || !near(*c.SavesS, 10*0.015) {
			t.Errorf("%+v, want one that saves 0.15 s", c)
		}
		from[c.From] = true
	}
	if len(from) != 2 {
		t.Errorf("only %v wait", from)
	}
}

// TestNoSavingsOfLargeJobs has more events than are replayed again.
func TestNoSavingsOfLargeJobs(t *testing.T) {
	c := synth.CausedJobs()[0]
	for events, want := range map[uint64]bool{mostReplayed: true, mostReplayed + 1: false} {
		r := replayed(t, c.Job(8, false).Sources())
		r.steps = events
		list := analyzed(t, c.Job(8, false).Sources(), Options{}).Causes[:1]
		list[0].SavesS = nil
		testenv.NoError(t, r.savings(list))
		if got := list[0].SavesS != nil; got != want {
			t.Errorf("%d events: tried %v, want %v", events, got, want)
		}
	}
}

// TestSavingOfProbe shares work of a sender. The receiver waits for it in a probe.
func TestSavingOfProbe(t *testing.T) {
	j := job(3, 53)
	j[0].send("Send", 2, 48, 49)
	j[2].Trace().FinalizeStart = at(100)
	j[2].add(profile.EventKind{Call: "Probe", Peer: profile.PeerAnySource}, 0, 50, 0, 0)
	j[2].recv(0, 51, 52)
	list := []causes.Cause{{Class: causes.Imbalance, Share: 1, Named: profile.RankSetOf(0), Alone: true,
		Burst: &causes.Burst{Before: causes.Stop{Call: "Init"}, After: causes.Stop{Call: "Send", Callsite: "Send"}},
		Seen:  []causes.Seen{{Stop: causes.Stop{Call: "Probe", Callsite: "Probe"}, Ranks: profile.RankSetOf(2)}}}}
	testenv.NoError(t, replayed(t, jobs.Sources(j...)).savings(list))
	if got := *list[0].SavesS; !near(got, 0.032) { // 16 of 48 ms are left
		t.Errorf("saves %g s, want 0.032", got)
	}
}
