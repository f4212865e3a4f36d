package views

import "github.com/mpitrace/mpitrace/aggregate"

// Of returns the sections of the summary of a job, in the order in which a terminal shows them.
func Of(job *aggregate.Summary, o Options) []Section {
	s := &report{Summary: job, Options: o}
	sections := []Section{s.run(), s.findings(), s.efficiency(), s.time(), s.balance(), s.calls(), s.phases(), s.sites(), s.communicators(), s.late(),
		s.sizes(), s.pairs(), s.patterns(), s.matrix(), s.physical(), s.variables(), s.completeness(), s.ends(), s.problems()}
	return Finish(append(append(sections, traceSections(o.Traced, o)...), s.settings())...)
}

// OfRank returns the sections of the summary of one rank.
func OfRank(rank *aggregate.RankSummary, o Options) []Section {
	s := &report{Summary: &rank.Summary, Options: o, rank: rank}
	return Finish(s.run(), s.calls(), s.phases(), s.sites(), s.late(), s.sizes(), s.peers(), s.communicatorsOfRank(),
		s.physical(), s.variables(), s.completeness(), s.ends(), s.problems())
}
