package trace

import (
	"math"
	"math/rand/v2"
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
		r := replayed(t, sources)
		list := []causes.Cause{{Class: causes.Varying, Share: 1, Burst: &causes.Burst{Before: causes.Stop{Call: "none"}, After: causes.Stop{Call: "none"}}}}
		testenv.NoError(t, r.savings(list))
		if s := list[0].SavesS; s == nil || *s != 0 {
			t.Errorf("%s: saves %v s, want 0", name, *s)
		}
	}
	for _, test := range messagePrograms {
		j := job(3, 100)
		test.do(j)
		check(test.name, jobs.Sources(j...))
	}
	check("pipeline", jobs.Sources(pipeline()...))
	for _, shape := range synth.TraceShapes {
		s, err := synth.NamedTrace(shape, 9, 4, 20_000)
		testenv.NoError(t, err)
		check(shape, s.Sources())
	}
	check("hub", (&synth.Hub{Ranks: 9, Steps: 50, Peers: 4, Receives: true, Late: 3_000_000}).Sources())
	for _, c := range synth.CausedJobs() {
		check(c.Name, c.Job(8, false).Sources())
	}
}

// causeOf returns the cause of a job as the analysis must find it.
func causeOf(c *synth.Caused) causes.Cause {
	stop := func(l synth.Line) causes.Stop { return causes.Stop{Call: l.Call, Callsite: l.Site()} }
	out := causes.Cause{Share: 1, Burst: &causes.Burst{Before: stop(c.Before), After: stop(c.After)}, Named: profile.RankSetOf(c.Ranks...), Alone: c.Alone}
	for class := range causes.InCall {
		if class.String() == c.Class {
			out.Class = class
		}
	}
	var waits []int
	for rank := range 8 {
		if !out.Named.Contains(rank) {
			waits = append(waits, rank)
		}
	}
	for _, rank := range c.Ranks {
		out.Ranks = append(out.Ranks, causes.RankCost{Rank: rank})
	}
	out.Seen = []causes.Seen{{Stop: stop(c.Seen), Ranks: profile.RankSetOf(waits...)}}
	return out
}

// TestSavings takes the cause of each job out in the generator. The run time must change as the
// replay said, within 1 %.
func TestSavings(t *testing.T) {
	for _, c := range synth.CausedJobs() {
		t.Run(c.Name, func(t *testing.T) {
			with, without := c.Job(8, false), c.Job(8, true)
			want := (with.Runtime() - without.Runtime()).Seconds()
			r := replayed(t, with.Sources())
			list := []causes.Cause{causeOf(&c)}
			testenv.NoError(t, r.savings(list))
			got := list[0].BoundS
			if s := list[0].SavesS; s != nil {
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

// TestRandomSavings evens out the work of random jobs in the generator. The run time must change as
// the replay said, within 1 %.
func TestRandomSavings(t *testing.T) {
	const ranks, steps = 7, 12
	burst := causes.Burst{Before: causes.Stop{Call: "Iprobe", Callsite: "step app.c:10"}, After: causes.Stop{Call: "Iprobe", Callsite: "step app.c:11"}}
	least := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		works := make([][]time.Duration, ranks)
		cause := causes.Cause{Class: causes.Varying, Share: 1, Burst: &burst}
		mean := make([]time.Duration, ranks)
		var all time.Duration
		for r := range works {
			for range steps {
				d := time.Duration(1 + random.IntN(4_000_000))
				works[r] = append(works[r], d)
				mean[r] += d
			}
			all += mean[r]
			mean[r] /= steps
		}
		even := func(r, _ int) time.Duration { return mean[r] }
		if seed%2 == 0 {
			cause.Class = causes.Imbalance
			even = func(r, step int) time.Duration {
				return time.Duration(float64(works[r][step]) * min(1, float64(all)/float64(ranks*steps)/float64(mean[r])))
			}
			var named []int
			for r := range ranks {
				if mean[r] > all/(ranks*steps) {
					named = append(named, r)
				}
			}
			cause.Named = profile.RankSetOf(named...)
		}
		with := randomJob(seed, ranks, steps, func(r, step int) time.Duration { return works[r][step] })
		want := (with.Runtime() - randomJob(seed, ranks, steps, even).Runtime()).Seconds()
		list := []causes.Cause{cause}
		testenv.NoError(t, replayed(t, with.Sources()).savings(list))
		got := *list[0].SavesS
		if want > 0 {
			least++
		}
		if math.Abs(got-max(want, 0)) > 0.01*max(want, 0)+1e-6 {
			t.Errorf("seed %d: %v saves %.6f s of %v, want %.6f s", seed, cause.Class, got, with.Runtime(), want)
		}
	}
	if least < 250 {
		t.Errorf("only %d jobs become shorter", least)
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
