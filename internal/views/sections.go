package views

import (
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
)

// Of returns the sections of the summary of a job, in the order in which a terminal shows them.
func Of(job *aggregate.Summary, o Options) []Section {
	s := &report{Summary: job, Options: o}
	placement := placementSections(o.Placed, o)
	for i := range placement { // which mpitrace reorder prints
		placement[i].allDetails()
	}
	return Finish(slices.Concat([]Section{s.verdict(), s.run(), s.findings(), s.efficiency(), s.time(), s.balance()}, placement,
		[]Section{s.calls(), s.phases(), s.sites(), s.communicators(), s.late(), s.sizes(), s.pairs(), s.patterns(), s.matrix(), s.physical(),
			s.variables(), s.completeness(), s.ends(), s.problems()}, traceSections(o.Traced, o), []Section{s.settings()})...)
}

// OfRank returns the sections of the summary of one rank.
func OfRank(rank *aggregate.RankSummary, o Options) []Section {
	s := &report{Summary: &rank.Summary, Options: o, rank: rank}
	return Finish(s.run(), s.calls(), s.phases(), s.sites(), s.late(), s.sizes(), s.peers(), s.communicatorsOfRank(),
		s.physical(), s.variables(), s.completeness(), s.ends(), s.problems())
}
