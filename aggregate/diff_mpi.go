package aggregate

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Differences in what the MPI itself reported: unexpected messages and
// performance variables.

// LateChange is the change in the late receives of a call site. Its place is
// that of a SiteChange.
type LateChange struct {
	Site
	Call string      `json:"call"`
	Was  *NamedPlace `json:"moved_from"`
	Late Measure     `json:"late"`
}

// CounterChange is the change of a performance variable that accumulates,
// summed over ranks and objects.
type CounterChange struct {
	Variable string  `json:"variable"`
	Class    string  `json:"class"`
	A        float64 `json:"a"`
	B        float64 `json:"b"`
}

// MarshalJSON returns {"variable", "class", "a", "b", "change", "relative"}.
// relative is null if A is 0.
func (c CounterChange) MarshalJSON() ([]byte, error) {
	type plain CounterChange
	out := struct {
		plain
		Change   float64  `json:"change"`
		Relative *float64 `json:"relative"`
	}{plain: plain(c), Change: finite(c.B - c.A)}
	if share := c.Relative(); !math.IsInf(share, 0) && !math.IsNaN(share) {
		out.Relative = &share
	}
	return json.Marshal(out)
}

// Relative returns the change as a fraction of A. It is not finite if A is 0.
func (c CounterChange) Relative() float64 { return (c.B - c.A) / math.Abs(c.A) }

// compareLate returns null if late receives cannot be compared: they were not
// recorded in both jobs, or with different limits.
func compareLate(x, y *Summary, a, b *ComparedJob, o DiffOptions) []LateChange {
	watched := x.LateOver != "" || len(x.LateReceives) > 0 && len(y.LateReceives) > 0
	if x.LateOver != y.LateOver || !watched {
		return nil
	}
	o.IgnoreTime = true
	out := []LateChange{}
	for _, c := range compareSites(a.lateSites(), b.lateSites(), o) {
		out = append(out, LateChange{c.Site, c.Call, c.Was, c.Calls})
	}
	return out
}

// lateSites returns the late receives as call sites.
func (j *Job) lateSites() []CallSite {
	programs := groupPrograms(j.ordered())
	out := make([]CallSite, 0, len(j.late.known))
	for k, site := range j.late.known {
		c := CallSite{Site: site.Site, Call: k.call}
		c.Program = programs.nameOf(k.program)
		site.comms.each(func(_ string, _ bool, sum *lateReceiveSum) { c.Calls += sum.late })
		out = append(out, c)
	}
	return out
}

// compareCounters returns the variables that were read in both jobs and
// changed, the largest relative change first.
func compareCounters(x, y []PvarSummary, o DiffOptions) []CounterChange {
	a, b := counters(x), counters(y)
	out := []CounterChange{}
	for k, before := range a {
		after, both := b[k]
		if !both || before == after || o.IgnoreTime && k.class == profile.PvarTimer.String() {
			continue
		}
		out = append(out, CounterChange{k.name, k.class, before, after})
	}
	slices.SortFunc(out, func(a, b CounterChange) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Relative()), math.Abs(a.Relative())), cmp.Compare(a.Variable, b.Variable), cmp.Compare(a.Class, b.Class))
	})
	return out
}

type counterKey struct{ name, class string }

// counters returns the sums over all objects. Objects are not compared one by
// one: those of two jobs have different ids.
func counters(vs []PvarSummary) map[counterKey]float64 {
	out := map[counterKey]float64{}
	for _, v := range vs {
		if v.Sum != nil {
			k := counterKey{v.Name, v.Class}
			out[k] = finite(out[k] + *v.Sum)
		}
	}
	return out
}
