package views_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// scaled returns a run on some ranks: each computes for useful, and spends as long in a Barrier as
// the site says. The wall time also has 49 ms in MPI_Init and MPI_Finalize.
func scaled(t *testing.T, useful, barrier synth.Growth, version string, start time.Duration, ranks int) *history.PastRun {
	t.Helper()
	barrier.Call, barrier.Line = "Barrier", 10
	s := synth.Scaling{Name: "app", Version: version, Start: int64(start), Useful: useful, Sites: []synth.Growth{barrier}}
	r, _, err := history.RunOf(s.Job(ranks), aggregate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sentencesOf returns the verdict on some runs.
func sentencesOf(t *testing.T, runs []*history.PastRun) string {
	t.Helper()
	h := &history.History{Runs: runs}
	if err := h.Compute(func(a, b *history.PastRun) (*aggregate.Diff, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, s := range views.History(h, views.HistoryView{Top: -1}) {
		for _, b := range s.Blocks {
			if s.ID == "verdict" {
				words = append(words, b.Text.Text)
			}
		}
	}
	return strings.Join(words, " ")
}

// TestScalingVerdict compares the sentence with the wall times that the jobs were made with.
func TestScalingVerdict(t *testing.T) {
	divided, same := synth.Growth{Ns: 16e9, Exponent: -1}, synth.Growth{Ns: 10e9}
	constant := func(s float64) synth.Growth { return synth.Growth{Ns: 1e9 * s} }
	for name, c := range map[string]struct {
		useful, barrier synth.Growth
		ranks           []int
		shared          int // number of ranks on which they shared cores
		want            string
	}{
		// 19, 11, 7 and 3.5 s: 1.7 and 1.6 times faster with twice the ranks, then 2 times with
		// eight times as many, which costs 112 instead of 28 core-seconds
		"the last that pay": {divided, constant(2.951), []int{1, 2, 4, 32}, 0,
			"4 ranks are the last that pay: 32 ranks are 2.0 times faster at 4.0 times the cost."},
		"shared cores": {divided, constant(2.951), []int{1, 2, 4, 32}, 32,
			"4 ranks are the last that pay: 32 ranks are 2.0 times faster at 4.0 times the cost. Ranks shared cores on 32 ranks: times are uncertain."},
		// 16 s + 1 s, 8 s + 16 s, 4 s + 81 s
		"none pays": {divided, synth.Growth{Ns: 1e9, Exponent: 4}, []int{1, 2, 3}, 0,
			"1 rank is the last that pays: 2 ranks are 1.4 times slower at 2.8 times the cost."},
		// 16.05, 8.05 and 4.05 s: 16.1 and 16.2 core-seconds
		"all pay": {divided, constant(0), []int{1, 2, 4}, 0,
			"More ranks pay, up to 4: they are 2.0 times faster than 2 ranks at 1.01 times the cost."},
		// 10 s outside MPI on any number, and 1, 2 and 4 s in MPI: 14.05 / 11.05
		"weak": {same, synth.Growth{Ns: 1e9, Exponent: 0.5}, []int{1, 4, 16}, 0,
			"Each rank computes as long on any number of ranks: the work grows with them (weak scaling), or is not divided. 16 ranks take 1.3 times the time of 1."},
		// With 2 numbers, there is no trend.
		"two numbers": {divided, constant(2.951), []int{1, 32}, 0, ""},
	} {
		var runs []*history.PastRun
		for i, n := range c.ranks {
			r := scaled(t, c.useful, c.barrier, "aa", time.Duration(i)*time.Hour, n)
			if n == c.shared {
				r.Findings = append(r.Findings, history.NotedFinding{Rule: "no core: oversubscribed"})
			}
			runs = append(runs, r)
		}
		if got := sentencesOf(t, runs); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestVersionVerdict compares the sentence with the wall times of versions: 10.05 s, and times that
// differ from it. Repetitions differ by 20 ms, which is up to 2 % of the Barrier and thus counts as 0.2 s of the wall time.
func TestVersionVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		seconds []float64 // in MPI of each version, beside 8 s outside
		times   int       // runs of each version
		want    string
	}{
		"slower": {[]float64{2, 5}, 3, "Version v1 is 1.3 times slower than v0 on 2 ranks (10.1 s → 13.1 s), which is more than the spread of repetitions."},
		// In MPI are 4.04 and 5.04 s on both ranks, with a spread of 80 ms each: a change of more than
		// 2 × 160 ms. The wall times differ by 0.5 s.
		"other times": {[]float64{2, 2.5}, 3, "No version's wall time differs by more than its spread. What changed: time of MPI_Barrier at step app.c:10, and 2 other changes below."},
		// the difference must exceed twice the sum of both spreads, 0.8 s
		"within the spread": {[]float64{2, 2.05}, 3, "No version's wall time differs by more than its spread."},
		"one run each":      {[]float64{2, 5}, 1, "Version v1 is 1.3 times slower than v0 on 2 ranks (10.0 s → 13.0 s), but a version ran only once: this may be noise. Run each version three times."},
		"one equal run":     {[]float64{2, 2}, 1, "No version's wall time differs by 5 % or more; a version ran only once, so smaller differences are not known."},
		"three versions": {[]float64{2, 5, 1}, 3, "Version v2 is 1.4 times faster than v1 on 2 ranks (13.1 s → 9.07 s), which is more than the spread of repetitions. " +
			"Version v1 is 1.3 times slower than v0 on 2 ranks (10.1 s → 13.1 s), which is more than the spread of repetitions."},
	} {
		var runs []*history.PastRun
		for v, s := range c.seconds {
			for i := range c.times {
				barrier := synth.Growth{Ns: 1e9 * (s + 0.02*float64(i))}
				runs = append(runs, scaled(t, synth.Growth{Ns: 8e9}, barrier, "v"+string(rune('0'+v)), time.Duration(10*v+i)*time.Hour, 2))
			}
		}
		if got := sentencesOf(t, runs); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestManyVerdicts requires that a history of many programs has a few sentences, with the program
// in front.
func TestManyVerdicts(t *testing.T) {
	var runs []*history.PastRun
	for i := range 5 {
		for _, n := range []int{1, 2, 4} {
			r := scaled(t, synth.Growth{Ns: 16e9, Exponent: -1}, synth.Growth{}, "aa", 0, n)
			r.Program = "app" + string(rune('0'+i))
			runs = append(runs, r)
		}
	}
	got := sentencesOf(t, runs)
	if !strings.HasPrefix(got, "app0 --steps 100: More ranks pay, up to 4") || !strings.HasSuffix(got, " More below: 2 programs.") || strings.Count(got, "pay") != 3 {
		t.Error(got)
	}
}
