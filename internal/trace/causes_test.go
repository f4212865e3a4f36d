package trace

import (
	"cmp"
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
