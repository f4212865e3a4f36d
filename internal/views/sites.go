package views

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// labels returns the labels of callers.
func labels(callers []aggregate.NamedPlace) (list []string) {
	for i := range callers {
		list = append(list, callers[i].Label)
	}
	return list
}

// nameRows gives the rows of a table of call sites their callers and the places of their
// source.
func nameRows[R any](t *Table, list []R, site func(*R) (*aggregate.NamedPlace, []aggregate.NamedPlace)) *Table {
	for i := range list {
		place, callers := site(&list[i])
		t.Rows[i].Callers = labels(callers)
		if place.File != "" && place.Line > 0 {
			t.Rows[i].Place = fmt.Sprintf("%s:%d", place.File, place.Line)
		}
	}
	return t
}

// sites returns the section of call sites: sums over all ranks, and the ranks that spent the
// least and the most time there.
func (s *report) sites() Section {
	out := Section{ID: "sites", Title: "Call sites"}
	if len(s.CallSites) == 0 || !s.callsMPI() {
		return out
	}
	by := cmp.Or(s.Sort, aggregate.ByTime)
	if by == aggregate.ByTime && !s.Timed() {
		by = aggregate.ByCalls
	}
	sites := slices.Clone(s.CallSites)
	aggregate.SortSites(sites, by)
	out.Add(s.siteTable(sites, by))
	for _, line := range s.nameless(sites) {
		out.Say(line)
	}
	if f := s.Shared; f != nil && !s.wrapped() {
		stack := "2"
		if f.Wrapper {
			stack = "auto"
		}
		out.Say(fmt.Sprintf("%s has %s of the time in MPI, and is called from %d places: mpitrace run --stack %s tells these apart (some microseconds a call)",
			f.Function, text.Percent(f.Share), f.Callers, stack))
	}
	if s.wrapped() {
		out.Say("many of these functions only wrap MPI: with mpitrace run --stack auto the call sites are where they are called (some microseconds a call)")
	}
	return out
}

func (s *report) siteTable(sites []aggregate.CallSite, by aggregate.SiteOrder) *Table {
	type R = aggregate.CallSite
	totals := func(c *R) *aggregate.Totals { return &c.Totals }
	moved := func(c *R) *matrix.Volume {
		v := c.Moved()
		if s.notFollowed(c.Call, v) {
			return nil
		}
		return &v
	}
	ofRank := func(ns uint64, rank int) Cell { return nsCell(float64(ns)).ofRank(rank) }
	timed, several := s.Timed(), len(s.Ranks) > 1
	name := fmt.Sprintf("call sites by %s", by)
	if several {
		name += ", all ranks"
	}
	t := tableOf("sites", sites,
		col("callsite", "call site", Words, func(c *R) Cell { return wordsCell(c.Name()) }),
		col("call", "call", Words, func(c *R) Cell { return wordsCell(c.Call) }),
		callsColumn(totals), timeColumn(totals).when(timed),
		col("share_of_mpi", "% of MPI", Share, func(c *R) Cell { return s.shareOfMPI(c.Call, &c.Totals) }).spare(5).when(timed),
		col("min_ns", minOfRank, Ns, func(c *R) Cell { return ofRank(c.PerRank.MinNs, c.PerRank.MinRank) }).spare(1).when(timed && several),
		col("max_ns", maxOfRank, Ns, func(c *R) Cell { return ofRank(c.PerRank.MaxNs, c.PerRank.MaxRank) }).spare(2).when(timed && several),
		messagesColumn("msgs", moved).spare(3), bytesColumn("bytes", moved).spare(4),
	).named(name).top(s.Top, "call site", topAll)
	for i := range sites {
		t.Rows[i].Detail = profile.SetsUp(sites[i].Call)
	}
	return nameRows(t, sites, func(c *R) (*aggregate.NamedPlace, []aggregate.NamedPlace) { return &c.NamedPlace, c.Callers })
}

// nameless explains why call sites have no function names or no line numbers.
func (s *report) nameless(sites []aggregate.CallSite) (lines []string) {
	var modules []string // without symbols
	for _, c := range sites {
		if !profile.SetsUp(c.Call) && c.Function == "" && c.Line == 0 && c.Module != "" && !slices.Contains(modules, c.Module) {
			modules = append(modules, c.Module)
		}
	}
	for _, module := range modules {
		why := "it has no symbols: do not strip it, and compile with -g"
		if i := slices.IndexFunc(s.UnnamedFiles, func(f aggregate.UnnamedFile) bool { return f.Module == module }); i >= 0 {
			why = howToName(&s.UnnamedFiles[i])
		}
		lines = append(lines, fmt.Sprintf("call sites in %s have no names: %s", path.Base(module), why))
	}
	if len(lines) == 0 && !slices.ContainsFunc(sites, func(c aggregate.CallSite) bool { return c.Line > 0 }) {
		lines = append(lines, "no line numbers: the program has no debug information (compile with -g, or name the directory of its debug file: --debug-dir DIR)")
	}
	return lines
}

// howToName says why call sites in a file have no names and, if it is only stripped, how to get them.
func howToName(f *aggregate.UnnamedFile) string {
	if !f.Stripped {
		return f.Reason
	}
	install := "install its debug symbols"
	if f.Package != "" {
		install = "install " + f.Package
	}
	return fmt.Sprintf("%s: %s, or name the directory of its debug file: mpitrace report --debug-dir DIR", f.Reason, install)
}

// wrapped reports whether callers were not recorded and at least half of the
// calls, or of the time in them, are in functions that are named after the only
// MPI function they call.
func (s *report) wrapped() bool {
	const least = 3 // number of such functions
	called := map[string]map[string]bool{}
	for i := range s.CallSites {
		c := &s.CallSites[i]
		if len(c.Callers) > 0 {
			return false
		}
		if called[c.Function] == nil {
			called[c.Function] = map[string]bool{}
		}
		called[c.Function][c.Call] = true
	}
	var calls, ns, allCalls, allNs uint64
	wrappers := map[string]bool{}
	for i := range s.CallSites {
		c := &s.CallSites[i]
		if profile.SetsUp(c.Call) {
			continue
		}
		allCalls, allNs = allCalls+c.Calls, allNs+c.TimeNs
		if len(called[c.Function]) == 1 && profile.NamedFor(c.Function, c.Call) {
			calls, ns = calls+c.Calls, ns+c.TimeNs
			wrappers[c.Function] = true
		}
	}
	return len(wrappers) >= least && (2*calls >= allCalls || allNs > 0 && 2*ns >= allNs)
}
