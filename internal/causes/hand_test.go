package causes

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ms = 1_000_000 // ns

// A schedule says what each lane does.
type schedule struct {
	lanes  []RankThread
	calls  []scheduled // of each lane in order
	names  Names
	stops  Numbers[Stop]
	places Numbers[WaitPlace]
	waited int64
	atEnd  int32 // place of the waits at the end
}

// scheduled is a call of a lane.
type scheduled struct {
	lane, stop int32
	start, end int64
	waits      []LaneWait
}

// newSchedule returns a schedule of ranks with one lane each, which begin at 0.
func newSchedule(ranks int) *schedule {
	s := &schedule{}
	s.stops.Of(Begin)
	s.stops.Of(End)
	s.atEnd = s.places.Of(WaitPlace{Stop: FinalizeStop, Pattern: EndedEarly})
	for r := range ranks {
		s.lanes = append(s.lanes, RankThread{Rank: int32(r), Main: true})
		s.names.Ranks = append(s.names.Ranks, Rank{Number: r, Own: 1})
	}
	return s
}

// call adds a call. It waits from its start until the given time for a lane; if that is not after
// its start it does not wait.
func (s *schedule) call(lane int, site string, start, until, end int64, on int) {
	stop := s.stops.Of(Stop{Call: site})
	c := scheduled{lane: int32(lane), stop: stop, start: start, end: end}
	if until > start {
		c.waits = []LaneWait{{Start: start, End: until, For: int32(on), Place: s.places.Of(WaitPlace{Stop: stop, Pattern: "late"})}}
		s.waited += until - start
	}
	s.calls = append(s.calls, c)
}

func noOverflow() (OverflowFile, error) { return nil, errors.New("not expected") }

// find returns what a Finder says about the schedule. The calls are added in steps of random length.
func (s *schedule) find(t *testing.T, random *rand.Rand) (*Finder, []Cause) {
	t.Helper()
	last := int64(0)
	for _, l := range s.lanes {
		last = max(last, l.End)
	}
	s.names.Stops, s.names.Places = s.stops.List, s.places.List
	s.names.Total = float64(last) * float64(len(s.names.Ranks))
	f := NewFinder(s.lanes, 64<<20, NewOverflow(noOverflow))
	calls := slices.Clone(s.calls)
	slices.SortStableFunc(calls, func(a, b scheduled) int { return int(a.start - b.start) })
	for at := int64(0); len(calls) > 0; {
		at = max(at, calls[0].start) + random.Int64N(20*ms)
		for ; len(calls) > 0 && calls[0].start <= at; calls = calls[1:] {
			c := calls[0]
			f.Call(c.lane, c.start, c.end, c.stop, c.waits)
		}
		f.Advance(at)
	}
	for i := range s.lanes {
		f.End(int32(i), s.atEnd)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := f.Causes(s.names)
	if err != nil {
		t.Fatal(err)
	}
	s.checkSum(t, list)
	return f, list
}

// checkSum requires that the costs add up to the time waited.
func (s *schedule) checkSum(t *testing.T, list []Cause) {
	t.Helper()
	want, last := s.waited, int64(0)
	for _, l := range s.lanes {
		last = max(last, l.End)
	}
	for _, l := range s.lanes {
		if l.Main {
			want += last - l.End
		}
	}
	got := int64(0)
	for _, c := range list {
		got += c.CostNs
		ranks, seen := int64(0), int64(0)
		for _, r := range c.Ranks {
			ranks += r.CostNs
		}
		for _, at := range c.Seen {
			seen += at.CostNs
		}
		if seen != c.CostNs || c.Class != Unknown && ranks != c.CostNs {
			t.Errorf("%v: cost %d, of ranks %d, at places %d", c.Class, c.CostNs, ranks, seen)
		}
	}
	if got != want {
		t.Errorf("costs add up to %d ns, waited %d", got, want)
	}
}

// part is a part of a lane's time in a schedule by hand.
type part struct {
	long int64 // ms
	what string
	on   int // for "wait"
}

// byHand returns the schedule of lanes that do these parts. A part is "compute", or it is in the
// call before it: "wait", "call". Others are names of calls, which take no time themselves.
func byHand(lanes [][]part) *schedule {
	s := newSchedule(len(lanes))
	for i, parts := range lanes {
		now := int64(0)
		for _, p := range parts {
			end := now + p.long*ms
			switch p.what {
			case "compute":
			case "wait", "call":
				c := &s.calls[len(s.calls)-1]
				c.end = end
				if p.what == "wait" {
					c.waits = []LaneWait{{Start: now, End: end, For: int32(p.on), Place: s.places.Of(WaitPlace{Stop: c.stop, Pattern: "late"})}}
					s.waited += end - now
				}
			default:
				s.call(i, p.what, now, now, now, 0)
			}
			now = end
		}
		s.lanes[i].End = now
	}
	return s
}

func compute(long int64) part       { return part{long: long, what: "compute"} }
func at(call string) part           { return part{what: call} }
func waits(long int64, on int) part { return part{long, "wait", on} }
func inCall(long int64) part        { return part{long: long, what: "call"} }

// cost is the key of a cost by hand: who waits, who causes it, in which burst or call.
type cost struct {
	waits, causes int32
	what          string
}

// costsOf returns the costs that a Finder has, in ns.
func costsOf(f *Finder, names Names) map[cost]int64 {
	out := map[cost]int64{}
	var all []cell
	for _, w := range f.walkers {
		all = append(all, w.sums.cells...)
	}
	for _, c := range all {
		what := "unknown"
		if c.kind.isCall() {
			what = names.Stops[c.kind.number()].Call
		} else if c.kind != unknownKind {
			stops := f.bursts.List[c.kind.number()]
			what = names.Stops[stops[0]].Call + " -> " + names.Stops[stops[1]].Call
		}
		out[cost{c.waits, c.causes, what}] += c.longer + c.more
	}
	return out
}

// TestByHand has schedules whose costs are known by arithmetic.
func TestByHand(t *testing.T) {
	for _, test := range []struct {
		name  string
		lanes [][]part
		want  map[cost]int64 // ns
	}{
		// Rank 1 computes 8 ms before it sends, rank 0 only 2 before it receives.
		{"late sender", [][]part{
			{compute(2), at("Recv"), waits(6, 1), compute(1)},
			{compute(8), at("Send"), compute(1)},
		}, map[cost]int64{{0, 1, "Init -> Send"}: 6 * ms}},
		// The path from (1, 12) is 4 ms of rank 1, then 8 of rank 2, and that from (0, 2) is 2 of rank 0,
		// in a burst of another kind than the 8. So 12 - 2 = 10 ms are divided as 8 to 4: 6.666667 and
		// 3.333333.
		{"chain: rank 0 waits 10 ms, of which 6 are a wait of rank 1", [][]part{
			{compute(2), at("Recv"), waits(10, 1)},
			{compute(2), at("Recv"), waits(6, 2), compute(4), at("Send")},
			{compute(8), at("Send"), compute(4)},
		}, map[cost]int64{{1, 2, "Init -> Send"}: 6 * ms, {0, 2, "Init -> Send"}: 6_666_667, {0, 1, "Recv -> Send"}: 3_333_333}},
		{"Waitall: rank 1 sends at 5 ms, rank 2 at 8", [][]part{
			{compute(2), at("Waitall"), waits(6, 2)},
			{compute(5), at("Send"), compute(3)},
			{compute(8), at("Send")},
		}, map[cost]int64{{0, 2, "Init -> Send"}: 6 * ms}},
		{"the longer work is not the last", [][]part{
			{compute(6), at("Iprobe"), compute(8), at("Barrier"), waits(6, 1)},
			{compute(12), at("Iprobe"), compute(8), at("Barrier")},
		}, map[cost]int64{{0, 1, "Init -> Iprobe"}: 6 * ms}},
		{"each waits for the other, because clocks differ", [][]part{
			{compute(2), at("Recv"), waits(3, 1)},
			{compute(2), at("Recv"), waits(3, 0)},
		}, map[cost]int64{{0, 1, "Recv"}: 3 * ms, {1, 0, "Recv"}: 3 * ms}},
		{"the partner is in a long call", [][]part{
			{compute(2), at("Recv"), waits(6, 1)},
			{compute(1), at("File_write"), inCall(6), compute(1), at("Send")},
		}, map[cost]int64{{0, 1, "File_write"}: 6 * ms}},
		{"the wait ends before the partner arrives", [][]part{
			{compute(2), at("Recv"), waits(3, 1), compute(4)},
			{compute(9), at("Send")},
		}, map[cost]int64{{0, 1, "Init -> Send"}: 3 * ms}},
		{"a rank ends early", [][]part{
			{compute(4)},
			{compute(9)},
		}, map[cost]int64{{0, 1, "Init -> Finalize"}: 5 * ms}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(5) {
				s := byHand(test.lanes)
				f, _ := s.find(t, rand.New(rand.NewPCG(seed, 1)))
				if diff := cmp.Diff(test.want, costsOf(f, s.names)); diff != "" {
					t.Errorf("costs (-want +got):\n%s", diff)
				}
			}
		})
	}
}
