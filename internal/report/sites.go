package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// callersWidth is the width of lines of callers if the width of lines is not
// limited.
const callersWidth = 110

// sitesText prints the table of call sites: sums over all ranks, and the ranks that spent
// the least and the most time there.
func (s *summaryText) sitesText() {
	sites := slices.DeleteFunc(slices.Clone(s.CallSites), func(c aggregate.CallSite) bool { return profile.SetsUp(c.Call) })
	if len(sites) == 0 || s.Top == 0 {
		return
	}
	by := cmp.Or(s.Sort, aggregate.ByTime)
	if by == aggregate.ByTime && !s.Timed() {
		by = aggregate.ByCalls
	}
	aggregate.SortSites(sites, by)
	sites, more := top(sites, s.Top)
	t := text.NewTable(fmt.Sprintf("call sites by %s", by), "call", "calls", "time", "% of MPI", "min (rank)", "max (rank)", "msgs", "bytes")
	for i := range sites {
		c := &sites[i]
		messages, bytes := text.Count(c.Moved().Messages), text.Bytes(c.Moved().Bytes)
		if c.Moved() == (matrix.Volume{}) && s.notFollowed(c.Call) {
			messages, bytes = s.none(), s.none()
		}
		t.Add(s.clean(c.Label), s.clean(c.Call), text.Count(c.Calls), s.time(&c.Totals), s.shareOfMPI(c.TimeNs),
			s.ofRank(c.PerRank.MinNs, c.PerRank.MinRank), s.ofRank(c.PerRank.MaxNs, c.PerRank.MaxRank), messages, bytes)
		t.Below(s.callers(" ", c.Callers)...)
	}
	if len(s.Ranks) < 2 {
		t.Drop("min (rank)", "max (rank)")
	}
	s.writeTimes(t, "min (rank)", "max (rank)", "msgs", "bytes", "% of MPI")
	s.more(more, "call site", topAll)
	s.namelessText(sites)
	if s.wrapped() {
		s.println("many of these functions only wrap MPI: with mpitrace run --stack auto the call sites are where they are called (some microseconds a call)")
	}
}

// namelessText explains why call sites in the table have no function names or
// no line numbers.
func (s *summaryText) namelessText(listed []aggregate.CallSite) {
	var stripped []string // modules without symbols
	for _, c := range listed {
		if name := s.clean(path.Base(c.Module)); c.Function == "" && c.Module != "" && !slices.Contains(stripped, name) {
			stripped = append(stripped, name)
		}
	}
	if len(stripped) > 0 {
		verb := "has"
		if len(stripped) > 1 {
			verb = "have"
		}
		s.printf("call sites without names: %s %s no symbols (do not strip; compile with -g)\n", strings.Join(stripped, ", "), verb)
		return
	}
	if !slices.ContainsFunc(s.CallSites, func(c aggregate.CallSite) bool { return c.Line > 0 }) {
		s.println("no line numbers: the program has no debug information (compile with -g)")
	}
}

// wrapped reports whether callers were not recorded and at least half of the
// calls, or of the time in them, are in functions that are named after the only
// MPI function they call.
func (s *summaryText) wrapped() bool {
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

func (o *printer) ofRank(ns uint64, rank int) string {
	return fmt.Sprintf("%s (%d)", o.duration(float64(ns)), rank)
}

// callers returns lines of callers, with as many in a line as fit.
func (o *printer) callers(indent string, callers []aggregate.Place) (lines []string) {
	line, width := "", cmp.Or(o.Width, callersWidth)
	for _, c := range callers {
		arrow := o.pick(" ← ", " <- ")
		part := arrow + o.shorten(o.clean(c.Label), width-len(indent)-utf8.RuneCountInString(arrow))
		if line != "" && utf8.RuneCountInString(indent+line+part) > width {
			lines = append(lines, indent+line)
			line = ""
		}
		line += part
	}
	if line != "" {
		lines = append(lines, indent+line)
	}
	return lines
}
