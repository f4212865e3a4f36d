package views

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/text"
)

// HistoryView says what a history shows.
type HistoryView struct {
	Top          int  // call sites and changes that are shown at first; all if negative
	ChangesFirst bool // whether what changed comes first, and the table of runs last
}

// past makes the sections of a history.
type past struct {
	*history.History
	HistoryView
	libraries bool // whether a version ran with several MPI libraries
}

// History returns the sections of many runs: a table of them, their repetitions, the scaling,
// and what changed between versions.
func History(h *history.History, o HistoryView) []Section {
	p := &past{History: h, HistoryView: o}
	of := map[string]string{} // MPI library of each build-id
	for _, r := range h.Runs {
		if library, known := of[r.BuildID]; known && library != r.Library {
			p.libraries = true
		}
		of[r.BuildID] = r.Library
	}
	parts := [][]Section{{p.runs()}, {p.repetitions()}, p.scaling(), p.evolution()}
	if o.ChangesFirst {
		slices.Reverse(parts)
	}
	return Finish(append([]Section{p.verdict(), p.overview()}, slices.Concat(parts...)...)...)
}

// overview returns the section for the head of the page.
func (p *past) overview() Section {
	programs, versions := map[string]bool{}, map[history.Version]bool{}
	for _, r := range p.Runs {
		programs[r.Program], versions[r.Version] = true, true
	}
	out := Section{ID: "overview", Title: "Runs of " + strings.Join(slices.Sorted(maps.Keys(programs)), ", ")}
	words := fmt.Sprintf("%s, %s, %s", text.CountOf(len(p.Runs), "run"), text.CountOf(len(programs), "program"), text.CountOf(len(versions), "version"))
	if len(p.Skipped) > 0 {
		words += fmt.Sprintf(", %s left out", text.Count(len(p.Skipped)))
	}
	out.Say(words)
	worse := false
	for i := range p.Evolution {
		for _, s := range p.Evolution[i].Steps {
			worse = worse || len(s.Exceeded) > 0
		}
	}
	if worse {
		out.Toned(Bad, "exceeds --fail-if-worse")
	}
	out.allDetails()
	return out
}

// version returns the short form of a version.
func (p *past) version(v history.Version) string {
	name := "not known"
	if v.BuildID != "" {
		name = shortBuild(v.BuildID)
	}
	if p.libraries {
		name += ", " + v.Library
	}
	return name
}

// mostArguments is the width to which arguments are shortened in texts and, by the terminal, in
// tables.
const mostArguments = 40

func arguments(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = text.ShellQuote(word)
	}
	return strings.Join(quoted, " ")
}

func command(program string, words []string) string {
	return strings.TrimRight(program+" "+text.Last(arguments(words), mostArguments, false), " ")
}

// The columns of runs and of their repetitions.

func programColumn[R any](of func(*R) string) column[R] {
	return col("program", "program", Words, func(r *R) Cell { return wordsCell(of(r)) })
}

func versionColumn[R any](p *past, of func(*R) history.Version) column[R] {
	return col("version", "version", Words, func(r *R) Cell { return wordsCell(p.version(of(r))) })
}

func argumentsColumn[R any](of func(*R) []string) column[R] {
	c := col("arguments", "arguments", Words, func(r *R) Cell { return wordsCell(arguments(of(r))) }).spare(4)
	c.Cut = mostArguments
	return c
}

// lifeCell returns how long processes ran, in seconds; 0 if that is not known.
func lifeCell(s float64) Cell {
	if s == 0 {
		return missing
	}
	return secondsCell(s)
}

// runs returns the table of runs.
func (p *past) runs() Section {
	type R = *history.PastRun
	out := Section{ID: "runs", Title: fmt.Sprintf("runs: %d", len(p.Runs)), Headed: true}
	several := slices.ContainsFunc(p.Runs, func(r R) bool { return r.Jobs > 1 })
	out.Add(tableOf("runs", p.Runs,
		col("run", "run", Words, func(r *R) Cell { return wordsCell((*r).Dir) }),
		col("job", "job", Rank, func(r *R) Cell { return rankCell((*r).Job) }).when(several),
		programColumn(func(r *R) string { return (*r).Program }),
		versionColumn(p, func(r *R) history.Version { return (*r).Version }),
		argumentsColumn(func(r *R) []string { return (*r).Arguments }),
		col("ranks", "ranks", Count, func(r *R) Cell { return ranksCell((*r).Ranks, (*r).Programs) }),
		col("started", "started", Words, func(r *R) Cell {
			if (*r).Started.IsZero() {
				return missing
			}
			return wordsCell((*r).Started.Format("2006-01-02 15:04:05"))
		}).spare(3),
		col("wall_time", "wall time", Ns, func(r *R) Cell { return lifeCell((*r).WallTimeS) }),
		col("efficiency", "efficiency", Share, func(r *R) Cell { return efficiencyCell((*r).POP) }),
		col("mpi_share", "in MPI", Share, func(r *R) Cell {
			if (*r).MPIShare == nil {
				return missing
			}
			return shareCell(*(*r).MPIShare)
		}),
		col("bytes", "bytes sent", Bytes, func(r *R) Cell { return bytesCell((*r).Bytes) }).spare(2),
		col("findings", "findings", Count, func(r *R) Cell { return countCell(len((*r).Findings)) }).spare(1),
		col("rules", "what stands out", Words, func(r *R) Cell {
			var rules []string
			for _, f := range (*r).Findings {
				rules = append(rules, f.Rule)
			}
			return wordsCell(strings.Join(rules, ", "))
		}).detail(),
		col("record", "record", Words, func(r *R) Cell { return wordsCell(recordOf(*r)) }),
	))
	if slices.ContainsFunc(p.Runs, func(r R) bool { return !r.Compared }) {
		out.Say("unfinished: a rank did not finalize; the run is not compared")
	}
	for _, s := range p.Skipped {
		out.Say(fmt.Sprintf("left out: %s: %s", s.Dir, s.Why))
	}
	problems := Listing{Head: "what does not add up:", Limit: -1}
	for _, r := range p.Runs {
		if len(r.Problems) > 0 {
			problems.Items = append(problems.Items, ListItem{Text: fmt.Sprintf("%s: %s", r.Dir, strings.Join(r.Problems, "; "))})
		}
	}
	out.Detail(func() { out.List(problems) })
	return out
}

func recordOf(r *history.PastRun) string {
	switch {
	case !r.Compared:
		return "unfinished"
	case !r.Complete:
		return "incomplete"
	}
	return "complete"
}

// spreadCell returns a median with its spread.
func spreadCell(unit CellUnit, q history.RepeatedValue) Cell {
	c := valueCell(unit, q.Median)
	if spread, known := q.Spread(); known {
		c.Text += " (" + valueCell(unit, spread).Text + ")"
	}
	return c
}

// spreadLife returns the median of a wall time, which may not be known, with its spread.
func spreadLife(q history.RepeatedValue) Cell {
	if q.Median == 0 {
		return missing
	}
	q.Median, q.Min, q.Max = 1e9*q.Median, 1e9*q.Min, 1e9*q.Max
	return spreadCell(Ns, q)
}

// spreadShare returns the median of a share, which may not be known, with its spread in
// percentage points.
func spreadShare(q *history.RepeatedValue) Cell {
	if q == nil {
		return missing
	}
	c := shareCell(q.Median)
	if spread, known := q.Spread(); known {
		c.Text += fmt.Sprintf(" (%.1f)", 100*spread)
	}
	return c
}

func (p *past) repetitions() Section {
	type R = history.Configuration
	repeated := slices.DeleteFunc(slices.Clone(p.Configurations), func(c R) bool { return len(c.Runs) < 2 })
	out := Section{ID: "repetitions", Title: "repetitions: median (spread: largest - smallest)", Headed: true}
	out.Add(tableOf("repetitions", repeated,
		programColumn(func(c *R) string { return c.Program }),
		versionColumn(p, func(c *R) history.Version { return c.Version }),
		argumentsColumn(func(c *R) []string { return c.Arguments }),
		col("ranks", "ranks", Count, func(c *R) Cell { return ranksCell(c.Ranks, c.Programs) }),
		col("runs", "runs", Count, func(c *R) Cell { return rankCell(len(c.Runs)) }),
		col("wall_time", "wall time", Ns, func(c *R) Cell { return spreadLife(c.WallTimeS) }),
		col("efficiency", "efficiency", Share, func(c *R) Cell { return spreadShare(c.ParallelEfficiency) }),
		col("mpi_share", "in MPI", Share, func(c *R) Cell { return spreadShare(c.MPIShare) }),
		col("bytes", "bytes sent", Bytes, func(c *R) Cell { return spreadCell(Bytes, c.Bytes) }).spare(2),
	))
	return out
}

// scaling returns two sections for each program, version and arguments that ran on several
// numbers of ranks.
func (p *past) scaling() []Section {
	head := Section{ID: "scaling", Title: "Scaling"}
	if len(p.Scaling) > 0 {
		head.Detail(func() { head.Say("Of each efficiency, 100 % is ideal.") })
	}
	sections := []Section{head}
	for i := range p.Scaling {
		s := &p.Scaling[i]
		name := fmt.Sprintf("%s, version %s", command(s.Program, s.Arguments), p.version(s.Version))
		sections = append(sections, scalingOf(fmt.Sprintf("scaling-%d", i+1), "scaling: "+name, s),
			p.growth(fmt.Sprintf("growth-%d", i+1), "time per rank as a power of the number of ranks: "+name, s))
	}
	return sections
}

// leastGrowth is the share of the run that a call site must take on the largest number of ranks
// to be shown.
const leastGrowth = 0.001

// growth returns the section of call sites, the largest exponent first.
func (p *past) growth(id, title string, s *history.Scaling) Section {
	type R = history.Growth
	least, most := s.Points[0].Ranks, s.Points[len(s.Points)-1].Ranks
	on := func(key, head string, ranks int) column[R] {
		return col(key, head, Ns, func(g *R) Cell {
			for _, point := range g.Points {
				if point.Ranks == ranks {
					return nsCell(point.TimePerRankNs)
				}
			}
			return missing
		})
	}
	large := slices.DeleteFunc(slices.Clone(s.Sites), func(g R) bool { return g.Share < leastGrowth })
	small := len(s.Sites) - len(large)
	if s.OutsideMPI != nil {
		large = slices.Insert(large, 0, *s.OutsideMPI)
	}
	t := tableOf("growth", large,
		col("callsite", "call site", Words, func(g *R) Cell { return wordsCell(g.Label) }),
		col("call", "call", Words, func(g *R) Cell { return wordsCell(g.Call) }),
		col("exponent", "exponent", Number, func(g *R) Cell {
			if !g.Certain() {
				return missing
			}
			return Cell{fmt.Sprintf("%+.2f ±%.2f", g.Exponent, *g.Error), g.Exponent}
		}).help("-1: divided among the ranks; 0: constant; 1: proportional to the number of ranks"),
		on("first_ns", fmt.Sprintf("per rank on %d", least), least), on("last_ns", fmt.Sprintf("on %d", most), most),
		col("share", fmt.Sprintf("share on %d", most), Share, func(g *R) Cell { return shareCell(g.Share) }))
	limit := p.Top
	if limit >= 0 && s.OutsideMPI != nil {
		limit++ // the time outside MPI is no call site
	}
	t.top(limit, "call site", topDiff).Least = leastSite
	for i := range large {
		t.Rows[i].Callers = labels(large[i].Callers)
	}
	out := Section{ID: id, Title: title, Headed: true, Sub: true}
	out.Add(t)
	if small > 0 {
		out.Say(fmt.Sprintf("not shown: %s with less than %g %% of the run (--json)", text.CountOf(small, "call site"), 100*leastGrowth))
	}
	out.Say("exponent -1: divided among the ranks; 0: constant; 1: proportional to the number of ranks")
	if slices.ContainsFunc(large, func(g R) bool { return !g.Certain() }) {
		out.Say(fmt.Sprintf("exponents are shown if their standard error is known, from three numbers of ranks on, and below %g", history.LargestError))
	}
	return out
}

// evolution returns a section for each version that has one before it.
func (p *past) evolution() []Section {
	sections := []Section{{ID: "evolution", Title: "Evolution"}}
	different := 0
	for i := range p.Evolution {
		e := &p.Evolution[i]
		for k := range e.Steps {
			s := &e.Steps[k]
			out := p.step(s, e.Programs)
			out.ID = fmt.Sprintf("step-%d", len(sections))
			out.Title = fmt.Sprintf("evolution: %s on %s: version %s (A) to %s (B)", command(e.Program, e.Arguments), ranksText(e.Ranks, e.Programs),
				p.version(s.A.Version), p.version(s.B.Version))
			sections = append(sections, out)
			if len(s.Changes) > 0 {
				different++
			}
		}
	}
	if n := len(sections) - 1; n > 0 {
		head := &sections[0]
		head.Detail(func() {
			head.Say(fmt.Sprintf("%s from one version to the next, %s of them with changes", text.CountOf(n, "step"), text.Count(different)))
		})
	}
	return sections
}

func (p *past) step(s *history.Step, programs history.PastPrograms) Section {
	out := Section{Headed: true, Sub: true}
	p.side(&out, "A", &s.A)
	p.side(&out, "B", &s.B)
	out.Say(changedPrograms(s, programs))
	uncertain(&out, s)
	var rows []changed
	for i := range s.Changes {
		rows = append(rows, changeOf(&s.Changes[i]))
	}
	out.Add(changeTable("changes", "where", rows).top(p.Top, "change", topDiff))
	switch {
	case len(s.Changes) == 0 && s.SpreadKnown:
		out.Toned(Good, "nothing changed by more than the spread")
	case len(s.Changes) == 0:
		out.Say("nothing differs")
	}
	for _, f := range s.Appeared {
		out.Say(fmt.Sprintf("finding appeared: %s: %s", f.Rule, f.Text))
	}
	for _, f := range s.Disappeared {
		out.Say(fmt.Sprintf("finding disappeared: %s: %s", f.Rule, f.Text))
	}
	switch {
	case s.Diff == nil:
	case s.Diff.Settings == nil:
		out.Say("settings and MPI variables are not compared: A or B was read from Arrow files")
	default:
		settingChanges(&out, s.Diff, p.Top)
	}
	out.exceeded(s.Exceeded)
	out.Say("more:")
	out.Toned(Code, fmt.Sprintf("mpitrace diff %s %s", text.ShellQuote(s.A.Median), text.ShellQuote(s.B.Median)))
	return out
}

func (p *past) side(out *Section, letter string, s *history.Side) {
	out.Fact(letter, fmt.Sprintf("version %s, %s, wall time %s; %s", p.version(s.Version), text.CountOf(len(s.Runs), "run"), spreadLife(s.WallTimeS).Text, s.Library))
}

// uncertain says why the changes may be noise.
func uncertain(out *Section, s *history.Step) {
	if !s.SpreadKnown {
		out.Say("The spread is not known, as a version ran only once: these differences may be noise. Run each version three times.")
	}
	if !s.TimesCompared {
		out.Say("Times of calls are not compared, as calls were not timed in all runs.")
	}
	for _, side := range []struct {
		letter string
		*history.Side
	}{{"A", &s.A}, {"B", &s.B}} {
		if side.Oversubscribed > 0 {
			out.Say(fmt.Sprintf("Ranks shared cores in %d of %s of %s: times are uncertain.", side.Oversubscribed, text.CountOf(len(side.Runs), "run"), side.letter))
		}
	}
}

// changeOf returns the row of a change between versions.
func changeOf(c *history.Change) changed {
	units := map[aggregate.MeasureName]CellUnit{history.Time: Ns, history.Bytes: Bytes}
	r := changed{name: c.Name, call: c.Call, callers: labels(c.Callers), measure: string(c.Measure), unit: cmp.Or(units[c.Measure], Count),
		kind: map[history.ChangeKind]string{history.OfTotal: "total", history.OfCall: "call", history.OfCallSite: "call site"}[c.Of]}
	if c.Was != nil {
		r.lineA = c.Was.Line
	}
	r.a, r.b = spreadCell(r.unit, c.A), spreadCell(r.unit, c.B)
	r.changeOfValue(c.A.Median, c.B.Median)
	if c.Status != aggregate.StatusChanged {
		r.relative.Text = string(c.Status)
	}
	return r
}
