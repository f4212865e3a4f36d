package causes

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// randomly is a random order of steps for schedule.find.
func randomly() *rand.Rand { return rand.New(rand.NewPCG(41, 1)) }

// steps returns a schedule of two ranks, in which rank 1 computes so long in each step, ms, and rank 0
// 1 ms. Rank 0 waits for rank 1.
func steps(lengths ...int64) *schedule {
	var waiting, late []part
	for _, long := range lengths {
		waiting = append(waiting, compute(1), at("Barrier"))
		if long > 1 {
			waiting = append(waiting, waits(long-1, 1))
		}
		late = append(late, compute(long), at("Barrier"))
	}
	return byHand([][]part{waiting, late})
}

// TestCertainImbalance: a difference below two standard errors is no imbalance. The first burst is
// another kind than the others, because it starts at Init.
func TestCertainImbalance(t *testing.T) {
	class := func(s *schedule) Class {
		_, list := s.find(t, randomly())
		return list[0].Class
	}
	if got := class(steps(2, 3, 3, 3, 3)); got != Imbalance {
		t.Errorf("bursts of equal length: %v", got)
	}
	// Four bursts of 17, 1, 1 and 1 ms: the spread is 8 ms, and the error of the sum 8 × √4 = 16 ms. The
	// difference of 20 - 4 = 16 ms is below 32.
	if got := class(steps(2, 17, 1, 1, 1)); got != Varying {
		t.Errorf("one long burst of four: %v", got)
	}
	// 9, 11, 9 and 11 ms: a spread of 1.15 ms, an error of 2.3 ms, a difference of 36 ms.
	if got := class(steps(2, 9, 11, 9, 11)); got != Imbalance {
		t.Errorf("bursts of about equal length: %v", got)
	}
}

// TestPrograms: causes are kept apart by program, and ranks are compared with those of their program.
func TestPrograms(t *testing.T) {
	// Ranks 0 and 1 are of one program, 2 and 3 of another. All wait for rank 3, and 0 and 2 also wait
	// for 1.
	s := byHand([][]part{
		{compute(1), at("Recv"), waits(3, 1), compute(1), at("Barrier"), waits(5, 3)},
		{compute(4), at("Send"), compute(1), at("Barrier"), waits(5, 3)},
		{compute(2), at("Recv"), waits(2, 1), compute(1), at("Barrier"), waits(5, 3)},
		{compute(4), at("Barrier"), compute(6), at("Barrier")},
	})
	for r := range s.names.Ranks {
		s.names.Ranks[r].Program = []string{"ocean", "ocean", "atmos", "atmos"}[r]
	}
	_, list := s.find(t, randomly())
	sums := map[[2]string]int64{}
	for _, c := range list {
		sums[[2]string{c.From, c.To}] += c.CostNs
	}
	// The path of rank 3 from 10 ms has 6 ms in its last burst, which no other rank has, so that is what
	// all wait for.
	want := map[[2]string]int64{{"ocean", "ocean"}: 3 * ms, {"atmos", "ocean"}: 2 * ms, {"ocean", "atmos"}: 10 * ms, {"atmos", "atmos"}: 5 * ms}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("costs by program (-want +got):\n%s", diff)
	}
	for _, c := range list {
		if c.To == "atmos" && c.Burst != nil && !(c.Named.Contains(3) && c.Named.Len() == 1) {
			t.Errorf("named %v: %+v", c.Named, c)
		}
	}
}

// TestUnknown: waits that cannot be explained have a class of their own, and count.
func TestUnknown(t *testing.T) {
	s := steps(2, 3, 3)
	for i := range s.calls {
		for j := range s.calls[i].waits {
			s.calls[i].waits[j].Unknown = true
		}
	}
	_, list := s.find(t, randomly())
	if len(list) != 1 || list[0].Class != Unknown || list[0].CostNs != 5*ms || list[0].Waits != 3 || len(list[0].Ranks) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestPartial: time without known calls is in no burst. A walk that reaches it is cut.
func TestPartial(t *testing.T) {
	s := steps(2, 3, 3)
	s.lanes[1].Partial = true
	f, list := s.find(t, randomly())
	// The first wait is for the time before rank 1's first Barrier. The paths of the others meet after
	// it.
	if len(list) != 2 || list[0].Class != Imbalance || list[0].CostNs != 4*ms || list[1].Class != Unknown || list[1].CostNs != 1*ms {
		t.Errorf("%+v", list)
	}
	// Of 16 ms of both ranks, the first 2 of rank 1 are not known.
	if got := f.Coverage(); got != 1-2./16 {
		t.Errorf("coverage %g", got)
	}
}

// TestHoles: if calls may be missing anywhere, time between calls is in no burst.
func TestHoles(t *testing.T) {
	s := steps(2, 3, 3)
	for i := range s.lanes {
		s.lanes[i].Holes = true
	}
	f, list := s.find(t, randomly())
	if len(list) != 1 || list[0].Class != Unknown || list[0].CostNs != 5*ms {
		t.Errorf("%+v", list)
	}
	if got := f.Coverage(); got > 0.7 { // the waits, of 5 ms, are in calls
		t.Errorf("coverage %g", got)
	}
}

// TestCut: a wait whose walk would leave the ring is not known.
func TestCut(t *testing.T) {
	ranks := newSchedule(2)
	now := int64(0)
	for range 2 * mostRing { // neither rank waits, so both walks reach Init
		for r := range 2 {
			ranks.call(r, "Iprobe", now+1, now+1, now+2, 0)
		}
		now += 2
	}
	ranks.call(0, "Recv", now+1, now+ms, now+ms, 1)
	ranks.call(1, "Send", now+ms, now+ms, now+ms, 0)
	ranks.lanes[0].End, ranks.lanes[1].End = now+ms, now+ms
	_, list := ranks.find(t, randomly())
	if len(list) != 1 || list[0].Class != Unknown {
		t.Errorf("%+v", list)
	}
}

// TestLateCalls: a thread's long call may be added when other threads have gone on. Waits for the
// thread are explained then.
func TestLateCalls(t *testing.T) {
	s := byHand([][]part{
		{compute(2), at("Recv"), waits(6, 1), compute(32)}, // waits for thread 0 of rank 1
		{compute(8), at("Send"), inCall(30), compute(2)},
		{compute(1), at("Put"), compute(1), at("Put"), compute(38)}, // thread 1 of rank 1
	})
	s.lanes[2] = RankThread{Rank: 1, End: s.lanes[2].End}
	s.names.Ranks = s.names.Ranks[:2]
	want, wanted := s.find(t, randomly())

	f := NewFinder(s.lanes, 1<<20, NewOverflow(noOverflow))
	for _, lane := range []int32{0, 2, 1} {
		for _, c := range s.calls {
			if c.lane == lane {
				f.Call(c.lane, c.start, c.end, c.stop, c.waits)
			}
		}
		f.Advance(30 * ms)
		if blocked := lane == 0 || lane == 2; blocked != (f.blocked > 0) {
			t.Errorf("after lane %d: %d waits are blocked", lane, f.blocked)
		}
	}
	for i := range s.lanes {
		f.End(int32(i), s.atEnd)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := f.Causes(s.names)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("(-in order +late):\n%s", diff)
	}
	if diff := cmp.Diff(map[cost]int64{{0, 1, "Init -> Send"}: 6 * ms}, costsOf(want, s.names)); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
}

// memoryFile is an OverflowFile that fails if it is full.
type memoryFile struct {
	bytes []byte
	most  int
}

func (m *memoryFile) WriteAt(b []byte, at int64) (int, error) {
	if int(at)+len(b) > m.most {
		return 0, errors.New("no space left")
	}
	m.bytes = append(m.bytes[:at], b...)
	return len(b), nil
}

func (m *memoryFile) ReadAt(b []byte, at int64) (int, error) {
	n := copy(b, m.bytes[min(int(at), len(m.bytes)):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memoryFile) Close() error { return nil }

// TestOverflow: sums that do not fit into memory give the same causes, or an error if the file cannot
// be written.
func TestOverflow(t *testing.T) {
	s := newSchedule(6)
	random := randomly()
	now := int64(0)
	for range 200 {
		now += 10 * ms
		last := random.IntN(6)
		for r := range 6 {
			start := now - 1 - random.Int64N(9*ms)
			if r == last {
				start = now
			}
			s.call(r, []string{"Barrier", "Allreduce"}[random.IntN(2)], start, now, now, last)
		}
	}
	for r := range s.lanes {
		s.lanes[r].End = now
	}
	find := func(cells, room int) ([]Cause, error) {
		f := NewFinder(s.lanes, 1<<20, NewOverflow(func() (OverflowFile, error) { return &memoryFile{most: room}, nil }))
		for _, w := range f.walkers {
			w.sums.most = cells
		}
		for _, c := range s.calls {
			f.Call(c.lane, c.start, c.end, c.stop, c.waits)
		}
		for i := range s.lanes {
			f.End(int32(i), s.atEnd)
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		return f.Causes(s.names)
	}
	_, want := s.find(t, randomly())
	for _, cells := range []int{1, 2, 7, 1 << 20} {
		got, err := find(cells, 1<<30)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%d cells in memory: %v (-want +got):\n%s", cells, err, diff)
		}
	}
	if _, err := find(2, 1000); err == nil {
		t.Error("no error although the file is full")
	}
}

// TestPortions: whole numbers that add up, by largest remainder.
func TestPortions(t *testing.T) {
	for _, test := range []struct {
		total         int64
		weights, want []int64
	}{
		{10, []int64{8, 4}, []int64{7, 3}},
		{10, []int64{1, 1, 1}, []int64{4, 3, 3}},
		{7, []int64{0, 5, 0}, []int64{0, 7, 0}},
		{2, []int64{1, 1, 1, 1}, []int64{1, 1, 0, 0}},
		{5, []int64{0, 0}, []int64{0, 0}},
		{1 << 60, []int64{1 << 60, 1 << 60}, []int64{1 << 59, 1 << 59}},
	} {
		var p portioner
		got := make([]int64, len(test.weights))
		p.portions(test.total, test.weights, got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%d among %v (-want +got):\n%s", test.total, test.weights, diff)
		}
	}
}

// TestOverflowAtOnce: walkers that work at the same time write their sums to the file one after the
// other.
func TestOverflowAtOnce(t *testing.T) {
	const ranks = 4 * numWalkers
	s := newSchedule(ranks)
	now := int64(0)
	for range 50 {
		now += 10 * ms
		for r := range ranks - 1 {
			s.call(r, "Barrier", now-int64(1+r)*ms/8, now, now, ranks-1)
		}
		s.call(ranks-1, "Barrier", now, now, now, 0)
	}
	for r := range s.lanes {
		s.lanes[r].End = now
	}
	_, want := s.find(t, randomly())
	file := &memoryFile{most: 1 << 30}
	f := NewFinder(s.lanes, 1<<20, NewOverflow(func() (OverflowFile, error) { return file, nil }))
	for _, w := range f.walkers {
		w.sums.most = 1
	}
	for i, c := range s.calls {
		f.Call(c.lane, c.start, c.end, c.stop, c.waits)
		if i%(4*ranks) == 4*ranks-1 {
			f.Advance(c.end)
		}
	}
	for i := range s.lanes {
		f.End(int32(i), s.atEnd)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := f.Causes(s.names)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
