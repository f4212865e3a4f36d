package views

import (
	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/profile"
)

// What tests render as text, which this package cannot import.

func ConservationSections(c *aggregate.Conservation) []Section {
	out := Section{}
	conservation(&out, c)
	return Finish(out)
}

func SharedSections(sets []profile.Oversubscription, ranks int) []Section {
	out := Section{}
	shared(&out, sets, ranks)
	return Finish(out)
}

func PatternSections(found *patterns.Decomposition) []Section {
	return Finish((&report{Options: Options{Patterns: found}}).patterns())
}

var Longest = longest

const MostPvars = mostPvars

var LinesOf = lines

const MostLines = shortLines

type BriefDocument = brief
