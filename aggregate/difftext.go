package aggregate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/profile"
)

// DiffText says how the text of a comparison looks.
type DiffText struct {
	TextOptions
	Top        int  // things in each table; all if it is below 0
	IgnoreTime bool // times are left out
	NameA      string
	NameB      string
}

// Text writes a comparison for people to read on a terminal.
func (d *Diff) Text(w io.Writer, o DiffText) error {
	b := bufio.NewWriter(w)
	if d.A.RanksExpected != d.B.RanksExpected {
		fmt.Fprintf(b, "different sizes: %s in A, %d in B; sums are over all ranks of each\n",
			CountOf(uint64(d.A.RanksExpected), "rank"), d.B.RanksExpected)
	}
	d.A.text(b, o, "A", o.NameA)
	d.B.text(b, o, "B", o.NameB)
	d.settingsText(b, o)
	changesText(b, o, "setting", d.Settings, "default")
	changesText(b, o, "MPI variable", d.Variables, "not set")
	d.totalText(b, o)
	if !d.moved() {
		fmt.Fprintln(b, "\nnothing changed in bytes and messages")
	}
	d.callsText(b, o)
	d.sitesText(b, o)
	d.commsText(b, o)
	d.pairsText(b, o)
	d.lateText(b, o)
	d.countersText(b, o)
	d.exceededText(b, o)
	return b.Flush()
}

func (s *DiffSide) text(w io.Writer, o DiffText, letter, name string) {
	fmt.Fprintf(w, "%s: %s: %s on ", letter, o.clean(name), o.clean(s.Program))
	if s.RanksRecorded != s.RanksExpected {
		fmt.Fprintf(w, "%d of ", s.RanksRecorded)
	}
	fmt.Fprintf(w, "%s, %s; %s", CountOf(uint64(s.RanksExpected), "rank"), CountOf(uint64(s.Hosts), "host"), o.clean(LibraryName(s.Library)))
	if !s.Started.IsZero() {
		fmt.Fprintf(w, "; %s", s.Started.Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintln(w)
	if len(s.Command) > 0 {
		fmt.Fprintf(w, "   %s\n", o.clean(strings.Join(s.Command, " ")))
	}
	for _, p := range s.Problems {
		fmt.Fprintf(w, "   does not add up: %s\n", o.clean(p))
	}
}

// settingsText says where the two were not recorded alike, and what that means.
func (d *Diff) settingsText(w io.Writer, o DiffText) {
	both := "A and B"
	if d.A.Timing != d.B.Timing {
		both = fmt.Sprintf("--timing %s in A, %s in B", d.A.Timing, d.B.Timing)
	} else if d.A.Timing != profile.TimingExact.String() {
		both = fmt.Sprintf("--timing %s", d.A.Timing)
	}
	estimates := d.A.Timing != profile.TimingExact.String() || d.B.Timing != profile.TimingExact.String()
	switch {
	case !d.TimesCompared:
		fmt.Fprintf(w, "%s: times of calls are not compared\n", both)
	case estimates:
		fmt.Fprintf(w, "%s: times are estimates, and no difference within %d standard errors is one\n", both, certain)
	}
	if d.A.Receives != d.B.Receives {
		fmt.Fprintf(w, "--receives %s in A, %s in B: what nonblocking receives received is not compared\n", d.A.Receives, d.B.Receives)
	}
	if d.A.LateOver != d.B.LateOver {
		fmt.Fprintf(w, "--watch-unexpected %s in A, %s in B: late receives are not compared\n",
			cmp.Or(o.clean(d.A.LateOver), "off"), cmp.Or(o.clean(d.B.LateOver), "off"))
	}
}

// moved tells whether there is any change of what was moved.
func (d *Diff) moved() bool {
	return d.Total.Traffic.Changed() || d.Pairs.Changed > 0 ||
		slices.ContainsFunc(d.Calls, func(c CallChange) bool { return c.Traffic.Changed() }) ||
		slices.ContainsFunc(d.CallSites, func(c SiteChange) bool { return c.Traffic.Changed() }) ||
		slices.ContainsFunc(d.Comms, func(c CommChange) bool { return c.Traffic.Changed() })
}

// totalText has all sums, also those that are equal.
func (d *Diff) totalText(w io.Writer, o DiffText) {
	t := table{{"total", "A", "B", "change", ""}}
	if !o.IgnoreTime {
		t = append(t, o.line("wall time", d.WallTime, o.ns), o.line("application", d.ApplicationTime, o.ns))
	}
	if !o.IgnoreTime && d.TimesCompared {
		t = append(t, o.timeLine("in MPI", &d.Total), o.line("Init and Finalize", d.InitFinalize, o.ns),
			o.efficiencyLine(d.A.POP, d.B.POP))
	}
	t = append(t, o.line("calls", d.Total.Calls, count), o.line("bytes sent", d.Total.Bytes, bytesText),
		o.line("messages sent", d.Total.Messages, count))
	fmt.Fprintln(w)
	t.writeTrimmed(w)
}

// trimmed are lines without the blanks of cells that are empty.
func (t table) trimmed() []string {
	lines := t.lines()
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

func (t table) writeTrimmed(w io.Writer) {
	for _, line := range t.trimmed() {
		fmt.Fprintln(w, line)
	}
}

func (o DiffText) ns(n uint64) string { return o.duration(float64(n)) }

// line is a measure as a table has it.
func (o DiffText) line(name string, m Measure, text func(uint64) string) []string {
	line := []string{name, text(m.A), text(m.B), o.none(), ""}
	if !m.Changed() {
		return line
	}
	sign := "+"
	if m.B < m.A {
		sign = "-"
	}
	line[3] = sign + text(m.Size())
	if share, ok := m.Relative(); ok {
		line[4] = relativeText(share)
	} else {
		line[4] = "from 0"
	}
	return line
}

// timeLine is the time as a table has it: the change with its standard error, if
// it has one and is more than that.
func (o DiffText) timeLine(name string, c *Changes) []string {
	line := o.line(name, c.TimeNs, o.ns)
	switch {
	case c.TimeNs.Changed() && !c.timeChanged():
		line[3], line[4] = o.none(), "within its error"
	case c.TimeNs.Changed() && c.TimeVariance > 0:
		line[3] = line[3][:1] + o.estimate(float64(c.TimeNs.Size()), c.TimeVariance.StandardError())
	}
	return line
}

// efficiencyLine has the change in percentage points, if it is more than its
// error and than the last digit.
func (o DiffText) efficiencyLine(a, b *POP) []string {
	line := []string{"parallel efficiency", o.efficiency(a), o.efficiency(b), o.none(), ""}
	if a == nil || b == nil {
		return line
	}
	change := b.ParallelEfficiency - a.ParallelEfficiency
	switch {
	case math.Abs(change) < 0.0005:
	case math.Abs(change) <= certain*math.Hypot(a.ParallelEfficiencyError, b.ParallelEfficiencyError):
		line[4] = "within its error"
	default:
		line[3] = fmt.Sprintf("%+.1f points", 100*change)
	}
	return line
}

// relativeText does not round a change to none, nor what is left.
func relativeText(share float64) string {
	switch {
	case share > -1 && share < -0.9995:
		return "< -99.9 %"
	case share > 0 && share < 0.0005:
		return "< +0.1 %"
	case share < 0 && share > -0.0005:
		return "> -0.1 %"
	case share >= 10:
		return fmt.Sprintf("x %s", threeDigits(share+1))
	}
	return fmt.Sprintf("%+.1f %%", 100*share)
}

// diffRow is something that changed, with the lines that belong below it.
type diffRow struct {
	name string
	*Changes
	below func(io.Writer)
}

// listText writes what changed in one list: a line for each measure that did.
func (d *Diff) listText(w io.Writer, o DiffText, noun string, rows []diffRow) {
	rows = slices.DeleteFunc(rows, func(r diffRow) bool { return !d.worth(r.Changes, o) })
	if len(rows) == 0 || o.Top == 0 {
		return
	}
	all := len(rows)
	if o.Top >= 0 {
		rows = rows[:min(all, o.Top)]
	}
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.name))
	}
	t := table{{"changed " + noun + "s", "A", "B", "change", ""}}
	first := make([]int, 0, len(rows)) // line of each row
	for _, r := range rows {
		first = append(first, len(t))
		name := r.name
		for _, line := range d.measures(r.Changes, o) {
			line[0] = name + strings.Repeat(" ", width-utf8.RuneCountInString(name)) + "  " + line[0]
			name = ""
			t = append(t, line)
		}
	}
	lines := t.trimmed()
	fmt.Fprintf(w, "\n%s\n", lines[0])
	for i, r := range rows {
		end := len(lines)
		if i+1 < len(rows) {
			end = first[i+1]
		}
		fmt.Fprintln(w, strings.Join(lines[first[i]:end], "\n"))
		if r.below != nil {
			r.below(w)
		}
	}
	moreText(w, all-len(rows), noun)
}

func moreText(w io.Writer, more int, noun string) {
	if more > 0 {
		fmt.Fprintf(w, "and %s (--top all)\n", CountOf(uint64(more), "more "+noun))
	}
}

func (d *Diff) worth(c *Changes, o DiffText) bool {
	return c.differs(true) || d.worthTime(c, o)
}

// worthTime tells whether a time is a part of the time in MPI, and changed, by
// so much that it may mean something.
func (d *Diff) worthTime(c *Changes, o DiffText) bool {
	share, ok := c.TimeNs.Relative()
	return !o.IgnoreTime && d.TimesCompared && d.matters(c.TimeNs) && c.timeChanged() && (!ok || math.Abs(share) >= minTimeChange)
}

// measures are lines of those that changed. Calls are told where messages do
// not tell the same.
func (d *Diff) measures(c *Changes, o DiffText) [][]string {
	var out [][]string
	put := func(m Measure, line []string) {
		switch {
		case c.Status == StatusNew && m.A == 0:
			line[4] = "new"
		case c.Status == StatusGone && m.B == 0:
			line[4] = "gone"
		}
		out = append(out, line)
	}
	if c.Bytes.Changed() {
		put(c.Bytes, o.line("bytes", c.Bytes, bytesText))
	}
	if c.Messages.Changed() {
		put(c.Messages, o.line("messages", c.Messages, count))
	}
	if len(out) == 0 && (c.Calls.Changed() || c.Status != StatusChanged) {
		put(c.Calls, o.line("calls", c.Calls, count))
	}
	if d.worthTime(c, o) {
		put(c.TimeNs, o.timeLine("time", c))
	}
	return out
}

func (d *Diff) callsText(w io.Writer, o DiffText) {
	rows := make([]diffRow, len(d.Calls))
	for i := range d.Calls {
		rows[i] = diffRow{name: o.clean(d.Calls[i].Call), Changes: &d.Calls[i].Changes}
	}
	d.listText(w, o, "call", rows)
}

func (d *Diff) commsText(w io.Writer, o DiffText) {
	rows := make([]diffRow, len(d.Comms))
	for i := range d.Comms {
		rows[i] = diffRow{name: o.clean(d.Comms[i].Communicator), Changes: &d.Comms[i].Changes}
	}
	d.listText(w, o, "communicator", rows)
}

// siteWidth leaves room for the numbers.
func (o DiffText) siteWidth() int {
	if o.Width == 0 {
		return math.MaxInt
	}
	return max(minSite, o.Width-55)
}

func (d *Diff) sitesText(w io.Writer, o DiffText) {
	rows := make([]diffRow, len(d.CallSites))
	moved := 0
	for i := range d.CallSites {
		c := &d.CallSites[i]
		call := " " + o.clean(c.Call)
		if c.Was != nil {
			call = fmt.Sprintf(" (A: %d)", c.Was.Line) + call
			moved++
		}
		rows[i] = diffRow{name: o.shorten(o.clean(c.label), o.siteWidth()-utf8.RuneCountInString(call)) + call, Changes: &c.Changes,
			below: func(w io.Writer) { o.callersText(w, " ", c.Callers) }}
	}
	d.listText(w, o, "call site", rows)
	if moved > 0 {
		fmt.Fprintf(w, "(A: n) is the line in A: %s moved\n", CountOf(uint64(moved), "call site"))
	}
}

func (d *Diff) pairsText(w io.Writer, o DiffText) {
	if d.Pairs.Changed == 0 || o.Top == 0 {
		return
	}
	pairs := d.Pairs.Most
	if o.Top > 0 {
		pairs = pairs[:min(len(pairs), o.Top)]
	}
	rows := make([]diffRow, len(pairs))
	for i, c := range pairs {
		rows[i] = diffRow{name: fmt.Sprintf("%d %s %d", c.From, o.pick("→", "->"), c.To), Changes: c.changes()}
	}
	d.listText(w, o, "pair", rows)
	moreText(w, d.Pairs.Changed-len(pairs), "pair")
	fmt.Fprintf(w, "pairs: %s\n", pairsOf(d.Pairs.Of))
}

func pairsOf(which string) string {
	if which == allPairs {
		return "point-to-point, one-sided and collectives (logical volume)"
	}
	return fmt.Sprintf("point-to-point and one-sided; with more than %s ranks, collectives are not compared by pair", count(maxAllPairs))
}

func (d *Diff) exceededText(w io.Writer, o DiffText) {
	if d.Exceeded == nil {
		return
	}
	if len(d.Exceeded) == 0 {
		fmt.Fprintln(w, "\nnothing grew by more than --fail-if-worse allows")
		return
	}
	t := table{{"grew by more than --fail-if-worse allows", "A", "B", "change", "", "allowed"}}
	for _, e := range d.Exceeded {
		text := map[MeasureName]func(uint64) string{InTime: o.ns, InBytes: bytesText, InMessages: count}[e.Name]
		t = append(t, append(o.line(o.clean(e.Of)+" "+string(e.Name), e.Values, text), fmt.Sprintf("+%g %%", e.Limit)))
	}
	fmt.Fprintln(w)
	t.writeTrimmed(w)
}
