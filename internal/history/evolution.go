package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
)

// Evolution is the versions of a program that ran with the same arguments on the
// same number of ranks.
type Evolution struct {
	Program   string       `json:"program"`
	Arguments []string     `json:"arguments"`
	Ranks     int          `json:"ranks"`
	Programs  PastPrograms `json:"programs"` // builds are those of the first version
	Steps     []Step       `json:"steps"`    // in the order of the versions' first runs
}

// Step is the difference between two adjacent versions, A and B.
type Step struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Programs are those that were built again, of a job with several programs.
	Programs []ProgramChange `json:"changed_programs"`
	// SpreadKnown reports whether both versions ran at least twice. Changes then has the
	// differences that exceed the spread. Otherwise it has every difference between the two runs,
	// which may be noise.
	SpreadKnown   bool `json:"spread_known"`
	TimesCompared bool `json:"times_compared"` // false if the calls of a run were not timed

	Changes     []Change       `json:"changes"` // the largest change of time first, then of bytes
	Appeared    []NotedFinding `json:"findings_appeared"`
	Disappeared []NotedFinding `json:"findings_disappeared"`

	// Diff is the difference between the runs with the median wall times.
	Diff *aggregate.Diff `json:"diff"`
	// Exceeded is set by Judge; null if that was not called.
	Exceeded []aggregate.Excess `json:"exceeded"`

	all []Change // of totals and calls, whether they changed or not
}

// Side is a version in a step.
type Side struct {
	Version
	Runs           []int         `json:"runs"`           // indices in History.Runs
	Median         string        `json:"median_run"`     // directory of the run with the median wall time
	WallTimeS      RepeatedValue `json:"wall_time_s"`    //
	Oversubscribed int           `json:"oversubscribed"` // number of runs whose ranks shared cores: their times are uncertain
}

// ChangeKind says what a change is of.
type ChangeKind string

const (
	OfTotal    ChangeKind = "total"
	OfCall     ChangeKind = "call"
	OfCallSite ChangeKind = "callsite"
)

// Measures of a change in addition to those of aggregate.
const (
	Time     = aggregate.InTime // ns, over all ranks; of "wall time", of the longest rank
	Bytes    = aggregate.InBytes
	Messages = aggregate.InMessages
	Calls    = aggregate.MeasureName("calls")
)

// Change is a quantity that differs between two versions.
type Change struct {
	Of      ChangeKind             `json:"of"`
	Name    string                 `json:"name"`              // of the total or the call; the place of a call site, in B unless it is gone
	Call    string                 `json:"call,omitempty"`    // of a call site, without MPI_
	Was     *aggregate.NamedPlace  `json:"moved_from"`        // place in A if the call site is on another line; otherwise null
	Callers []aggregate.NamedPlace `json:"callers,omitempty"` //
	Status  aggregate.DiffStatus   `json:"status"`            // changed, new or gone
	Measure aggregate.MeasureName  `json:"measure"`
	A       RepeatedValue          `json:"a"`
	B       RepeatedValue          `json:"b"`
}

// Difference returns the difference of the medians.
func (c *Change) Difference() float64 { return c.B.Median - c.A.Median }

// wallTime is the name of the change of the wall time, of the longest rank.
const wallTime = "wall time"

// WallTime returns the change of the wall time; nil if it did not change.
func (s *Step) WallTime() *Change {
	i := slices.IndexFunc(s.Changes, func(c Change) bool { return c.Of == OfTotal && c.Name == wallTime })
	if i < 0 {
		return nil
	}
	return &s.Changes[i]
}

// evolutionOf returns the evolution of each program, arguments and number of ranks
// that ran in several versions. Configurations are sorted.
func evolutionOf(all []Configuration, compare Compare) ([]Evolution, error) {
	out := []Evolution{}
	for first := 0; first < len(all); {
		end := first + 1
		for end < len(all) && all[end].evolvesFrom(&all[first]) {
			end++
		}
		versions := slices.Clone(all[first:end])
		if first = end; len(versions) < 2 {
			continue
		}
		slices.SortStableFunc(versions, func(a, b Configuration) int { return a.runs[0].Started.Compare(b.runs[0].Started) })
		e := Evolution{Program: versions[0].Program, Arguments: versions[0].Arguments, Ranks: versions[0].Ranks, Programs: versions[0].Programs}
		for i := range versions[1:] {
			s, err := stepOf(&versions[i], &versions[i+1], compare)
			if err != nil {
				return nil, err
			}
			e.Steps = append(e.Steps, *s)
		}
		out = append(out, e)
	}
	return out, nil
}

func (c *Configuration) evolvesFrom(first *Configuration) bool {
	a, b := c.runs[0].key(), first.runs[0].key()
	a.version, b.version = Version{}, Version{}
	return a == b
}

func sideOf(c *Configuration) Side {
	return Side{Version: c.Version, Runs: c.Runs, Median: c.median().Dir, WallTimeS: c.WallTimeS, Oversubscribed: c.sharedCores()}
}

// sharedCores returns the number of runs whose ranks shared cores.
func (c *Configuration) sharedCores() (n int) {
	for _, r := range c.runs {
		if slices.ContainsFunc(r.Findings, func(f NotedFinding) bool { return sharesCores(&f) }) {
			n++
		}
	}
	return n
}

func stepOf(a, b *Configuration, compare Compare) (*Step, error) {
	s := &Step{A: sideOf(a), B: sideOf(b), SpreadKnown: len(a.runs) > 1 && len(b.runs) > 1, TimesCompared: a.Timed && b.Timed,
		Programs: changedPrograms(a.Programs, b.Programs)}
	p := &versionPairs{step: s, a: a, b: b}
	s.all = slices.Concat(p.totals(), p.calls())
	sites := p.sites()
	rule := p.ruleOf(sites)
	s.Changes = []Change{}
	for _, c := range slices.Concat(s.all, sites) {
		if rule.changed(&c) {
			s.Changes = append(s.Changes, c)
		}
	}
	slices.SortStableFunc(s.Changes, compareChanges)
	s.compareFindings(a, b)
	var err error
	s.Diff, err = compare(a.median(), b.median())
	return s, err
}

// compareChanges sorts the largest change first: times, then bytes, messages and calls. Of equal
// changes, those of call sites come first, because they are the most specific.
func compareChanges(a, b Change) int {
	kinds := []ChangeKind{OfCallSite, OfCall, OfTotal}
	size := func(c Change) float64 { return max(c.Difference(), -c.Difference()) }
	return cmp.Or(cmp.Compare(slices.Index(measures, a.Measure), slices.Index(measures, b.Measure)), cmp.Compare(size(b), size(a)), slices.Index(kinds, a.Of)-slices.Index(kinds, b.Of),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Call, b.Call))
}

// versionPairs pairs the numbers of the runs of two versions.
type versionPairs struct {
	step *Step
	a, b *Configuration
}

func (p *versionPairs) change(of ChangeKind, name string, measure aggregate.MeasureName, value func(*PastRun) float64) Change {
	return Change{Of: of, Name: name, Status: aggregate.StatusChanged, Measure: measure, A: p.a.of(value), B: p.b.of(value)}
}

func (p *versionPairs) totals() []Change {
	out := []Change{p.change(OfTotal, wallTime, Time, func(r *PastRun) float64 { return 1e9 * r.WallTimeS })}
	if p.step.TimesCompared {
		out = append(out, p.change(OfTotal, "in MPI", Time, (*PastRun).inMPINs),
			p.change(OfTotal, "outside MPI", Time, (*PastRun).usefulNs))
	}
	return append(out, p.change(OfTotal, "all", Bytes, func(r *PastRun) float64 { return float64(r.Bytes) }),
		p.change(OfTotal, "all", Messages, func(r *PastRun) float64 { return float64(r.Messages) }))
}

// measures are those of a call or of a call site, in the order in which changes are sorted.
var measures = []aggregate.MeasureName{Time, Bytes, Messages, Calls}

// amounts has the amount of each of the measures in one run.
type amounts [4]float64

func amountsOf(t *aggregate.CallTotals) amounts {
	moved := t.Sent
	if moved.Bytes == 0 && moved.Messages == 0 {
		moved = t.Received
	}
	return amounts{float64(t.OwnNs), float64(moved.Bytes), float64(moved.Messages), float64(t.Calls)}
}

// changes returns the change of each measure. of returns the amounts in a run, zeros
// if the run has none.
func (p *versionPairs) changes(head Change, of func(*PastRun) amounts) (out []Change) {
	for i, measure := range measures {
		if measure == Time && !p.step.TimesCompared {
			continue
		}
		c := p.change(head.Of, head.Name, measure, func(r *PastRun) float64 { return of(r)[i] })
		c.Call, c.Was, c.Callers = head.Call, head.Was, head.Callers
		out = append(out, c)
	}
	calls := out[len(out)-1]
	for i := range out {
		switch {
		case calls.A.Max == 0:
			out[i].Status = aggregate.StatusNew
		case calls.B.Max == 0:
			out[i].Status = aggregate.StatusGone
		}
	}
	return out
}

func (p *versionPairs) calls() (out []Change) {
	byName := map[*PastRun]map[string]amounts{}
	names := map[string]bool{}
	for _, r := range slices.Concat(p.a.runs, p.b.runs) {
		byName[r] = map[string]amounts{}
		for i := range r.calls {
			names[r.calls[i].Call] = true
			byName[r][r.calls[i].Call] = amountsOf(&r.calls[i])
		}
	}
	for name := range names {
		out = append(out, p.changes(Change{Of: OfCall, Name: name}, func(r *PastRun) amounts { return byName[r][name] })...)
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// sites returns the changes of call sites. Each run is matched with the median run of B, so that a
// call site that moved counts as one call site in all runs.
func (p *versionPairs) sites() (out []Change) {
	reference := p.b.median().sites
	heads, byKey := map[string]Change{}, map[*PastRun]map[string]amounts{}
	for _, r := range slices.Concat(p.a.runs, p.b.runs) {
		here := map[string]amounts{}
		byKey[r] = here
		aggregate.MatchSites(r.sites, reference, func(x, y *aggregate.CallSite) {
			at := cmp.Or(y, x)
			key := siteKey(at)
			head, known := heads[key]
			if !known {
				head = Change{Of: OfCallSite, Name: at.Name(), Call: at.Call, Callers: at.Callers}
			}
			if x != nil && y != nil && x.Line != y.Line {
				head.Was = new(x.NamedPlace)
			}
			heads[key] = head
			if x != nil {
				here[key] = amountsOf(&aggregate.CallTotals{Totals: x.Totals, Sent: x.Sent, Received: x.Received})
			}
		})
	}
	for key, head := range heads {
		out = append(out, p.changes(head, func(r *PastRun) amounts { return byKey[r][key] })...)
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Call, b.Call)) })
	return out
}
