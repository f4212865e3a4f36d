package views_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// shortCase is what a short report is made of.
type shortCase struct {
	jobs    []*aggregate.Summary
	options views.Options
}

func (c shortCase) of(*aggregate.Summary) views.Options { return c.options }

// shortCases returns jobs of all kinds: with each fault, of 1 and of 1,000 ranks, killed, untimed, with
// losses of ten kinds, and each of them with names of 10,000 characters.
var shortCases = sync.OnceValue(func() map[string]shortCase {
	summaries := map[string]*aggregate.Summary{
		"one rank": synthetic(synth.NewStencil(1)), "thousand": synthetic(synth.NewStencil(1000)), "fixture": aggregate.New(jobs.Fixture()).Summary(),
		"hung": aggregate.New(jobs.Hung()).Summary(), "killed": aggregate.New(jobs.Killed("k")).Summary(), "untimed": aggregate.New(jobs.Untimed()).Summary(),
		"sampled": aggregate.New(jobs.Sampled()).Summary(), "none": aggregate.New(nil).Summary(),
	}
	for _, name := range synth.FaultNames {
		job, err := synth.NewFaulty(name, 1000, false)
		if err != nil {
			panic(err)
		}
		summaries[name] = synthetic(job)
	}
	cases := map[string]shortCase{}
	var all []*aggregate.Summary
	for name, s := range summaries {
		all = append(all, s)
		o := views.Options{Top: 10, Path: "mpitrace-application-20260102-150405", Info: &rundir.Info{Command: []string{"mpirun", "-n", "1000", "./application", "--a-long-option"}}}
		cases[name] = shortCase{[]*aggregate.Summary{s}, o}
		o.Missing = []string{"the programs a, b and c use another MPI", "calls are missing"}
		lossy := *s
		lossy.Losses = slices.Clone(s.Losses)
		for i := range 10 {
			lossy.Losses = append(lossy.Losses, aggregate.Loss{Kind: fmt.Sprint("kind ", i), Count: 1e18, Texts: 1000, Text: strings.Repeat("words ", 50)})
		}
		cases[name+", losses"] = shortCase{[]*aggregate.Summary{&lossy}, o}
		for what, name10k := range hostileNames {
			cases[name+", "+what] = shortCase{[]*aggregate.Summary{hostile(&lossy, name10k)}, o}
		}
	}
	slices.SortFunc(all, func(a, b *aggregate.Summary) int { return strings.Compare(a.Program, b.Program) })
	cases["jobs"] = shortCase{all, cases["thousand, losses"].options}
	cases["hostile jobs"] = shortCase{slices.Repeat([]*aggregate.Summary{cases["killed, letters"].jobs[0], cases["hot-rank, letters"].jobs[0]}, 20), cases["jobs"].options}
	return cases
})

var hostileNames = map[string]string{"letters": strings.Repeat("n", 10_000), "controls": strings.Repeat("\x1b[2J\n", 2000), "quotes": strings.Repeat(`"\<`, 3333),
	"wide": strings.Repeat("名", 10_000), "invalid": strings.Repeat("\xff", 10_000), "numbers": strings.Repeat("123,", 2500), "spaces": strings.Repeat("a  ", 3333)}

func synthetic(job profile.Source) *aggregate.Summary {
	j, err := aggregate.Of(job, aggregate.Options{})
	if err != nil {
		panic(err)
	}
	return j.Summary()
}

// hostile returns a summary whose job chose a name for all that has one.
func hostile(s *aggregate.Summary, name string) *aggregate.Summary {
	out := *s
	out.Program, out.Library = name, name
	out.Hosts = slices.Repeat([]aggregate.Host{{Name: name, Ranks: 1}}, 10)
	out.CallSites = slices.Clone(s.CallSites)
	for i := range out.CallSites {
		c := &out.CallSites[i]
		c.Label, c.Function, c.Module = name+"+0x1 ("+name+")", name, name
		c.Callers = slices.Repeat([]aggregate.NamedPlace{c.NamedPlace}, 5)
	}
	out.Losses = slices.Clone(s.Losses)
	for i := range out.Losses {
		out.Losses[i].Text = name
	}
	return &out
}

// TestShortSize checks that a short report never has more than 25 lines of 100 columns, on any
// terminal.
func TestShortSize(t *testing.T) {
	for name, c := range shortCases() {
		sections := views.Short(c.jobs, c.of)
		want := views.LinesOf(sections)
		for _, o := range []terminal.Options{{Width: 100}, {Width: 80}, {Width: 40}, {Width: 100, ASCII: true}, {Width: 40, ASCII: true}} {
			o.Short = true
			var b bytes.Buffer
			testenv.NoError(t, terminal.Write(&b, sections, o))
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if len(lines) > want || len(lines) > views.MostLines {
				t.Errorf("%s, %+v: %d lines, counted %d\n%s", name, o, len(lines), want, b.String())
			}
			for _, line := range lines {
				if n := text.Columns(line); n > o.Width && !strings.HasPrefix(line, "  mpitrace ") || n > 100 {
					t.Errorf("%s, %+v: a line of %d columns: %s", name, o, n, line)
				}
			}
		}
	}
}

// TestShortIsOfFull checks that what the short report says is in the full one: the findings and
// call sites in the same order, each cell, and the first problems.
func TestShortIsOfFull(t *testing.T) {
	for name, c := range shortCases() {
		if len(c.jobs) > 1 || strings.Contains(name, ", ") {
			continue
		}
		full := blocksOf(views.Of(c.jobs[0], c.options))
		for id, short := range blocksOf(views.Short(c.jobs, c.of)) {
			for i := range short {
				switch b := &short[i]; {
				case b.Findings != nil:
					all := *find(t, full[id], func(b *views.Block) bool { return b.Findings != nil }).Findings
					testenv.Equal(t, all[:len(*b.Findings)], *b.Findings)
				case b.Table != nil:
					checkRows(t, name, find(t, full[id], func(f *views.Block) bool { return f.Table != nil && f.Table.ID == b.Table.ID }).Table, b.Table)
				case b.List != nil:
					all := find(t, full[id], func(b *views.Block) bool { return b.List != nil }).List
					testenv.Equal(t, all.Items[:len(b.List.Items)], b.List.Items)
				}
			}
		}
	}
}

func blocksOf(sections []views.Section) map[string][]views.Block {
	out := map[string][]views.Block{}
	for i := range sections {
		out[sections[i].ID] = append(out[sections[i].ID], sections[i].Blocks...)
	}
	return out
}

func find(t *testing.T, blocks []views.Block, is func(*views.Block) bool) *views.Block {
	t.Helper()
	for i := range blocks {
		if is(&blocks[i]) {
			return &blocks[i]
		}
	}
	t.Fatal("the full report has no such block")
	return nil
}

// checkRows checks that the rows of a table are the first ones of another.
func checkRows(t *testing.T, name string, full, short *views.Table) {
	t.Helper()
	rows := slices.DeleteFunc(slices.Clone(full.Rows), func(r views.Row) bool { return r.Detail })
	if want := min(len(rows), 5); len(short.Rows) > want || len(short.Rows) == 0 {
		t.Errorf("%s: %d of %d rows", name, len(short.Rows), len(rows))
	}
	for i, row := range short.Rows {
		for k, c := range short.Columns {
			column := slices.IndexFunc(full.Columns, func(f views.Column) bool { return f.Key == c.Key })
			if got, want := row.Cells[k], rows[i].Cells[column]; got != want {
				t.Errorf("%s: row %d, %s: %v, want %v", name, i, c.Key, got, want)
			}
		}
	}
}

// TestShortCounts checks that what a short report leaves out is counted.
func TestShortCounts(t *testing.T) {
	c := shortCases()["hot-rank, losses"]
	s := *c.jobs[0]
	s.Losses = append(slices.Clone(s.Losses), aggregate.Loss{Kind: "own", Count: 5, Texts: 5, Text: "words"})
	problems := 0
	for _, l := range s.Losses {
		problems += l.Texts
	}
	var b bytes.Buffer
	testenv.NoError(t, terminal.Write(&b, views.Short([]*aggregate.Summary{&s}, c.of), terminal.Options{Width: 100, Short: true}))
	want := fmt.Sprintf("what does not add up: %s problems of %d kinds, all with --full:", text.Count(problems+2), len(s.Losses)+2)
	if !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
	if all := findings.Of(&s, nil); len(all) > 3 && !strings.Contains(b.String(), fmt.Sprintf("%d more finding", len(all)-3)) {
		t.Errorf("of %d findings:\n%s", len(all), b.String())
	}
}

// TestBriefSize checks that the short report for programs is valid JSON of at most 8 KB, and that
// it counts what was left out.
func TestBriefSize(t *testing.T) {
	cases := maps.Clone(shortCases())
	ranks := make([]int, 500_000)
	for i := range ranks {
		ranks[i] = 2 * i // a set without ranges: 3.4 MB
	}
	s := *cases["oversubscribed"].jobs[0]
	s.Oversubscribed = slices.Clone(s.Oversubscribed[:1])
	s.Oversubscribed[0].Ranks = profile.RankSetOf(ranks...)
	if found := findings.Of(&s, nil); !slices.ContainsFunc(found, func(f findings.Finding) bool { return f.Ranks.Len() == len(ranks) }) {
		t.Errorf("no finding about %d ranks", len(ranks))
	}
	cases["many ranks"] = shortCase{[]*aggregate.Summary{&s}, cases["imbalance"].options}
	path := cases["jobs"]
	path.options.Path = strings.Repeat(`/"\`, 1300)
	cases["long path"] = path
	for name, c := range cases {
		b, err := views.BriefJSON(1, c.options.Path, c.jobs, c.of)
		testenv.NoError(t, err)
		var got views.BriefDocument
		if err := json.Unmarshal(b, &got); err != nil || len(b) > 8192 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		if len(got.Jobs) == 0 || len(got.Jobs)+got.JobsLeftOut != len(c.jobs) {
			t.Errorf("%s: %d jobs and %d more of %d", name, len(got.Jobs), got.JobsLeftOut, len(c.jobs))
		}
		for _, j := range got.Jobs {
			if len(j.Findings)+j.FindingsLeftOut > 7 || len(j.Findings) == 0 && j.FindingsLeftOut > 0 || len(j.Next) == 0 || j.Findings == nil || j.Completeness.Losses == nil || j.Verdict == "" {
				t.Errorf("%s: %+v", name, j)
			}
		}
		if shortened := bytes.Count(b, []byte("…\"")); got.Shortened != shortened {
			t.Errorf("%s: %d texts are shortened, %d are counted", name, shortened, got.Shortened)
		}
	}
}

// TestBriefIsOfReport checks that a job that fits is not shortened.
func TestBriefIsOfReport(t *testing.T) {
	for _, name := range []string{"imbalance", "killed", "lost", "thousand"} {
		c := shortCases()[name]
		s := c.jobs[0]
		b, err := views.BriefJSON(1, "run", c.jobs, c.of)
		testenv.NoError(t, err)
		var got views.BriefDocument
		testenv.NoError(t, json.Unmarshal(b, &got))
		j := got.Jobs[0]
		want := findings.Of(s, nil)
		if len(j.Findings) != len(want) || got.Shortened+got.JobsLeftOut+j.FindingsLeftOut+j.Completeness.LossesLeftOut > 0 {
			t.Fatalf("%s: %s", name, b)
		}
		for i, f := range j.Findings {
			w := want[i]
			ranks, _ := w.Ranks.MarshalText()
			if f.Rule != w.Rule || f.Share != w.Share || f.Of != w.Of || f.Callsite != w.Callsite || f.Text != w.Text || f.Try != w.Try ||
				f.Ranks != string(ranks) || f.RanksNumber != w.Ranks.Len() {
				t.Errorf("%s: %+v, want %+v", name, f, w)
			}
		}
		c1 := j.Completeness
		if c1.RanksExpected != s.RanksExpected || c1.RanksRecorded != s.RanksRecorded || c1.RanksFinalized != s.RanksFinalized || len(c1.Losses) != len(s.Losses) {
			t.Errorf("%s: %+v", name, c1)
		}
	}
}

// TestShortText checks that a text takes the lines that it may have, and no more.
func TestShortText(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("computing 55 %, ", 30))
	for lines, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 3} {
		section := views.Section{Blocks: []views.Block{{Text: &views.Text{Text: words, Lines: lines}}}}
		var b bytes.Buffer
		testenv.NoError(t, terminal.Write(&b, []views.Section{section}, terminal.Options{Width: 80, Short: true}))
		if n := strings.Count(b.String(), "\n"); n != want || n != views.LinesOf([]views.Section{section}) || !strings.HasSuffix(b.String(), "…\n") {
			t.Errorf("%d lines: %d in\n%s", lines, n, b.String())
		}
	}
}
