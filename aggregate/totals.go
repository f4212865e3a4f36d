package aggregate

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// Totals holds sums over rows. Messages and bytes include both those sent and
// those received, so a message between two ranks is counted twice. TimeNs is
// summed over the threads of each process.
type Totals struct {
	Calls    uint64 `json:"calls"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	TimeNs   uint64 `json:"time_ns"`

	TimeVariance Variance `json:"time_error_ns"`
	// OwnNs is the part of the ranks' own time that the calls took, in ns: TimeNs of each
	// process times its profile.Times.OwnShare. With one thread in each process it is TimeNs.
	OwnNs uint64 `json:"own_time_ns"`
}

// add adds a row of a process with the given profile.Times.OwnShare.
func (t *Totals) add(r *profile.Row, ownShare float64) {
	t.Calls += r.Calls
	t.Messages += r.Messages
	t.Bytes += r.Bytes
	t.TimeNs += r.TimeNs
	t.TimeVariance += varianceOf(r)
	t.OwnNs += ownNs(r.TimeNs, ownShare)
}

// ownNs returns a share of a time in whole ns, so that sums do not depend on their order.
func ownNs(ns uint64, ownShare float64) uint64 {
	if ownShare == 1 {
		return ns
	}
	return uint64(math.Round(float64(ns) * ownShare))
}

// CallTotals holds the sums of one MPI function.
type CallTotals struct {
	Call  string `json:"call"` // without MPI_
	Class string `json:"class"`
	Totals
	MeanNs   float64       `json:"mean_ns"`
	MinNs    uint64        `json:"min_ns"`
	MaxNs    uint64        `json:"max_ns"`
	Sent     matrix.Volume `json:"sent"`     // sends and remote writes
	Received matrix.Volume `json:"received"` // receives and remote reads
}

// ClassTotals holds the sums of one class of calls. Messages and bytes are
// those sent, written and read, not those received, so each message is counted
// once.
type ClassTotals struct {
	Class string `json:"class"`
	Totals
}

// Totals returns the sums over all calls. As in ClassTotals, messages and bytes are those
// sent, so each message is counted once.
func (j *Job) Totals() Totals {
	var sum Totals
	for _, t := range j.calls.byClass {
		sum.plus(t)
	}
	return sum
}

func (t *Totals) plus(o Totals) {
	t.Calls += o.Calls
	t.Messages += o.Messages
	t.Bytes += o.Bytes
	t.TimeNs += o.TimeNs
	t.TimeVariance += o.TimeVariance
	t.OwnNs += o.OwnNs
}

func (c *CallTotals) add(r *profile.Row, ownShare float64) {
	c.between(r.MinNs, r.MaxNs)
	c.Totals.add(r, ownShare)
	switch r.Direction {
	case profile.Send, profile.Write:
		c.Sent.AddRow(r)
	case profile.Recv, profile.Read:
		c.Received.AddRow(r)
	}
}

// between updates the extremes with the shortest and the longest time of some
// calls. If longest is 0, none of them was timed.
func (c *CallTotals) between(shortest, longest uint64) {
	if longest == 0 {
		return
	}
	if c.MaxNs == 0 || shortest < c.MinNs {
		c.MinNs = shortest
	}
	c.MaxNs = max(c.MaxNs, longest)
}

// merge adds the sums o to those in c. Both are of one MPI function.
func (c *CallTotals) merge(o *CallTotals) {
	c.between(o.MinNs, o.MaxNs)
	c.plus(o.Totals)
	c.Sent.Add(o.Sent)
	c.Received.Add(o.Received)
}

// callSums collects the rows of a job by call and by class.
type callSums struct {
	byCall  sumsBy[string, CallTotals, *CallTotals]
	byClass [profile.NumClasses]Totals
}

func (s *callSums) add(p *profile.Profile) {
	ownShare := p.Times().OwnShare()
	for i := range p.Rows {
		r := &p.Rows[i]
		c := s.byCall.of(r.Call)
		if c.Call == "" {
			c.Call, c.Class = r.Call, r.Class.String()
		}
		c.add(r, ownShare)
		if r.Class < profile.NumClasses {
			s.byClass[r.Class].add(withoutReceived(r), ownShare)
		}
	}
}

// withoutReceived returns the row. If it is a row of receives, its messages and bytes are left out.
func withoutReceived(r *profile.Row) *profile.Row {
	if r.Direction != profile.Recv {
		return r
	}
	out := *r
	out.Messages, out.Bytes = 0, 0
	return &out
}

func (s *callSums) merge(o *callSums) {
	s.byCall.merge(&o.byCall)
	for i := range s.byClass {
		s.byClass[i].plus(o.byClass[i])
	}
}

// calls returns the totals by call, the longest time first.
func (s *callSums) calls() []CallTotals {
	out := make([]CallTotals, 0, len(s.byCall.known))
	for _, c := range s.byCall.known {
		total := *c
		if c.Calls > 0 {
			total.MeanNs = float64(c.TimeNs) / float64(c.Calls)
		}
		out = append(out, total)
	}
	slices.SortFunc(out, func(a, b CallTotals) int {
		return cmp.Or(cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(a.Call, b.Call))
	})
	return out
}

func (s *callSums) classes() []ClassTotals {
	out := []ClassTotals{}
	for c, t := range s.byClass {
		if t != (Totals{}) {
			out = append(out, ClassTotals{profile.Class(c).String(), t})
		}
	}
	return out
}

// SliceTotals holds the sums of the slices of one name, over all processes: of
// the calls that began in them, without Init and Finalize. Messages and bytes
// are those sent, written and read, not those received.
type SliceTotals struct {
	Slice string `json:"slice"`
	Totals
}

// sliceSums collects the slices of a job, by name.
type sliceSums struct {
	sumsBy[string, sliceSum, *sliceSum]
}

type sliceSum struct {
	Totals
	start int64 // Unix ns when the first process began it
}

func (s *sliceSum) merge(o *sliceSum) {
	s.plus(o.Totals)
	s.start = min(s.start, o.start)
}

func (s *sliceSums) add(p *profile.Profile) {
	byIndex, ownShare := map[uint32]*sliceSum{}, p.Times().OwnShare()
	for _, slice := range p.Slices {
		s.sumsBy.add(slice.Name, &sliceSum{start: slice.Start})
		byIndex[slice.Index] = s.known[slice.Name]
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if of := byIndex[r.Slice]; of != nil && !profile.SetsUp(r.Call) {
			of.Totals.add(withoutReceived(r), ownShare)
		}
	}
}

// totals returns the slices in the order in which they first began, without
// slices that have no calls.
func (s *sliceSums) totals() []SliceTotals {
	out := []SliceTotals{}
	for name, sum := range s.known {
		if sum.Totals != (Totals{}) {
			out = append(out, SliceTotals{name, sum.Totals})
		}
	}
	slices.SortFunc(out, func(a, b SliceTotals) int {
		return cmp.Or(cmp.Compare(s.known[a.Slice].start, s.known[b.Slice].start), cmp.Compare(a.Slice, b.Slice))
	})
	return out
}
