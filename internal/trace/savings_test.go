package trace

import (
	"math"
	"testing"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// replayed returns a job after its first replay.
func replayed(t *testing.T, sources []profile.EventSource) *replay {
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
