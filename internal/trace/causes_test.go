package trace

import (
	"cmp"
	"maps"
	"math"
	"testing"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
)

// checkCosts requires that the costs of all causes add up to the time waited, to the nanosecond, and
// so do their parts.
func checkCosts(t *testing.T, list []profile.EventSource, got *Result) {
	t.Helper()
	if got.Clocks != nil && list[0].Trace().Clocks == nil {
		list = got.Clocks.Correct(list)
	}
	want, last := int64(0), int64(0)
	for _, w := range got.WaitStates {
		if w.Pattern != Undecided {
			want += int64(math.Round(w.Time * 1e9))
		}
	}
	for _, src := range list {
		last = max(last, ownEnd(src.Trace()))
	}
	for _, src := range list {
		want += last - ownEnd(src.Trace())
	}
	sum := int64(0)
	for _, c := range got.Causes {
		ranks, seen := int64(0), int64(0)
		for _, r := range c.Ranks {
			ranks += r.CostNs
		}
		for _, at := range c.Seen {
			seen += at.CostNs
		}
		if seen != c.CostNs || c.Class != causes.Unknown && ranks != c.CostNs || c.CostNs <= 0 || c.Waits == 0 || c.Pairs == 0 {
			t.Errorf("cost %d ns, by rank %d, by place %d: %+v", c.CostNs, ranks, seen, c)
		}
		sum += c.CostNs
	}
	if sum != want {
		t.Errorf("costs add up to %d ns, waited %d", sum, want)
	}
}

// ownEnd returns the last time of a rank's own time.
func ownEnd(p *profile.Trace) int64 { return cmp.Or(p.FinalizeStart, p.End) }

// TestContradictingClocks: of waits between clocks that contradict each other, those that are not
// longer than the contradiction are not known.
func TestContradictingClocks(t *testing.T) {
	j := job(3, 100)
	j[0].send("Send", 1, 10, 11)
	j[1].recv(0, 4, 12) // waits 6 ms for another host
	j[0].send("Send", 2, 11, 12)
	j[2].recv(0, 9, 13) // waits 2 ms for the same host
	j[0].send("Send", 1, 50, 51)
	j[1].recv(0, 20, 52) // waits 30 ms
	j[1].Trace().Host = "other"
	j[0].Trace().Clocks = &profile.JobClocks{Backwards: 1, WorstNs: 6 * ms}
	unknown := int64(0)
	for _, c := range analyze(t, j, Options{}).Causes {
		if c.Class == causes.Unknown {
			unknown += c.CostNs
		}
	}
	if unknown != 6*ms {
		t.Errorf("%d ns are not known, want 6 ms", unknown)
	}
}

// TestCausesCover: of a trace with --keep last, the time before the first call that was kept is not
// covered. Waits whose walks would reach it are not known.
func TestCausesCover(t *testing.T) {
	j := job(2, 100)
	came(j, "Barrier", -1, 90, 60, 80)
	came(j, "Barrier", -1, 99, 92, 98)
	for _, p := range j {
		p.Trace().Cut = true
	}
	got := analyze(t, j, Options{})
	if want := 1 - (60+80+1+1)/200.; !near(got.CausesCover, want) { // 1 ms after the last call
		t.Errorf("causes cover %g of the run, want %g", got.CausesCover, want)
	}
	costs := map[causes.Class]int64{}
	for _, c := range got.Causes {
		costs[c.Class] += c.CostNs
	}
	if costs[causes.Unknown] != 20*ms || costs[causes.Imbalance]+costs[causes.InCall] != 6*ms {
		t.Errorf("costs %v, want 20 ms not known and 6 ms known", costs)
	}
}

// TestCauseSlices: the costs by slice are those of the waits, and of the last call of a rank that ends
// early.
func TestCauseSlices(t *testing.T) {
	j := job(2, 100)
	came(j, "Barrier", -1, 31, 10, 30)
	came(j, "Allreduce", -1, 71, 40, 70)
	if got := analyze(t, j, Options{}); got.Causes[0].Slices != nil {
		t.Errorf("one slice: %v", got.Causes[0].Slices)
	}
	for _, p := range j {
		for i := range p.Kinds {
			p.Kinds[i].Slice = map[string]string{"Barrier": "set up", "Allreduce": "solve"}[p.Kinds[i].Call]
		}
	}
	j[0].Trace().FinalizeStart = at(95)
	sums := map[string]int64{}
	for _, c := range analyze(t, j, Options{}).Causes {
		for slice, ns := range c.Slices {
			sums[slice] += ns
		}
	}
	if want := map[string]int64{"set up": 20 * ms, "solve": 35 * ms}; !maps.Equal(sums, want) {
		t.Errorf("costs by slice %v, want %v", sums, want)
	}
}
