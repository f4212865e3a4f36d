package history

import (
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
)

// A difference between two versions is a change if
//
//	|median B - median A| > 2 × (spread A + spread B)
//
// The factor is 4 if a version ran only twice, because the spread of two runs is often small by
// accident. For the same reason, the spread of a time is taken to be at least the typical relative
// spread of the step times the smaller of the two medians. The typical relative spread is the
// median over the call sites that matter. Otherwise one of many call sites would soon have three
// nearly equal times in A, and three other nearly equal times in B.
//
// In addition a change of time must be at least MinShare of ranks × run time, and at least
// MinRelative of the time itself: smaller changes do not matter. If the spread is not known, only
// these two conditions apply.
//
// docs/history.md shows the effect of noise alone under this rule.
const (
	MinShare    = 0.01
	MinRelative = 0.05
)

// A rule decides what is a change in a step.
type rule struct {
	spreadKnown bool
	times       float64 // by how many times a difference must exceed the spreads
	typical     float64 // relative spread of times
	leastNs     float64 // smallest change of time
}

func (p *versionPairs) ruleOf(sites []Change) *rule {
	total := max(p.a.of((*PastRun).totalNs).Median, p.b.of((*PastRun).totalNs).Median)
	r := &rule{spreadKnown: p.step.SpreadKnown, times: 2, leastNs: MinShare * total}
	if min(len(p.a.runs), len(p.b.runs)) < 3 {
		r.times = 4
	}
	var relative []float64
	for _, c := range sites {
		if c.Measure == Time && max(c.A.Median, c.B.Median) >= r.leastNs {
			relative = append(relative, max(c.A.relativeSpread(), c.B.relativeSpread()))
		}
	}
	if len(relative) > 0 {
		r.typical = quantityOf(relative).Median
	}
	return r
}

// relativeSpread returns the spread as a share of the median; 0 if the median is 0.
func (q RepeatedValue) relativeSpread() float64 {
	if q.Median == 0 {
		return 0
	}
	return (q.Max - q.Min) / q.Median
}

// changed reports whether a difference is a change.
func (r *rule) changed(c *Change) bool {
	difference := math.Abs(c.Difference())
	if difference == 0 {
		return false
	}
	if c.Measure == Time {
		least := r.leastNs
		if c.Name == wallTime && c.Of == OfTotal {
			least = MinShare * max(c.A.Median, c.B.Median)
		}
		if difference < least || difference < MinRelative*min(c.A.Median, c.B.Median) {
			return false
		}
	}
	return !r.spreadKnown || difference > r.times*(r.spread(c, c.A)+r.spread(c, c.B))
}

// spread returns the spread of one side of a change. For a time it is at least the typical spread;
// bytes, messages and calls do not vary with the machine.
func (r *rule) spread(c *Change, q RepeatedValue) float64 {
	own := q.Max - q.Min
	if c.Measure != Time {
		return own
	}
	return max(own, r.typical*min(c.A.Median, c.B.Median))
}

// sharesCores reports whether a finding is about ranks that share cores. It depends on the machine
// and not on the version of the program, so it is not compared. The rules have such names.
func sharesCores(f *NotedFinding) bool { return strings.HasPrefix(f.Rule, "no core") }

// compareFindings finds the findings that every run of one version has and no run of the other.
// Findings about time count only if a time changed: otherwise the thresholds of the rules would
// turn noise into a change.
func (s *Step) compareFindings(a, b *Configuration) {
	timeChanged := slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Measure == Time })
	counts := func(f *NotedFinding) bool { return !sharesCores(f) && (!f.OfTime || timeChanged) }
	s.Appeared, s.Disappeared = b.findingsNotIn(a, counts), a.findingsNotIn(b, counts)
}

// findingsNotIn returns the findings that all runs of c have and no run of o.
func (c *Configuration) findingsNotIn(o *Configuration, counts func(*NotedFinding) bool) []NotedFinding {
	out := []NotedFinding{}
	for _, f := range c.median().Findings {
		has := func(r *PastRun) bool {
			return slices.ContainsFunc(r.Findings, func(g NotedFinding) bool { return g.Rule == f.Rule })
		}
		lacks := func(r *PastRun) bool { return !has(r) }
		if counts(&f) && !slices.ContainsFunc(c.runs, lacks) && !slices.ContainsFunc(o.runs, has) {
			out = append(out, f)
		}
	}
	return out
}

// Judge applies limits as diff --fail-if-worse does, to the newest version of each
// evolution and the one before: to the totals and to each call. An increase within
// the spread does not exceed a limit.
func (h *History) Judge(limits aggregate.Limits) (judged []*Step) {
	for i := range h.Evolution {
		s := &h.Evolution[i].Steps[len(h.Evolution[i].Steps)-1]
		s.judge(limits)
		judged = append(judged, s)
	}
	return judged
}

// minIncreaseNs is the smallest increase of a time that is judged, over all ranks, as
// in diff.
const minIncreaseNs = 1e6

func (s *Step) judge(limits aggregate.Limits) {
	s.Exceeded = []aggregate.Excess{}
	for i := range s.all {
		c := &s.all[i]
		limit, limited := limits[c.Measure]
		if !limited || c.Of == OfTotal && c.Measure == Time && c.Name != "in MPI" {
			continue
		}
		if c.Difference() <= 0 || 100*c.Difference() <= limit*c.A.Median {
			continue
		}
		if c.Measure == Time && c.Difference() < minIncreaseNs || !s.lists(c) {
			continue
		}
		name := c.Name
		if c.Of == OfTotal {
			name = "total"
		}
		s.Exceeded = append(s.Exceeded, aggregate.Excess{Of: name, Name: c.Measure,
			Values: aggregate.Measure{A: uint64(c.A.Median + 0.5), B: uint64(c.B.Median + 0.5)}, Limit: limit})
	}
}

// lists reports whether a difference is among the changes.
func (s *Step) lists(c *Change) bool {
	return slices.ContainsFunc(s.Changes, func(d Change) bool { return d.Of == c.Of && d.Name == c.Name && d.Measure == c.Measure })
}
