package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// The lines of a short report on a terminal, and the sizes of its parts.
const (
	shortLines = 25

	verdictLines = 3  // of the verdict, which mostly needs two
	shortName    = 30 // columns of a name
	shortSite    = 44 // and of a call site, in a line with others

	shortFindings = 3
	shortSites    = 5
	shortLosses   = 2 // kinds
	shortJobs     = 3
	shortPrograms = 3
)

// shortLimits are the numbers of entries in the lists of a short report.
type shortLimits struct{ findings, sites, losses, jobs, programs int }

// Short returns the sections of a short report: what matters most of what Of returns, in the same
// words. terminal.Options.Short writes them in at most shortLines lines. Of several jobs, it shows
// the one that used most of the time.
func Short(jobs []*aggregate.Summary, options func(*aggregate.Summary) Options) []Section {
	if len(jobs) == 0 {
		return nil
	}
	job := mostUsedFirst(jobs)[0]
	s := &report{Summary: job, Options: options(job)}
	parts := shortParts{verdict: s.shortVerdict(), findings: s.findings(), sites: s.sites(), run: s.inOneLine(), next: next(s.Summary, s.Options)}
	if len(jobs) > 1 {
		parts.jobs, parts.most = jobTable(jobs), slices.Index(jobs, job)+1
	}
	if s.Programs.Several() {
		parts.programs = programTable(s.Programs)
	}
	parts.losses = slices.Concat(s.Losses, lossesOfRun(s.Missing))
	limits := shortLimits{shortFindings, shortSites, shortLosses, shortJobs, shortPrograms}
	for {
		sections := parts.sections(limits)
		if lines(sections) <= shortLines || !limits.lower() {
			return Finish(sections...)
		}
	}
}

// mostUsedFirst returns jobs by ranks × run time.
func mostUsedFirst(jobs []*aggregate.Summary) []*aggregate.Summary {
	used := func(s *aggregate.Summary) float64 { return float64(s.RanksExpected) * s.WallTimeS }
	return slices.SortedStableFunc(slices.Values(jobs), func(a, b *aggregate.Summary) int { return cmp.Compare(used(b), used(a)) })
}

// lossesOfRun returns what a run lacks that belongs to none of its jobs.
func lossesOfRun(missing []string) []aggregate.Loss {
	var out []aggregate.Loss
	for _, words := range missing {
		out = append(out, aggregate.Loss{Kind: "of the whole run", Count: 1, Texts: 1, Text: words})
	}
	return out
}

// lower makes a report shorter by the entry that is least worth its line. It reports whether there
// was one.
func (l *shortLimits) lower() bool {
	for _, n := range []struct {
		limit *int
		least int
	}{{&l.sites, 3}, {&l.jobs, 2}, {&l.programs, 2}, {&l.losses, 1}, {&l.sites, 1}, {&l.findings, 1}, {&l.jobs, 0}, {&l.programs, 0}, {&l.losses, 0}, {&l.sites, 0}} {
		if *n.limit > n.least {
			*n.limit--
			return true
		}
	}
	return false
}

// shortParts is what a short report shows, before it is cut to its limits.
type shortParts struct {
	jobs     *Table // nil for one job
	most     int    // the number of the job that is shown
	programs *Table // nil for one program
	verdict  Section
	run      Section
	findings Section
	sites    Section
	losses   []aggregate.Loss
	next     []nextCommand
}

func (p *shortParts) sections(limits shortLimits) []Section {
	jobs, which, verdict := Section{ID: "jobs", Title: "Jobs"}, Section{ID: "job", Title: "Job"}, p.verdict
	if p.jobs != nil {
		if limits.jobs > 0 {
			jobs.Add(shortTable(p.jobs, limits.jobs, "job", "program", "ranks", "time_ns", "record"))
		}
		which.Say(fmt.Sprintf("job %d of %s, which used most time (ranks × time):", p.most, text.Count(len(p.jobs.Rows))))
		verdict.Joined = true
	}
	programs := Section{ID: "programs", Title: "Programs", Joined: true}
	if p.programs != nil && limits.programs > 0 {
		programs.Add(shortTable(p.programs, limits.programs, "program", "ranks", "efficiency", "load_balance", "communication_efficiency"))
	}
	next, width := Section{ID: "next", Title: "Next"}, 0
	for _, c := range p.next {
		width = max(width, text.Columns(c.Line))
	}
	for _, c := range p.next {
		next.Toned(Code, c.Line+strings.Repeat(" ", width-text.Columns(c.Line))+"  # "+c.Shows)
	}
	return []Section{jobs, which, verdict, p.run, programs, cutFindings(p.findings, limits.findings), cutSites(p.sites, limits.sites), lossSection(p.losses, limits.losses), next}
}

// shortVerdict returns the section of the verdict.
func (s *report) shortVerdict() Section {
	out := Section{ID: "verdict", Title: "Verdict"}
	out.Say(s.judged().Verdict)
	for _, b := range out.Blocks {
		b.Text.Lines = verdictLines
	}
	return out
}

// inOneLine returns the section of what ran.
func (s *report) inOneLine() Section {
	out := Section{ID: "run", Title: "Run", Joined: true}
	short := func(name string) string { return text.First(text.Line(name), shortName, false) }
	what := short(s.Program)
	if s.Programs.Several() {
		what = text.CountOf(len(s.Programs), "program")
	}
	words := fmt.Sprintf("%s on %d of %d ranks, %s with start and end", what, s.RanksRecorded, s.RanksExpected, lifetime(s.WallTimeS))
	for _, more := range []string{short(profile.LibraryName(s.Library)), s.hosts()} {
		if more != "" {
			words += ", " + more
		}
	}
	out.Say(words)
	return out
}

// cutFindings returns the first findings, and the number of the others.
func cutFindings(s Section, limit int) Section {
	out := Section{ID: s.ID, Title: s.Title}
	for _, b := range s.Blocks {
		if b.Findings == nil {
			continue
		}
		all := *b.Findings
		first := all[:min(limit, len(all))]
		out.Blocks = append(out.Blocks, Block{Findings: &first})
		if more := len(all) - len(first); more > 0 {
			out.Say(text.CountOf(more, "more finding"))
		}
		return out
	}
	out.Blocks = slices.Clone(s.Blocks[:1]) // without what to record next, which Next has
	return out
}

// cutSites returns the first call sites, in one line each.
func cutSites(s Section, limit int) Section {
	out := Section{ID: s.ID, Title: s.Title}
	for _, b := range s.Blocks {
		if b.Table != nil && limit > 0 {
			out.Add(shortTable(b.Table, limit, "callsite", "call", "calls", "time_ns", "share_of_mpi", "max_ns"))
		}
	}
	return out
}

// shortTable returns a table with some of its columns, and its first rows in one line each. Its
// name says how many rows there are.
func shortTable(t *Table, limit int, keys ...string) *Table {
	out := &Table{ID: t.ID, Name: t.Name, Limit: -1}
	var kept []int
	for i, c := range t.Columns {
		if slices.Contains(keys, c.Key) {
			out.Columns, kept = append(out.Columns, c), append(kept, i)
		}
	}
	shown := 0
	for i := range t.Rows {
		if t.Rows[i].Detail {
			continue
		}
		if shown++; shown > limit {
			continue
		}
		row := Row{Place: t.Rows[i].Place}
		for _, k := range kept {
			cell := t.Rows[i].Cells[k]
			if t.Columns[k].Unit == Words {
				cell.Text = shortLabel(cell.Text)
			}
			row.Cells = append(row.Cells, cell)
		}
		out.Rows = append(out.Rows, row)
	}
	if name := t.Name; shown > limit {
		if name == "" {
			name = t.Columns[0].Head
		}
		out.Name = fmt.Sprintf("%s (%d of %s)", name, limit, text.Count(shown))
	}
	return out
}

// shortLabel shortens a call site or a name, whatever it consists of, so that the other columns of
// its table have room.
func shortLabel(label string) string {
	return text.First(text.Site(text.Line(label), shortSite, false), shortSite, false)
}

// lossSection returns what the record lacks, by kind.
func lossSection(kinds []aggregate.Loss, limit int) Section {
	out := Section{ID: "problems", Title: "What does not add up", Joined: true}
	sum, list := 0, []string{}
	for i, k := range kinds {
		sum += k.Texts
		if i < limit {
			words := k.Text
			if k.Texts > 1 {
				words = fmt.Sprintf("1 of %s: %s", text.Count(k.Texts), words)
			}
			list = append(list, words)
		}
	}
	if len(kinds) <= limit {
		problems(&out, list)
		return out
	}
	head := fmt.Sprintf("%s %s of %s, all with --full", problemsHead, text.CountOf(sum, "problem"), text.CountOf(len(kinds), "kind"))
	if limit == 0 {
		out.Toned(Bad, head)
	} else {
		out.List(problemList(head+":", list))
	}
	return out
}

// lines returns the number of lines that terminal.Options.Short needs for sections.
func lines(sections []Section) int {
	n := 0
	for i := range sections {
		s := &sections[i]
		if len(s.Blocks) == 0 {
			continue
		}
		if n > 0 && !s.Joined {
			n++
		}
		for k := range s.Blocks {
			switch b := &s.Blocks[k]; {
			case b.Detail:
			case b.Findings != nil:
				n += 2 * len(*b.Findings)
			case b.List != nil:
				n += 1 + len(b.List.Items)
			case b.Table != nil:
				n += 1 + len(b.Table.Rows)
			case b.Text != nil:
				n += max(1, b.Text.Lines)
			default:
				n++
			}
		}
	}
	return n
}
