package aggregate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// SiteChange is the change at a call site. Its place is that in B, or that in A if B has no
// such call site.
type SiteChange struct {
	Site
	Call string      `json:"call"`       // without MPI_
	Was  *NamedPlace `json:"moved_from"` // the place in A if it is on another line; otherwise null
	Changes
}

// compareSites matches call sites by their source, because the program may have
// been compiled again or changed between the runs.
//
// The call sites of one MPI function in one function of one source file form a group. Where the
// source is not known, they are grouped by function and binary. Where the function is not known
// either, each address of a binary is a group.
//
// If a group has equally many lines in both jobs, the lines are matched in their order: an edit
// above may have moved them all. Otherwise equal lines are matched, and the others are new or gone.
// Equal numbers of lines come first for this reason: with calls on consecutive lines, such as
// Isends to all neighbours, one line inserted above would match each call with the next one.
func compareSites(a, b []CallSite, o DiffOptions) []SiteChange {
	out := []SiteChange{}
	put := func(x, y *CallSite) {
		if c := siteChange(x, y); !profile.SetsUp(c.Call) && c.Differs(o.IgnoreTime) {
			out = append(out, c)
		}
	}
	MatchSites(a, b, put)
	slices.SortFunc(out, func(a, b SiteChange) int {
		return cmp.Or(o.order(&a.Changes, &b.Changes), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.String(), b.String()), cmp.Compare(a.Program, b.Program), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

// MatchSites calls pair for the call sites that are the same in two jobs, as
// compareSites says, and with nil for those of one job only. The order is
// undefined.
func MatchSites(a, b []CallSite, pair func(a, b *CallSite)) {
	depth := min(callersOf(a), callersOf(b))
	byProgram := withPrograms(a) && withPrograms(b)
	before, after := siteGroups(a, depth, byProgram), siteGroups(b, depth, byProgram)
	for key, x := range before {
		matchSites(x, after[key], pair)
		delete(after, key)
	}
	for _, y := range after {
		matchSites(nil, y, pair)
	}
}

// matchSites calls pair for the pairs of one group. Both sides are in order of
// lines.
func matchSites(a, b []*CallSite, pair func(a, b *CallSite)) {
	if len(a) == len(b) {
		for i := range a {
			pair(a[i], b[i])
		}
		return
	}
	for len(a) > 0 && len(b) > 0 {
		switch order := compareLines(a[0], b[0]); {
		case order < 0:
			pair(a[0], nil)
			a = a[1:]
		case order > 0:
			pair(nil, b[0])
			b = b[1:]
		default:
			pair(a[0], b[0])
			a, b = a[1:], b[1:]
		}
	}
	for _, x := range a {
		pair(x, nil)
	}
	for _, y := range b {
		pair(nil, y)
	}
}

// siteGroups returns the call sites of a job by group, in the order of their
// lines. Call sites on the same line of several modules (a function in a
// header), or with different callers beyond depth, are merged; those of several programs too,
// unless byProgram is true.
func siteGroups(sites []CallSite, depth int, byProgram bool) map[string][]*CallSite {
	out := map[string][]*CallSite{}
	for i := range sites {
		c := sites[i]
		c.Callers = c.Callers[:min(len(c.Callers), depth)]
		if !byProgram {
			c.Program = ""
		}
		key := c.group()
		at, known := slices.BinarySearchFunc(out[key], &c, compareLines)
		if known {
			out[key][at].merge(&c)
			continue
		}
		out[key] = slices.Insert(out[key], at, &c)
	}
	return out
}

// withPrograms reports whether call sites have the names of their programs: those of a job with
// several programs do.
func withPrograms(sites []CallSite) bool {
	return slices.ContainsFunc(sites, func(c CallSite) bool { return c.Program != "" })
}

// callersOf returns the largest number of callers of a call site.
func callersOf(sites []CallSite) int {
	most := 0
	for i := range sites {
		most = max(most, len(sites[i].Callers))
	}
	return most
}

// places returns the call site and its callers.
func (c *CallSite) places() []NamedPlace { return append([]NamedPlace{c.NamedPlace}, c.Callers...) }

// group returns a text that is equal for call sites which may be the same in
// two versions of a program.
func (c *CallSite) group() string {
	var b strings.Builder
	b.WriteString(c.Call + "\x00" + c.Program)
	for _, p := range c.places() {
		switch module := path.Base(p.Module); {
		case p.Line > 0:
			fmt.Fprintf(&b, "\n%s\x00%s", p.Function, path.Base(p.File))
		case p.Function != "":
			fmt.Fprintf(&b, "\n%s\x00\x00%s", p.Function, module)
		default:
			fmt.Fprintf(&b, "\n\x00\x00%s\x00%x", module, p.Offset)
		}
	}
	return b.String()
}

// compareLines orders the call sites of one group.
func compareLines(a, b *CallSite) int {
	return slices.CompareFunc(a.places(), b.places(), func(p, q NamedPlace) int {
		if p.Line > 0 {
			return cmp.Compare(p.Line, q.Line)
		}
		return cmp.Compare(p.Offset, q.Offset)
	})
}

func siteChange(a, b *CallSite) SiteChange {
	at := cmp.Or(b, a)
	c := SiteChange{Site: at.Site, Call: at.Call, Changes: changesOf(a.totals(), b.totals())}
	if a != nil && b != nil && a.Line != b.Line {
		c.Was = new(a.NamedPlace)
	}
	return c
}

func (c *CallSite) totals() *CallTotals {
	if c == nil {
		return nil
	}
	return &CallTotals{Call: c.Call, Totals: c.Totals, Sent: c.Sent, Received: c.Received}
}
