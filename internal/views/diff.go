package views

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DiffView says what a comparison shows.
type DiffView struct {
	Top          int // entries of each list that are shown at first; all if negative
	IgnoreTime   bool
	NameA, NameB string
}

// diff makes the sections of a comparison of two jobs.
type diff struct {
	*aggregate.Diff
	DiffView
}

// topDiff tells the user of a terminal how to see all entries of a list.
const topDiff = " (--top all)"

// Diff returns the sections of a comparison of two jobs.
func Diff(of *aggregate.Diff, o DiffView) []Section {
	d := &diff{of, o}
	return Finish(d.verdict(), d.sides(), d.settings(), efficiencyOf("efficiency-a", "A", &d.A), efficiencyOf("efficiency-b", "B", &d.B),
		d.totals(), d.largest(), d.calls(), d.sites(), d.communicators(), d.pairs(), d.late(), d.counters(), d.limits(), d.completeness())
}

// sides returns the section of what is compared.
func (d *diff) sides() Section {
	out := Section{ID: "sides", Title: "What changed from A to B: " + d.B.Programs.String()}
	if d.A.RanksExpected != d.B.RanksExpected {
		out.Say(fmt.Sprintf("different sizes: %s in A, %d in B; sums are over all ranks of each", text.CountOf(d.A.RanksExpected, "rank"), d.B.RanksExpected))
	}
	out.side(&d.A, "A", d.NameA)
	out.side(&d.B, "B", d.NameB)
	return out
}

func (s *Section) side(of *aggregate.DiffSide, letter, name string) {
	ranks := text.CountOf(of.RanksExpected, "rank")
	if of.RanksRecorded != of.RanksExpected {
		ranks = fmt.Sprintf("%d of %s", of.RanksRecorded, ranks)
	}
	programs := fmt.Sprintf("%s on %s", of.Programs, ranks)
	if of.Programs.Several() && of.RanksRecorded == of.RanksExpected {
		programs = of.Programs.OnRanks()
	}
	head := fmt.Sprintf("%s: %s: %s, %s; %s", letter, name, programs, text.CountOf(of.Hosts, "host"), profile.LibraryName(of.Library))
	if !of.Started.IsZero() {
		head += of.Started.Format("; 2006-01-02 15:04:05 UTC")
	}
	var l Listing
	for i := range of.Programs {
		p := &of.Programs[i]
		words := strings.Join(p.Command, " ")
		if of.Programs.Several() {
			words = fmt.Sprintf("%s: %s, build %s", text.CountOf(p.Ranks.Len(), "rank"), words, shortBuild(p.BuildID))
		}
		if len(p.Command) > 0 {
			l.Items = append(l.Items, ListItem{Text: words})
		}
	}
	for _, p := range of.Problems {
		l.Items = append(l.Items, ListItem{Text: "does not add up: " + p})
	}
	s.listUnder(head, l)
}

// settings returns the section of which settings of the recording differ, and what is therefore
// not compared.
func (d *diff) settings() Section {
	out := Section{ID: "settings", Title: "Settings", Joined: true}
	exact := profile.TimingExact.String()
	both := "A and B"
	if d.A.Timing != d.B.Timing {
		both = fmt.Sprintf("--timing %s in A, %s in B", d.A.Timing, d.B.Timing)
	} else if d.A.Timing != exact {
		both = fmt.Sprintf("--timing %s", d.A.Timing)
	}
	switch {
	case !d.TimesCompared:
		out.Say(both + ": times of calls are not compared")
	case d.A.Timing != exact || d.B.Timing != exact:
		out.Say(fmt.Sprintf("%s: times are estimates, and no difference within %d standard errors is one", both, aggregate.Certain))
	}
	if d.A.Receives != d.B.Receives {
		out.Say(fmt.Sprintf("--receives %s in A, %s in B: what nonblocking receives received is not compared", d.A.Receives, d.B.Receives))
	}
	if d.Settings != nil && d.A.LateOver != d.B.LateOver {
		out.Say(fmt.Sprintf("--watch-unexpected %s in A, %s in B: late receives are not compared", cmp.Or(d.A.LateOver, "off"), cmp.Or(d.B.LateOver, "off")))
	}
	settingChanges(&out, d.Diff, d.Top)
	return out
}

// efficiencyOf returns the section of the parallel efficiency of a side.
func efficiencyOf(id, name string, of *aggregate.DiffSide) Section {
	out := Section{ID: id, Title: name}
	out.Detail(func() {
		out.efficiency(of.POP, of.Programs, 0)
		out.treeBar(of.Tree)
		out.programs(of.Programs)
	})
	return out
}

// timed reports whether times of calls are shown.
func (d *diff) timed() bool { return !d.IgnoreTime && d.TimesCompared }

// totals returns the section of all totals, including those that are equal.
func (d *diff) totals() Section {
	out := Section{ID: "totals", Title: "Totals"}
	var rows []changed
	if !d.IgnoreTime {
		rows = append(rows, changedLife("wall time", d.WallTime), changedLife("application", d.ApplicationTime))
		if d.RunTime != nil && !d.RunTime.WallTime {
			rows = slices.Insert(rows, 1, changedMeasure("run time", "", Ns, d.RunTime.Ns))
		}
	}
	if d.timed() {
		rows = append(rows, changedTime("in MPI", "", &d.Total), changedMeasure("Init and Finalize", "", Ns, d.InitFinalize), changedEfficiency(d.A.POP, d.B.POP))
	}
	rows = append(rows, changedMeasure("calls", "", Count, d.Total.Calls), changedMeasure("bytes sent", "", Bytes, d.Total.Bytes),
		changedMeasure("messages sent", "", Count, d.Total.Messages))
	out.Add(changeTable("totals", "total", rows))
	if !d.moved() {
		out.Say("nothing changed in bytes and messages")
	}
	return out
}

// moved reports whether any bytes or messages changed.
func (d *diff) moved() bool {
	return d.Total.Transfers.Changed() || d.Pairs.Changed > 0 ||
		slices.ContainsFunc(d.Calls, func(c aggregate.CallChange) bool { return c.Transfers.Changed() }) ||
		slices.ContainsFunc(d.CallSites, func(c aggregate.SiteChange) bool { return c.Transfers.Changed() }) ||
		slices.ContainsFunc(d.Comms, func(c aggregate.CommChange) bool { return c.Transfers.Changed() })
}

// changedLife returns a row for a time of processes, which may not be known.
func changedLife(name string, l aggregate.Lifetime) changed {
	r := changedMeasure(name, "", Ns, l.Measure)
	if !l.Known() {
		r.change, r.relative = missing, Cell{}
	}
	if l.A == 0 {
		r.a = missing
	}
	if l.B == 0 {
		r.b = missing
	}
	return r
}

// changedTime returns a row for a time. If times are estimates, the change has its standard
// error, and a change that is smaller than its error is none.
func changedTime(name, measure string, c *aggregate.Changes) changed {
	r := changedMeasure(name, measure, Ns, c.TimeNs)
	switch {
	case c.TimeNs.Changed() && !c.TimeChanged():
		r.change, r.relative = missing, withinError
	case c.TimeNs.Changed() && c.TimeVariance > 0:
		r.change.Text = r.change.Text[:1] + estimate(float64(c.TimeNs.Size()), c.TimeVariance.StandardError())
	}
	return r
}

// changedEfficiency returns the row of the parallel efficiency, whose change is in percentage
// points. A change that is not larger than its error, or rounded to 0, is none.
func changedEfficiency(a, b *aggregate.POP) changed {
	r := changed{name: "parallel efficiency", unit: Share, a: efficiencyCell(a), b: efficiencyCell(b), change: missing}
	if a == nil || b == nil {
		return r
	}
	change := b.ParallelEfficiency - a.ParallelEfficiency
	switch {
	case math.Abs(change) < 0.0005:
	case math.Abs(change) <= aggregate.Certain*math.Hypot(a.ParallelEfficiencyError, b.ParallelEfficiencyError):
		r.relative = withinError
	default:
		r.change = Cell{fmt.Sprintf("%+.1f points", 100*change), change}
	}
	return r
}

// rows returns a row for each measure that changed, the time first if it is worth showing. The
// terminal does not show other times, and shows calls only if neither bytes nor messages changed.
func (d *diff) rows(head changed, c *aggregate.Changes) (rows []changed) {
	add := func(r changed, m aggregate.Measure, detail bool) {
		r.call, r.lineA, r.callers, r.detail = head.call, head.lineA, head.callers, detail
		r.same = len(rows) > 0
		if c.Status == aggregate.StatusNew && m.A == 0 || c.Status == aggregate.StatusGone && m.B == 0 {
			r.relative.Text = string(c.Status)
		}
		rows = append(rows, r)
	}
	timeChanged, worth := d.timed() && c.TimeNs.Changed(), d.WorthTime(c)
	if timeChanged && worth {
		add(changedTime(head.name, "time", c), c.TimeNs, false)
	}
	if c.Bytes.Changed() {
		add(changedMeasure(head.name, "bytes", Bytes, c.Bytes), c.Bytes, false)
	}
	if c.Messages.Changed() {
		add(changedMeasure(head.name, "messages", Count, c.Messages), c.Messages, false)
	}
	if c.Calls.Changed() || len(rows) == 0 && (c.Status == aggregate.StatusNew || c.Status == aggregate.StatusGone) {
		add(changedMeasure(head.name, "calls", Count, c.Calls), c.Calls, c.Transfers.Changed())
	}
	if timeChanged && !worth {
		add(changedTime(head.name, "time", c), c.TimeNs, true)
	}
	return rows
}

// changes returns the section of a list of changes.
func (d *diff) changes(id, title, noun, caption string, rows []changed) Section {
	out := Section{ID: id, Title: title}
	out.Add(changeTable(id, noun, rows).named(caption).top(d.Top, noun, topDiff))
	return out
}

func (d *diff) calls() Section {
	var rows []changed
	for i := range d.Calls {
		c := &d.Calls[i]
		rows = append(rows, d.rows(changed{name: c.Call}, &c.Changes)...)
	}
	return d.changes("calls", "Calls", "call", "changed calls", rows)
}

func (d *diff) siteRows(c *aggregate.SiteChange) []changed {
	return d.rows(changedSite(&c.Site, c.Was, c.Call), &c.Changes)
}

// changedSite returns the beginning of the rows of a call site.
func changedSite(s *aggregate.Site, was *aggregate.NamedPlace, call string) changed {
	r := changed{name: s.Name(), call: call, callers: labels(s.Callers)}
	if was != nil {
		r.lineA = was.Line
	}
	return r
}

func (d *diff) sites() Section {
	var rows []changed
	moved := 0
	for i := range d.CallSites {
		rows = append(rows, d.siteRows(&d.CallSites[i])...)
		if d.CallSites[i].Was != nil {
			moved++
		}
	}
	out := d.changes("sites", "Call sites", "call site", "changed call sites", rows)
	if moved > 0 && d.Top != 0 {
		out.Say(text.CountOf(moved, "call site") + " moved to another line")
	}
	return out
}

// mostLargest is how many call sites the page shows first.
const mostLargest = 6

// largest returns the section of the call sites that changed most, for the page's first screen.
func (d *diff) largest() Section {
	out := Section{ID: "largest", Title: "Largest changes"}
	l := Listing{Limit: -1}
	for i := range d.CallSites {
		c := &d.CallSites[i]
		var parts []string
		for _, r := range d.siteRows(c) {
			if !r.detail {
				parts = append(parts, fmt.Sprintf("%s %s (%s)", r.measure, r.change.Text, r.relative.Text))
			}
		}
		if len(parts) > 0 && len(l.Items) < mostLargest {
			l.Items = append(l.Items, ListItem{Text: fmt.Sprintf("%s %s: %s", c.Name(), c.Call, strings.Join(parts, ", "))})
		}
	}
	out.Detail(func() {
		if len(l.Items) == 0 {
			out.Say("no call site changed in calls, messages or bytes, nor enough in time to matter")
		}
		out.List(l)
	})
	return out
}

func (d *diff) communicators() Section {
	var rows []changed
	for i := range d.Comms {
		c := &d.Comms[i]
		rows = append(rows, d.rows(changed{name: c.Communicator}, &c.Changes)...)
	}
	return d.changes("communicators", "Communicators", "communicator", "changed communicators", rows)
}

func (d *diff) pairs() Section {
	var rows []changed
	for _, c := range d.Pairs.Most {
		rows = append(rows, d.rows(changed{name: fmt.Sprintf("%d → %d", c.From, c.To)}, &aggregate.Changes{Status: c.Status, Transfers: c.Transfers})...)
	}
	out := d.changes("pairs", "Pairs", "pair", "changed pairs", rows)
	if len(out.Blocks) > 0 && d.Top != 0 {
		out.Blocks[0].Table.Rest = d.Pairs.Changed - len(d.Pairs.Most)
		out.Say("pairs: " + pairsOf(d.Pairs.Of))
	}
	return out
}

func pairsOf(which string) string {
	if which == aggregate.AllPairs {
		return "point-to-point, one-sided and collectives (logical volume)"
	}
	return fmt.Sprintf("point-to-point and one-sided; with more than %s ranks, collectives are not compared by pair", text.Count(aggregate.MaxAllPairs))
}

func (d *diff) late() Section {
	var rows []changed
	for i := range d.Late {
		c := &d.Late[i]
		head := changedSite(&c.Site, c.Was, c.Call)
		r := changedMeasure(head.name, "", Count, c.Late)
		r.call, r.lineA, r.callers = head.call, head.lineA, head.callers
		rows = append(rows, r)
	}
	return d.changes("late", "Late receives", "call site", "changed late receives", rows)
}

func (d *diff) counters() Section {
	var rows []changed
	for _, c := range d.Counters {
		r := changed{name: c.Variable, unit: Number, a: numberCell(c.A), b: numberCell(c.B)}
		r.changeOfValue(c.A, c.B)
		rows = append(rows, r)
	}
	return d.changes("counters", "Counters of the MPI", "counter", "changed counters of the MPI", rows)
}

// limits returns the section of what grew by more than the limits.
func (d *diff) limits() Section {
	out := Section{ID: "limits", Title: "--fail-if-worse"}
	out.exceeded(d.Exceeded)
	return out
}

// completeness returns the section of whether the record of each side is complete. The terminal
// shows what is missing with the sides.
func (d *diff) completeness() Section {
	out := Section{ID: "completeness", Title: "Completeness"}
	out.Detail(func() {
		for _, side := range []struct {
			name string
			of   *aggregate.DiffSide
		}{{"A", &d.A}, {"B", &d.B}} {
			if len(side.of.Problems) == 0 {
				out.Fact(side.name, "complete: finalized, nothing lost")
			}
			l := Listing{Head: side.name + " does not add up:", Tone: Bad}
			for _, p := range side.of.Problems {
				l.Items = append(l.Items, ListItem{Text: p})
			}
			out.List(l)
		}
	})
	return out
}
