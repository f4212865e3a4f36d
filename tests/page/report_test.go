package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A report is what the tests read of `mpitrace report --json`.
type report struct {
	Jobs []jobReport
}

type jobReport struct {
	Program   string
	Findings  []struct{ Rule, Text, Try string }
	Calls     []callReport
	CallSites []callReport
	Ranks     []rankReport
}

type callReport struct {
	Call, Label string
	Calls       uint64
	TimeNs      uint64 `json:"time_ns"`
	MaxNs       uint64 `json:"max_ns"`
	Sent        struct{ Bytes, Messages uint64 }
}

type rankReport struct {
	Rank             uint64
	ApplicationTimeS float64 `json:"application_time_s"`
	MPITimeS         float64 `json:"mpi_time_s"`
}

func readReport(t testing.TB, run string) (r report) {
	t.Helper()
	if err := json.Unmarshal([]byte(command(t, "mpitrace", "report", "--json", run)), &r); err != nil || len(r.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(r.Jobs), err)
	}
	return r
}

// open makes the page of a run and opens it.
func open(t *testing.T, run string) (p *tab, size int64) {
	t.Helper()
	testenv.Need(t, "chromium")
	file := filepath.Join(t.TempDir(), "page.html")
	command(t, "mpitrace", "report", run, "--html", file)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return openTab(t, file), info.Size()
}

// text returns the text of an element as it is seen, with single spaces.
func (p *tab) text(selector string) string {
	p.Helper()
	return strings.Join(strings.Fields(eval[string](p, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))), " ")
}

// mentions requires that an element contains texts.
func (p *tab) mentions(selector string, texts ...string) {
	p.Helper()
	all := p.text(selector)
	for _, want := range texts {
		if !strings.Contains(all, strings.Join(strings.Fields(want), " ")) {
			p.Errorf("%s lacks %q", selector, want)
		}
	}
}

// checkReport compares the page with the report in JSON.
func (p *tab) checkReport(run string) {
	p.Helper()
	job := &readReport(p, run).Jobs[0]
	p.mentions("main", job.Program)
	for _, f := range job.Findings {
		p.mentions("main", f.Text, f.Try)
	}
	p.checkCalls(job)
	p.checkSites(job)
	p.checkRanks(job)
}

func columnOf[R, V any](rows []R, of func(R) V) (values []V) {
	for _, r := range rows {
		values = append(values, of(r))
	}
	return values
}

func (p *tab) checkCalls(job *jobReport) {
	p.Helper()
	const caption = "calls"
	if len(job.Calls) == 0 {
		return
	}
	shown := p.table(caption).column(p, "call")
	if want := columnOf(job.Calls, func(c callReport) string { return c.Call }); !slices.Equal(shown, want) {
		p.Errorf("%q, want %q", shown, want)
	}
	p.checkTable(caption,
		wantedColumn{"calls", columnOf(job.Calls, func(c callReport) uint64 { return c.Calls })},
		wantedColumn{"time", columnOf(job.Calls, func(c callReport) uint64 { return c.TimeNs })},
		wantedColumn{"longest", columnOf(job.Calls, func(c callReport) uint64 { return c.MaxNs })},
		wantedColumn{"msgs sent", columnOf(job.Calls, func(c callReport) uint64 { return c.Sent.Messages })},
		wantedColumn{"sent", columnOf(job.Calls, func(c callReport) uint64 { return c.Sent.Bytes })})
	if len(job.Calls) > 5 {
		p.checkFilter(caption, "call", "all")
		p.checkFilter(caption, "call", "no such call")
	}
}

func (p *tab) checkSites(job *jobReport) {
	p.Helper()
	if len(job.CallSites) == 0 {
		return
	}
	p.checkTable("sites",
		wantedColumn{"calls", columnOf(job.CallSites, func(c callReport) uint64 { return c.Calls })},
		wantedColumn{"time", columnOf(job.CallSites, func(c callReport) uint64 { return c.TimeNs })})
	if len(job.CallSites) > 5 {
		p.checkFilter("sites", "call", "wait")
	}
}

// checkRanks compares the table of ranks, which lists no blocks of ranks.
func (p *tab) checkRanks(job *jobReport) {
	p.Helper()
	ns := func(seconds float64) uint64 { return uint64(1e9*seconds + 0.5) }
	p.checkTable("ranks",
		wantedColumn{"rank", columnOf(job.Ranks, func(r rankReport) uint64 { return r.Rank })},
		wantedColumn{"application", columnOf(job.Ranks, func(r rankReport) uint64 { return ns(r.ApplicationTimeS) })},
		wantedColumn{"in MPI", columnOf(job.Ranks, func(r rankReport) uint64 { return ns(r.MPITimeS) })})
}

// pictures takes pictures of all sections in light and dark, at two widths.
func (p *tab) pictures(name string) {
	p.Helper()
	if os.Getenv("MPITRACE_PAGE_PICTURES") == "" {
		return
	}
	for _, width := range []int64{1280, 2560} {
		p.resize(width, width*9/16)
		for _, scheme := range []string{"light", "dark"} {
			p.prefer(scheme)
			for _, section := range append([]string{""}, eval[[]string](p, `[...document.querySelectorAll("section[id]")].map((s) => s.id)`)...) {
				p.script(`(document.getElementById(%q) || document.body).scrollIntoView()`, section)
				p.picture(fmt.Sprintf("%s-%d-%s-%s", name, width, scheme, section))
			}
		}
	}
	p.resize(1280, 900)
	p.prefer("light")
	p.script(`scrollTo(0, 0)`)
}
