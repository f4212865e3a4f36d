package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// An analysis is what the tests read of `mpitrace analyze --json`.
type analysis struct {
	Patterns []struct {
		Pattern string
		Count   uint64
		TimeS   float64 `json:"time_s"`
	}
	Matching struct{ Matched uint64 }
}

// readAnalysis reads the analysis of a run of one job.
func readAnalysis(t testing.TB, run string) (a analysis) {
	t.Helper()
	if err := json.Unmarshal([]byte(command(t, "mpitrace", "analyze", "--json", run)), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// checkWaits compares the waits by kind with the analysis.
func (p *tab) checkWaits(run string) {
	p.Helper()
	a := readAnalysis(p, run)
	p.mentions("#matching", fmt.Sprintf("matched: %s of", commas(a.Matching.Matched)))
	if len(a.Patterns) == 0 {
		p.mentions("#waits", "no rank waited for another")
		return
	}
	shown := p.table("wait_patterns")
	for i, kind := range a.Patterns {
		if name := shown.column(p, "waits")[i]; name != kind.Pattern {
			p.Errorf("wait %d is %s, want %s", i, name, kind.Pattern)
		}
		if n := number(shown.column(p, "number")[i]); n != kind.Count {
			p.Errorf("%s: %d waits, want %d", kind.Pattern, n, kind.Count)
		}
		if ns, want := number(shown.column(p, "time")[i]), uint64(1e9*kind.TimeS+0.5); ns != want {
			p.Errorf("%s: %d ns, want %d", kind.Pattern, ns, want)
		}
	}
}

// timeline is the expression of the timeline's picture.
const timeline = `document.querySelector("canvas.timeline")`

// checkTimeline compares the messages of the timeline with profile2mat, and moves through
// it with the mouse and the keyboard.
func (p *tab) checkTimeline(run string, ranks int) {
	p.Helper()
	p.checkWindowMatrix(run, ranks)
	p.script(timeline + `.scrollIntoView({ block: "center" })`)
	middle := eval[point](p, fmt.Sprintf(`(() => { const b = %s.getBoundingClientRect(); return { x: b.left + b.width / 2, y: b.top + b.height / 3 }; })()`, timeline))
	p.hover(middle.X, middle.Y)
	if text := p.tooltip(); !strings.Contains(text, "rank ") {
		p.Errorf("the tooltip of the timeline is %q", text)
	}
	p.script(timeline + ".focus()")
	p.keys(kb.Home)
	home := p.status(func(string) bool { return false })
	seen := []string{home}
	differs := func(what string) {
		p.Helper()
		now := p.status(func(text string) bool { return !slices.Contains(seen, text) })
		if slices.Contains(seen, now) {
			p.Errorf("%s: the timeline still shows %q", what, now)
		}
		seen = append(seen, now)
	}
	p.wheel(middle.X, middle.Y, -100)
	differs("after the wheel was turned")
	p.keys("+")
	differs("after +")
	p.keys(kb.ArrowRight)
	differs("after →")
	p.drag(middle.X, middle.Y, middle.X-100, middle.Y)
	differs("after dragging")
	p.keys(kb.Home)
	if now := p.status(func(text string) bool { return text == home }); now != home {
		p.Errorf("after Home: %q, at first %q", now, home)
	}
}

// status returns the text in which the timeline says what it shows. The text changes a
// moment after the picture, so it is read until it is as wanted, for at most 10 seconds.
func (p *tab) status(wanted func(string) bool) (text string) {
	p.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && !wanted(text); time.Sleep(50 * time.Millisecond) {
		text = p.text(".timeline-view [role=status]")
	}
	return text
}

// checkWindowMatrix compares the matrix of the timeline, which is that of the whole run
// at first, with profile2mat, and requires that a shorter window has fewer messages.
func (p *tab) checkWindowMatrix(run string, ranks int) {
	p.Helper()
	want := matrixOf(p, run, "point-to-point", "rank")
	read := func() (sum amount, all map[cell]amount) {
		p.Helper()
		all = map[cell]amount{}
		for row := range ranks {
			for column := range ranks {
				c := cell{row, column}
				got := eval[amount](p, fmt.Sprintf(`[...document.querySelectorAll(".timeline-view div")].find((d) => d.describe).describe(%d, %d)`, row, column))
				if got != (amount{}) {
					all[c] = got
				}
				sum = sum.add(got)
			}
		}
		return sum, all
	}
	sum, all := read()
	for c := range want {
		if all[c] != want[c] {
			p.Errorf("the timeline's cell %v is %+v, profile2mat says %+v", c, all[c], want[c])
		}
	}
	if len(all) != len(want) {
		p.Errorf("the timeline has %d pairs, profile2mat %d", len(all), len(want))
	}
	// The window begins after a quarter of the messages and ends after three quarters: most
	// of a short run's time may be that of MPI_Init, without a message.
	p.script(`{ const { sent } = %[1]s.data.messages;
		%[1]s.show(sent[Math.floor(0.25 * sent.length)], sent[Math.floor(0.75 * sent.length)]);
		[...document.querySelectorAll(".timeline-view button")].find((b) => b.textContent === "Select what is shown").click(); }`, chart)
	if part, _ := read(); part.Messages >= sum.Messages || part.Messages == 0 {
		p.Errorf("a window within the run has %d of %d messages", part.Messages, sum.Messages)
	}
}
