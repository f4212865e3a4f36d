package aggregate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

func comparedOf(t *testing.T, ps []*profile.Profile) *ComparedJob {
	t.Helper()
	profile.Unify(ps)
	c, err := OfCompared(profile.List(ps), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// traffic returns changes of bytes and messages.
func traffic(bytesA, bytesB, messagesA, messagesB uint64) Transfers {
	return Transfers{Measure{bytesA, bytesB}, Measure{messagesA, messagesB}}
}

// The numbers are in the comments of fixture and changedFixture. Sent, written
// and read were 138 (Send) + 14 (Isend) + 192 (Allreduce) + 300 (Bcast) + 8
// (Scatterv) + 60 (Put) + 50 (Get) bytes in 12 + 2 + 24 + 3 + 3 + 1 + 1
// messages, in Comm_split those of the Isends; there were 12 + 12 + 2 + 8 + 4 +
// 1 + 1 + 1 calls and 4 Barriers; times were 1000 (Send) + 800 (Recv) + 400
// (Allreduce) ms.
func TestCompare(t *testing.T) {
	d := Compare(comparedOf(t, fixture()), comparedOf(t, changedFixture()), DiffOptions{Pairs: -1})
	if want := (Changes{StatusChanged, traffic(762, 862, 46, 46), Measure{45, 46}, Measure{2200 * ms, 2400 * ms}, 0, Measure{2200 * ms, 2400 * ms}}); d.Total != want {
		t.Errorf("total %+v, want %+v", d.Total, want)
	}
	calls := []CallChange{
		{"Allreduce", Changes{StatusChanged, traffic(192, 192, 24, 24), Measure{8, 8}, Measure{400 * ms, 600 * ms}, 0, Measure{400 * ms, 600 * ms}}},
		{"Send", Changes{StatusChanged, traffic(138, 238, 12, 12), Measure{12, 12}, Measure{1000 * ms, 1000 * ms}, 0, Measure{1000 * ms, 1000 * ms}}},
		{"Recv", Changes{StatusChanged, traffic(138, 238, 12, 12), Measure{12, 12}, Measure{800 * ms, 800 * ms}, 0, Measure{800 * ms, 800 * ms}}},
		{"Put", Changes{StatusGone, traffic(60, 0, 1, 0), Measure{1, 0}, Measure{}, 0, Measure{}}},
		{"Rput", Changes{StatusNew, traffic(0, 60, 0, 1), Measure{0, 1}, Measure{}, 0, Measure{}}},
		{"Barrier", Changes{StatusChanged, Transfers{}, Measure{4, 5}, Measure{}, 0, Measure{}}},
	}
	slices.SortStableFunc(calls[1:3], func(a, b CallChange) int { return strings.Compare(a.Call, b.Call) })
	if diff := gocmp.Diff(calls, d.Calls); diff != "" {
		t.Errorf("calls:\n%s", diff)
	}
	comms := []CommChange{
		{"MPI_COMM_WORLD", Changes{StatusChanged, traffic(748, 848, 44, 44), Measure{39, 39}, Measure{2200 * ms, 2400 * ms}, 0, Measure{2200 * ms, 2400 * ms}}},
	}
	if diff := gocmp.Diff(comms, d.Comms); diff != "" {
		t.Errorf("communicators:\n%s", diff)
	}
	// From rank 2 to 3: 3 messages of 12 bytes and 2 of 8.
	pairs := PairChanges{AllPairs, 1, []PairChange{{matrix.Pair{From: 2, To: 3}, StatusChanged, traffic(52, 152, 5, 5)}}}
	if diff := gocmp.Diff(pairs, d.Pairs); diff != "" {
		t.Errorf("pairs:\n%s", diff)
	}
	wall := uint64(2206 * ms)
	if d.WallTime.Changed() || d.WallTime.A < wall-1000 || d.WallTime.A > wall+1000 || d.InitFinalize != (Measure{32 * ms, 32 * ms}) {
		t.Errorf("wall time %+v, want about %d twice; Init and Finalize %+v, want 32 ms twice", d.WallTime, wall, d.InitFinalize)
	}
}

func TestCompareWithoutTime(t *testing.T) {
	d := Compare(comparedOf(t, fixture()), comparedOf(t, changedFixture()), DiffOptions{Pairs: -1, IgnoreTime: true})
	if slices.ContainsFunc(d.Calls, func(c CallChange) bool { return c.Call == "Allreduce" }) || len(d.Calls) != 5 {
		t.Errorf("got %+v, want all but Allreduce", d.Calls)
	}
	if d.Calls[0].Call == "Allreduce" || d.Calls[0].Bytes.Size() != 100 {
		t.Errorf("without time %+v comes first", d.Calls[0])
	}
	byTime := Compare(comparedOf(t, fixture()), comparedOf(t, changedFixture()), DiffOptions{})
	if byTime.Calls[0].Call != "Allreduce" {
		t.Errorf("by time %s comes first", byTime.Calls[0].Call)
	}
	byBytes := Compare(comparedOf(t, fixture()), comparedOf(t, changedFixture()), DiffOptions{Sort: InBytes})
	if byBytes.Calls[0].Bytes.Size() != 100 {
		t.Errorf("by bytes %+v comes first", byBytes.Calls[0])
	}
	if len(byTime.Pairs.Most) != 0 || byTime.Pairs.Changed != 1 {
		t.Errorf("pairs %+v, want one that is counted and not listed", byTime.Pairs)
	}
}

// A job compared with itself has no changes.
func TestCompareSame(t *testing.T) {
	for name, make := range map[string]func() []*profile.Profile{
		"fixture": fixture,
		"sites":   func() []*profile.Profile { return []*profile.Profile{sitesOfRank(0), sitesOfRank(1)} },
		"nothing": func() []*profile.Profile { return nil },
	} {
		d := Compare(comparedOf(t, make()), comparedOf(t, make()), DiffOptions{Pairs: -1})
		if len(d.Calls)+len(d.CallSites)+len(d.Comms)+len(d.Pairs.Most)+d.Pairs.Changed != 0 || d.Total.Status != StatusSame {
			t.Errorf("%s: got %+v", name, d)
		}
		if d.Judge(Limits{InTime: 0, InBytes: 0, InMessages: 0}); len(d.Exceeded) != 0 {
			t.Errorf("%s: exceeded %+v", name, d.Exceeded)
		}
	}
}

// The comparison in the other direction is the inverse.
func TestCompareInverse(t *testing.T) {
	smaller := []*profile.Profile{sitesOfRank(0)}
	for _, jobs := range [][2]func() []*profile.Profile{
		{fixture, changedFixture},
		{fixture, func() []*profile.Profile { return smaller }},
		{func() []*profile.Profile { return []*profile.Profile{sitesOfRank(0), sitesOfRank(1)} }, func() []*profile.Profile { return smaller }},
	} {
		o := DiffOptions{Pairs: -1}
		there := Compare(comparedOf(t, jobs[0]()), comparedOf(t, jobs[1]()), o)
		back := Compare(comparedOf(t, jobs[1]()), comparedOf(t, jobs[0]()), o)
		if len(there.Calls) == 0 || len(there.Pairs.Most)+len(there.CallSites) == 0 {
			t.Fatalf("nothing to invert in %+v", there)
		}
		if diff := gocmp.Diff(there, inverse(back), gocmp.AllowUnexported(NamedPlace{})); diff != "" {
			t.Errorf("%s", diff)
		}
	}
}

// inverse swaps A and B. No call site may have moved.
func inverse(d *Diff) *Diff {
	out := *d
	out.A, out.B = d.B, d.A
	for _, m := range []*Measure{&out.WallTime.Measure, &out.ApplicationTime.Measure, &out.InitFinalize} {
		m.A, m.B = m.B, m.A
	}
	swap := func(c *Changes) {
		swapStatus(&c.Status)
		for _, m := range []*Measure{&c.Bytes, &c.Messages, &c.Calls, &c.TimeNs, &c.OwnNs} {
			m.A, m.B = m.B, m.A
		}
	}
	swap(&out.Total)
	if d.RunTime != nil {
		r := out.RunTime
		r.Ns = Measure{r.Ns.B, r.Ns.A}
		for _, p := range partsOf(r) {
			p.A, p.B = p.B, p.A
			swapStatus(&p.Status)
		}
	}
	for i := range out.Calls {
		swap(&out.Calls[i].Changes)
	}
	for i := range out.CallSites {
		swap(&out.CallSites[i].Changes)
	}
	for i := range out.Comms {
		swap(&out.Comms[i].Changes)
	}
	for i := range out.Pairs.Most {
		c := &out.Pairs.Most[i]
		swapStatus(&c.Status)
		c.Bytes, c.Messages = Measure{c.Bytes.B, c.Bytes.A}, Measure{c.Messages.B, c.Messages.A}
	}
	return &out
}

func swapStatus(s *DiffStatus) {
	switch *s {
	case StatusNew:
		*s = StatusGone
	case StatusGone:
		*s = StatusNew
	}
}

func TestMeasure(t *testing.T) {
	for m, want := range map[Measure]string{
		{100, 150}: `{"a":100,"b":150,"change":50,"relative":0.5}`,
		{200, 50}:  `{"a":200,"b":50,"change":-150,"relative":-0.75}`,
		{0, 7}:     `{"a":0,"b":7,"change":7,"relative":null}`,
		{7, 0}:     `{"a":7,"b":0,"change":-7,"relative":-1}`,
	} {
		if got, err := json.Marshal(m); err != nil || string(got) != want {
			t.Errorf("%+v: %s, %v, want %s", m, got, err, want)
		}
	}
}

func TestCompareSites(t *testing.T) {
	for _, test := range []struct {
		name, a, b string // lines of Isends
		want       string
	}{
		{"equal", "10 20", "10 20", "10=10 20=20"},
		{"a line was inserted above", "10 11 12 13", "11 12 13 14", "10=11 11=12 12=13 13=14"},
		{"one line moved", "10 20 30", "10 25 30", "10=10 20=25 30=30"},
		{"one more", "10 20", "10 15 20", "-=15 10=10 20=20"},
		{"one less", "10 15 20", "10 20", "10=10 15=- 20=20"},
		{"one more, and others", "10 20", "11 20 30", "-=11 -=30 10=- 20=20"},
		{"all new", "", "10", "-=10"},
		{"all gone", "10", "", "10=-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := isends("swap", test.a, 1), isends("swap", test.b, 2)
			// The same line in another function, file or call is another call
			// site.
			b = append(b, isends("swap", test.b, 2)...)
			for i := range b[len(b)/2:] {
				b[len(b)/2+i].Call = "Irecv"
			}
			var got []string
			matched := compareSites(a, b, DiffOptions{})
			for _, c := range matched {
				if c.Call == "Isend" {
					got = append(got, matchText(&c))
				} else if c.Status != StatusNew {
					t.Errorf("an Irecv was matched: %+v", c)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// isends returns call sites that sent this many bytes each, at the lines in a
// list.
func isends(function, lines string, bytes uint64) []CallSite {
	var out []CallSite
	for _, line := range strings.Fields(lines) {
		n := 0
		fmt.Sscan(line, &n)
		out = append(out, CallSite{Call: "Isend", Site: Site{NamedPlace: NamedPlace{Function: function, File: fmt.Sprintf("/v%d/halo.c", bytes), Line: n, Module: "/bin/halo"}},
			Totals: Totals{Calls: 1, Bytes: bytes}, Sent: matrix.Volume{Bytes: bytes}})
	}
	return out
}

func matchText(c *SiteChange) string {
	switch {
	case c.Status == StatusNew:
		return fmt.Sprintf("-=%d", c.Line)
	case c.Status == StatusGone:
		return fmt.Sprintf("%d=-", c.Line)
	case c.Was != nil:
		return fmt.Sprintf("%d=%d", c.Was.Line, c.Line)
	}
	return fmt.Sprintf("%d=%d", c.Line, c.Line)
}

func TestCompareSitesWithoutLines(t *testing.T) {
	site := func(function, module string, offset, bytes uint64) CallSite {
		return CallSite{Call: "Send", Site: Site{NamedPlace: NamedPlace{Function: function, Module: module, Offset: offset}}, Sent: matrix.Volume{Bytes: bytes}}
	}
	a := []CallSite{site("swap", "/a/app", 0x10, 1), site("", "/a/lib.so", 0x40, 1), site("", "/a/lib.so", 0x50, 1)}
	b := []CallSite{site("swap", "/b/app", 0x90, 2), site("", "/b/lib.so", 0x40, 2), site("", "/b/lib.so", 0x58, 2)}
	got := map[uint64]DiffStatus{}
	for _, c := range compareSites(a, b, DiffOptions{}) {
		got[c.Offset] = c.Status
	}
	want := map[uint64]DiffStatus{0x90: StatusChanged, 0x40: StatusChanged, 0x50: StatusGone, 0x58: StatusNew}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// If only one job has stacks, or one has deeper ones, calls are compared as far
// as both know the callers.
func TestCompareSitesByCallers(t *testing.T) {
	caller := func(line int) NamedPlace { return NamedPlace{Function: "step", File: "main.c", Line: line} }
	called := func(bytes uint64, callers ...NamedPlace) CallSite {
		c := isends("swap", "10", bytes)[0]
		c.Callers = callers
		return c
	}
	plain := []CallSite{called(100)}
	deep := []CallSite{called(1, caller(5), caller(50)), called(2, caller(5), caller(60)), called(4, caller(7))}
	flat := []CallSite{called(10, caller(5)), called(20, caller(7))}
	for _, test := range []struct {
		name string
		a, b []CallSite
		want []Measure
	}{
		{"none in one", deep, plain, []Measure{{7, 100}}},
		{"none in the other", plain, deep, []Measure{{100, 7}}},
		{"deeper in one", deep, flat, []Measure{{4, 20}, {3, 10}}},
	} {
		var got []Measure
		for _, c := range compareSites(test.a, test.b, DiffOptions{}) {
			got = append(got, c.Bytes)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	if n := len(deep[0].Callers); n != 2 {
		t.Errorf("what is compared was changed: %d callers are left", n)
	}
}

// largeJob returns ranks 0 and 1 of 5000. Rank 0 sends to 1, and both call
// Allreduce.
func largeJob(sent, reduced uint64) []*profile.Profile {
	var out []*profile.Profile
	for r := range 2 {
		p := &profile.Profile{Rank: r, Size: 5000, State: profile.Finalized, Comms: []profile.Comm{
			{ID: "01", Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: 5000}}}}
		p.Rows = []profile.Row{{Call: "Allreduce", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers,
			Peer: profile.PeerNone, Calls: 1, Messages: 4999, Bytes: 4999 * reduced}}
		if r == 0 {
			p.Rows = append(p.Rows, profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer,
				Peer: 1, Calls: 1, Messages: 1, Bytes: sent},
				profile.Row{Call: "Put", Class: profile.OneSided, Direction: profile.Write, Spread: profile.ToPeer,
					Peer: 2, Calls: 1, Messages: 1, Bytes: 2 * sent})
		}
		out = append(out, p)
	}
	return out
}

func TestComparePairsOfLargeJobs(t *testing.T) {
	d := Compare(comparedOf(t, largeJob(100, 8)), comparedOf(t, largeJob(300, 16)), DiffOptions{Pairs: -1})
	want := PairChanges{directPairs, 2, []PairChange{
		{matrix.Pair{From: 0, To: 2}, StatusChanged, traffic(200, 600, 1, 1)},
		{matrix.Pair{From: 0, To: 1}, StatusChanged, traffic(100, 300, 1, 1)},
	}}
	if diff := gocmp.Diff(want, d.Pairs); diff != "" {
		t.Errorf("pairs:\n%s", diff)
	}
	if d.Calls[0].Call != "Allreduce" || d.Calls[0].Bytes != (Measure{2 * 4999 * 8, 2 * 4999 * 16}) {
		t.Errorf("got %+v first, want the Allreduce", d.Calls[0])
	}
}

// Only the pairs with the largest changes are listed, however many there are.
func TestDiffMatrices(t *testing.T) {
	var a, b matrix.Matrix
	const n = 60
	want := []PairChange{}
	for from := range n {
		for to := range n {
			x, y := uint64(from*to%7), uint64(from*to%11)
			if x > 0 {
				a.Add(matrix.Pair{From: from, To: to}, matrix.Volume{Bytes: x, Messages: 1})
			}
			if y > 0 {
				b.Add(matrix.Pair{From: from, To: to}, matrix.Volume{Bytes: y, Messages: 1})
			}
			if x != y {
				want = append(want, pairChange(matrix.Pair{From: from, To: to}, matrix.Volume{Bytes: x, Messages: min(x, 1)}, matrix.Volume{Bytes: y, Messages: min(y, 1)}))
			}
		}
	}
	slices.SortFunc(want, func(p, q PairChange) int {
		if by := int(q.Bytes.Size()) - int(p.Bytes.Size()); by != 0 {
			return by
		}
		if by := int(q.Messages.Size()) - int(p.Messages.Size()); by != 0 {
			return by
		}
		return p.Pair.Compare(q.Pair)
	})
	for _, k := range []int{-1, 0, 1, 5, 100, n * n} {
		got := diffMatrices(AllPairs, &a, &b, DiffOptions{Pairs: k})
		if k < 0 || k > len(want) {
			k = len(want)
		}
		if diff := gocmp.Diff(want[:k], got.Most); diff != "" || got.Changed != len(want) {
			t.Fatalf("the first %d of %d, %d changed:\n%s", k, len(want), got.Changed, diff)
		}
	}
}
