package aggregate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// values returns the values of some ranks; NaN stands for a value that is not
// set.
func values(ranks int, sum, mean, low float64, lowRank int, high float64, highRank int) PvarValues {
	number := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return PvarValues{Ranks: ranks, Sum: number(sum), Mean: number(mean), Min: number(low), MinRank: lowRank, Max: number(high), MaxRank: highRank}
}

func TestPvars(t *testing.T) {
	none, text := math.NaN(), "ob1"
	want := []PvarSummary{
		{Name: "generic", Class: "generic", Binding: "none", Elements: 1, Readings: 4, PvarValues: values(4, none, none, 7, 0, 7, 0),
			Slices: []PvarSlice{{"solve", values(4, none, none, 7, 0, 7, 0)}}},
		{Name: "least", Class: "low-watermark", Binding: "none", Elements: 1, Readings: 8, PvarValues: values(4, none, -25, -40, 3, -10, 0),
			Slices: []PvarSlice{{"run", values(4, none, -2.5, -4, 3, -1, 0)}, {"solve", values(4, none, -25, -40, 3, -10, 0)}}},
		{Name: "mode", Class: "state", Binding: "none", Elements: 1, Readings: 4, PvarValues: values(4, none, none, 0, 0, 3, 3),
			Slices: []PvarSlice{{"run", values(4, none, none, 0, 0, 3, 3)}}},
		{Name: "most", Class: "high-watermark", Binding: "none", Elements: 1, Readings: 8, PvarValues: values(4, none, 25, 10, 0, 40, 3),
			Slices: []PvarSlice{{"run", values(4, none, 2.5, 1, 0, 4, 3)}, {"solve", values(4, none, 25, 10, 0, 40, 3)}}},
		{Name: "name", Class: "generic", Binding: "none", Elements: 1, Readings: 4, PvarValues: PvarValues{Ranks: 4, Text: &text},
			Slices: []PvarSlice{{"solve", PvarValues{Ranks: 4, Text: &text}}}},
		// Up to 10u and down again: a mean of 5u in each of the two seconds.
		{Name: "queue", Description: "messages that wait", Class: "level", Binding: "communicator", Object: "MPI_COMM_WORLD", Elements: 2, Readings: 12,
			PvarValues: values(4, none, 5*2.5, 0, 0, 40, 3),
			Slices:     []PvarSlice{{"run", values(4, none, 5*2.5, 0, 0, 40, 3)}, {"solve", values(4, none, 5*2.5, 0, 0, 40, 3)}}},
		{Name: "queue", Description: "messages that wait", Class: "level", Binding: "communicator", Object: "Comm_split#00000000", Elements: 1, Readings: 8,
			PvarValues: values(4, none, 6, 5, 0, 7, 0),
			Slices:     []PvarSlice{{"run", values(4, none, 5, 5, 0, 5, 0)}, {"solve", values(4, none, 7, 7, 0, 7, 0)}}},
		{Name: "sent", Class: "counter", Binding: "window", Object: "MPI_COMM_WORLD", Elements: 1, Readings: 12,
			PvarValues: values(4, 150+250+350+450, 300, 150, 0, 450, 3),
			Slices:     []PvarSlice{{"run", values(4, 1000, 250, 100, 0, 400, 3)}, {"solve", values(4, 200, 50, 50, 0, 50, 0)}}},
		{Name: "sent", Class: "counter", Binding: "window", Object: "Comm_split#00000000", Elements: 1, Readings: 4,
			PvarValues: values(2, 14, 7, 7, 0, 7, 0),
			Slices:     []PvarSlice{{"run", values(2, 6, 3, 3, 0, 3, 0)}, {"solve", values(2, 8, 4, 4, 0, 4, 0)}}},
		{Name: "share", Class: "percentage", Binding: "none", Elements: 1, Readings: 4, PvarValues: values(4, none, 0.5, 0.5, 0, 0.5, 0),
			Slices: []PvarSlice{{"solve", values(4, none, 0.5, 0.5, 0, 0.5, 0)}}},
		{Name: "wait", Class: "timer", Binding: "none", Elements: 2, Readings: 4, PvarValues: values(4, 0.5*10+4*0.25, 1.5, 0.75, 0, 2.25, 3),
			Slices: []PvarSlice{{"solve", values(4, 6, 1.5, 0.75, 0, 2.25, 3)}}},
	}
	if diff := cmp.Diff(want, New(watched()).Summary().Pvars); diff != "" {
		t.Error(diff)
	}
}

func TestPvarsOfOneRank(t *testing.T) {
	s, err := New(watched()).RankSummary(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Pvars {
		if v.Name == "sent" && (v.Ranks != 1 || *v.Sum != 350 || *v.Min != 350 || v.MinRank != 2) {
			t.Errorf("got %+v", v)
		}
	}
	if len(s.Pvars) != 9+1 { // queue has two communicators
		t.Errorf("%d variables", len(s.Pvars))
	}
}

// TestWatchedIgnoresOrder checks that variables and late receives do not depend
// on the order of the recordings or on how they are merged, even for sums of
// doubles that would depend on their order, and with more communicators than
// have sums of their own.
func TestWatchedIgnoresOrder(t *testing.T) {
	crowd := func() []*profile.Profile {
		ps := watched()
		for r, p := range ps {
			p.Readings[slices.IndexFunc(p.Readings, func(read profile.Reading) bool { return read.Handle == 2 })].Values[0] =
				math.Float64bits([]float64{1e100, 1, -1e100, 0.1}[r])
			for i := range maxObjects * 6 / 5 {
				p.Comms = append(p.Comms, profile.Comm{ID: fmt.Sprintf("%08x", (i*7919+r*13)%1000), Constructor: "Comm_dup", Parent: 0, Members: p.Comms[0].Members})
				comm := int32(len(p.Comms) - 1)
				p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: 1, Comm: comm, Count: 1})
				p.Readings = append(p.Readings, profile.Reading{Handle: len(p.PvarHandles) - 1, Slice: 1, At: start + second, Moment: profile.ReadAtFree, Values: []uint64{uint64(i)}})
				p.Late = append(p.Late, profile.Late{Call: "Recv", Comm: comm, Peer: int32(i % 4), Callsite: at(r, siteRecv), Count: uint64(i%7 + 1), Queued: uint64(i)})
			}
		}
		return ps
	}
	checkAnyOrder(t, 5, crowd)
}

// Communicators beyond those that have sums of their own share one sum.
func TestPvarsOfManyObjects(t *testing.T) {
	const n = maxObjects + 20
	p := &profile.Profile{Run: "r", Rank: 0, Size: 1, State: profile.Finalized,
		Pvars: []profile.Pvar{{Name: "sent", Class: profile.PvarCounter, Type: profile.PvarUnsigned, Bound: profile.PvarCommunicator}}}
	for i := range n {
		p.Comms = append(p.Comms, profile.Comm{ID: fmt.Sprintf("%08d", n-i), Constructor: "Comm_dup", Parent: -1})
		if i == n/2 {
			p.Comms[i] = profile.Comm{ID: "1", Name: "MPI_COMM_WORLD", Parent: -1}
		}
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Comm: int32(i), Count: 1})
		p.Readings = append(p.Readings, profile.Reading{Handle: i, Moment: profile.ReadAtFree, Values: []uint64{uint64(n - i)}})
	}
	vs := New([]*profile.Profile{p}).Summary().Pvars
	if len(vs) != maxObjects+1 || vs[0].Object != "MPI_COMM_WORLD" || vs[1].Object != "Comm_dup#00000001" || *vs[1].Sum != 1 {
		t.Fatalf("%d variables, the first %+v", len(vs), vs[:min(len(vs), 2)])
	}
	rest, want := vs[maxObjects], 0.0
	for i := n; i > maxObjects; i-- { // the others have the 20 largest values
		want += float64(i)
	}
	if !rest.Others || rest.Ranks != 20 || *rest.Sum != want || *rest.Max != n {
		t.Errorf("the others are %+v, of %v; want 20 with %v", rest, *rest.Sum, want)
	}
}

// Doubles that are infinite or not a number are counted and left out of all
// sums, because JSON cannot represent them.
func TestPvarsThatAreNoNumbers(t *testing.T) {
	p := watched()[0]
	for i, v := range []float64{math.NaN(), math.Inf(1), math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64} {
		p.Readings = append(p.Readings, profile.Reading{Handle: 6, Slice: 1, At: start + second*int64(3+i), Values: []uint64{math.Float64bits(v)}})
	}
	s := New([]*profile.Profile{p}).Summary()
	if _, err := json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	v := s.Pvars[slices.IndexFunc(s.Pvars, func(v PvarSummary) bool { return v.Name == "share" })]
	if v.NotFinite != 2 || v.Readings != 6 || *v.Max != math.MaxFloat64 || *v.Min != -math.MaxFloat64 {
		t.Errorf("got %+v", v)
	}
}

func TestExactSum(t *testing.T) {
	values := []float64{1e300, 1, -1e300, 1 << 53, 1, 5e-324, -1 << 53}
	var a, b exactSum
	for i, v := range values {
		a.add(v)
		b.add(values[len(values)-1-i])
	}
	a.merge(&b)
	if got := a.value(); got != 4 {
		t.Errorf("got %v, want 4", got)
	}
}
