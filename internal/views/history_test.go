package views_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// historyOf returns the history of three runs of each of two versions on 2, 4 and 8 ranks.
// The Allreduce of the second version takes 80 instead of 10 ms.
func historyOf(t *testing.T, name string) *history.History {
	t.Helper()
	h := &history.History{}
	for v, ns := range []float64{1e7, 8e7} {
		for _, ranks := range []int{2, 4, 8} {
			for i := range 3 {
				s := synth.Scaling{Name: name, Version: []string{"aa", "bb"}[v], Useful: synth.Growth{Ns: 1e9, Exponent: -1},
					Start: int64(time.Duration(v)*time.Hour + time.Duration(i)*time.Minute), Sites: []synth.Growth{{Call: "Allreduce", Line: 10, Ns: ns}}}
				r, _, err := history.RunOf(s.Job(ranks), aggregate.Options{})
				if err != nil {
					t.Fatal(err)
				}
				r.Dir = "runs/" + name
				h.Runs = append(h.Runs, r)
			}
		}
	}
	h.Skipped = []history.Skipped{{Dir: name, Why: name, Damaged: true}}
	if err := h.Compute(func(a, b *history.PastRun) (*aggregate.Diff, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHistoryText requires numbers that follow by arithmetic, and lines that fit.
func TestHistoryText(t *testing.T) {
	h := historyOf(t, "app")
	h.Judge(aggregate.Limits{aggregate.InTime: 100})
	var text bytes.Buffer
	if err := write(&text, views.History(h, views.HistoryView{Top: -1}), Options{ASCII: true, Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"runs: 18\n",
		"left out: app: app",
		// 1 s / 2 and 1 s / 8 outside MPI, 10 ms in MPI: 500 / 510 and 125 / 135
		"2                   98.0 %       100.0 %         98.0 %              100.0 %             98.0 %\n",
		"8                   92.6 %       100.0 %         92.6 %              100.0 %             92.6 %\n",
		// The same time on 2 ranks; 10 / 135 of the run on 8.
		"step app.c:10  Allreduce  +0.00 +-0.00        10.0 ms  10.0 ms       7.4 %\n", "outside MPI               -1.00 +-0.00",
		// 2 × (80 - 10) ms
		"step app.c:10  Allreduce  call site  time     20.0 ms (0 ns)  160 ms (0 ns)   +140 ms  +700.0 %\n",
		"Allreduce                                 time     20.0 ms  160 ms  +140 ms  +700.0 %   +100 %\n",
		"more:\n  mpitrace diff runs/app runs/app\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(line); n > 101 && !prose(line) || strings.HasSuffix(line, " \n") {
			t.Errorf("%d characters: %q", n, line)
		}
	}
}

// prose reports whether a line is in no table.
func prose(line string) bool { return !strings.Contains(line, "  ") }

// TestHistoryTextIsHarmless requires that names cannot control a terminal, and that they
// are no markup in Markdown.
func TestHistoryTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\r\a\u202e\xff\u0085|<b>*x*[y](z)`"
	h := historyOf(t, evil)
	for name, write := range map[string]func() (string, error){
		"text": func() (string, error) {
			var b bytes.Buffer
			err := write(&b, views.History(h, views.HistoryView{Top: -1}), Options{})
			return b.String(), err
		},
		"markdown": func() (string, error) {
			var b bytes.Buffer
			err := terminal.WriteMarkdown(&b, views.History(h, views.HistoryView{Top: -1, ChangesFirst: true}), terminal.Options{})
			return b.String(), err
		},
	} {
		text, err := write()
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range text {
			if c < ' ' && c != '\n' || c == '\u202e' || c == '\u0085' || c == utf8.RuneError {
				t.Fatalf("%s: %q at %d", name, c, i)
			}
		}
		text = regexp.MustCompile(`(?m)^    .*$`).ReplaceAllString(text, "") // blocks of code
		if markup := strings.Contains(text, "<b>") || strings.Contains(text, "*x*") || strings.Contains(text, "[y]"); markup != (name == "text") {
			t.Errorf("%s:\n%s", name, text)
		}
		for line := range strings.Lines(text) {
			if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); name == "markdown" && strings.HasPrefix(line, "| runs/") && cells != 13 {
				t.Errorf("%d bars in %q", cells, line)
			}
		}
	}
}
