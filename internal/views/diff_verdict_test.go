package views_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// timed makes a job in which each rank computes for some seconds, and spends some in an
// Allreduce at app.c:10 and in a Barrier at app.c:20.
type timed struct {
	ranks                       int // 2 if 0
	outside, allreduce, barrier float64
	change                      func(*profile.Profile)
}

// Each implements profile.Source.
func (j timed) Each(f func(*profile.Profile) error) error {
	s := synth.Scaling{Name: "app", Useful: synth.Growth{Ns: 1e9 * j.outside}}
	for i, seconds := range []float64{j.allreduce, j.barrier} {
		if seconds > 0 {
			s.Sites = append(s.Sites, synth.Growth{Call: []string{"Allreduce", "Barrier"}[i], Line: 10 * (i + 1), Ns: 1e9 * seconds})
		}
	}
	return s.Job(max(j.ranks, 2)).Each(func(p *profile.Profile) error {
		if j.change != nil {
			j.change(p)
		}
		return f(p)
	})
}

// verdictOf returns the first section of a comparison.
func verdictOf(t *testing.T, a, b profile.Source, ignoreTime bool) string {
	t.Helper()
	var sides [2]*aggregate.ComparedJob
	for i, src := range []profile.Source{a, b} {
		c, err := aggregate.OfCompared(src, aggregate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sides[i] = c
	}
	d := aggregate.Compare(sides[0], sides[1], aggregate.DiffOptions{IgnoreTime: ignoreTime})
	sections := views.Diff(d, views.DiffView{Top: -1, IgnoreTime: ignoreTime})
	if s := sections[0]; s.ID != "verdict" || len(s.Blocks) != 1 || s.Blocks[0].Text == nil {
		t.Fatalf("the first section is %+v", s)
	}
	return sections[0].Blocks[0].Text.Text
}

const noise = " One run each does not tell so small a difference from noise: run each three times, and see mpitrace history."

// Changes of the profiles of a job.

func off(p *profile.Profile) {
	p.Timing = profile.TimingOff
	for i := range p.Rows {
		p.Rows[i].TimeNs, p.Rows[i].MinNs, p.Rows[i].MaxNs = 0, 0, 0
	}
}

func shared(p *profile.Profile) {
	p.Host = "n0"
	p.Placement = &profile.Placement{Processors: "0", NodeProcessors: 4, NodeCores: 4, NodeSockets: 1}
}

func sampled(stderr uint64) func(*profile.Profile) {
	return func(p *profile.Profile) {
		p.Timing = profile.TimingSampled
		for i := range p.Rows {
			p.Rows[i].TimeErrorNs = stderr
		}
	}
}

func threeTimesTheBytes(p *profile.Profile) {
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Call == "Allreduce" {
			r.Bytes *= 3
		}
	}
}

func rank1Killed(p *profile.Profile) {
	if p.Rank == 1 {
		p.State = profile.Running
	}
}

// TestDiffVerdict compares sentences with the times that the jobs were made with.
func TestDiffVerdict(t *testing.T) {
	base := timed{outside: 8, allreduce: 1, barrier: 1}
	for name, c := range map[string]struct {
		a, b       profile.Source
		ignoreTime bool
		want       string
	}{
		// 20 instead of 10 s: 6.2 s by the Allreduce, 3.1 s outside MPI, 0.7 s by the Barrier
		"slower": {base, timed{outside: 11.1, allreduce: 7.2, barrier: 1.7}, false,
			"B is 2.0 times slower (10.0 s → 20.0 s); MPI_Allreduce at step app.c:10 carries 62 % of the difference, 31 % is outside MPI."},
		"faster on more ranks": {base, timed{ranks: 4, outside: 4, allreduce: 1, barrier: 1}, false,
			"B is 1.7 times faster (10.0 s → 6.00 s) on 4 ranks instead of 2; 100 % of the difference is outside MPI."},
		// +3 s and -1 s of 2 s
		"opposed": {base, timed{outside: 7, allreduce: 4, barrier: 1}, false,
			"B is 1.2 times slower (10.0 s → 12.0 s); in the mean over ranks, MPI_Allreduce at step app.c:10 takes 3.00 s longer, the time outside MPI 1.00 s shorter."},
		"a new call site": {timed{outside: 8, barrier: 1}, timed{outside: 8, allreduce: 9, barrier: 1}, false,
			"B is 2.0 times slower (9.00 s → 18.0 s); MPI_Allreduce at step app.c:10 (only in B) carries 100 % of the difference."},
		"a little slower": {base, timed{outside: 8, allreduce: 1, barrier: 1.5}, false,
			"B is 1.05 times slower (10.0 s → 10.5 s); MPI_Barrier at step app.c:20 carries 100 % of the difference." + noise},
		"short": {timed{outside: 0.005, barrier: 0.001}, timed{outside: 0.007, barrier: 0.001}, false,
			"B is 1.3 times slower (6.00 ms → 8.00 ms); 100 % of the difference is outside MPI." + noise},
		"equal": {base, base, false, "B is as fast as A (10.0 s → 10.0 s). B sends as many bytes and messages as A."},
		"shared cores": {base, timed{outside: 18, allreduce: 1, barrier: 1, change: shared}, false,
			"B is 2.0 times slower (10.0 s → 20.0 s); 100 % of the difference is outside MPI. Ranks shared cores in B: times are uncertain. Run each three times, and see mpitrace history."},
		// 40 ms in MPI_Init and 9 ms in MPI_Finalize are part of the wall time. Each of 2 ranks
		// sends 100 times 8 bytes to the other one at each call site.
		"not timed": {base, timed{outside: 18, allreduce: 1, barrier: 1, change: func(p *profile.Profile) { off(p); threeTimesTheBytes(p) }}, false,
			"B is 2.0 times slower (wall time 10.0 s → 20.0 s); times of calls were not recorded (--timing off in B), so what carries the difference is not known. " +
				"B sends 2.0 times as many bytes (3.12 KiB → 6.25 KiB), most of the difference by MPI_Allreduce at step app.c:10."},
		"sampled": {base, timed{outside: 11.1, allreduce: 7.2, barrier: 1.7, change: sampled(100 * jobs.MS)}, false,
			"B is 2.0 times slower (10.0 s → 20.0 s); MPI_Allreduce at step app.c:10 carries 62 % of the difference, 31 % is outside MPI."},
		"within the error": {base, timed{outside: 11.1, allreduce: 7.2, barrier: 1.7, change: sampled(20_000 * jobs.MS)}, false,
			"B is 2.0 times slower (10.0 s → 20.0 s); what carries the difference is within the error of --timing sampled. B sends as many bytes and messages as A."},
		"ignored":    {base, timed{outside: 18, barrier: 1}, true, "Times are not compared (--ignore-time). B sends 50.0 % fewer bytes (3.12 KiB → 1.56 KiB), most of the difference by MPI_Allreduce at step app.c:10."},
		"unfinished": {base, timed{outside: 1, allreduce: 1, barrier: 1, change: rank1Killed}, false, "The times do not compare: 1 of 2 ranks in B did not reach MPI_Finalize. B sends as many bytes and messages as A."},
	} {
		if got := verdictOf(t, c.a, c.b, c.ignoreTime); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestDiffVerdictOfInit requires that a start that takes longer is no part of the run time, and is
// said: rank 0 and 1 begin MPI_Init 12 s earlier.
func TestDiffVerdictOfInit(t *testing.T) {
	later := func(p *profile.Profile) {
		p.Start -= 12e9
		i := slices.IndexFunc(p.Rows, func(r profile.Row) bool { return r.Call == "Init" })
		p.Rows[i].TimeNs += 12e9
	}
	base, slow := timed{outside: 8, barrier: 2}, timed{outside: 8, barrier: 2, change: later}
	got := verdictOf(t, base, slow, false)
	if want := "B is as fast as A (10.0 s → 10.0 s). Beside this, MPI_Init and MPI_Finalize take 12.0 s instead of 49.0 ms (mean over ranks)."; !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
