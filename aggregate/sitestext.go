package aggregate

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// callersWidth is how wide lines of callers are where any width will do.
const callersWidth = 110

// sitesText writes the table of call sites: numbers over all ranks, and the
// ranks that spent least and most time there.
func (s *Summary) sitesText(w io.Writer, o TextOptions) {
	sites := slices.DeleteFunc(slices.Clone(s.CallSites), func(c CallSite) bool { return profile.SetsUp(c.Call) })
	if len(sites) == 0 || o.Sites == 0 {
		return
	}
	by := cmp.Or(o.SortSites, ByTime)
	if by == ByTime && !s.timed() {
		by = ByCalls
	}
	SortSites(sites, by)
	all := len(sites)
	if o.Sites > 0 {
		sites = sites[:min(all, o.Sites)]
	}
	t := table{{"", "call", "calls", "time", "% of MPI", "min (rank)", "max (rank)", "msgs", "bytes"}}
	for _, c := range sites {
		share := 0.0
		if s.MPITimeS > 0 {
			share = seconds(c.TimeNs) / s.MPITimeS
		}
		t = append(t, []string{"", o.clean(c.Call), count(c.Calls), o.time(&c.Totals), percent(share),
			o.ofRank(c.PerRank.MinNs, c.PerRank.MinRank), o.ofRank(c.PerRank.MaxNs, c.PerRank.MaxRank),
			count(c.moved().Messages), bytesText(c.moved().Bytes)})
		if line := t[len(t)-1]; c.moved() == (matrix.Volume{}) && s.notFollowed(c.Call) {
			line[len(line)-2], line[len(line)-1] = o.none(), o.none()
		}
	}
	switch {
	case !s.timed():
		t = t.without(timeColumns...)
	case len(s.Ranks) < 2:
		t = t.without("min (rank)", "max (rank)")
	}
	t, left := o.fit(t, widest(sites, func(c *CallSite) string { return c.label }), "min (rank)", "max (rank)", "msgs", "bytes", "% of MPI")
	for i, c := range sites {
		t[i+1][0] = o.shorten(o.clean(c.label), left)
	}
	t[0][0] = fmt.Sprintf("call sites by %s", by)
	lines := t.lines()
	fmt.Fprintln(w)
	fmt.Fprintln(w, lines[0])
	for i, c := range sites {
		fmt.Fprintln(w, lines[i+1])
		o.callersText(w, " ", c.Callers)
	}
	if more := all - len(sites); more > 0 {
		fmt.Fprintf(w, "and %s (mpitrace report --top all)\n", CountOf(uint64(more), "more call site"))
	}
	s.namelessText(w, sites, o)
	if s.wrapped() {
		fmt.Fprintln(w, "many of these functions only wrap MPI: with mpitrace run --stack auto the call sites are where they are called (some microseconds a call)")
	}
}

// namelessText says why the listed call sites have no lines, or not even the names of
// functions.
func (s *Summary) namelessText(w io.Writer, listed []CallSite, o TextOptions) {
	var stripped []string // modules
	for _, c := range listed {
		if name := o.clean(path.Base(c.Module)); c.Function == "" && c.Module != "" && !slices.Contains(stripped, name) {
			stripped = append(stripped, name)
		}
	}
	if len(stripped) > 0 {
		verb := "has"
		if len(stripped) > 1 {
			verb = "have"
		}
		fmt.Fprintf(w, "call sites without names: %s %s no symbols (do not strip; compile with -g)\n", strings.Join(stripped, ", "), verb)
		return
	}
	if !slices.ContainsFunc(s.CallSites, func(c CallSite) bool { return c.Line > 0 }) {
		fmt.Fprintln(w, "no line numbers: the program has no debug information (compile with -g)")
	}
}

// wrapped reports whether half of the calls, or of the time in them, is in functions
// that are named for the one MPI function they call, and nobody recorded who calls them.
func (s *Summary) wrapped() bool {
	const least = 3 // functions
	calls := map[string]map[string]bool{}
	for i := range s.CallSites {
		c := &s.CallSites[i]
		if len(c.Callers) > 0 {
			return false
		}
		if calls[c.Function] == nil {
			calls[c.Function] = map[string]bool{}
		}
		calls[c.Function][c.Call] = true
	}
	var in, all Totals
	wrappers := map[string]bool{}
	for i := range s.CallSites {
		c := &s.CallSites[i]
		if profile.SetsUp(c.Call) {
			continue
		}
		all.plus(c.Totals)
		if len(calls[c.Function]) == 1 && profile.NamedFor(c.Function, c.Call) {
			in.plus(c.Totals)
			wrappers[c.Function] = true
		}
	}
	return len(wrappers) >= least && (2*in.Calls >= all.Calls || all.TimeNs > 0 && 2*in.TimeNs >= all.TimeNs)
}

func (o TextOptions) ofRank(ns uint64, rank int) string {
	return fmt.Sprintf("%s (%d)", o.duration(float64(ns)), rank)
}

// callersText writes who called, as many to a line as fit.
func (o TextOptions) callersText(w io.Writer, indent string, callers []Place) {
	line, width := "", cmp.Or(o.Width, callersWidth)
	for _, c := range callers {
		arrow := o.pick(" ← ", " <- ")
		part := arrow + o.shorten(o.clean(c.label), width-len(indent)-utf8.RuneCountInString(arrow))
		if line != "" && utf8.RuneCountInString(indent+line+part) > width {
			fmt.Fprintf(w, "%s%s\n", indent, line)
			line = ""
		}
		line += part
	}
	if line != "" {
		fmt.Fprintf(w, "%s%s\n", indent, line)
	}
}
