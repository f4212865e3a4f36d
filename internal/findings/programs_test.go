package findings_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func imbalances(t *testing.T, models ...synth.Model) []findings.Finding {
	t.Helper()
	return slices.DeleteFunc(findings.Of(summaryOf(t, synth.Coupled(models...)), nil), func(f findings.Finding) bool { return f.Rule != findings.LoadImbalance })
}

// TestImbalanceOfPrograms compares ranks of the same program only.
func TestImbalanceOfPrograms(t *testing.T) {
	const ms = time.Millisecond
	ocean := synth.Model{Name: "ocean", Useful: []time.Duration{200 * ms, 200 * ms, 200 * ms}}
	atmos := synth.Model{Name: "atmos", Build: "abcd", Useful: []time.Duration{900 * ms}}
	if found := imbalances(t, ocean, atmos); len(found) > 0 {
		t.Errorf("of balanced programs: %+v", found)
	}
	ocean.Useful = []time.Duration{600 * ms, 150 * ms, 150 * ms}
	found := imbalances(t, ocean, atmos)
	if len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	f := found[0]
	// The others of ocean lack 600 - 300 ms on average, on 3 of 4 ranks of a run of 1 s.
	if math.Abs(f.Share-0.225) > 1e-6 || f.Ranks.Compare(profile.RankSetOf(0)) != 0 {
		t.Errorf("%+v", f)
	}
	testenv.Equal(t, "Within ocean, rank 0 computes 600 ms, the mean is 300 ms. The others wait in Allreduce at step app.c:10 of ocean.", f.Text)
	testenv.Equal(t, "Within ocean: move work off rank 0; at most 300 ms shorter.", f.Try)
}
