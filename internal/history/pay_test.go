package history_test

import (
	"fmt"
	"testing"

	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// TestSpeedUp compares what more ranks gain and cost with wall times of 19, 11, 7 and 3.5 s: 16 s
// divided among the ranks, 2.951 s in MPI, 49 ms in MPI_Init and MPI_Finalize.
func TestSpeedUp(t *testing.T) {
	s := synth.Scaling{Name: "app", Useful: synth.Growth{Ns: 16e9, Exponent: -1}, Sites: []synth.Growth{{Call: "Barrier", Line: 10, Ns: 2.951e9}}}
	counts, walls := []int{1, 2, 4, 32}, []float64{19, 11, 7, 3.5}
	var runs []*history.PastRun
	for _, n := range counts {
		runs = append(runs, runOf(t, fmt.Sprint(n), s.Job(n)))
	}
	got := computed(t, runs...).Scaling[0]
	for i, p := range got.Points {
		n := float64(counts[i])
		if !near(p.WallTimeS, walls[i]) || !near(p.SpeedUp, 19/walls[i]) || !near(p.Efficiency, 19/walls[i]/n) || !near(p.CoreSeconds, n*walls[i]) || !near(p.IdealS, 19/n) {
			t.Errorf("%+v", p)
		}
	}
	if got.Work != history.Strong || got.LastThatPays == nil || *got.LastThatPays != 2 {
		t.Errorf("work %q, the last that pays is %v, want that with 4 ranks", got.Work, got.LastThatPays)
	}
}

// TestUncertainExponent requires that an exponent whose error is not small, or not known, is not
// certain, and comes after those that are.
func TestUncertainExponent(t *testing.T) {
	erratic := map[int]float64{1: 1e8, 4: 8e9, 16: 2e8} // ns: 80 times as long on 4 ranks
	for _, counts := range [][]int{{1, 4, 16}, {1, 4}} {
		var runs []*history.PastRun
		for _, n := range counts {
			s := synth.Scaling{Name: "app", Useful: synth.Growth{Ns: 16e9, Exponent: -1}, Sites: []synth.Growth{
				{Call: "Barrier", Line: 10, Ns: erratic[n]}, {Call: "Scan", Line: 20, Ns: 1e8}}}
			runs = append(runs, runOf(t, fmt.Sprint(n), s.Job(n)))
		}
		sites := computed(t, runs...).Scaling[0].Sites
		if len(counts) == 2 {
			if sites[0].Certain() || sites[1].Certain() {
				t.Errorf("two numbers of ranks tell an exponent: %+v", sites)
			}
			continue
		}
		if sites[0].Call != "Scan" || !sites[0].Certain() || sites[1].Certain() {
			t.Errorf("%+v", sites)
		}
	}
}
