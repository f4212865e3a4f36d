package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// Indices into the variables that watched reads.
const (
	aQueue = iota
	aSent
	aWait
	aMost
	aLeast
	aName
	aShare
	aMode
	aGeneric
	numWatched
)

// watched is the fixture's job, in which rank r reads the MPI's variables. The
// run has the slices run, from 0 to 1 s, and solve, which ends after 2 s. (u is
// r+1.)
//
//	queue    level of a communicator: of the world two elements, both 0 at Init, 4u
//	         and 6u at 1 s, both 0 at 2 s; of two communicators that share a record, 5 and 7, each read once
//	sent     counter: 0 at Init, 100u at 1 s, 100u + 50 at 2 s; and another of the
//	         window's group, on which ranks 0 and 1 had two, of 3 and 4
//	wait     timer of two elements, doubles: 0.5u and 0.25 at 2 s
//	most     high-watermark: u at 1 s, 10u at 2 s
//	least    low-watermark, signed: -u at 1 s, -10u at 2 s
//	name     text, the same on all ranks
//	share    percentage: 0.5, read once
//	mode     state: r at 1 s
//	generic  7 on all ranks
func watched() []*profile.Profile {
	ps := fixture()
	for r, p := range ps {
		p.Slices = []profile.Slice{{Index: 0, Name: "run", Start: start}, {Index: 1, Name: "solve", Start: start + second}}
		p.Settings = map[string]string{"watch-unexpected": "10", "pvar": "*"}
		p.Pvars = []profile.Pvar{
			aQueue:   {Name: "queue", Description: "messages that wait", Class: profile.PvarLevel, Type: profile.PvarUnsigned, Bound: profile.PvarCommunicator},
			aSent:    {Name: "sent", Class: profile.PvarCounter, Type: profile.PvarUnsigned, Bound: profile.PvarWindow},
			aWait:    {Name: "wait", Class: profile.PvarTimer, Type: profile.PvarDouble},
			aMost:    {Name: "most", Class: profile.PvarHighWatermark, Type: profile.PvarUnsigned},
			aLeast:   {Name: "least", Class: profile.PvarLowWatermark, Type: profile.PvarSigned},
			aName:    {Name: "name", Class: profile.PvarGeneric, Type: profile.PvarText},
			aShare:   {Name: "share", Class: profile.PvarPercentage, Type: profile.PvarDouble},
			aMode:    {Name: "mode", Class: profile.PvarState, Type: profile.PvarSigned},
			aGeneric: {Name: "generic", Class: profile.PvarGeneric, Type: profile.PvarUnsigned},
		}
		readAll(p, uint64(r+1))
		lateIn(p)
	}
	return ps
}

// readAll gives a process its readings.
func readAll(p *profile.Profile, u uint64) {
	double, minus := math.Float64bits, func(v uint64) uint64 { return -v }
	bind := func(pvar int, comm int32, count int) int {
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: pvar, Comm: comm, Count: count})
		return len(p.PvarHandles) - 1
	}
	read := func(handle int, after int64, slice uint32, moment profile.Moment, values ...uint64) {
		p.Readings = append(p.Readings, profile.Reading{Handle: handle, Slice: slice, At: start + after*second, Moment: moment, Values: values})
	}
	queue, sent := bind(aQueue, 0, 2), bind(aSent, 0, 1)
	wait, most, least := bind(aWait, -1, 2), bind(aMost, -1, 1), bind(aLeast, -1, 1)
	name, share := bind(aName, -1, 8), bind(aShare, -1, 1)
	mode, generic := bind(aMode, -1, 1), bind(aGeneric, -1, 1)
	read(queue, 0, 0, profile.ReadAtInit, 0, 0)
	read(sent, 0, 0, profile.ReadAtInit, 0)
	for i, v := range []uint64{5, 7} {
		read(bind(aQueue, 1, 1), int64(i), uint32(i), profile.ReadAtFree, v)
	}
	if u <= 2 {
		read(bind(aSent, 1, 1), 1, 0, profile.ReadAtFree, 3)
		read(bind(aSent, 1, 1), 1, 1, profile.ReadAtFree, 4)
	}
	read(queue, 1, 0, profile.ReadAtSlice, 4*u, 6*u)
	read(sent, 1, 0, profile.ReadAtSlice, 100*u)
	read(most, 1, 0, profile.ReadAtSlice, u)
	read(least, 1, 0, profile.ReadAtSlice, minus(u))
	read(mode, 1, 0, profile.ReadAtSlice, u-1)
	read(queue, 2, 1, profile.ReadAtFinalize, 0, 0)
	read(sent, 2, 1, profile.ReadAtFinalize, 100*u+50)
	read(wait, 2, 1, profile.ReadAtFinalize, double(0.5*float64(u)), double(0.25))
	read(most, 2, 1, profile.ReadAtFinalize, 10*u)
	read(least, 2, 1, profile.ReadAtFinalize, minus(10*u))
	read(name, 2, 1, profile.ReadAtFinalize, 'o', 'b', '1', 0, 'x', 0, 0, 0)
	read(share, 2, 1, profile.ReadAtFinalize, double(0.5))
	read(generic, 2, 1, profile.ReadAtFinalize, 7)
}

// values are those of ranks; NaN stands for what there is not.
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
	want := []Pvar{
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
		// Up to 10u and down again: 5u in the mean of either second.
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
	if len(s.Pvars) != numWatched+1 { // queue is of two communicators
		t.Errorf("%d variables", len(s.Pvars))
	}
}

// TestWatchedIgnoresOrder: what is told of variables and late receives is the
// same however recordings come and are merged, also of doubles whose sums depend
// on their order, and of more communicators than have sums of their own.
func TestWatchedIgnoresOrder(t *testing.T) {
	crowd := func() []*profile.Profile {
		ps := watched()
		for r, p := range ps {
			p.Readings[slices.IndexFunc(p.Readings, func(read profile.Reading) bool { return read.Handle == 2 })].Values[0] =
				math.Float64bits([]float64{1e100, 1, -1e100, 0.1}[r])
			for i := range maxObjects * 6 / 5 {
				p.Comms = append(p.Comms, profile.Comm{ID: fmt.Sprintf("%08x", (i*7919+r*13)%1000), Constructor: "Comm_dup", Parent: 0, Members: p.Comms[0].Members})
				comm := int32(len(p.Comms) - 1)
				p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: aSent, Comm: comm, Count: 1})
				p.Readings = append(p.Readings, profile.Reading{Handle: len(p.PvarHandles) - 1, Slice: 1, At: start + second, Moment: profile.ReadAtFree, Values: []uint64{uint64(i)}})
				p.Late = append(p.Late, profile.Late{Call: "Recv", Comm: comm, Peer: int32(i % 4), Callsite: at(r, siteRecv), Count: uint64(i%7 + 1), Queued: uint64(i)})
			}
		}
		return ps
	}
	checkAnyOrder(t, 5, crowd)
}

// What is of more communicators than have sums of their own is in one sum.
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
	for i := n; i > maxObjects; i-- { // the others are the 20 largest
		want += float64(i)
	}
	if !rest.Others || rest.Ranks != 20 || *rest.Sum != want || *rest.Max != n {
		t.Errorf("the others are %+v, of %v; want 20 with %v", rest, *rest.Sum, want)
	}
}

// Doubles that are no numbers are told, and leave no trace in sums: JSON has no
// form for them.
func TestPvarsThatAreNoNumbers(t *testing.T) {
	p := watched()[0]
	for i, v := range []float64{math.NaN(), math.Inf(1), math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64} {
		p.Readings = append(p.Readings, profile.Reading{Handle: 6, Slice: 1, At: start + second*int64(3+i), Values: []uint64{math.Float64bits(v)}})
	}
	s := New([]*profile.Profile{p}).Summary()
	if _, err := json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	v := s.Pvars[slices.IndexFunc(s.Pvars, func(v Pvar) bool { return v.Name == "share" })]
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

func TestNumberText(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 1234567: "1,234,567", -1234567: "-1,234,567", 2.5: "2.50", -0.25: "-0.25",
		1234.5: "1,235", 1e15: "1e+15", 0.00123: "0.00123", 999.7: "1,000"} {
		if got := numberText(n); got != want {
			t.Errorf("%v: got %s, want %s", n, got, want)
		}
	}
}

func TestWatchedText(t *testing.T) {
	j := New(watched())
	rank, err := j.RankSummary(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"watched.txt":      func(b *bytes.Buffer) error { return j.Summary().Text(b, TextOptions{Sites: 10}) },
		"watched_rank.txt": func(b *bytes.Buffer) error { return rank.Text(b, TextOptions{ASCII: true, Sites: 10}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// Of many variables those that were always 0 make room.
func TestTextOfManyPvars(t *testing.T) {
	p := fixtureRank(0)
	for i := range uint64(2 * textPvars) {
		p.Pvars = append(p.Pvars, profile.Pvar{Name: fmt.Sprintf("v%02d", i), Class: profile.PvarCounter, Type: profile.PvarUnsigned})
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: int(i), Comm: -1, Count: 1})
		p.Readings = append(p.Readings, profile.Reading{Handle: int(i), Values: []uint64{i % 3}})
	}
	text := textOf(t, New([]*profile.Profile{p}), -1)
	for _, want := range []string{"and 16 more variables, always 0\n", "and 8 more variables (mpitrace report --json)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Names that come from the MPI or from the job reach the terminal in an escaped
// form.
func TestWatchedTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\r\a\u202e\xff\u0085"
	ps := watched()
	for _, p := range ps {
		for i := range p.Pvars {
			p.Pvars[i].Name += evil
		}
		p.Comms[0].Name = evil
		p.Settings["watch-unexpected"] = evil
		for i := range p.Late {
			p.Late[i].Call = evil
		}
		p.Readings[slices.IndexFunc(p.Readings, func(r profile.Reading) bool { return len(r.Values) == 8 })].Values = []uint64{'\x1b', '\r', 0xff, 'x'}
	}
	for _, o := range []TextOptions{{Sites: -1}, {Sites: -1, ASCII: true}} {
		var b bytes.Buffer
		if err := New(ps).Summary().Text(&b, o); err != nil {
			t.Fatal(err)
		}
		for i, c := range b.String() {
			if c < ' ' && c != '\n' || c == '\u202e' || c == '\u0085' || c == utf8.RuneError || o.ASCII && c > '~' {
				t.Fatalf("%q at %d of %q", c, i, b.String())
			}
		}
	}
}
