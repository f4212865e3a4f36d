package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shift is the bit of the key in mouse events.
const shift = 8

const chart = `document.querySelector(".timeline-view").chart`

// shownTimeline is what a timeline shows.
type shownTimeline struct {
	From     float64 `json:"from"` // ns
	To       float64 `json:"to"`
	Top      float64 `json:"top"` // lines
	Bottom   float64 `json:"bottom"`
	Selected *struct {
		From float64 `json:"from"`
		To   float64 `json:"to"`
	} `json:"selected"`
}

func (p *tab) timeline() shownTimeline {
	p.Helper()
	return eval[shownTimeline](p, `({ ...`+chart+`.view, selected: `+chart+`.selected })`)
}

// call is a call in the page's data, as the timeline has it.
type call struct {
	Line     int     `json:"line"`
	Start    float64 `json:"start"`
	Duration float64 `json:"duration"`
	Text     string  `json:"text"` // its duration, as the page writes it
	At       point   `json:"at"`   // of its middle in the window
}

// longest returns the longest call of a name within the view.
func (p *tab) longest(name string) call {
	p.Helper()
	return eval[call](p, fmt.Sprintf(`(() => {
		const chart = %s, { events, kinds, texts } = chart.data;
		let best = { duration: -1 };
		events.forEach((e, line) => e.start.forEach((start, i) => {
			const duration = e.end[i] - start;
			if (texts[kinds.call[e.kind[i]]] === %q && duration > best.duration) best = { line, start, duration };
		}));
		const box = chart.canvas.getBoundingClientRect();
		return { ...best, text: chart.describe(best.line, best.start + best.duration / 2)[1].replace(/.* for /, ""),
			at: { x: box.left + chart.x(best.start + best.duration / 2), y: box.top + chart.middle(best.line) } };
	})()`, chart, name))
}

// sentWithin returns how many messages were sent in a window, and their bytes.
func (p *tab) sentWithin(from, to float64) amount {
	p.Helper()
	return eval[amount](p, fmt.Sprintf(`(() => {
		const { sent, bytes } = %s.data.messages, sum = { bytes: 0, messages: 0 };
		sent.forEach((at, i) => { if (at >= %f && at < %f) { sum.bytes += bytes[i]; sum.messages++; } });
		return { bytes: String(sum.bytes), messages: String(sum.messages) };
	})()`, chart, from, to))
}

func TestTimeline(t *testing.T) {
	run := record(t, []string{"--trace"}, 4, compile(t, halo), "-n", "200", "-m", "200", "-s", "60")
	p, _ := open(t, run)
	p.script(`document.querySelector(".timeline-view").scrollIntoView()`)
	p.checkTimelineText(run)
	p.checkTimelineCalls()
	p.checkTimelineMoves()
	p.checkTimelineWindow()
	p.prefer("dark")
	p.picture("timeline-dark")
}

// checkTimelineText requires that the messages of the whole run are those of profile2mat.
func (p *tab) checkTimelineText(run string) {
	p.Helper()
	var sum amount
	for _, a := range matrixOf(p, run, "point-to-point", "rank") {
		sum = sum.add(a)
	}
	p.mentions("#timeline", fmt.Sprintf("Messages of the whole run: %s messages", commas(sum.Messages)))
	if got := p.sentWithin(0, 1e18); got != sum {
		p.Errorf("%+v was sent, profile2mat says %+v", got, sum)
	}
}

// checkTimelineCalls moves the mouse to calls.
func (p *tab) checkTimelineCalls() {
	p.Helper()
	for _, name := range []string{"Allreduce", "Waitall", "Isend"} {
		c := p.longest(name)
		p.script(`%s.show(%f, %f)`, chart, c.Start-c.Duration, c.Start+2*c.Duration)
		c = p.longest(name)
		p.hover(c.At.X, c.At.Y)
		text := p.tooltip()
		for _, want := range []string{fmt.Sprintf("MPI_%s, rank %d", name, c.Line), "for " + c.Text, "halo.c:"} {
			if !strings.Contains(text, want) {
				p.Errorf("tooltip of %s: %q lacks %q", name, text, want)
			}
		}
		p.picture("timeline-" + name)
	}
}

// checkTimelineMoves zooms and moves with the wheel, the mouse and the keys.
func (p *tab) checkTimelineMoves() {
	p.Helper()
	p.do(chromedp.Focus(chromedp.CSS("canvas.timeline")))
	p.keys(kb.Home)
	home, at := p.timeline(), p.longest("Allreduce").At
	p.wheel(at.X, at.Y, -200)
	if v := p.timeline(); v.To-v.From > 0.8*(home.To-home.From) || v.From < home.From || v.To > home.To {
		p.Errorf("the wheel zooms from %+v to %+v", home, v)
	}
	near := p.timeline()
	p.drag(at.X, at.Y, at.X+100, at.Y)
	if v := p.timeline(); v.From >= near.From || v.To-v.From < 0.999*(near.To-near.From) {
		p.Errorf("dragging moves from %+v to %+v", near, v)
	}
	p.script(`%s.canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }))`, chart)
	if v := p.timeline(); v != home {
		p.Errorf("Home shows %+v, not %+v", v, home)
	}
	p.keys("+")
	if v := p.timeline(); v.To-v.From > 0.51*(home.To-home.From) {
		p.Errorf("+ zooms from %+v to %+v", home, v)
	}
	p.script(`%s.canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", shiftKey: true }))`, chart)
	if v := p.timeline(); v.Bottom-v.Top != 2 {
		p.Errorf("Shift and up shows %g lines of 4, want 2", v.Bottom-v.Top)
	}
	p.script(`%s.show()`, chart)
}

// checkTimelineWindow selects a window with Shift and the mouse, and looks at its matrix.
func (p *tab) checkTimelineWindow() {
	p.Helper()
	// The window begins after a quarter of the messages and ends after three quarters.
	ends := eval[[]point](p, fmt.Sprintf(`(({ x, y }) => { const chart = %s, { sent } = chart.data.messages;
		return [0.25, 0.75].map((share) => ({ x: x + chart.x(sent[Math.floor(share * sent.length)]), y: y + 50 }));
	})(%[1]s.canvas.getBoundingClientRect())`, chart))
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, ends[0].X, ends[0].Y, func(e *input.DispatchMouseEventParams) {
		e.Button, e.ClickCount, e.Modifiers = "left", 1, shift
	}))
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMouseReleased} {
		p.do(chromedp.MouseEvent(kind, ends[1].X, ends[1].Y, func(e *input.DispatchMouseEventParams) {
			e.Button, e.Buttons, e.Modifiers = "left", 1, shift
		}))
	}
	v := p.timeline()
	if v.Selected == nil {
		p.Fatal("no window is selected")
	}
	sum := p.sentWithin(v.Selected.From, v.Selected.To)
	if sum.Messages == 0 || sum.Messages == p.sentWithin(0, 1e18).Messages {
		p.Errorf("the window %+v has %d messages", *v.Selected, sum.Messages)
	}
	p.mentions("#timeline", fmt.Sprintf(": %s message", commas(sum.Messages)))
	shown := eval[amount](p, `(() => { const s = `+chart+`.sheet(), sum = (l) => String(l.reduce((a, b) => a + b, 0)); return { bytes: sum(s.bytes), messages: sum(s.messages) }; })()`)
	if shown != sum {
		p.Errorf("the matrix has %+v, the window %+v", shown, sum)
	}
	p.picture("timeline-window")
}

// TestTimelineOfManyEvents opens the page of a run with too many events for it.
func TestTimelineOfManyEvents(t *testing.T) {
	run := record(t, []string{"--trace"}, 4, compile(t, halo), "-n", "40", "-m", "40", "-s", "5000")
	p, size := open(t, run)
	t.Logf("%d bytes", size)
	p.script(`document.querySelector(".timeline-view").scrollIntoView()`)
	p.mentions("#timeline", "too many for this page", "mpitrace timeline RUN --from", "longest waits of")
	at := eval[point](p, fmt.Sprintf(`(({ x, y }) => ({ x: x + 500, y: y + %s.middle(1) }))(%[1]s.canvas.getBoundingClientRect())`, chart))
	p.hover(at.X, at.Y)
	if text := p.tooltip(); !strings.Contains(text, "rank 1") || !strings.Contains(text, " % ") {
		t.Errorf("tooltip %q", text)
	}
	p.picture("timeline-many")
}
