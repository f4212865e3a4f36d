package report

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
)

// longest returns the n slices with the most time in MPI, in the order of their
// start.
func longest(all []aggregate.SliceTotals, n int) []aggregate.SliceTotals {
	if len(all) <= n {
		return all
	}
	byTime := slices.Clone(all)
	slices.SortStableFunc(byTime, func(a, b aggregate.SliceTotals) int { return cmp.Compare(b.TimeNs, a.TimeNs) })
	chosen := map[string]bool{}
	for _, s := range byTime[:n] {
		chosen[s.Slice] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(s aggregate.SliceTotals) bool { return !chosen[s.Slice] })
}
