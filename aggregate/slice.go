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

// sliceTotals are in the order in which the slices first began. Those in which
// nothing was called are left out.
func sliceTotals(profiles []*profile.Profile) []SliceTotals {
	byName := map[string]*SliceTotals{}
	start := map[string]int64{} // when the first process began it
	for _, p := range profiles {
		byIndex := map[uint32]*SliceTotals{}
		for _, s := range p.Slices {
			if byName[s.Name] == nil {
				byName[s.Name], start[s.Name] = &SliceTotals{Slice: s.Name}, s.Start
			}
			byIndex[s.Index] = byName[s.Name]
			start[s.Name] = min(start[s.Name], s.Start)
		}
		for _, r := range p.Rows {
			of := byIndex[r.Slice]
			if of == nil || profile.SetsUp(r.Call) {
				continue
			}
			if r.Direction == profile.Recv {
				r.Messages, r.Bytes = 0, 0
			}
			of.add(&r)
		}
	}
	out := []SliceTotals{}
	for _, s := range byName {
		if s.Totals != (Totals{}) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b SliceTotals) int {
		return cmp.Or(cmp.Compare(start[a.Slice], start[b.Slice]), cmp.Compare(a.Slice, b.Slice))
	})
	return out
}

// longest are the n slices with the most time, in the order they are in.
func longest(all []SliceTotals, n int) []SliceTotals {
	if len(all) <= n {
		return all
	}
	byTime := slices.Clone(all)
	slices.SortStableFunc(byTime, func(a, b SliceTotals) int { return cmp.Compare(b.TimeNs, a.TimeNs) })
	chosen := map[string]bool{}
	for _, s := range byTime[:n] {
		chosen[s.Slice] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(s SliceTotals) bool { return !chosen[s.Slice] })
}
