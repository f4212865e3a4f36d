package trace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// textWidth is how wide lines are where any width will do, if no name is too long
// for that.
const textWidth = 100

// minPlace is how many characters of a place columns are left out for.
const minPlace = 28

// shareHead is the head of a share of the time of all ranks: ranks times runtime.
const shareHead = "% of time"

// TextOptions says how text may look.
type TextOptions struct {
	ASCII bool // no other characters
	Width int  // characters of a line; 0 is any, and then no name is cut
	Top   int  // lines of each list of places and ranks; all if it is below 0
}

// Text writes the result for people to read on a terminal.
func (r *Result) Text(w io.Writer, o TextOptions) error {
	b := &text.Wrapper{W: bufio.NewWriter(w), Width: o.Width}
	ranks := aggregate.CountOf(uint64(r.Size), "rank")
	if r.Ranks < r.Size {
		ranks = fmt.Sprintf("%d of %d ranks", r.Ranks, r.Size)
	}
	fmt.Fprintf(b, "trace of %s: %s in %s\n", ranks, aggregate.CountOf(r.Events, "event"), o.duration(r.Runtime))
	if r.POP != nil {
		r.popText(b, o)
	} else {
		fmt.Fprintf(b, "\nefficiencies and the critical path are not known: the traces do not have all calls\n")
	}
	if len(r.Oversubscribed) > 0 {
		fmt.Fprintln(b)
		aggregate.OversubscriptionText(b, r.Oversubscribed, r.Ranks, aggregate.TextOptions{ASCII: o.ASCII})
	}
	r.callsText(b, o)
	r.patternsText(b, o)
	r.communicatorsText(b, o)
	r.placesText(b, o)
	r.eagerText(b)
	if r.CriticalPath != nil {
		r.CriticalPath.text(b, o)
	}
	r.Matching.text(b)
	if r.Clocks != nil {
		clocksText(r.Clocks, b, o)
	}
	r.partialText(b)
	return b.Flush()
}

// popText is the tree of POP's metrics, each with the two times that it is the ratio of.
func (r *Result) popText(w io.Writer, o TextOptions) {
	p := r.POP
	most, lost := o.duration(p.UsefulMax), "lost in messages and calls"
	if len(r.Oversubscribed) > 0 {
		lost = "lost in MPI or waiting for a core"
	}
	fork, end, past := o.pick("├", "|"), o.pick("└", "`"), "  "
	fmt.Fprintln(w)
	for _, line := range []struct {
		tree, name string
		value      float64
		why        string
	}{
		{"", "parallel efficiency", p.ParallelEfficiency, fmt.Sprintf("ranks compute %s of %s in the mean", o.duration(p.UsefulMean), o.duration(p.Runtime))},
		{fork + " ", "load balance", p.LoadBalance, fmt.Sprintf("rank %d computes most, %s", p.UsefulMaxRank, most)},
		{end + " ", "communication", p.CommunicationEfficiency, fmt.Sprintf("rank %d computes %s of %s", p.UsefulMaxRank, most, o.duration(p.Runtime))},
		{past + fork + " ", "serialisation", p.Serialisation, fmt.Sprintf("%s of %s on an ideal network", most, o.duration(p.IdealRuntime))},
		{past + end + " ", "transfer", p.Transfer, fmt.Sprintf("%s of %s; %s", o.duration(p.IdealRuntime), o.duration(p.Runtime), lost)},
	} {
		name := line.tree + line.name
		fmt.Fprintf(w, "%s%s %7s  %s\n", name, pad(name, 19), percent(line.value), line.why)
	}
}

// callsText says where the time in MPI is, and how much of it is waiting for others.
func (r *Result) callsText(w io.Writer, o TextOptions) {
	list, more := top(r.Calls, o.Top)
	if len(list) == 0 {
		return
	}
	unproven := slices.ContainsFunc(list, func(c CallTotal) bool { return c.Undecided > 0 })
	g := grid{{"call", "number", "time", shareHead, "waiting for others"}}
	if unproven {
		g[0] = append(g[0], "undecided")
	}
	for _, c := range list {
		row := []string{o.clean(c.Call), number(c.Count), o.duration(c.Time), percent(c.Share), o.duration(c.Waiting)}
		if unproven {
			row = append(row, o.duration(c.Undecided))
		}
		g = append(g, row)
	}
	fmt.Fprintln(w)
	g.write(w, 1)
	moreText(w, more, "call")
}

func (r *Result) patternsText(w io.Writer, o TextOptions) {
	if len(r.Patterns) == 0 {
		fmt.Fprintf(w, "\nno rank waited for another\n")
		return
	}
	g := grid{{"waits", "for", "number", "time", shareHead}}
	for _, p := range r.Patterns {
		g = append(g, []string{p.Pattern.String(), p.Pattern.waitsFor(), number(p.Count), o.duration(p.Time), percent(p.Share)})
	}
	fmt.Fprintln(w)
	g.write(w, 2)
}

func (r *Result) communicatorsText(w io.Writer, o TextOptions) {
	list, more := top(r.Communicators, o.Top)
	if len(list) == 0 {
		return
	}
	g := grid{{"communicator", "mostly", "number", "time", shareHead}}
	for _, c := range list {
		mostly := c.Patterns[0] // the longest
		g = append(g, []string{o.shorten(o.clean(c.Communicator), 32), fmt.Sprintf("%s, %s", mostly.Pattern, o.duration(mostly.Time)),
			number(c.Count), o.duration(c.Time), percent(c.Share)})
	}
	fmt.Fprintln(w)
	g.write(w, 2)
	moreText(w, more, "communicator")
}

// eagerText says which sends waited for no receiver, where some did or may have.
func (r *Result) eagerText(w io.Writer) {
	has := func(pattern Pattern) bool {
		return slices.ContainsFunc(r.Patterns, func(p PatternTotal) bool { return p.Pattern == pattern })
	}
	if !has(LateReceiver) && !has(Undecided) {
		return
	}
	ofSends := func(s WaitState) bool { return s.Pattern == Undecided && !oneSidedCalls[s.Call] }
	limits := r.EagerLimits
	if !has(LateReceiver) && !slices.ContainsFunc(r.WaitStates, ofSends) {
		limits = nil
	}
	ofSelf := func(s WaitState) bool { return s.Rank == s.Peer && (s.Pattern == LateReceiver || ofSends(s)) }
	toSelf := slices.ContainsFunc(r.WaitStates, ofSelf)
	fmt.Fprintln(w)
	for _, l := range limits {
		if l.Path == profile.ToSelf && !toSelf {
			continue
		}
		where := [profile.NumPaths]string{"of messages of a rank to itself", "within nodes", "between nodes"}[l.Path]
		switch {
		case l.Variable != "":
			fmt.Fprintf(w, "eager limit %s: %s (%s); larger messages wait for their receivers\n", where, aggregate.CountOf(l.Bytes, "byte"), l.Variable)
		case l.Shown > 0:
			fmt.Fprintf(w, "eager limit %s: not recorded; messages of up to %s did not wait for their receivers\n", where, aggregate.CountOf(l.Shown, "byte"))
		default:
			fmt.Fprintf(w, "eager limit %s: not recorded\n", where)
		}
	}
	if has(Undecided) {
		fmt.Fprintln(w, "undecided: the trace does not prove that the call waited for the rank named")
	}
}

// waitPlace is all waits of one pattern at one place.
type waitPlace struct {
	pattern            Pattern
	site, communicator string
	time               float64 // s
	count              uint64
	pairs              []timeOf[[2]int] // the rank that waited and the rank that it waited for, the longest first
	partners           []timeOf[string] // places of the calls that it waited for, the longest first
}

// timeOf is the time of all waits with one key.
type timeOf[K comparable] struct {
	key  K
	time float64 // s
}

// addTime adds to the time of the key in a list.
func addTime[K comparable](list []timeOf[K], key K, time float64) []timeOf[K] {
	i := slices.IndexFunc(list, func(t timeOf[K]) bool { return t.key == key })
	if i < 0 {
		return append(list, timeOf[K]{key, time})
	}
	list[i].time += time
	return list
}

func longestFirst[K comparable](list []timeOf[K]) {
	slices.SortStableFunc(list, func(a, b timeOf[K]) int { return cmp.Compare(b.time, a.time) })
}

// places adds wait states up over ranks, the longest first.
func (r *Result) places() []*waitPlace {
	type key struct {
		pattern            Pattern
		site, communicator string
	}
	at := map[key]*waitPlace{}
	var list []*waitPlace
	for _, s := range r.WaitStates { // the longest first
		k := key{s.Pattern, s.Callsite, s.Communicator}
		p := at[k]
		if p == nil {
			p = &waitPlace{pattern: s.Pattern, site: s.Callsite, communicator: s.Communicator}
			at[k] = p
			list = append(list, p)
		}
		p.time += s.Time
		p.count += s.Count
		p.pairs = addTime(p.pairs, [2]int{s.Rank, s.Peer}, s.Time)
		p.partners = addTime(p.partners, s.PeerCallsite, s.Time)
	}
	for _, p := range list {
		longestFirst(p.pairs)
		longestFirst(p.partners)
	}
	slices.SortStableFunc(list, func(a, b *waitPlace) int { return cmp.Compare(b.time, a.time) })
	return list
}

func (r *Result) placesText(w io.Writer, o TextOptions) {
	list, more := top(r.places(), o.Top)
	if len(list) == 0 {
		return
	}
	g := grid{{"where", "waits", "communicator", "number", "time", "most: rank for rank"}}
	for _, p := range list {
		g = append(g, []string{o.clean(p.site), p.pattern.String(), o.shorten(o.clean(p.communicator), 32), number(p.count), o.duration(p.time), p.mostText(o)})
		if text := p.partnerText(o); text != "" {
			g = append(g, []string{text})
		}
	}
	fmt.Fprintln(w)
	const most = "most: rank for rank"
	g, texts, omitted := g.fit(o, 3, "communicator", "number", most)
	g.write(w, texts)
	moreText(w, more, "place")
	if len(omitted) > 0 {
		fmt.Fprintf(w, "left out to fit %d characters: %s (to see them: mpitrace analyze DIR | less -S)\n", o.Width, strings.Join(omitted, ", "))
	}
}

// mostText names the two ranks of the longest waits, with the time if there are
// others.
func (p *waitPlace) mostText(o TextOptions) string {
	most := p.pairs[0]
	text := fmt.Sprintf("%d for %d", most.key[0], most.key[1])
	if len(p.pairs) > 1 {
		text += ", " + o.duration(most.time)
	}
	return text
}

// partnerText names the place of the call that was waited for longest, with the
// time if there are others. It is empty if only calls at the place itself were.
func (p *waitPlace) partnerText(o TextOptions) string {
	most := p.partners[0]
	others := len(p.partners) - 1
	if most.key == "" || most.key == p.site && others == 0 {
		return ""
	}
	label, rest := "  "+p.pattern.partner()+": ", ""
	if others > 0 {
		rest = fmt.Sprintf(", %s; %s, %s", o.duration(most.time), aggregate.CountOf(uint64(others), "other place"), o.duration(p.time-most.time))
	}
	return label + o.place(o.clean(most.key), cmp.Or(o.Width, textWidth)-len(label)-utf8.RuneCountInString(rest)) + rest
}

func (p *CriticalPath) text(w io.Writer, o TextOptions) {
	fmt.Fprintf(w, "\ncritical path: %s over %s; %s computing, %s in MPI\n", o.duration(p.Length),
		aggregate.CountOf(uint64(len(p.Ranks)), "rank"), percent(ratio(p.Computation, p.Length)), percent(ratio(p.MPI, p.Length)))
	if o.Top == 0 {
		return
	}
	ranks, more := top(p.Ranks, o.Top)
	g := grid{{"rank", "time", "% of path", "computing", "in MPI"}}
	for _, r := range ranks {
		g = append(g, []string{fmt.Sprint(r.Rank), o.duration(r.Time), percent(r.Share), o.duration(r.Computation), o.duration(r.MPI)})
	}
	g.write(w, 1)
	moreText(w, more, "rank")
	if len(p.Callsites) == 0 {
		return
	}
	places, more := top(p.Callsites, o.Top)
	g = grid{{"where", "call", "time", "% of path"}}
	for _, c := range places {
		g = append(g, []string{o.clean(c.Callsite), o.clean(c.Call), o.duration(c.Time), percent(c.Share)})
	}
	g, texts, _ := g.fit(o, 2)
	g.write(w, texts)
	moreText(w, more, "place")
}

// text tells of what was matched, and why the rest was not.
func (m *Matching) text(w io.Writer) {
	c := &m.Collectives
	fmt.Fprintf(w, "\nmatched: %s of %s, %s of %s\n", number(m.Matched), aggregate.CountOf(max(m.Sent, m.Received), "message"),
		number(c.Complete), aggregate.CountOf(c.Instances, "collective"))
	reasonsText(w, m.UnmatchedSends, "send")
	reasonsText(w, m.UnmatchedReceives, "receive")
	reasonsText(w, c.Incomplete, "collective")
	if m.SizesDiffer > 0 {
		fmt.Fprintf(w, "of another size than was sent: %s\n", aggregate.CountOf(m.SizesDiffer, "message"))
	}
}

// clocksText says how far the clocks were from each other, and may still be.
func clocksText(c *profile.JobClocks, w io.Writer, o TextOptions) {
	offset, wrong := 0.0, 0.0
	for i := range c.Hosts {
		offset = max(offset, math.Abs(c.Hosts[i].Correction.Offset))
		wrong = max(wrong, c.Hosts[i].ErrorNs)
	}
	fmt.Fprintf(w, "clocks of %s: up to %s apart, corrected to within %s\n", aggregate.CountOf(uint64(len(c.Hosts)), "host"),
		o.duration(offset/1e9), o.duration(wrong/1e9))
	if c.Backwards > 0 {
		fmt.Fprintf(w, "%s still arrive before they were sent, by up to %s\n", aggregate.CountOf(c.Backwards, "message"), o.duration(float64(c.WorstNs)/1e9))
	}
}

func reasonsText(w io.Writer, reasons map[Reason]uint64, noun string) {
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "not matched: %s: %s\n", aggregate.CountOf(reasons[why], noun), why)
	}
}

func (r *Result) partialText(w io.Writer) {
	if r.Dropped > 0 {
		fmt.Fprintf(w, "the traces had no room for %s\n", aggregate.CountOf(r.Dropped, "event"))
	}
	if n := r.Partial + r.Size - r.Ranks; n > 0 {
		fmt.Fprintf(w, "the traces of %s are not whole: waits for what is not in them are not known\n", aggregate.CountOf(uint64(n), "rank"))
	}
}

// top is the first n of a list, and how many more there are; all if n is below 0.
func top[T any](list []T, n int) ([]T, int) {
	if n < 0 || n >= len(list) {
		return list, 0
	}
	return list[:n], len(list) - n
}

func moreText(w io.Writer, more int, noun string) {
	if more > 0 {
		fmt.Fprintf(w, "and %s (mpitrace analyze --top all)\n", aggregate.CountOf(uint64(more), "more "+noun))
	}
}

// grid is a table: a line of heads, then one a row. A row of one cell is a line of
// text below the row before.
type grid [][]string

func (g grid) widths() []int {
	widths := make([]int, len(g[0]))
	for _, row := range g {
		if len(row) < len(g[0]) { // a line of text
			continue
		}
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// fit leaves out columns by their heads, in the order given, until a first column
// that is a place has room beside the others: at least for what it can be recognized
// by. Then it shortens the places. A place keeps as many of its callers as there is
// room for. Of the columns, the first `texts` are texts. What is left of them comes
// back, and the heads that were left out.
func (g grid) fit(o TextOptions, texts int, spare ...string) (grid, int, []string) {
	if o.Width == 0 {
		g, _ = g.shortenPlaces(o, max(g.room(textWidth), minPlace))
		return g, texts, nil
	}
	widest := g.widths()[0]
	for n := 0; ; n++ {
		room := g.room(o.Width)
		out, used := g.shortenPlaces(o, max(room, 1))
		if n == len(spare) || used <= room && room >= min(widest, minPlace) {
			return out, texts, spare[:n]
		}
		i := slices.Index(g[0], spare[n])
		if i < texts {
			texts--
		}
		g = g.without(i)
	}
}

// room is what the other columns leave of a line to the first.
func (g grid) room(width int) int {
	for _, n := range g.widths()[1:] {
		width -= n + 2
	}
	return width
}

// shortenPlaces shortens the first column to a width, where that can be, and returns
// how wide it is then.
func (g grid) shortenPlaces(o TextOptions, width int) (out grid, used int) {
	out = slices.Clone(g)
	for i, row := range out[1:] {
		if len(row) == len(g[0]) {
			row = slices.Clone(row)
			row[0] = o.place(row[0], width)
			out[i+1], used = row, max(used, utf8.RuneCountInString(row[0]))
		}
	}
	return out, used
}

// without leaves out a column.
func (g grid) without(i int) grid {
	out := make(grid, len(g))
	for n, row := range g {
		if len(row) == len(g[0]) {
			row = slices.Delete(slices.Clone(row), i, i+1)
		}
		out[n] = row
	}
	return out
}

func (o TextOptions) place(label string, width int) string {
	frames := strings.Split(label, profile.Callers)
	out := frames[0]
	if o.Width > 0 {
		out = text.Site(out, width, o.ASCII)
	}
	for _, caller := range frames[1:] {
		if utf8.RuneCountInString(out+profile.Callers+caller) > width {
			return out
		}
		out += profile.Callers + caller
	}
	return out
}

// write sets the first columns, which are texts, to the left, the others to the
// right.
func (g grid) write(w io.Writer, texts int) {
	widths := g.widths()
	for _, row := range g {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			if space := pad(cell, widths[i]); i < texts {
				line.WriteString(cell + space)
			} else {
				line.WriteString(space + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func pad(s string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}

func (o TextOptions) pick(unicode, ascii string) string {
	if o.ASCII {
		return ascii
	}
	return unicode
}

func (o TextOptions) clean(s string) string {
	if o.ASCII {
		return text.ASCII(s)
	}
	return text.Line(s)
}

// shorten keeps the end of a text, which tells the file and the line.
func (o TextOptions) shorten(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	dots := []rune(o.pick("…", "..."))
	return string(dots) + string(r[len(r)-width+len(dots):])
}

// duration prints seconds to three digits.
func (o TextOptions) duration(s float64) string {
	for _, unit := range []struct {
		name string
		of   float64
	}{{"ns", 1e9}, {o.pick("µs", "us"), 1e6}, {"ms", 1e3}} {
		if v := s * unit.of; v < 999.5 {
			return digits(v, unit.name == "ns") + " " + unit.name
		}
	}
	return digits(s, false) + " s"
}

func digits(v float64, whole bool) string {
	switch {
	case whole || v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// number prints n in groups of three.
func number(n uint64) string {
	text, _, _ := strings.Cut(aggregate.CountOf(n, "thing"), " ")
	return text
}
