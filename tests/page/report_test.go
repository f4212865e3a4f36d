package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A report is what the tests read of `mpitrace report --json`.
type report struct {
	Jobs []struct {
		Program  string
		Findings []struct{ Rule, Text, Try string }
		Calls    []struct {
			Call     string
			Calls    uint64
			Messages uint64
			Bytes    uint64
			TimeNs   uint64 `json:"time_ns"`
		}
		CallSites []struct {
			Label  string
			Call   string
			Calls  uint64
			TimeNs uint64 `json:"time_ns"`
		}
		Hosts []struct{ Name string }
	}
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
	job := readReport(p, run).Jobs[0]
	p.mentions("main", job.Program)
	for _, f := range job.Findings {
		p.mentions("main", f.Text, f.Try)
	}
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

func (p *tab) checkTimeline(run string) { p.Helper() }
