package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// SliceTotals are the sums of one part of the run, over all processes that have
// a slice of its name: of the calls that began in it, Init and Finalize apart,
// and of what these sent, wrote and read, but not of what was received.
type SliceTotals struct {
	Slice string `json:"slice"`
	Totals
}

// sliceSums are slices on the way, by name.
type sliceSums map[string]*sliceSum

type sliceSum struct {
	Totals
	start int64 // when the first process began it
}

func (s *sliceSums) of(name string, start int64) *sliceSum {
	if *s == nil {
		*s = sliceSums{}
	}
	sum := (*s)[name]
	if sum == nil {
		sum = &sliceSum{start: start}
		(*s)[name] = sum
	}
	sum.start = min(sum.start, start)
	return sum
}

func (s *sliceSums) add(p *profile.Profile) {
	byIndex := map[uint32]*sliceSum{}
	for _, slice := range p.Slices {
		byIndex[slice.Index] = s.of(slice.Name, slice.Start)
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if of := byIndex[r.Slice]; of != nil && !profile.SetsUp(r.Call) {
			of.Totals.add(withoutReceived(r))
		}
	}
}

func (s *sliceSums) merge(o *sliceSums) {
	for name, sum := range *o {
		s.of(name, sum.start).plus(sum.Totals)
	}
}

// totals are in the order in which the slices first began. Those in which
// nothing was called are left out.
func (s *sliceSums) totals() []SliceTotals {
	out := []SliceTotals{}
	for name, sum := range *s {
		if sum.Totals != (Totals{}) {
			out = append(out, SliceTotals{name, sum.Totals})
		}
	}
	slices.SortFunc(out, func(a, b SliceTotals) int {
		return cmp.Or(cmp.Compare((*s)[a.Slice].start, (*s)[b.Slice].start), cmp.Compare(a.Slice, b.Slice))
	})
	return out
}
