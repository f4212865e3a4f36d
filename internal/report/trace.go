package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// textWidth is the width up to which a line names callers if the width of lines is
// not limited.
const textWidth = 100

// minPlace is a width for the column of places. If the column would be narrower, other
// columns are left out to make room for it.
const minPlace = 28

// shareHead is the head of a column of shares of the time of all ranks, which is
// ranks × runtime.
const shareHead = "% of time"

// traceText prints the analysis of a trace.
type traceText struct {
	*printer
	*trace.Result
}

// topTrace tells the user how to see all entries of a list of the analysis.
const topTrace = " (mpitrace analyze --top all)"

// Trace prints the analysis of a trace.
func Trace(w io.Writer, result *trace.Result, o Options) error {
	r := &traceText{newOutput(w, o, o.Width), result}
	ranks := text.CountOf(r.Size, "rank")
	if r.Ranks < r.Size {
		ranks = fmt.Sprintf("%d of %d ranks", r.Ranks, r.Size)
	}
	r.printf("trace of %s: %s in %s\n", ranks, text.CountOf(r.Events, "event"), r.seconds(r.Runtime))
	switch {
	case r.POP != nil:
		r.popText()
	case r.CriticalPath != nil:
		r.println("\nefficiencies are not known: no rank finalized")
	default:
		r.println("\nefficiencies and the critical path are not known: the traces do not have all calls")
	}
	r.lifetimesText(r.LifetimesUnknown)
	if len(r.Oversubscribed) > 0 {
		r.println()
		r.oversubscriptionText(r.Oversubscribed, r.Ranks)
	}
	r.callsText()
	r.patternsText()
	r.communicatorsText()
	r.placesText()
	r.eagerText()
	if r.CriticalPath != nil {
		r.pathText(r.CriticalPath)
	}
	r.matchingText(&r.Matching)
	for _, note := range r.ClockNotes {
		text.Wrap(r, r.clean(r.pick(note, strings.ReplaceAll(note, "µs", "us"))), "", "  ", cmp.Or(r.Width, math.MaxInt))
	}
	r.partialText()
	return r.Flush()
}

// popText prints the tree of POP's metrics. Each metric is the ratio of the two
// times printed beside it.
func (r *traceText) popText() {
	p := r.POP
	most, lost := r.seconds(p.UsefulMax), "lost in messages and calls"
	if len(r.Oversubscribed) > 0 {
		lost = "lost in MPI or waiting for a core"
	}
	fork, end, past := r.pick("├", "|"), r.pick("└", "`"), "  "
	r.println()
	for _, line := range []struct {
		tree, name string
		value      float64
		why        string
	}{
		{"", "parallel efficiency", p.ParallelEfficiency, fmt.Sprintf("ranks compute %s of %s on average", r.seconds(p.UsefulMean), r.seconds(p.Runtime))},
		{fork + " ", "load balance", p.LoadBalance, fmt.Sprintf("rank %d computes most, %s", p.UsefulMaxRank, most)},
		{end + " ", "communication", p.CommunicationEfficiency, fmt.Sprintf("rank %d computes %s of %s", p.UsefulMaxRank, most, r.seconds(p.Runtime))},
		{past + fork + " ", "serialisation", p.Serialisation, fmt.Sprintf("%s of %s on an ideal network", most, r.seconds(p.IdealRuntime))},
		{past + end + " ", "transfer", p.Transfer, fmt.Sprintf("%s of %s; %s", r.seconds(p.IdealRuntime), r.seconds(p.Runtime), lost)},
	} {
		name := line.tree + line.name
		r.printf("%s%s %7s  %s\n", name, strings.Repeat(" ", max(19-utf8.RuneCountInString(name), 0)), text.Percent(line.value), line.why)
	}
	if p.Ranks < r.Ranks {
		r.printf("of the %d of %d ranks that finalized\n", p.Ranks, r.Ranks)
	}
}

// callsText prints the time in each MPI function, and how much of it was spent
// waiting for other ranks.
func (r *traceText) callsText() {
	list, more := top(r.Calls, r.Top)
	if len(list) == 0 {
		return
	}
	unproven := slices.ContainsFunc(list, func(c trace.CallTotal) bool { return c.Undecided > 0 })
	t := text.NewTable("call", "number", "time", shareHead, "waiting for others", "undecided")
	for _, c := range list {
		t.Add(r.clean(c.Call), text.Count(c.Count), r.seconds(c.Time), text.Percent(c.Share), r.seconds(c.Waiting), r.seconds(c.Undecided))
	}
	if !unproven {
		t.Drop("undecided")
	}
	r.table(t, more, "call", topTrace)
}

func (r *traceText) patternsText() {
	if len(r.Patterns) == 0 {
		r.printf("\nno rank waited for another\n")
		return
	}
	t := text.NewTable("waits", "for", "number", "time", shareHead)
	for _, p := range r.Patterns {
		t.Add(p.Pattern.String(), waitsFor(p.Pattern), text.Count(p.Count), r.seconds(p.Time), text.Percent(p.Share))
	}
	t.Left = 2
	r.table(t, 0, "", "")
}

func (r *traceText) communicatorsText() {
	list, more := top(r.Communicators, r.Top)
	if len(list) == 0 {
		return
	}
	t := text.NewTable("communicator", "mostly", "number", "time", shareHead)
	for _, c := range list {
		mostly := c.Patterns[0] // the longest
		t.Add(text.Last(r.clean(c.Communicator), 32, r.ASCII), fmt.Sprintf("%s, %s", mostly.Pattern, r.seconds(mostly.Time)),
			text.Count(c.Count), r.seconds(c.Time), text.Percent(c.Share))
	}
	t.Left = 2
	r.table(t, more, "communicator", topTrace)
}

// eagerText prints the eager limits if sends waited, or may have waited, for receivers.
func (r *traceText) eagerText() {
	has := func(pattern trace.Pattern) bool {
		return slices.ContainsFunc(r.Patterns, func(p trace.PatternTotal) bool { return p.Pattern == pattern })
	}
	if !has(trace.LateReceiver) && !has(trace.Undecided) {
		return
	}
	ofSends := func(s trace.WaitState) bool { return s.Pattern == trace.Undecided && !s.OneSided() }
	limits := r.EagerLimits
	if !has(trace.LateReceiver) && !slices.ContainsFunc(r.WaitStates, ofSends) {
		limits = nil
	}
	ofSelf := func(s trace.WaitState) bool {
		return s.Rank == s.Peer && (s.Pattern == trace.LateReceiver || ofSends(s))
	}
	toSelf := slices.ContainsFunc(r.WaitStates, ofSelf)
	r.println()
	for _, l := range limits {
		if l.Path == profile.ToSelf && !toSelf {
			continue
		}
		where := [profile.NumPaths]string{"of messages of a rank to itself", "within nodes", "between nodes"}[l.Path]
		switch {
		case l.Variable != "":
			r.printf("eager limit %s: %s (%s); larger messages wait for their receivers\n", where, text.CountOf(l.Bytes, "byte"), l.Variable)
		case l.Shown > 0:
			r.printf("eager limit %s: not recorded; messages of up to %s did not wait for their receivers\n", where, text.CountOf(l.Shown, "byte"))
		default:
			r.printf("eager limit %s: not recorded\n", where)
		}
	}
	if has(trace.Undecided) {
		r.println("undecided: the trace does not prove that the call waited for the rank named")
	}
}

// waitPlace holds the waits of one pattern at one call site.
type waitPlace struct {
	pattern            trace.Pattern
	site, communicator string
	time               float64 // s
	count              uint64
	pairs              []timeOf[[2]int] // rank that waited and rank that it waited for; longest first
	partners           []timeOf[string] // call sites of the calls that it waited for; longest first
}

// timeOf is the sum of the times of all waits with one key.
type timeOf[K comparable] struct {
	key  K
	time float64 // s
}

// addTime adds a time to the entry with a key, and returns the list.
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

// places returns the sums of the wait states over the ranks, the longest time first.
func places(r *trace.Result) []*waitPlace {
	type key struct {
		pattern            trace.Pattern
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

func (r *traceText) placesText() {
	list, more := top(places(r.Result), r.Top)
	if len(list) == 0 {
		return
	}
	t := text.NewTable("where", "waits", "communicator", "number", "time", "most: rank for rank")
	for _, p := range list {
		t.Add(r.clean(p.site), p.pattern.String(), text.Last(r.clean(p.communicator), 32, r.ASCII), text.Count(p.count), r.seconds(p.time), r.waitText(p))
		if words := r.partnerText(p); words != "" {
			t.Below(words)
		}
	}
	r.println()
	t.Left = 3
	omitted := r.fitPlaces(t, "communicator", "number", "most: rank for rank")
	t.Write(r)
	r.more(more, "place", topTrace)
	if len(omitted) > 0 {
		r.printf("left out to fit %d characters: %s (to see them: mpitrace analyze DIR | less -S)\n", r.Width, strings.Join(omitted, ", "))
	}
}

// waitText returns the pair of ranks with the longest waits, and the time if there are
// other pairs.
func (o *printer) waitText(p *waitPlace) string {
	most := p.pairs[0]
	words := fmt.Sprintf("%d for %d", most.key[0], most.key[1])
	if len(p.pairs) > 1 {
		words += ", " + o.seconds(most.time)
	}
	return words
}

// partnerText returns the call site that was waited for longest. If there are other
// call sites, it adds the time and their number. It is empty if the only call site is
// that of the wait itself.
func (o *printer) partnerText(p *waitPlace) string {
	most := p.partners[0]
	others := len(p.partners) - 1
	if most.key == "" || most.key == p.site && others == 0 {
		return ""
	}
	label, rest := "  "+partner(p.pattern)+": ", ""
	if others > 0 {
		rest = fmt.Sprintf(", %s; %s, %s", o.seconds(most.time), text.CountOf(others, "other place"), o.seconds(p.time-most.time))
	}
	return label + o.place(o.clean(most.key), cmp.Or(o.Width, textWidth)-len(label)-utf8.RuneCountInString(rest)) + rest
}

func (o *printer) pathText(p *trace.CriticalPath) {
	o.printf("\ncritical path: %s over %s; %s computing, %s in MPI\n", o.seconds(p.Length),
		text.CountOf(len(p.Ranks), "rank"), ratio(p.Computation, p.Length), ratio(p.MPI, p.Length))
	if o.Top == 0 {
		return
	}
	ranks, more := top(p.Ranks, o.Top)
	t := text.NewTable("rank", "time", "% of path", "computing", "in MPI")
	for _, r := range ranks {
		t.Add(fmt.Sprint(r.Rank), o.seconds(r.Time), text.Percent(r.Share), o.seconds(r.Computation), o.seconds(r.MPI))
	}
	t.Write(o)
	o.more(more, "rank", topTrace)
	if len(p.Callsites) == 0 {
		return
	}
	places, more := top(p.Callsites, o.Top)
	t = text.NewTable("where", "call", "time", "% of path")
	for _, c := range places {
		t.Add(o.clean(c.Callsite), o.clean(c.Call), o.seconds(c.Time), text.Percent(c.Share))
	}
	t.Left = 2
	o.fitPlaces(t)
	t.Write(o)
	o.more(more, "place", topTrace)
}

// matchingText prints how many messages and collectives were matched, and why the
// others were not.
func (o *printer) matchingText(m *trace.Matching) {
	c := &m.Collectives
	o.printf("\nmatched: %s of %s, %s of %s\n", text.Count(m.Matched), text.CountOf(max(m.Sent, m.Received), "message"),
		text.Count(c.Complete), text.CountOf(c.Instances, "collective"))
	o.reasonsText(m.UnmatchedSends, "send")
	o.reasonsText(m.UnmatchedReceives, "receive")
	o.reasonsText(c.Incomplete, "collective")
	if m.SizesDiffer > 0 {
		o.printf("of another size than was sent: %s\n", text.CountOf(m.SizesDiffer, "message"))
	}
}

func (o *printer) reasonsText(reasons map[trace.Reason]uint64, noun string) {
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		o.printf("not matched: %s: %s\n", text.CountOf(reasons[why], noun), why)
	}
}

func (r *traceText) partialText() {
	if r.Dropped > 0 {
		r.printf("the traces had no room for %s\n", text.CountOf(r.Dropped, "event"))
	}
	if n := r.Partial + r.Size - r.Ranks; n > 0 {
		r.printf("the traces of %s are not whole: waits for what is not in them are not known\n", text.CountOf(n, "rank"))
	}
}

// ratio returns a / b in percent; 0 % if b is 0.
func ratio(a, b float64) string {
	if b == 0 {
		return text.Percent(0)
	}
	return text.Percent(a / b)
}

// fitPlaces fits a table whose first column holds call sites, and returns the heads
// of the columns that it left out. If the width of lines is not limited, it shortens
// no call site, but leaves out callers beyond textWidth.
func (o *printer) fitPlaces(t *text.Table, spare ...string) (omitted []string) {
	if o.Width > 0 {
		return t.Fit(o.Width, minPlace, o.place, spare...)
	}
	return t.Fit(textWidth, 0, func(label string, width int) string { return o.place(label, max(width, minPlace)) })
}

// place returns a call site shortened to a width, with as many of its callers as fit.
func (o *printer) place(label string, width int) string {
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
