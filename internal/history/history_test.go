package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// runOf reads a job.
func runOf(t *testing.T, dir string, src profile.Source) *history.PastRun {
	t.Helper()
	r, _, err := history.RunOf(src, aggregate.Options{})
	testenv.NoError(t, err)
	r.Dir = dir
	return r
}

// computed returns the history of some runs, without comparing them by aggregate.
func computed(t *testing.T, runs ...*history.PastRun) *history.History {
	t.Helper()
	h := &history.History{Runs: runs}
	testenv.NoError(t, h.Compute(func(a, b *history.PastRun) (*aggregate.Diff, error) { return nil, nil }))
	return h
}

// TestScaling compares exponents, shares and efficiencies up to 4,096 ranks with those
// that the jobs were made with.
func TestScaling(t *testing.T) {
	s := synth.Scaling{Name: "scale", Useful: synth.Growth{Ns: 4e10, Exponent: -0.9}, Sites: []synth.Growth{
		{Call: "Allreduce", Line: 10, Ns: 3e5, Exponent: 0.5}, {Call: "Alltoall", Line: 20, Ns: 2e4, Exponent: 1},
		{Call: "Barrier", Line: 30, Ns: 5e6, Exponent: 0}, {Call: "Allgather", Line: 40, Ns: 9e9, Exponent: -1},
		{Call: "Scan", Line: 50, Ns: 100, Exponent: 1.37}}}
	counts := []int{1, 4, 16, 64, 256, 1024, 4096}
	var runs []*history.PastRun
	for _, n := range counts {
		runs = append(runs, runOf(t, fmt.Sprint(n), s.Job(n)))
	}
	h := computed(t, runs...)
	if len(h.Scaling) != 1 || len(h.Scaling[0].Points) != len(counts) || len(h.Evolution) != 0 {
		t.Fatalf("%+v", h.Scaling)
	}
	got := h.Scaling[0]
	for i, p := range got.Points {
		parallel, computation := s.Efficiencies(1, counts[i])
		if p.Ranks != counts[i] || !near(p.ParallelEfficiency, parallel) || !near(p.ComputationScaling, computation) || p.LoadBalance != 1 ||
			!near(p.CommunicationEfficiency, parallel) || !near(p.GlobalEfficiency, parallel*computation) {
			t.Errorf("%+v, want efficiency %g, computation scaling %g", p, parallel, computation)
		}
	}
	checkGrowth(t, "outside MPI", got.OutsideMPI, s.Useful)
	want := slices.Clone(s.Sites)
	slices.SortFunc(want, func(a, b synth.Growth) int { return int(math.Copysign(1, b.Exponent-a.Exponent)) })
	if len(got.Sites) != len(want) {
		t.Fatalf("%d call sites", len(got.Sites))
	}
	last := got.Points[len(counts)-1]
	for i, g := range got.Sites {
		checkGrowth(t, fmt.Sprintf("step app.c:%d", want[i].Line), &g, want[i])
		share := float64(want[i].TimePerRank(4096)) / (last.UsefulNs / 4096 / last.ParallelEfficiency)
		if math.Abs(g.Share-share) > 1e-6 {
			t.Errorf("%s: share %g, want %g", g.Label, g.Share, share)
		}
	}
}

func checkGrowth(t *testing.T, label string, got *history.Growth, want synth.Growth) {
	t.Helper()
	if got == nil || got.Label != label || got.Call != want.Call || math.Abs(got.Exponent-want.Exponent) > 0.02 || *got.Error > 0.02 {
		t.Errorf("%+v, want %s with exponent %g", got, label, want.Exponent)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// TestMedianExponent requires that exponents are fitted to medians, so that one slow
// repetition changes nothing.
func TestMedianExponent(t *testing.T) {
	s := synth.Scaling{Name: "scale", Useful: synth.Growth{Ns: 1e9, Exponent: -1}, Sites: []synth.Growth{{Call: "Allreduce", Line: 10, Ns: 1e6, Exponent: 0.5}}}
	var runs []*history.PastRun
	for _, n := range []int{2, 8, 32} {
		for i, slower := range []float64{1, 1, 7} {
			one := s
			one.Sites = []synth.Growth{{Call: "Allreduce", Line: 10, Ns: 1e6 * slower, Exponent: 0.5}}
			one.Start = int64(i) * 1e9
			runs = append(runs, runOf(t, fmt.Sprintf("%d-%d", n, i), one.Job(n)))
		}
	}
	h := computed(t, runs...)
	if g := h.Scaling[0].Sites; len(g) != 1 || math.Abs(g[0].Exponent-0.5) > 0.001 || len(g[0].Points) != 3 {
		t.Errorf("%+v", g)
	}
	if len(h.Configurations) != 3 || len(h.Configurations[0].Runs) != 3 {
		t.Fatalf("%+v", h.Configurations)
	}
	// Per rank 1e9/2 ns outside MPI, √2 ms in MPI, 40 ms in Init and 9 ms in Finalize.
	wall := h.Configurations[0].WallTimeS
	spread, known := wall.Spread()
	if !known || math.Abs(spread-6*math.Sqrt2*1e-3) > 1e-6 || math.Abs(wall.Median-(0.5+math.Sqrt2*1e-3+0.049)) > 1e-6 {
		t.Errorf("wall time %+v", wall)
	}
}

// version makes repetitions of a version of a program on 4 ranks. Its times vary by a
// relative standard deviation.
type version struct {
	id    string
	sites []synth.Growth
	noise float64
	start int64
}

func (v version) runs(t *testing.T, n int, random *rand.Rand) (out []*history.PastRun) {
	t.Helper()
	vary := func(ns float64) float64 { return ns * math.Exp(v.noise*random.NormFloat64()) }
	for i := range n {
		s := synth.Scaling{Name: "app", Version: v.id, Start: v.start + int64(i)*int64(time.Minute), Useful: synth.Growth{Ns: vary(1e9)}}
		for _, g := range v.sites {
			g.Ns = vary(g.Ns)
			s.Sites = append(s.Sites, g)
		}
		out = append(out, runOf(t, fmt.Sprintf("%s-%d", v.id, i), s.Job(4)))
	}
	return out
}

// sites returns call sites that take 100 ms each, one of them longer.
func sites(n, slow int, by float64) (out []synth.Growth) {
	for i := range n {
		g := synth.Growth{Call: []string{"Allreduce", "Barrier", "Scan"}[i%3], Line: 10 + i, Ns: 1e8}
		if i == slow {
			g.Ns *= by
		}
		out = append(out, g)
	}
	return out
}

// TestNoise requires that noise alone names nothing: 3 runs against 3, 100 times, for
// several kinds of noise.
func TestNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, noise := range []float64{0.01, 0.1, 0.3, 1} {
		for _, n := range []int{4, 12} {
			for range 50 {
				a := version{"aa", sites(n, -1, 0), noise, 0}.runs(t, 3, random)
				b := version{"bb", sites(n, -1, 0), noise, int64(time.Hour)}.runs(t, 3, random)
				s := computed(t, slices.Concat(a, b)...).Evolution[0].Steps[0]
				if !s.SpreadKnown || len(s.Changes) > 0 || len(s.Appeared)+len(s.Disappeared) > 0 {
					t.Errorf("noise of %g, %d call sites: %+v", noise, n, s.Changes)
				}
			}
		}
	}
}

// TestSlowSite requires that a slower call site is named, and besides it only the totals that
// contain it.
func TestSlowSite(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		a := version{"aa", sites(6, -1, 0), 0.05, 0}.runs(t, 3, random)
		b := version{"bb", sites(6, 4, 3), 0.05, int64(time.Hour)}.runs(t, 3, random)
		h := computed(t, slices.Concat(b, a)...) // in order of time, not of arguments
		s := h.Evolution[0].Steps[0]
		if s.A.BuildID != "aa" || s.B.BuildID != "bb" {
			t.Fatalf("from %s to %s", s.A.BuildID, s.B.BuildID)
		}
		named := map[string]bool{}
		for _, c := range s.Changes {
			named[fmt.Sprint(c.Of, " ", c.Name, " ", c.Measure)] = true
			// 4 ranks × (300 - 100) ms
			if c.Of == history.OfCallSite && math.Abs(c.Difference()/8e8-1) > 0.3 {
				t.Errorf("the call site changed by %g ns", c.Difference())
			}
		}
		if !named["callsite step app.c:14 time"] {
			t.Errorf("the call site is not named: %v", named)
		}
		for name := range named {
			if !slices.Contains([]string{"callsite step app.c:14 time", "call Barrier time", "total in MPI time", "total wall time time"}, name) {
				t.Errorf("%s is named", name)
			}
		}
	}
}

// TestSingleRuns requires that the spread of single runs is not known, and that their
// differences are listed nevertheless.
func TestSingleRuns(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	a := version{"aa", sites(3, -1, 0), 0, 0}.runs(t, 1, random)
	b := version{"bb", sites(3, 1, 2), 0, int64(time.Hour)}.runs(t, 2, random)
	s := computed(t, slices.Concat(a, b)...).Evolution[0].Steps[0]
	if s.SpreadKnown {
		t.Error("the spread of one run is known")
	}
	if i := slices.IndexFunc(s.Changes, func(c history.Change) bool { return c.Name == "step app.c:11" }); i < 0 ||
		s.Changes[i].A != (history.RepeatedValue{Runs: 1, Median: 4e8, Min: 4e8, Max: 4e8}) || s.Changes[i].B != (history.RepeatedValue{Runs: 2, Median: 8e8, Min: 8e8, Max: 8e8}) {
		t.Errorf("%+v", s.Changes)
	}
}

// TestJudge applies limits to a version whose Barrier takes twice as long: 8 instead of
// 4 × 100 ms, and 16 instead of 12 in total.
func TestJudge(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for limit, want := range map[float64][]string{10: {"total", "Barrier"}, 50: {"Barrier"}, 100: nil} {
		a := version{"aa", sites(3, -1, 0), 0, 0}.runs(t, 3, random)
		b := version{"bb", sites(3, 1, 2), 0, int64(time.Hour)}.runs(t, 3, random)
		h := computed(t, slices.Concat(a, b)...)
		var got []string
		for _, s := range h.Judge(aggregate.Limits{aggregate.InTime: limit}) {
			for _, e := range s.Exceeded {
				got = append(got, e.Of)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%g %%: %q, want %q", limit, got, want)
		}
	}
}

// TestFindings requires that a finding appears only if all runs of B have it and none
// of A, and one about time only if a time changed.
func TestFindings(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, test := range []struct {
		name       string
		slower     float64
		a, b       []bool // which runs have the finding
		rule       string
		ofTime     bool
		want, gone int
	}{
		{"in all of B", 3, []bool{false, false, false}, []bool{true, true, true}, "late sender", true, 1, 0},
		{"in all of A", 3, []bool{true, true, true}, []bool{false, false, false}, "late sender", true, 0, 1},
		{"in some of B", 3, []bool{false, false, false}, []bool{true, false, true}, "late sender", true, 0, 0},
		{"in one of A", 3, []bool{false, true, false}, []bool{true, true, true}, "late sender", true, 0, 0},
		{"no time changed", 1, []bool{false, false, false}, []bool{true, true, true}, "late sender", true, 0, 0},
		{"of bytes", 1, []bool{false, false, false}, []bool{true, true, true}, "bytes between nodes", false, 1, 0},
		{"of the machine", 3, []bool{false, false, false}, []bool{true, true, true}, "no core: others use the cores", false, 0, 0},
	} {
		a := version{"aa", sites(3, -1, 0), 0.01, 0}.runs(t, 3, random)
		b := version{"bb", sites(3, 1, test.slower), 0.01, int64(time.Hour)}.runs(t, 3, random)
		for i := range 3 {
			for r, has := range map[*history.PastRun]bool{a[i]: test.a[i], b[i]: test.b[i]} {
				if has {
					r.Findings = append(r.Findings, history.NotedFinding{Rule: test.rule, OfTime: test.ofTime})
				}
			}
		}
		s := computed(t, slices.Concat(a, b)...).Evolution[0].Steps[0]
		if len(s.Appeared) != test.want || len(s.Disappeared) != test.gone {
			t.Errorf("%s: appeared %+v, disappeared %+v", test.name, s.Appeared, s.Disappeared)
		}
	}
}

// TestUnfinished requires that a run in which a rank did not finalize is listed, but
// not compared.
func TestUnfinished(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	a := version{"aa", sites(3, -1, 0), 0, 0}.runs(t, 2, random)
	killed, err := synth.NewFaulty("killed", 100, false)
	testenv.NoError(t, err)
	h := computed(t, append(a, runOf(t, "killed", killed))...)
	if len(h.Runs) != 3 || len(h.Configurations) != 1 || h.Runs[2].Compared || h.Runs[2].Complete {
		t.Errorf("%+v", h.Configurations)
	}
}

// TestVersions requires that versions follow each other in the order of their first runs,
// and that programs with one name are versions of each other.
func TestVersions(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	var runs []*history.PastRun
	for i, id := range []string{"cc", "aa", "bb", "cc", "aa"} {
		v := version{id, sites(3, -1, 0), 0, int64(i) * int64(time.Hour)}
		r := v.runs(t, 1, random)[0]
		r.Program = "app-" + id
		runs = append(runs, r)
	}
	slices.Reverse(runs)
	if h := computed(t, runs...); len(h.Evolution) != 0 || len(h.Configurations) != 3 {
		t.Errorf("different programs: %+v", h.Evolution)
	}
	h := &history.History{Runs: runs}
	h.Rename("app")
	h = computed(t, h.Runs...)
	if len(h.Evolution) != 1 || len(h.Evolution[0].Steps) != 2 {
		t.Fatalf("%+v", h.Evolution)
	}
	for i, want := range []struct {
		a, b  string
		runsA int
	}{{"cc", "aa", 2}, {"aa", "bb", 2}} {
		if s := h.Evolution[0].Steps[i]; s.A.BuildID != want.a || s.B.BuildID != want.b || len(s.A.Runs) != want.runsA || len(s.Changes) != 0 {
			t.Errorf("step %d: %+v to %+v, %+v", i, s.A, s.B, s.Changes)
		}
	}
}
