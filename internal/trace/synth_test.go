package trace

import (
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/synth"
)

// The waits of a job whose ranks are late by known times are those of the
// formulas.
func TestHaloWaits(t *testing.T) {
	h := synth.NewHalo(16, 40)
	h.Steady = true
	h.Late = []synth.Late{{Rank: 5, Step: 10, By: 50 * time.Millisecond}, {Rank: 9, Step: 20, By: time.Millisecond}}
	got := analyzed(t, h.Sources(), Options{})
	late, allreduce := h.Waits()
	sums := map[Pattern]float64{}
	for _, w := range got.WaitStates {
		if w.Pattern == LateSender && w.Peer != 5 && w.Peer != 9 {
			t.Errorf("waited for one that was not late: %+v", w)
		}
		sums[w.Pattern] += w.Time
	}
	if !near(sums[LateSender], late.Seconds()) {
		t.Errorf("late senders: %g s, want %g", sums[LateSender], late.Seconds())
	}
	if !near(sums[WaitAtNxN], allreduce.Seconds()) {
		t.Errorf("Allreduce: %g s, want %g", sums[WaitAtNxN], allreduce.Seconds())
	}
	checkWhole(t, h, got)
}

// Different clocks change the waits by no more than the remaining error of the
// correction.
func TestSkewedWaits(t *testing.T) {
	h := synth.NewHalo(16, 2000)
	h.PerNode = 8
	h.Late = []synth.Late{{Rank: 5, Step: 1000, By: 50 * time.Millisecond}}
	even := analyzed(t, h.Sources(), Options{})
	sources := h.Sources()
	for i := 8; i < 16; i++ {
		sources[i] = synth.Skewed(sources[i], 5*time.Millisecond, 20e-6)
	}
	skewed := analyzed(t, sources, Options{})
	if c := skewed.Clocks; c == nil || len(c.Hosts) != 2 || c.Backwards != 0 {
		t.Fatalf("clocks %+v", skewed.Clocks)
	}
	for i, want := range even.Patterns {
		got := skewed.Patterns[i]
		if got.Pattern != want.Pattern || got.Time < 0.95*want.Time || got.Time > 1.05*want.Time {
			t.Errorf("%+v, want %+v within 5 %%", got, want)
		}
	}
	checkWhole(t, h, skewed)
}

// checkWhole requires that everything in a synthetic job is matched.
func checkWhole(t *testing.T, job synth.Traced, got *Result) {
	t.Helper()
	n, m := uint64(job.Volume().Messages), got.Matching
	if m.Sent != n || m.Received != n || m.Matched != n || m.SizesDiffer != 0 {
		t.Errorf("%+v, want %d matched", m, n)
	}
	if c := m.Collectives; c.Instances != job.Collectives() || c.Complete != c.Instances {
		t.Errorf("%+v, want %d", c, job.Collectives())
	}
	if got.Events != job.Events() {
		t.Errorf("%d events, want %d", got.Events, job.Events())
	}
}

// TestSynthetic has many more events than one round of the analysis.
func TestSynthetic(t *testing.T) {
	for _, shape := range synth.TraceShapes {
		job, err := synth.NamedTrace(shape, 8, 4, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		got := analyzed(t, job.Sources(), Options{})
		checkWhole(t, job, got)
	}
}
