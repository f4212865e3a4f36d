package plot

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
)

// box is the rectangle that a text covers.
type box struct {
	text                     string
	left, top, right, bottom float64
}

func (b box) overlaps(c box) bool {
	return b.left < c.right && c.left < b.right && b.top < c.bottom && c.top < b.bottom
}

// boxPen records the boxes of the texts that are drawn.
type boxPen struct {
	font  *typeface
	boxes []box
}

func (p *boxPen) line(color.RGBA, float64, float64, float64, float64) {}
func (p *boxPen) links([]lineSegment)                                 {}
func (p *boxPen) rect(color.RGBA, int, int, int, int)                 {}

func (p *boxPen) text(t label) {
	w := p.font.width(t.string, t.size)
	before, after := w*float64(t.held)/2, w*(1-float64(t.held)/2)
	up, down := 0.75*t.size, 0.2*t.size // extent of letters above and below the base line
	b := box{t.string, t.x - before, t.y - up, t.x + after, t.y + down}
	if t.upright {
		b = box{t.string, t.x - up, t.y - after, t.x + down, t.y + before}
	}
	p.boxes = append(p.boxes, b)
}

// TestTexts requires that no text leaves the picture or covers the cells or
// another text.
func TestTexts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 10, 16, 17, 60, 64, 96, 100, 128, 500, 800, 1000, 1024, 10_000, 65_536, 100_000, 1 << 30} {
		for _, hosts := range []string{"", "n%d", "compute-node-%05d", "rack-%d-slot.of.a.site.with.a.long.name.example.org"} {
			if n > 10_000 && hosts != "" {
				continue
			}
			t.Run(fmt.Sprintf("%d %s", n, hosts), func(t *testing.T) { checkTexts(t, spread(n, hosts)) })
		}
	}
}

// spread returns a heatmap of values from 1 to 2⁵⁰ bytes.
func spread(n int, hosts string) *Heatmap {
	perBin, bins := Bins(n)
	h := ranks(matrix(bins, func(from, to int) float64 { return float64(uint64(1) << ((from + to) % 51)) }))
	h.N, h.PerBin = n, perBin
	for i := 0; i < n && hosts != ""; i++ {
		h.Labels = append(h.Labels, fmt.Sprintf(hosts, i))
	}
	return h
}

func checkTexts(t *testing.T, h *Heatmap) {
	t.Helper()
	p := &boxPen{font: sans()}
	l := h.layout(p.font)
	h.drawFrame(l, p)
	cells := box{"the cells", float64(l.left), float64(l.top), float64(l.left + l.side()), float64(l.top + l.side())}
	for i, b := range p.boxes {
		if b.left < 0 || b.top < 0 || b.right > float64(l.width) || b.bottom > float64(l.height) {
			t.Errorf("%q is outside the picture of %d × %d: %v", b.text, l.width, l.height, b)
		}
		for _, c := range append(p.boxes[:i:i], cells) {
			if b.overlaps(c) {
				t.Fatalf("%q covers %q: %v, %v", b.text, c.text, b, c)
			}
		}
	}
}

func TestLongTexts(t *testing.T) {
	h := ranks(matrix(2, skewed))
	h.Title = strings.Repeat("/a/long/path", 10_000)
	h.Labels = []string{strings.Repeat("m", 100_000), ""}
	checkTexts(t, h)
}

// TestNumberedTicks requires that a tick is at its rank, with and without bins.
func TestNumberedTicks(t *testing.T) {
	for _, c := range []struct {
		n         int
		count     int
		last      string
		lastShare float64 // position of the last tick, as a share of the side
	}{
		{4, 4, "3", 3.5 / 4},
		{64, 16, "60", 60.5 / 64},
		{100, 20, "95", 95.5 / 100},
		{10_000, 10, "9,000", 9000.5 / 10_000},
		{100_000, 10, "90,000", 90_000.5 / 100_000},
	} {
		h := spread(c.n, "")
		l := h.layout(sans())
		last := l.rows[len(l.rows)-1]
		off := last.at - c.lastShare*float64(l.side())
		if len(l.rows) != c.count || last.text != c.last || off > 0.001 || off < -0.001 {
			t.Errorf("%d ranks: %d ticks, the last %v, want %d, the last %s at %g", c.n, len(l.rows), last, c.count, c.last, c.lastShare*float64(l.side()))
		}
		if l.rows[0].text != "0" {
			t.Errorf("%d ranks: got first tick %v", c.n, l.rows[0])
		}
	}
}

func TestNamedTicks(t *testing.T) {
	h := spread(3, "node%d.cluster.example.org")
	l := h.layout(sans())
	for i, tick := range l.rows {
		if want := fmt.Sprintf("node%d", i); tick.text != want || tick.at != (float64(i)+0.5)*float64(l.cell) {
			t.Errorf("tick %v, want %s at %g", tick, want, (float64(i)+0.5)*float64(l.cell))
		}
	}
	if l.upright {
		t.Error("short names are rotated")
	}
	for _, names := range [][]string{{"10.0.0.1", "11.0.0.1"}, {"a.x", "b.y"}, {"a.x", "b"}, {"a", "b"}, {}} {
		if got := shortHosts(names); strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("names %q are shown as %q", names, got)
		}
	}
}

func TestFacts(t *testing.T) {
	h := spread(100_000, "")
	if got := h.facts()[:2]; got[0] != "100,000 ranks" || got[1] != "each cell adds up 125 × 125 ranks" {
		t.Errorf("%q", got)
	}
	h.Mean, h.AxisName = true, "block of 8 ranks"
	if got := h.facts()[:2]; got[0] != "100,000 blocks of 8 ranks" || got[1] != "each cell averages 125 × 125 blocks of 8 ranks" {
		t.Errorf("%q", got)
	}
}
