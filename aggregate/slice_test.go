package aggregate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// sliced is a job of two ranks that know the same two parts of the run by
// different indexes: in "solve" rank r sends r+1 messages of 10 bytes in 1 s,
// and receives as many; in "output" it makes one call of 500 ms.
func sliced() []*profile.Profile {
	out := make([]*profile.Profile, 2)
	for r := range out {
		solve, output, u := uint32(1+r), uint32(2-r), uint64(r)
		out[r] = &profile.Profile{Rank: r, Size: 2, State: profile.Finalized, Start: start,
			InitEnd: start + 1, FinalizeStart: start + 4000*ms,
			Slices: []profile.Slice{{Index: 0, Name: "run", Start: start},
				{Index: output, Name: "output", Start: start + 900 - int64(r)*500},
				{Index: solve, Name: "solve", Start: start + 500}},
			Rows: []profile.Row{
				{Call: "Init", Comm: -1, Calls: 1, TimeNs: 5 * ms},
				{Call: "Send", Comm: -1, Direction: profile.Send, Slice: solve, Calls: u + 1, Messages: u + 1, Bytes: 10 * (u + 1), TimeNs: 1000 * ms},
				{Call: "Recv", Comm: -1, Direction: profile.Recv, Slice: solve, Calls: u + 1, Messages: u + 1, Bytes: 10 * (u + 1)},
				{Call: "Probe", Comm: -1, Slice: output, Calls: 1, TimeNs: 500 * ms},
			}}
	}
	return out
}

func TestSlices(t *testing.T) {
	s := New(sliced()).Summary()
	want := []SliceTotals{ // "output" began first on rank 1
		{Slice: "output", Totals: Totals{Calls: 2, TimeNs: 1000 * ms}},
		{Slice: "solve", Totals: Totals{Calls: 2 + 4, Messages: 3, Bytes: 30, TimeNs: 2000 * ms}},
	}
	if d := cmp.Diff(want, s.Slices); d != "" {
		t.Error(d)
	}
	var b bytes.Buffer
	if err := s.Text(&b, TextOptions{Sites: -1}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"slice   calls    time  % of MPI  msgs  bytes\n",
		"output      2  1.00 s    33.3 %     0    0 B\n",
		"solve       6  2.00 s    66.7 %     3   30 B\n",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, &b)
		}
	}
}

// Of many slices those with the most time are shown, in the order of the run.
func TestLongestSlices(t *testing.T) {
	var all []SliceTotals
	for i := range 40 {
		all = append(all, SliceTotals{Slice: fmt.Sprint(i), Totals: Totals{TimeNs: uint64(i * 7 % 40)}})
	}
	var got []string
	for _, s := range longest(all, 3) {
		got = append(got, s.Slice)
	}
	// 17, 34 and 11 times 7 are 39, 38 and 37 modulo 40.
	if d := cmp.Diff([]string{"11", "17", "34"}, got); d != "" {
		t.Error(d)
	}
}
