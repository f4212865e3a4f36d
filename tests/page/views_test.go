package page

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

// TestReceivesOff compares the views of a run whose nonblocking receives were not followed:
// what these received is not known, and is 0 in no view. A Wait receives nothing of its own.
func TestReceivesOff(t *testing.T) {
	run := record(t, []string{"--receives", "off"}, 2, compile(t, "tests/programs/receives_off.c"))
	p, _ := open(t, run)
	p.checkViews(run)
	calls := p.table("calls")
	received := map[string]string{}
	for i, call := range calls.column(p, "call") {
		received[call] = calls.column(p, "received")[i]
	}
	for call, want := range map[string]string{"Irecv": "–", "Wait": "0 B", "Send": "0 B", "Recv": "64 B"} {
		if received[call] != want {
			t.Errorf("%s received %s, want %s", call, received[call], want)
		}
	}
}

// TestSeveralJobs compares the views of each job of a run.
func TestSeveralJobs(t *testing.T) {
	job := "mpirun.openmpi --oversubscribe -n 2 " + compile(t, halo)
	dir := filepath.Join(t.TempDir(), "run")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(scratch, "mpitrace"), "run", "-o", dir, "--", "sh", "-c", job+" && "+job+" -s 7").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, _ := open(t, dir)
	p.checkViews(dir)
}

// TestDiffViews compares the views of the differences between two runs.
func TestDiffViews(t *testing.T) {
	a, b := record(t, nil, 2, compile(t, halo), "-n", "96"), record(t, nil, 3, compile(t, halo), "-n", "192")
	file := filepath.Join(t.TempDir(), "diff.html")
	command(t, "mpitrace", "diff", "--top", "all", "--html", file, a, b)
	p := openTab(t, file)
	p.checkForms("diff", a, b)
	p.pictures("diff")
}

// checkViews compares the three forms of a report: the words of the text are those of the
// sections in the JSON, in the same order, and the page shows all texts of the sections.
func (p *tab) checkViews(run string) {
	p.Helper()
	p.checkForms("report", run)
}

// checkForms does the same for another command and what it shows.
func (p *tab) checkForms(args ...string) {
	p.Helper()
	args = append(args, "--top", "all") // which makes report print all
	var r struct {
		Jobs     []struct{ Sections []views.Section }
		Sections []views.Section // of no job
	}
	if err := json.Unmarshal([]byte(command(p, "mpitrace", append(args, "--json")...)), &r); err != nil || len(r.Jobs)+len(r.Sections) == 0 {
		p.Fatalf("%d jobs, %v", len(r.Jobs), err)
	}
	printed := command(p, "env", append([]string{"LC_ALL=C.UTF-8", filepath.Join(scratch, "mpitrace")}, args...)...)
	var want []string
	for _, s := range r.Sections {
		want = append(want, wordsOf(&s)...)
		p.checkSection(&s)
	}
	for i, job := range r.Jobs {
		if len(r.Jobs) > 1 {
			p.script(`document.querySelectorAll("[data-table=jobs] tbody button")[%d].click()`, i)
		}
		for _, s := range job.Sections {
			want = append(want, wordsOf(&s)...)
			p.checkSection(&s)
		}
	}
	got := strings.Fields(howToSeeAll.ReplaceAllString(withoutMatrix(printed), "$1"))
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			p.Errorf("the text has … %q, the JSON … %q", around(got, i), around(want, i))
			break
		}
	}
}

// howToSeeAll is what a terminal adds to the number of entries that a table leaves out.
var howToSeeAll = regexp.MustCompile(`(?m)^(and [0-9,]+ more .*) \(.*\)$`)

// around returns the words of a text at an index.
func around(words []string, i int) string {
	return strings.Join(words[min(max(i-6, 0), len(words)):min(i+6, len(words))], " ")
}

// withoutMatrix removes the pictures of matrices from a text. They stand under their title and
// end before an empty line.
func withoutMatrix(text string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		inside = inside && line != "\n" || strings.HasPrefix(line, "bytes between ranks (")
		if !inside {
			out.WriteString(line)
		}
	}
	return out.String()
}

// wordsOf returns the words that a terminal shows of a section.
func wordsOf(s *views.Section) (words []string) {
	say := func(format string, args ...any) {
		words = append(words, strings.Fields(fmt.Sprintf(format, args...))...)
	}
	headed := s.Headed
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if headed && !b.Detail {
			say("%s", s.Title)
			headed = false
		}
		switch {
		case b.Detail:
		case b.Text != nil:
			say("%s", b.Text.Text)
		case b.Fact != nil:
			say("%s: %s", b.Fact.Name, b.Fact.Value)
		case b.List != nil:
			say("%s", b.List.Head)
			say("%s", strings.Join(itemTexts(b.List.Items), " "))
		case b.Table != nil:
			say("%s", strings.Join(shownTexts(b.Table), " "))
		case b.Findings != nil:
			for n, f := range *b.Findings {
				say("%d. %s", n+1, f.Rule)
				if f.Share != "" {
					words[len(words)-1] += ","
					say("%s", f.Share)
				}
				if f.Uncertain != "" {
					say("(uncertain: %s)", f.Uncertain)
				}
				say("%s Try: %s", f.Text, f.Try)
			}
		}
	}
	return words
}

// shownTexts returns the texts of a table without its details.
func shownTexts(t *views.Table) (texts []string) {
	heads := slices.Clone(t.Columns)
	if t.Name != "" {
		heads[0].Head = t.Name
	}
	for _, c := range heads {
		if !c.Detail {
			texts = append(texts, c.Head)
		}
	}
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r views.Row) bool { return r.Detail })
	for k, row := range rows {
		for i, c := range row.Cells {
			if !t.Columns[i].Detail && i >= row.Same {
				texts = append(texts, c.Text)
			}
		}
		if k+1 == len(rows) || rows[k+1].Same == 0 {
			texts = append(texts, callerTexts(row.Callers)...)
		}
		texts = append(texts, row.Below)
	}
	return append(texts, restText(t))
}

// restText says how many entries are not among the rows of a table.
func restText(t *views.Table) string {
	if t.Rest == 0 {
		return ""
	}
	return "and " + text.CountOf(t.Rest, "more "+t.Noun)
}

func callerTexts(callers []string) (texts []string) {
	for _, c := range callers {
		texts = append(texts, "← "+c)
	}
	return texts
}

func itemTexts(items []views.ListItem) (texts []string) {
	for _, i := range items {
		texts = append(append(append(texts, i.Text), callerTexts(i.Callers)...), itemTexts(i.Items)...)
	}
	return texts
}

// firstScreen holds the selectors of the sections that are on the first screen.
var firstScreen = map[string]string{"verdict": ".verdict", "run": "header.head", "findings": "section.stands-out", "efficiency": "section.efficiency", "matrix": "section.pairs",
	"jobs": "header ~ .columns", "sides": "header.head", "efficiency-a": "section.efficiency", "efficiency-b": "section.efficiency",
	"totals": "section.stands-out", "limits": "section.stands-out", "largest": "section.bars", "overview": "header.head"}

// checkSection requires that the page shows all texts of a section, in their order.
func (p *tab) checkSection(s *views.Section) {
	p.Helper()
	selector := firstScreen[s.ID]
	if selector == "" {
		selector = "#" + s.ID
	}
	// Text nodes, of which some stand between texts of the section: names of buttons and axes.
	shown := eval[[]string](p, fmt.Sprintf(`((part) => {
		if (!part) return [];
		for (const b of part.querySelectorAll(".table button")) while (b.textContent.startsWith("Show more") && !b.hidden) b.click();
		const texts = [], walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) texts.push(walker.currentNode.data);
		return texts.map((t) => t.trim()).filter(Boolean);
	})(document.querySelector(%q))`, selector))
	for _, want := range textsOf(s) {
		if want = strings.TrimSpace(want); want == "" {
			continue
		}
		i := slices.Index(shown, want)
		if i < 0 {
			p.Errorf("section %s of the page lacks %q, or does not have it in its place: then come %.200q", s.ID, want, shown)
			return
		}
		shown = shown[i+1:]
	}
}

// textsOf returns all texts of a section in the order in which the page shows them.
func textsOf(s *views.Section) (texts []string) {
	say := func(more ...string) { texts = append(texts, more...) }
	for i := range s.Blocks {
		b := &s.Blocks[i]
		switch {
		case b.Text != nil:
			say(b.Text.Text)
		case b.Fact != nil:
			say(b.Fact.Name, b.Fact.Value)
		case b.List != nil:
			say(b.List.Head)
			say(itemTexts(b.List.Items)...)
		case b.Table != nil:
			say(tableTexts(b.Table)...)
		case b.Findings != nil:
			for n, f := range *b.Findings {
				say(fmt.Sprint(n+1), f.Rule, f.Share, f.Text, "Try:", f.Try)
				if f.Uncertain != "" {
					say("Uncertain: " + f.Uncertain)
				}
			}
		case b.Bar != nil:
			for _, part := range b.Bar.Parts {
				say(part.Name + " " + part.Text)
			}
		case b.Drawing != nil:
			for _, c := range b.Drawing.Columns {
				say(c.Head)
			}
		}
	}
	return texts
}

func tableTexts(t *views.Table) (texts []string) {
	texts = append(texts, t.Name)
	for _, c := range t.Columns {
		texts = append(texts, c.Head)
	}
	for _, row := range t.Rows {
		texts = append(append(append(texts, row.Cells[0].Text), callerTexts(row.Callers)...), row.Below)
		for _, c := range row.Cells[1:] {
			texts = append(texts, c.Text)
		}
	}
	return append(texts, restText(t))
}
