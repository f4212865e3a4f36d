package aggregate

import (
	"math"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// timedProcess returns a process on host a. It ends MPI_Init at first and begins MPI_Finalize at last,
// in seconds. line1 and line2 are its times in a Recv in line 7 and in line 9, in seconds.
func timedProcess(rank int, first, last, line1, line2 uint64) *profile.Profile {
	p := sitesOfRank(rank)
	p.Host, p.Threads = "a", 1
	p.Start, p.InitEnd = start, start+int64(first)*second
	p.FinalizeStart, p.End = start+int64(last)*second, start+int64(last+1)*second
	p.Rows = p.Rows[1:3] // lines 7 and 9
	for i, s := range []uint64{line1, line2} {
		p.Rows[i].TimeNs = s * second
	}
	return p
}

// TestTimeChange compares the parts of the run time with the times of two jobs.
//
// A: rank 0 runs from 1 to 11 s, with 2 + 1 s in MPI; rank 1 from 2 to 9 s, with 1 + 1 s in MPI.
// Outside MPI are 7 and 5 s. Rank 1 began 1 s later and ended 2 s earlier.
// B: rank 0 runs from 1 to 21 s, with 8 + 1 s in MPI; rank 1 from 1 to 17 s, with 9 + 1 s in MPI.
// Outside MPI are 11 and 6 s. Rank 1 ended 4 s earlier.
func TestTimeChange(t *testing.T) {
	a := []*profile.Profile{timedProcess(0, 1, 11, 2, 1), timedProcess(1, 2, 9, 1, 1)}
	b := []*profile.Profile{timedProcess(0, 1, 21, 8, 1), timedProcess(1, 1, 17, 9, 1)}
	got := Compare(comparedOf(t, a), comparedOf(t, b), DiffOptions{}).RunTime
	if got.Ns != (Measure{10 * second, 20 * second}) || got.WallTime || got.MayBeNoise || len(got.CallSites) != 1 {
		t.Fatalf("%+v", got)
	}
	for name, part := range map[string]struct {
		got         *PartChange
		a, b, share float64 // s
	}{"line 7": {&got.CallSites[0], 1.5, 8.5, 0.7}, "outside MPI": {got.OutsideMPI, 6, 8.5, 0.25}, "idle": {got.Idle, 1.5, 2, 0.05}, "line 9": {got.OtherCalls, 1, 1, 0}} {
		if p := part.got; p.A != part.a*second || p.B != part.b*second || math.Abs(p.Share-part.share) > 1e-12 {
			t.Errorf("%s: %+v, want %+v", name, p, part)
		}
	}
	if s := got.CallSites[0].Site; s.Line != 7 || s.Function != "swap" {
		t.Errorf("the call site is %+v", s)
	}
}

// partsOf returns all parts of the run time.
func partsOf(c *TimeChange) []*PartChange {
	out := []*PartChange{c.OtherCalls, c.OutsideMPI, c.Idle}
	for i := range c.CallSites {
		out = append(out, &c.CallSites[i])
	}
	return out
}

// TestTimePartsAddUp requires that the changes of the parts add up to that of the run time, with
// several threads, call sites in one job only, and jobs of different sizes.
func TestTimePartsAddUp(t *testing.T) {
	threads := func() []*profile.Profile {
		ps := fixture()
		for _, p := range ps {
			p.Threads = 3
		}
		return ps
	}
	three := func() []*profile.Profile {
		return []*profile.Profile{timedProcess(0, 1, 11, 2, 1), timedProcess(1, 2, 9, 1, 1), timedProcess(2, 1, 9, 0, 7)}
	}
	for name, jobs := range map[string][2]func() []*profile.Profile{
		"threads":         {fixture, threads},
		"changed":         {fixture, changedFixture},
		"other sites":     {fixture, three},
		"different sizes": {three, func() []*profile.Profile { return three()[:2] }},
	} {
		c := Compare(comparedOf(t, jobs[0]()), comparedOf(t, jobs[1]()), DiffOptions{}).RunTime
		sum, shares := 0.0, 0.0
		for _, p := range partsOf(c) {
			sum, shares = sum+p.B-p.A, shares+p.Share
		}
		if want := float64(c.Ns.B) - float64(c.Ns.A); math.Abs(sum-want) > 1 || want != 0 && math.Abs(shares-1) > 1e-6 {
			t.Errorf("%s: the parts change by %g ns, %g of the whole, and the run time by %g", name, sum, shares, want)
		}
	}
}
