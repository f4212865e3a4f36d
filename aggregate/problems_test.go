package aggregate

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestLossesByKind checks that problems of one kind are counted together. The job has three processes
// without a rank, 5 and 7 lost calls of two ranks, and no recording of two of its four ranks.
func TestLossesByKind(t *testing.T) {
	var ps []*profile.Profile
	for i, lost := range []uint64{5, 7} {
		ps = append(ps, &profile.Profile{Rank: i, Size: 4, Host: "a", Pid: i + 1, State: profile.Finalized, Losses: profile.Losses{Calls: lost}})
	}
	for i := range 3 {
		ps = append(ps, &profile.Profile{Rank: -1, Size: 4, Host: "a", Pid: 10 + i, State: profile.Finalized})
	}
	s := New(ps).Summary()
	want := []Loss{
		{"ranks without a recording", 2, 1, "no recording of ranks 2-3, of 4 in all"},
		{"processes without a rank", 3, 3, "process 10 on a ended before its rank was known: it is in no matrix"},
		{"calls not recorded", 12, 1, "12 calls were not recorded at all (ranks 0-1)"},
	}
	testenv.Equal(t, want, s.Losses)
	n := 0
	for _, l := range s.Losses {
		n += l.Texts
	}
	if n != len(s.Problems) {
		t.Errorf("%d texts of %d problems", n, len(s.Problems))
	}
}
