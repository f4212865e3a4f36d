package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DiffFormat control how a comparison is printed.
type DiffFormat struct {
	Options
	IgnoreTime   bool // do not print times
	NameA, NameB string
}

// diffText prints a comparison.
type diffText struct {
	*printer
	how DiffFormat
	*aggregate.Diff
}

// Diff prints a comparison of two jobs.
func Diff(w io.Writer, diff *aggregate.Diff, o DiffFormat) error {
	d := &diffText{newOutput(w, o.Options, 0), o, diff}
	if d.A.RanksExpected != d.B.RanksExpected {
		d.printf("different sizes: %s in A, %d in B; sums are over all ranks of each\n",
			text.CountOf(d.A.RanksExpected, "rank"), d.B.RanksExpected)
	}
	d.sideText(&d.A, "A", o.NameA)
	d.sideText(&d.B, "B", o.NameB)
	d.settingsText()
	d.changesText("setting", d.Settings, "default")
	d.changesText("MPI variable", d.Variables, "not set")
	d.totalText()
	if !d.moved() {
		d.println("\nnothing changed in bytes and messages")
	}
	d.callsText()
	d.sitesText()
	d.commsText()
	d.pairsText()
	d.lateText()
	d.countersText()
	d.exceededText()
	return d.Flush()
}

func (d *diffText) sideText(s *aggregate.DiffSide, letter, name string) {
	d.printf("%s: %s: %s on ", letter, d.clean(name), d.clean(s.Program))
	if s.RanksRecorded != s.RanksExpected {
		d.printf("%d of ", s.RanksRecorded)
	}
	d.printf("%s, %s; %s", text.CountOf(s.RanksExpected, "rank"), text.CountOf(s.Hosts, "host"), d.clean(profile.LibraryName(s.Library)))
	if !s.Started.IsZero() {
		d.printf("; %s", s.Started.Format("2006-01-02 15:04:05 UTC"))
	}
	d.println()
	if len(s.Command) > 0 {
		d.printf("   %s\n", d.clean(strings.Join(s.Command, " ")))
	}
	for _, p := range s.Problems {
		d.printf("   does not add up: %s\n", d.clean(p))
	}
}

// settingsText prints which settings of the recording differ, and what is
// therefore not compared.
func (d *diffText) settingsText() {
	both := "A and B"
	if d.A.Timing != d.B.Timing {
		both = fmt.Sprintf("--timing %s in A, %s in B", d.A.Timing, d.B.Timing)
	} else if d.A.Timing != profile.TimingExact.String() {
		both = fmt.Sprintf("--timing %s", d.A.Timing)
	}
	estimates := d.A.Timing != profile.TimingExact.String() || d.B.Timing != profile.TimingExact.String()
	switch {
	case !d.TimesCompared:
		d.printf("%s: times of calls are not compared\n", both)
	case estimates:
		d.printf("%s: times are estimates, and no difference within %d standard errors is one\n", both, aggregate.Certain)
	}
	if d.A.Receives != d.B.Receives {
		d.printf("--receives %s in A, %s in B: what nonblocking receives received is not compared\n", d.A.Receives, d.B.Receives)
	}
	if d.Settings != nil && d.A.LateOver != d.B.LateOver {
		d.printf("--watch-unexpected %s in A, %s in B: late receives are not compared\n",
			cmp.Or(d.clean(d.A.LateOver), "off"), cmp.Or(d.clean(d.B.LateOver), "off"))
	}
}

// moved reports whether any bytes or messages changed.
func (d *diffText) moved() bool {
	return d.Total.Transfers.Changed() || d.Pairs.Changed > 0 ||
		slices.ContainsFunc(d.Calls, func(c aggregate.CallChange) bool { return c.Transfers.Changed() }) ||
		slices.ContainsFunc(d.CallSites, func(c aggregate.SiteChange) bool { return c.Transfers.Changed() }) ||
		slices.ContainsFunc(d.Comms, func(c aggregate.CommChange) bool { return c.Transfers.Changed() })
}

// totalText prints all totals, including those that are equal.
func (d *diffText) totalText() {
	t := text.NewTable("total", "A", "B", "change", "")
	if !d.how.IgnoreTime {
		t.Add(d.lifeLine("wall time", d.WallTime)...)
		t.Add(d.lifeLine("application", d.ApplicationTime)...)
	}
	if !d.how.IgnoreTime && d.TimesCompared {
		t.Add(d.timeLine("in MPI", &d.Total)...)
		t.Add(d.line("Init and Finalize", d.InitFinalize, d.ns)...)
		t.Add(d.efficiencyLine(d.A.POP, d.B.POP)...)
	}
	t.Add(d.line("calls", d.Total.Calls, text.Count)...)
	t.Add(d.line("bytes sent", d.Total.Bytes, text.Bytes)...)
	t.Add(d.line("messages sent", d.Total.Messages, text.Count)...)
	d.table(t, 0, "", "")
}

func (d *diffText) ns(n uint64) string { return d.duration(float64(n)) }

// line returns the cells of a measure: its name, A, B, the change, and the change in
// percent.
func (d *diffText) line(name string, m aggregate.Measure, number func(uint64) string) []string {
	line := []string{name, number(m.A), number(m.B), d.none(), ""}
	if !m.Changed() {
		return line
	}
	sign := "+"
	if m.B < m.A {
		sign = "-"
	}
	line[3] = sign + number(m.Size())
	if share, ok := m.Relative(); ok {
		line[4] = relativeText(share)
	} else {
		line[4] = "from 0"
	}
	return line
}

// lifeLine returns the cells of a time of processes.
func (d *diffText) lifeLine(name string, l aggregate.Lifetime) []string {
	number := func(ns uint64) string { return d.lifetime(float64(ns) / 1e9) }
	if !l.Known() {
		return []string{name, number(l.A), number(l.B), d.none(), ""}
	}
	return d.line(name, l.Measure, number)
}

// timeLine returns the cells of a time. If times are estimates, the change has
// its standard error; a change that is smaller than its error is not printed.
func (d *diffText) timeLine(name string, c *aggregate.Changes) []string {
	line := d.line(name, c.TimeNs, d.ns)
	switch {
	case c.TimeNs.Changed() && !c.TimeChanged():
		line[3], line[4] = d.none(), "within its error"
	case c.TimeNs.Changed() && c.TimeVariance > 0:
		line[3] = line[3][:1] + d.estimate(float64(c.TimeNs.Size()), c.TimeVariance.StandardError())
	}
	return line
}

// efficiencyLine returns the cells of the parallel efficiency. The change is in
// percentage points. It is printed only if it is larger than its error and not
// rounded to 0.
func (d *diffText) efficiencyLine(a, b *aggregate.POP) []string {
	line := []string{"parallel efficiency", d.efficiency(a), d.efficiency(b), d.none(), ""}
	if a == nil || b == nil {
		return line
	}
	change := b.ParallelEfficiency - a.ParallelEfficiency
	switch {
	case math.Abs(change) < 0.0005:
	case math.Abs(change) <= aggregate.Certain*math.Hypot(a.ParallelEfficiencyError, b.ParallelEfficiencyError):
		line[4] = "within its error"
	default:
		line[3] = fmt.Sprintf("%+.1f points", 100*change)
	}
	return line
}

// relativeText returns a relative change in percent. It never rounds a change to 0 % or to
// -100 %.
func relativeText(share float64) string {
	switch {
	case share > -1 && share < -0.9995:
		return "< -99.9 %"
	case share > 0 && share < 0.0005:
		return "< +0.1 %"
	case share < 0 && share > -0.0005:
		return "> -0.1 %"
	case share >= 10:
		return fmt.Sprintf("x %s", text.ThreeDigits(share+1))
	}
	return fmt.Sprintf("%+.1f %%", 100*share)
}

// diffRow is one entry of a list of changes.
type diffRow struct {
	name string
	*aggregate.Changes
	callers []aggregate.NamedPlace
}

// listText prints a list of changes, with a line for each measure that changed.
// Entries without a change worth printing are left out.
func (d *diffText) listText(noun string, rows []diffRow) {
	rows = slices.DeleteFunc(rows, func(r diffRow) bool { return !d.worth(r.Changes) })
	if len(rows) == 0 || d.Top == 0 {
		return
	}
	rows, more := top(rows, d.Top)
	width := widest(rows, func(r *diffRow) string { return r.name })
	t := text.NewTable("changed "+noun+"s", "A", "B", "change", "")
	for _, r := range rows {
		name := r.name
		for _, line := range d.measures(r.Changes) {
			line[0] = fmt.Sprintf("%-*s  %s", width, name, line[0])
			name = ""
			t.Add(line...)
		}
		t.Below(d.callers(" ", r.callers)...)
	}
	d.changed(t, more, noun)
}

// changed prints an empty line, a table, and how many entries the table leaves out. It
// prints nothing if the table is empty.
func (d *diffText) changed(t *text.Table, more int, noun string) {
	if t.Len() > 0 {
		d.table(t, more, noun, " (--top all)")
	}
}

func (d *diffText) worth(c *aggregate.Changes) bool {
	return c.Differs(true) || d.worthTime(c)
}

// worthTime reports whether a change of time is printed. The time must be large
// enough to matter, and the change must be larger than noise.
func (d *diffText) worthTime(c *aggregate.Changes) bool {
	share, ok := c.TimeNs.Relative()
	return !d.how.IgnoreTime && d.TimesCompared && d.Matters(c.TimeNs) && c.TimeChanged() && (!ok || math.Abs(share) >= aggregate.MinTimeChange)
}

// measures returns a line for each measure that changed. The number of calls is printed
// only if neither bytes nor messages changed.
func (d *diffText) measures(c *aggregate.Changes) [][]string {
	var out [][]string
	put := func(m aggregate.Measure, line []string) {
		switch {
		case c.Status == aggregate.StatusNew && m.A == 0:
			line[4] = "new"
		case c.Status == aggregate.StatusGone && m.B == 0:
			line[4] = "gone"
		}
		out = append(out, line)
	}
	if c.Bytes.Changed() {
		put(c.Bytes, d.line("bytes", c.Bytes, text.Bytes))
	}
	if c.Messages.Changed() {
		put(c.Messages, d.line("messages", c.Messages, text.Count))
	}
	if len(out) == 0 && (c.Calls.Changed() || c.Status != aggregate.StatusChanged) {
		put(c.Calls, d.line("calls", c.Calls, text.Count))
	}
	if d.worthTime(c) {
		put(c.TimeNs, d.timeLine("time", c))
	}
	return out
}

func (d *diffText) callsText() {
	rows := make([]diffRow, len(d.Calls))
	for i := range d.Calls {
		rows[i] = diffRow{name: d.clean(d.Calls[i].Call), Changes: &d.Calls[i].Changes}
	}
	d.listText("call", rows)
}

func (d *diffText) commsText() {
	rows := make([]diffRow, len(d.Comms))
	for i := range d.Comms {
		rows[i] = diffRow{name: d.clean(d.Comms[i].Communicator), Changes: &d.Comms[i].Changes}
	}
	d.listText("communicator", rows)
}

// leastSite is the smallest width, in characters, to which a call site is
// shortened.
const leastSite = 16

// siteWidth returns the width for call sites. It leaves room for the numbers.
func (d *diffText) siteWidth() int {
	if d.Width == 0 {
		return math.MaxInt
	}
	return max(leastSite, d.Width-55)
}

// siteText returns a call site and the MPI function. If the call was at another
// line in A, the text includes that line.
func (d *diffText) siteText(at *aggregate.NamedPlace, was *aggregate.NamedPlace, call string) string {
	call = " " + d.clean(call)
	if was != nil {
		call = fmt.Sprintf(" (A: %d)", was.Line) + call
	}
	return d.shorten(d.clean(at.Label), d.siteWidth()-utf8.RuneCountInString(call)) + call
}

func (d *diffText) sitesText() {
	rows := make([]diffRow, len(d.CallSites))
	moved := 0
	for i := range d.CallSites {
		c := &d.CallSites[i]
		if c.Was != nil {
			moved++
		}
		rows[i] = diffRow{d.siteText(&c.NamedPlace, c.Was, c.Call), &c.Changes, c.Callers}
	}
	d.listText("call site", rows)
	if moved > 0 {
		d.printf("(A: n) is the line in A: %s moved\n", text.CountOf(moved, "call site"))
	}
}

func (d *diffText) pairsText() {
	if d.Pairs.Changed == 0 || d.Top == 0 {
		return
	}
	pairs, _ := top(d.Pairs.Most, d.Top)
	rows := make([]diffRow, len(pairs))
	for i, c := range pairs {
		rows[i] = diffRow{name: d.pair(c.From, c.To), Changes: &aggregate.Changes{Status: c.Status, Transfers: c.Transfers}}
	}
	d.listText("pair", rows)
	d.more(d.Pairs.Changed-len(pairs), "pair", " (--top all)")
	d.printf("pairs: %s\n", pairsOf(d.Pairs.Of))
}

func pairsOf(which string) string {
	if which == aggregate.AllPairs {
		return "point-to-point, one-sided and collectives (logical volume)"
	}
	return fmt.Sprintf("point-to-point and one-sided; with more than %s ranks, collectives are not compared by pair", text.Count(aggregate.MaxAllPairs))
}

func (d *diffText) lateText() {
	t := text.NewTable("changed late receives", "A", "B", "change", "")
	list, more := top(d.Late, d.Top)
	for i := range list {
		c := &list[i]
		t.Add(d.line(d.siteText(&c.NamedPlace, c.Was, c.Call), c.Late, text.Count)...)
	}
	d.changed(t, more, "call site")
}

func (d *diffText) countersText() {
	t := text.NewTable("changed counters of the MPI", "A", "B", "change", "")
	list, more := top(d.Counters, d.Top)
	for _, c := range list {
		sign, relative := "+", "from 0"
		if c.B < c.A {
			sign = "-"
		}
		if c.A != 0 {
			relative = relativeText(c.Relative())
		}
		t.Add(d.shorten(d.clean(c.Variable), d.siteWidth()), text.Number(c.A), text.Number(c.B), sign+text.Number(math.Abs(c.B-c.A)), relative)
	}
	d.changed(t, more, "counter")
}

// changesText prints the settings that differ. A value that was not set is printed as
// `none`.
func (d *diffText) changesText(of string, changes []aggregate.SettingChange, none string) {
	value := func(v *string) string {
		if v == nil {
			return none
		}
		return d.clean(aggregate.ShortValue(*v))
	}
	list, more := top(changes, d.Top)
	for _, c := range list {
		d.printf("%s %s: %s in A, %s in B\n", of, d.clean(c.Name), value(c.A), value(c.B))
	}
	d.more(more, of, "")
}

func (d *diffText) exceededText() {
	if d.Exceeded == nil {
		return
	}
	if len(d.Exceeded) == 0 {
		d.println("\nnothing grew by more than --fail-if-worse allows")
		return
	}
	t := text.NewTable("grew by more than --fail-if-worse allows", "A", "B", "change", "", "allowed")
	for _, e := range d.Exceeded {
		number := map[aggregate.MeasureName]func(uint64) string{
			aggregate.InTime: d.ns, aggregate.InBytes: text.Bytes, aggregate.InMessages: text.Count[uint64]}[e.Name]
		t.Add(append(d.line(d.clean(e.Of)+" "+string(e.Name), e.Values, number), fmt.Sprintf("+%g %%", e.Limit))...)
	}
	d.table(t, 0, "", "")
}
