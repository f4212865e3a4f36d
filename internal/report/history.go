package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/text"
)

// historyText turns a history into blocks, which are printed as text or as Markdown.
type historyText struct {
	*printer
	*history.History
	libraries bool // whether a version ran with several MPI libraries
}

// historyBlock is a title, a table and sentences. The table may be empty.
type historyBlock struct {
	title  string
	before []string
	heads  []string
	left   int // number of columns with texts
	rows   [][]string
	after  []string
	// To fit the width, shorten shortens the first column, and columns with the heads
	// in spare are left out.
	shorten func(cell string, width int) string
	spare   []string
}

func newHistoryText(w io.Writer, h *history.History, o Options) *historyText {
	t := &historyText{printer: newOutput(w, o, 0), History: h}
	of := map[string]string{} // MPI library of each build-id
	for _, r := range h.Runs {
		if library, known := of[r.BuildID]; known && library != r.Library {
			t.libraries = true
		}
		of[r.BuildID] = r.Library
	}
	return t
}

// History prints a table of runs, their repetitions, the scaling and the evolution.
func History(w io.Writer, h *history.History, o Options) error {
	t := newHistoryText(w, h, o)
	for i, b := range slices.Concat(t.runs(), t.repetitions(), t.scaling(), t.evolution()) {
		if i > 0 {
			t.println()
		}
		t.println(b.title)
		for _, line := range b.before {
			t.println(line)
		}
		if len(b.rows) > 0 {
			table := text.NewTable(b.heads...)
			table.Left = b.left
			for _, row := range b.rows {
				table.Add(row...)
			}
			t.fitted(table, &b)
		}
		for _, line := range b.after {
			t.println(line)
		}
	}
	return t.Flush()
}

// fitted prints a table that fits the width.
func (t *historyText) fitted(table *text.Table, b *historyBlock) {
	var omitted []string
	if t.Width > 0 {
		omitted = table.Fit(t.Width, nameWidth, b.shorten, b.spare...)
	}
	table.Write(t)
	if len(omitted) > 0 {
		t.printf("left out to fit %d characters: %s (to see them: mpitrace history DIR | less -S)\n", t.Width, strings.Join(omitted, ", "))
	}
}

// HistoryMarkdown prints the same as Markdown, what changed first.
func HistoryMarkdown(w io.Writer, h *history.History, o Options) error {
	t := newHistoryText(w, h, o)
	for i, b := range slices.Concat(t.evolution(), t.scaling(), t.repetitions(), t.runs()) {
		if i > 0 {
			t.println()
		}
		t.printf("### %s\n", markdown(b.title))
		for _, line := range b.before {
			t.printf("\n%s\n", markdown(line))
		}
		if len(b.rows) > 0 {
			t.println()
			t.markdownTable(&b)
		}
		for _, line := range b.after {
			t.printf("\n%s\n", markdown(line))
		}
	}
	return t.Flush()
}

func (t *historyText) markdownTable(b *historyBlock) {
	line := func(cells []string) {
		for _, c := range cells {
			t.printf("| %s ", markdown(c))
		}
		t.println("|")
	}
	line(b.heads)
	for i := range b.heads {
		t.printf("%s", map[bool]string{true: "| --- ", false: "| ---: "}[i < b.left])
	}
	t.println("|")
	for _, row := range b.rows {
		line(row)
	}
}

// markdown escapes what Markdown or HTML would interpret.
func markdown(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, `\`, `\\`).Replace(s)
}

// version returns the short form of a version.
func (t *historyText) version(v history.Version) string {
	name := "not known"
	if v.BuildID != "" {
		name = t.clean(v.BuildID[:min(len(v.BuildID), 8)])
	}
	if t.libraries {
		name += ", " + t.clean(v.Library)
	}
	return name
}

// mostArguments is the width to which arguments are shortened in tables.
const mostArguments = 40

func (t *historyText) last(name string, width int) string { return text.Last(name, width, t.ASCII) }

func (t *historyText) arguments(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = text.ShellQuote(word)
	}
	return text.Last(t.clean(strings.Join(quoted, " ")), mostArguments, t.ASCII)
}

func (t *historyText) command(program string, arguments []string) string {
	return strings.TrimRight(t.clean(program)+" "+t.arguments(arguments), " ")
}

func (t *historyText) runs() []historyBlock {
	b := historyBlock{title: fmt.Sprintf("runs: %d", len(t.Runs)), left: 4, shorten: t.last, spare: []string{"findings", "bytes sent", "started", "arguments"},
		heads: []string{"run", "program", "version", "arguments", "ranks", "started", "wall time", "efficiency", "in MPI", "bytes sent", "findings", "record"}}
	for _, r := range t.Runs {
		record := "complete"
		switch {
		case !r.Compared:
			record = "unfinished"
		case !r.Complete:
			record = "incomplete"
		}
		name, share, started := t.clean(r.Dir), t.none(), t.none()
		if r.Jobs > 1 {
			name += fmt.Sprintf(", job %d", r.Job)
		}
		if r.MPIShare != nil {
			share = text.Percent(*r.MPIShare)
		}
		if !r.Started.IsZero() {
			started = r.Started.Format("2006-01-02 15:04:05")
		}
		b.rows = append(b.rows, []string{name, t.clean(r.Program), t.version(r.Version), t.arguments(r.Arguments), fmt.Sprint(r.Ranks), started,
			t.lifetime(r.WallTimeS), t.efficiency(r.POP), share, text.Bytes(r.Bytes), fmt.Sprint(len(r.Findings)), record})
	}
	if slices.ContainsFunc(t.Runs, func(r *history.PastRun) bool { return !r.Compared }) {
		b.after = append(b.after, "unfinished: a rank did not finalize; the run is not compared")
	}
	for _, s := range t.Skipped {
		b.after = append(b.after, t.clean(fmt.Sprintf("left out: %s: %s", s.Dir, s.Why)))
	}
	return []historyBlock{b}
}

// spread returns a median with its spread. number prints both.
func (t *historyText) spread(q history.RepeatedValue, number func(float64) string) string {
	words := number(q.Median)
	if spread, known := q.Spread(); known {
		words += " (" + number(spread) + ")"
	}
	return words
}

// wallTime is spread of a wall time, which may not be known.
func (t *historyText) wallTime(q history.RepeatedValue) string {
	if q.Median == 0 {
		return t.none()
	}
	return t.spread(q, t.seconds)
}

func (t *historyText) repetitions() []historyBlock {
	b := historyBlock{title: "repetitions: median (spread: largest - smallest)", left: 3, shorten: t.last, spare: []string{"bytes sent", "arguments"},
		heads: []string{"program", "version", "arguments", "ranks", "runs", "wall time", "efficiency", "in MPI", "bytes sent"}}
	points := func(q *history.RepeatedValue) string {
		if q == nil {
			return t.none()
		}
		words := text.Percent(q.Median)
		if spread, known := q.Spread(); known {
			words += fmt.Sprintf(" (%.1f)", 100*spread)
		}
		return words
	}
	for i := range t.Configurations {
		c := &t.Configurations[i]
		if len(c.Runs) < 2 {
			continue
		}
		b.rows = append(b.rows, []string{t.clean(c.Program), t.version(c.Version), t.arguments(c.Arguments), fmt.Sprint(c.Ranks), fmt.Sprint(len(c.Runs)),
			t.wallTime(c.WallTimeS), points(c.ParallelEfficiency), points(c.MPIShare),
			t.spread(c.Bytes, func(n float64) string { return text.Bytes(uint64(n + 0.5)) })})
	}
	if len(b.rows) == 0 {
		return nil
	}
	return []historyBlock{b}
}

func (t *historyText) scaling() (blocks []historyBlock) {
	for i := range t.Scaling {
		s := &t.Scaling[i]
		b := historyBlock{title: fmt.Sprintf("scaling: %s, version %s", t.command(s.Program, s.Arguments), t.version(s.Version)), spare: []string{"wall time", "runs"},
			heads: []string{"ranks", "runs", "wall time", "parallel efficiency", "load balance", "communication", "computation scaling", "global efficiency"}}
		for _, p := range s.Points {
			b.rows = append(b.rows, []string{fmt.Sprint(p.Ranks), fmt.Sprint(p.Runs), t.lifetime(p.WallTimeS), text.Percent(p.ParallelEfficiency), text.Percent(p.LoadBalance),
				text.Percent(p.CommunicationEfficiency), text.Percent(p.ComputationScaling), text.Percent(p.GlobalEfficiency)})
		}
		ideal := "100.0 %"
		b.rows = append(b.rows, []string{"ideal", "", "", ideal, ideal, ideal, ideal, ideal})
		blocks = append(blocks, b, t.growth(s))
	}
	return blocks
}

// leastGrowth is the share of the run that a call site must take on the largest
// number of ranks to be printed.
const leastGrowth = 0.001

// growth returns the table of call sites, the largest exponent first.
func (t *historyText) growth(s *history.Scaling) historyBlock {
	most := s.Points[len(s.Points)-1].Ranks
	b := historyBlock{title: fmt.Sprintf("time per rank as a power of the number of ranks: %s, version %s", t.command(s.Program, s.Arguments), t.version(s.Version)),
		left: 1, shorten: t.printer.shorten, heads: []string{"call site", "exponent", fmt.Sprintf("per rank on %d", s.Points[0].Ranks), fmt.Sprintf("on %d", most), "share on " + fmt.Sprint(most)}}
	row := func(g *history.Growth) {
		exponent := fmt.Sprintf("%+.2f", g.Exponent)
		if g.Error != nil {
			exponent += fmt.Sprintf(" %s%.2f", t.pick("±", "+-"), *g.Error)
		}
		at := func(ranks int) string {
			for _, p := range g.Points {
				if p.Ranks == ranks {
					return t.duration(p.TimePerRankNs)
				}
			}
			return t.none()
		}
		name := g.Label
		if g.Call != "" {
			name += " " + g.Call
		}
		for i := range g.Callers {
			name += " < " + g.Callers[i].Label
		}
		b.rows = append(b.rows, []string{t.clean(name), exponent, at(s.Points[0].Ranks), at(most), text.Percent(g.Share)})
	}
	small := 0
	var large []history.Growth
	for _, g := range s.Sites {
		if g.Share < leastGrowth {
			small++
			continue
		}
		large = append(large, g)
	}
	shown, more := top(large, t.Top)
	for i := range shown {
		row(&shown[i])
	}
	if s.OutsideMPI != nil {
		row(s.OutsideMPI)
	}
	if more > 0 {
		b.after = append(b.after, fmt.Sprintf("and %s (--top all)", text.CountOf(more, "more call site")))
	}
	if small > 0 {
		b.after = append(b.after, fmt.Sprintf("not shown: %s with less than %g %% of the run (--json)", text.CountOf(small, "call site"), 100*leastGrowth))
	}
	b.after = append(b.after, "exponent -1: divided among the ranks; 0: constant; 1: proportional to the number of ranks")
	return b
}

func (t *historyText) evolution() (blocks []historyBlock) {
	for i := range t.Evolution {
		e := &t.Evolution[i]
		for k := range e.Steps {
			blocks = append(blocks, t.step(e, &e.Steps[k]))
		}
	}
	return blocks
}

func (t *historyText) step(e *history.Evolution, s *history.Step) historyBlock {
	b := historyBlock{left: 3, shorten: t.printer.shorten, heads: []string{"where", "of", "measure", "A", "B", "change", ""}, title: fmt.Sprintf("evolution: %s on %s: version %s (A) to %s (B)",
		t.command(e.Program, e.Arguments), text.CountOf(e.Ranks, "rank"), t.version(s.A.Version), t.version(s.B.Version)),
		before: []string{t.side("A", &s.A), t.side("B", &s.B)}}
	b.before = append(b.before, t.uncertain(s)...)
	shown, more := top(s.Changes, t.Top)
	for i := range shown {
		b.rows = append(b.rows, t.change(&shown[i]))
	}
	switch {
	case len(s.Changes) == 0 && s.SpreadKnown:
		b.after = append(b.after, "nothing changed by more than the spread")
	case len(s.Changes) == 0:
		b.after = append(b.after, "nothing differs")
	case more > 0:
		b.after = append(b.after, fmt.Sprintf("and %s (--top all)", text.CountOf(more, "more change")))
	}
	for _, f := range s.Appeared {
		b.after = append(b.after, t.clean(fmt.Sprintf("finding appeared: %s: %s", f.Rule, f.Text)))
	}
	for _, f := range s.Disappeared {
		b.after = append(b.after, t.clean(fmt.Sprintf("finding disappeared: %s: %s", f.Rule, f.Text)))
	}
	b.after = append(b.after, t.settings(s)...)
	b.after = append(b.after, t.exceeded(s)...)
	b.after = append(b.after, t.clean(fmt.Sprintf("more: mpitrace diff %s %s", text.ShellQuote(s.A.Median), text.ShellQuote(s.B.Median))))
	return b
}

func (t *historyText) side(letter string, s *history.Side) string {
	return fmt.Sprintf("%s: version %s, %s, wall time %s; %s", letter, t.version(s.Version), text.CountOf(len(s.Runs), "run"), t.wallTime(s.WallTimeS), t.clean(s.Library))
}

// uncertain returns why the changes may be noise.
func (t *historyText) uncertain(s *history.Step) (lines []string) {
	if !s.SpreadKnown {
		lines = append(lines, "The spread is not known, as a version ran only once: these differences may be noise. Run each version three times.")
	}
	if !s.TimesCompared {
		lines = append(lines, "Times of calls are not compared, as calls were not timed in all runs.")
	}
	for _, side := range []struct {
		letter string
		*history.Side
	}{{"A", &s.A}, {"B", &s.B}} {
		if side.Oversubscribed > 0 {
			lines = append(lines, fmt.Sprintf("Ranks shared cores in %d of %s of %s: times are uncertain.", side.Oversubscribed, text.CountOf(len(side.Runs), "run"), side.letter))
		}
	}
	return lines
}

// change returns the cells of a change.
func (t *historyText) change(c *history.Change) []string {
	number := func(v float64) string { return text.Count(uint64(v + 0.5)) }
	switch c.Measure {
	case history.Time:
		number = t.duration
	case history.Bytes:
		number = func(v float64) string { return text.Bytes(uint64(v + 0.5)) }
	}
	what := map[history.ChangeKind]string{history.OfTotal: "total", history.OfCall: "call", history.OfCallSite: "call site"}[c.Of]
	where := c.Name
	if c.Was != nil {
		where += fmt.Sprintf(" (A: %d)", c.Was.Line)
	}
	if c.Call != "" {
		where += " " + c.Call
	}
	sign, size := "+", c.Difference()
	if size < 0 {
		sign, size = "-", -size
	}
	relative := "from 0"
	switch {
	case c.Status != aggregate.StatusChanged:
		relative = string(c.Status)
	case c.A.Median > 0:
		relative = relativeText(c.Difference() / c.A.Median)
	}
	return []string{t.clean(where), what, string(c.Measure), t.spread(c.A, number), t.spread(c.B, number), sign + number(size), relative}
}

// settings returns the settings and the variables of the MPI that differ between the
// median runs.
func (t *historyText) settings(s *history.Step) (lines []string) {
	switch {
	case s.Diff == nil:
		return nil
	case s.Diff.Settings == nil:
		return []string{"settings and MPI variables are not compared: A or B was read from Arrow files"}
	}
	value := func(v *string, none string) string {
		if v == nil {
			return none
		}
		return t.clean(aggregate.ShortValue(*v))
	}
	for _, list := range []struct {
		of, none string
		changes  []aggregate.SettingChange
	}{{"setting", "default", s.Diff.Settings}, {"MPI variable", "not set", s.Diff.Variables}} {
		shown, more := top(list.changes, t.Top)
		for _, c := range shown {
			lines = append(lines, fmt.Sprintf("%s %s: %s in A, %s in B", list.of, t.clean(c.Name), value(c.A, list.none), value(c.B, list.none)))
		}
		if more > 0 {
			lines = append(lines, fmt.Sprintf("and %s", text.CountOf(more, "more "+list.of)))
		}
	}
	return lines
}

// exceeded returns what grew by more than the limits.
func (t *historyText) exceeded(s *history.Step) (lines []string) {
	if s.Exceeded != nil && len(s.Exceeded) == 0 {
		return []string{"nothing grew by more than --fail-if-worse allows"}
	}
	for _, e := range s.Exceeded {
		change := "from 0"
		if share, ok := e.Values.Relative(); ok {
			change = relativeText(share)
		}
		lines = append(lines, fmt.Sprintf("grew by more than --fail-if-worse allows: %s %s %s; +%g %% is allowed", t.clean(cmp.Or(e.Of, "total")), e.Name, change, e.Limit))
	}
	return lines
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
