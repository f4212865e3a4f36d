package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlices(t *testing.T) {
	s := New(sliced()).Summary()
	want := []SliceTotals{ // "output" began on rank 1 first
		{Slice: "output", Totals: Totals{Calls: 2, TimeNs: 1000 * ms, OwnNs: 1000 * ms}},
		{Slice: "solve", Totals: Totals{Calls: 2 + 4, Messages: 3, Bytes: 30, TimeNs: 2000 * ms, OwnNs: 2000 * ms}},
	}
	if d := cmp.Diff(want, s.Slices); d != "" {
		t.Error(d)
	}
}
