package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const hostileProgram = `<img src=x onerror=alert(1)>`

// writeRuns writes three runs of each of two versions on 4, 16 and 64 ranks. The Allreduce
// of the second version takes twice as long.
func writeRuns(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	for v, id := range []string{"aaaaaaaaaa", "bbbbbbbbbb"} {
		for _, ranks := range []int{4, 16, 64} {
			for i := range 3 {
				s := synth.Scaling{Name: program, Version: id, Start: int64(time.Duration(v)*time.Hour + time.Duration(i)*time.Minute),
					Useful: synth.Growth{Ns: 8e9, Exponent: -0.9}, Sites: []synth.Growth{
						{Call: "Allreduce", Line: 10, Ns: 1e8 * float64(v+1), Exponent: 0.5}, {Call: "Barrier", Line: 20, Ns: 1e9, Exponent: -1}}}
				d := rundir.Dir(filepath.Join(dir, fmt.Sprintf("%s-%d-%d", id, ranks, i)))
				if err := os.MkdirAll(d.Recordings(), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := container.WriteAll(d.Recordings(), s.Job(ranks), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return dir
}

// TestHistory compares the page of many runs with `history --json`.
func TestHistory(t *testing.T) {
	testenv.Need(t, "chromium")
	for _, program := range []string{"app", hostileProgram} {
		dir, file := writeRuns(t, program), filepath.Join(t.TempDir(), "history.html")
		command(t, "mpitrace", "history", "--fail-if-worse", "150%", "--html", file, dir)
		var h history.History
		if err := json.Unmarshal([]byte(command(t, "mpitrace", "history", "--json", dir)), &h); err != nil || len(h.Runs) != 18 || len(h.Evolution) != 3 {
			t.Fatalf("%v, %d runs, %d evolutions", err, len(h.Runs), len(h.Evolution))
		}
		p := openTab(t, file)
		p.checkHistory(&h)
		p.mentions("main", program+" --steps 100", "18 runs", "nothing grew by more than --fail-if-worse allows")
		p.checkForms("history", "--fail-if-worse", "150%", dir)
		if program == "app" {
			p.pictures("history")
		}
	}
}

func (p *tab) checkHistory(h *history.History) {
	p.Helper()
	runs := p.table("runs")
	if got := numbers(runs.column(p, "ranks")); !slices.Equal(got, columnOf(h.Runs, func(r *history.PastRun) uint64 { return uint64(r.Ranks) })) {
		p.Errorf("ranks %v", got)
	}
	want := columnOf(h.Runs, func(r *history.PastRun) string { return fmt.Sprintf("%.1f %%", 100*r.POP.ParallelEfficiency) })
	if got := runs.column(p, "efficiency"); !slices.Equal(got, want) {
		p.Errorf("efficiencies %q, want %q", got, want)
	}
	scaling := p.table("scaling")
	for head, of := range map[string]func(history.Point) float64{
		"parallel efficiency": func(q history.Point) float64 { return q.ParallelEfficiency },
		"computation scaling": func(q history.Point) float64 { return q.ComputationScaling },
		"global efficiency":   func(q history.Point) float64 { return q.GlobalEfficiency }} {
		want := columnOf(h.Scaling[0].Points, func(q history.Point) string { return fmt.Sprintf("%.1f %%", 100*of(q)) })
		want = append(want, "100.0 %") // the last row is the ideal
		if got := scaling.column(p, head); !slices.Equal(got, want) {
			p.Errorf("%s %q, want %q", head, got, want)
		}
	}
	exponents := p.table("growth").column(p, "exponent")
	for i, want := range []string{"-0.90", "+0.50", "-1.00"} { // outside MPI, Allreduce, Barrier
		if i >= len(exponents) || !strings.HasPrefix(exponents[i], want) {
			p.Fatalf("exponents %q", exponents)
		}
	}
	changes := p.table("changes")
	calls := changes.column(p, "call")
	if !slices.Contains(calls, "Allreduce") || slices.Contains(calls, "Barrier") {
		p.Errorf("changed: %q", calls)
	}
}
