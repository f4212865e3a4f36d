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
