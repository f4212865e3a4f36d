package aggregate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/profile"
)

const (
	textWidth = 110 // of the table of call sites
	minSite   = 16  // of its first column
)

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
		if line := t[len(t)-1]; c.moved() == (Volume{}) && s.notFollowed(c.Call) {
			line[len(line)-2], line[len(line)-1] = o.none(), o.none()
		}
	}
	switch {
	case !s.timed():
		t = t.without(timeColumns...)
	case len(s.Ranks) < 2:
		t = t.without("min (rank)", "max (rank)")
	}
	left := max(minSite, textWidth-t.width())
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
	if !slices.ContainsFunc(s.CallSites, func(c CallSite) bool { return c.Line > 0 }) {
		fmt.Fprintln(w, "no line numbers: the program has no debug information (compile with -g)")
	}
}

func (o TextOptions) ofRank(ns uint64, rank int) string {
	return fmt.Sprintf("%s (%d)", o.duration(float64(ns)), rank)
}

// callersText writes who called, as many to a line as fit.
func (o TextOptions) callersText(w io.Writer, indent string, callers []Place) {
	line := ""
	for _, c := range callers {
		part := o.shorten(o.pick(" ← ", " <- ")+o.clean(c.label), textWidth-2)
		if line != "" && utf8.RuneCountInString(line+part)+2 > textWidth {
			fmt.Fprintf(w, "%s%s\n", indent, line)
			line = ""
		}
		line += part
	}
	if line != "" {
		fmt.Fprintf(w, "%s%s\n", indent, line)
	}
}

// shorten cuts a label to a width: of a function's name the scopes go first,
// then its end; the source and line, which stand last, are kept, but a module's
// name in brackets is not.
func (o TextOptions) shorten(label string, width int) string {
	if utf8.RuneCountInString(label) <= width {
		return label
	}
	dots := []rune(o.pick("…", "..."))
	at := strings.LastIndexByte(label, ' ')
	if at < 0 {
		at = len(label)
	}
	name, tail := []rune(label[:at]), []rune(label[at:])
	if scope := strings.LastIndex(label[:at], "::"); scope >= 0 {
		name = []rune(label[scope+2 : at])
	}
	switch room := width - len(tail); {
	case len(name) <= room:
		return string(name) + string(tail)
	case strings.HasPrefix(string(tail), " ("):
		return string(append(name, tail...)[:width-len(dots)]) + string(dots)
	case room-len(dots) >= 6:
		return string(name[:room-len(dots)]) + string(dots) + string(tail)
	}
	r := []rune(label)
	return string(dots) + string(r[len(r)-width+len(dots):])
}
