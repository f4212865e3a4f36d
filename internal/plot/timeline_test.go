package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

var (
	red   = color.RGBA{200, 0, 0, 255}
	green = color.RGBA{0, 160, 0, 255}
	pale  = color.RGBA{240, 240, 240, 255}
)

// lanes returns a timeline of 10 s with n empty lanes and the classes red and
// green.
func lanes(n int) *Timeline {
	t := &Timeline{Title: "app on some ranks", Width: 600, Height: 300, To: 10, TimeName: "since the start", AxisName: "rank", PerLane: 1,
		Ground: LegendEntry{"nothing", pale}, Classes: []LegendEntry{{"red work", red}, {"green work", green}}, LinkName: "message", LinkChoice: "the longest"}
	for i := range n {
		t.Labels = append(t.Labels, fmt.Sprint(i))
	}
	t.Lanes = make([]Lane, n)
	for i := range t.Lanes {
		t.Lanes[i] = Lane{0, 10, make([]float32, t.Columns()*2)}
	}
	return t
}

// set sets the share of a class in some columns of a lane.
func (t *Timeline) set(lane, class, from, to int, share float32) {
	for c := from; c < to; c++ {
		t.Lanes[lane].Shares[c*2+class] = share
	}
}

func pngOf(t *testing.T, p Picture) image.Image {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, Write(&out, ".png", p))
	img, err := png.Decode(&out)
	testenv.NoError(t, err)
	return img
}

// TestTimelineStacks counts the pixels of each colour in columns of a high bar.
func TestTimelineStacks(t *testing.T) {
	p := lanes(2)
	p.Lanes[1].Begin, p.Lanes[1].End = 5, 10
	p.set(0, 0, 10, 20, 0.25)
	p.set(0, 1, 10, 20, 0.5)
	p.set(0, 1, 30, 31, 1)
	p.set(0, 0, 40, 41, 1e-6)
	l := p.layout(sans())
	img := pngOf(t, p)
	if l.bar != 54 || l.pitch != maxPitch {
		t.Fatalf("bars of %d pixels every %d, want 54 every 64", l.bar, l.pitch)
	}
	for _, c := range []struct {
		name              string
		lane, column      int
		red, green, under int // number of pixels
		ground            color.RGBA
	}{
		{"a quarter and a half", 0, 10, 14, 27, 13, pale}, // edges at 13.5 and 40.5, rounded up
		{"all of one", 0, 30, 0, 54, 0, pale},
		{"next to nothing", 0, 40, 1, 0, 53, pale},
		{"nothing", 0, 50, 0, 0, 54, pale},
		{"nobody there", 1, 50, 0, 0, 54, nothing},
		{"there later", 1, l.columns - 50, 0, 0, 54, pale},
	} {
		t.Run(c.name, func(t *testing.T) {
			var colors []color.RGBA
			for y := l.bar - 1; y >= 0; y-- {
				colors = append(colors, rgba(img.At(l.left+c.column, l.top+c.lane*l.pitch+y)))
			}
			for i, got := range colors {
				want := c.ground
				if i < c.red {
					want = red
				} else if i < c.red+c.green {
					want = green
				}
				if got != want {
					t.Fatalf("pixel %d from the bottom is %v, want %v", i, got, want)
				}
			}
		})
	}
}

// TestTimelineTints requires that low bars have the colour of the class that
// took most of the time.
func TestTimelineTints(t *testing.T) {
	p := lanes(60)
	p.set(7, 0, 10, 11, 0.25)
	p.set(7, 1, 10, 11, 0.5)
	p.set(7, 0, 12, 13, 1)
	p.set(7, 0, 14, 15, 1e-6)
	l := p.layout(sans())
	if l.bar >= stackFrom {
		t.Fatalf("bars of %d pixels, want low ones", l.bar)
	}
	img := pngOf(t, p)
	for column, want := range map[int]color.RGBA{
		10: {60, 180, 60, 255},   // three quarters green, one quarter pale
		12: red,                  //
		14: {235, 210, 210, 255}, // one eighth red
		16: pale,
	} {
		if got := rgba(img.At(l.left+column, l.top+7*l.pitch)); got != want {
			t.Errorf("column %d has colour %v, want %v", column, got, want)
		}
	}
}

func TestTimelineLinks(t *testing.T) {
	p := lanes(4)
	p.Links, p.AllLinks = []Link{{0, 3, 2, 8}, {1, 1, -5, 15}, {0, 1, -5, -1}}, 3
	l := p.layout(sans())
	width := float64(l.columns)
	left := float64(l.left)
	want := []lineSegment{
		{left + 0.2*width, l.middle(0), left + 0.8*width, l.middle(3)},
		{left, l.middle(1), left + width, l.middle(1)},
	}
	if len(l.links) != 2 || l.links[0] != want[0] || l.links[1] != want[1] {
		t.Errorf("%v, want %v", l.links, want)
	}
	half := lineSegment{0, 0, 10, 20}
	if got, is := half.cut(5, 100); !is || got != (lineSegment{5, 10, 10, 20}) {
		t.Errorf("got %v", got)
	}
	if got, is := (lineSegment{3, 0, 3, 20}).cut(3, 4); !is || got != (lineSegment{3, 0, 3, 20}) {
		t.Errorf("got %v", got)
	}
	img := pngOf(t, p)
	x, y := l.left+l.columns/2, (l.middle(0)+l.middle(3))/2
	darkest := color.RGBA{255, 255, 255, 255}
	for d := -2; d <= 2; d++ {
		if c := rgba(img.At(x, int(y)+d)); c.G < darkest.G {
			darkest = c
		}
	}
	if darkest.G > 160 {
		t.Errorf("no line in the middle of a message: the darkest colour is %v", darkest)
	}
}

// TestTimelineLinksThatHide requires that only the longest messages are drawn
// if there are too many.
func TestTimelineLinksThatHide(t *testing.T) {
	p := lanes(2)
	for i := range 1000 {
		link := Link{0, 1, 5, 5.001}
		if i < 3 {
			link = Link{0, 1, float64(i + 1), float64(i + 2)} // not near any other message
		}
		p.Links = append(p.Links, link)
	}
	p.AllLinks = 2000
	if l := p.layout(sans()); len(l.links) != 3 || !strings.Contains(strings.Join(l.caption, " "), "3 of 2,000 messages drawn, the longest") {
		t.Errorf("got %d links and caption %q", len(l.links), l.caption)
	}
	p.Links = p.Links[3:]
	if l := p.layout(sans()); len(l.links) != 0 || !strings.Contains(strings.Join(l.caption, " "), "2,000 messages, too close together to be drawn") ||
		l.legend[len(l.legend)-1].link {
		t.Errorf("got %d links and caption %q", len(l.links), l.caption)
	}
	p.Links = p.Links[:20]
	p.AllLinks = 20
	if l := p.layout(sans()); len(l.links) != 0 || !strings.Contains(strings.Join(l.caption, " "), "20 messages, too close together to be drawn") {
		t.Errorf("got %d links and caption %q", len(l.links), l.caption)
	}
	// Twenty messages that are far apart, in alternating directions.
	for i := range p.Links {
		p.Links[i] = Link{i % 2, 1 - i%2, 0.5 * float64(i), 0.5*float64(i) + 0.4}
	}
	if l := p.layout(sans()); len(l.links) != 20 || !strings.Contains(strings.Join(l.caption, " "), "20 messages;") {
		t.Errorf("got %d links and caption %q", len(l.links), l.caption)
	}
}

// drawnTimeline holds the elements of an SVG that the tests check.
type drawnTimeline struct {
	XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	Title   string   `xml:"title"`
	Areas   []struct {
		Fill string `xml:"fill,attr"`
		D    string `xml:"d,attr"`
	} `xml:"g>path"`
	Images []struct{} `xml:"image"`
	Links  []struct {
		D string `xml:"d,attr"`
	} `xml:"path"`
	Texts []string `xml:"text"`
}

func svgOf(t *testing.T, p *Timeline) (d drawnTimeline, size int) {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, Write(&out, ".svg", p))
	if err := xml.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return d, out.Len()
}

// TestTimelineSVG requires that adjacent equal columns are one rectangle.
func TestTimelineSVG(t *testing.T) {
	p := lanes(2)
	p.Title, p.Height = "a<b>\x00", 900
	p.Caption = []string{"2 ranks"}
	p.set(0, 1, 10, 200, 1)
	p.set(1, 0, 100, 300, 0.5)
	p.Links, p.AllLinks = []Link{{0, 1, 0, 10}}, 1
	d, size := svgOf(t, p)
	l := p.layout(sans())
	x, low := l.left, l.top+l.pitch
	for i, want := range []struct {
		fill color.RGBA
		d    string
	}{
		{pale, fmt.Sprintf("M%d %dh10v54h-10zM%d %dh%dv54h-%dzM%d %dh%dv27h-%dzM%d %dh100v27h-100zM%d %dh%dv27h-%dz",
			x, l.top, x+200, l.top, l.columns-200, l.columns-200, x, low, l.columns, l.columns, x, low+27, x+300, low+27, l.columns-300, l.columns-300)},
		{red, fmt.Sprintf("M%d %dh200v27h-200z", x+100, low+27)},
		{green, fmt.Sprintf("M%d %dh190v54h-190z", x+10, l.top)},
	} {
		if len(d.Areas) != 3 || d.Areas[i].Fill != Hex(want.fill) || d.Areas[i].D != want.d {
			t.Fatalf("areas %v, want %s in %s", d.Areas, want.d, Hex(want.fill))
		}
	}
	if size > 6000 || len(d.Images) != 0 || len(d.Links) != 2 { // of the two paths of links, one is in the legend
		t.Errorf("%d bytes, %d images, %d paths of links", size, len(d.Images), len(d.Links))
	}
	texts := "\n" + strings.Join(d.Texts, "\n") + "\n"
	for _, want := range []string{"a<b>\uFFFD", "red work", "green work", "nothing", "message", "rank", "0", "1", "0 s", "2 s", "10 s", "since the start",
		"2 ranks; 1 message; a column of pixels is " + text.Duration(1e10/float64(l.columns), false) + ", its height shows the share of each colour"} {
		if !strings.Contains(texts, "\n"+want+"\n") {
			t.Errorf("no text %q in %q", want, d.Texts)
		}
	}
}

// TestTimelineSVGOfManyAreas requires that many areas become an image, because
// that is smaller.
func TestTimelineSVGOfManyAreas(t *testing.T) {
	p := lanes(1)
	p.Width = 4000
	p.Lanes[0].Shares = make([]float32, p.Columns()*2)
	for c := range p.Columns() {
		p.set(0, c%2, c, c+1, float32(c%7)/10)
	}
	if d, _ := svgOf(t, p); len(d.Images) != 0 || len(d.Areas) != 3 {
		t.Errorf("%d images, %d colours", len(d.Images), len(d.Areas))
	}
	img := p.cellImage(p.layout(sans()))
	all := areasOf(img, maxAreas)
	if areasOf(img, len(all)-1) != nil {
		t.Error("SVG has more areas than are allowed")
	}
	pixels := 0
	for _, a := range all {
		pixels += a.width * a.height
	}
	if want := img.Rect.Dx() * img.Rect.Dy(); pixels != want {
		t.Errorf("areas of %d pixels, want %d", pixels, want)
	}
}

func TestTimeTicks(t *testing.T) {
	letters := func(s string) float64 { return 7 * float64(len(s)) }
	for _, c := range []struct {
		from, to    float64
		first, last string
		n           int
	}{
		{0, 10, "0 s", "10 s", 11},
		{0, 0.0035, "0.0 ms", "3.5 ms", 8},
		{1.2, 1.2005, "1.2000 s", "1.2005 s", 6},
		{0, 3e-9, "0.0 ns", "3.0 ns", 7},
		{3, 7, "3.0 s", "7.0 s", 9},
		{0, 100_000, "0 s", "100000 s", 6},
	} {
		ticks := timeTicks(c.from, c.to, 1000, letters)
		if len(ticks) != c.n || ticks[0].text != c.first || ticks[len(ticks)-1].text != c.last {
			t.Errorf("%g to %g: %v, want %d from %s to %s", c.from, c.to, ticks, c.n, c.first, c.last)
		}
		for i, tick := range ticks {
			if i > 0 && tick.at-ticks[i-1].at < letters(tick.text)*1.5 || tick.at < -0.001 || tick.at > 1000.001 {
				t.Errorf("%g to %g: tick %v", c.from, c.to, tick)
			}
		}
	}
}

// TestTimelineTexts requires that no text leaves the picture or covers the
// lanes or another text.
func TestTimelineTexts(t *testing.T) {
	for _, width := range []int{MinTimelineWidth, 1600, MaxTimelineWidth} {
		for _, n := range []int{1, 4, 60} {
			for _, to := range []float64{1e-8, 0.37, 99_999} {
				p := lanes(n)
				p.Width, p.To, p.From = width, to, to*0.9
				p.Title = strings.Repeat("/a/long/path", 100)
				p.Caption = []string{strings.Repeat("much to say ", 10), "and more", strings.Repeat("x", 2000)}
				p.Labels[n-1] = strings.Repeat("9", 100)
				p.Links, p.AllLinks = []Link{{0, n - 1, to * 0.92, to}}, 1
				for i := range p.Lanes {
					p.Lanes[i].Shares = make([]float32, p.Columns()*2)
				}
				p.set(0, 0, 0, 1, 1)
				p.set(0, 1, 1, 2, 1)
				t.Run(fmt.Sprintf("%d wide, %d lanes, %g s", width, n, to), func(t *testing.T) { checkTimelineTexts(t, p) })
			}
		}
	}
}

func checkTimelineTexts(t *testing.T, p *Timeline) {
	t.Helper()
	testenv.NoError(t, p.check())
	b := &boxPen{font: sans()}
	l := p.layout(b.font)
	p.draw(l, b)
	lanes := box{"the lanes", float64(l.left), float64(l.top), float64(l.left + l.columns), float64(l.bottom())}
	for i, text := range b.boxes {
		if text.left < 0 || text.top < 0 || text.right > float64(l.width) || text.bottom > float64(l.height) {
			t.Errorf("%.40q is outside the picture of %d × %d: %v", text.text, l.width, l.height, text)
		}
		for _, c := range append(b.boxes[:i:i], lanes) {
			if text.overlaps(c) {
				t.Fatalf("%.40q covers %.40q", text.text, c.text)
			}
		}
	}
	if n := len(l.times); n < 2 {
		t.Errorf("%d ticks of time", n)
	}
}

// TestTimelineHeight requires that the lanes fit into the given height.
func TestTimelineHeight(t *testing.T) {
	for _, height := range []int{MinTimelineHeight, 900} {
		p := lanes(LanesIn(height))
		p.Height = height
		p.Caption = []string{"some ranks"}
		if got := pngOf(t, p).Bounds(); got.Dx() != p.Width || got.Dy() > height {
			t.Errorf("%v of %d lanes, want %d × %d at most", got, len(p.Lanes), p.Width, height)
		}
	}
}

func TestTimelinesThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*Timeline){
		"100 pixels wide":        func(p *Timeline) { p.Width = 100 },
		"9000 pixels high":       func(p *Timeline) { p.Height = 9000 },
		"from 10 s to 10 s":      func(p *Timeline) { p.From = 10 },
		"from NaN s":             func(p *Timeline) { p.From = math.NaN() },
		"25 classes":             func(p *Timeline) { p.Classes = make([]LegendEntry, 25) },
		"0 lines in lanes of 1":  func(p *Timeline) { p.Labels = nil },
		"make 1":                 func(p *Timeline) { p.PerLane = 2 },
		"lane 1 has 1 shares":    func(p *Timeline) { p.Lanes[1].Shares = []float32{1} },
		"share 3 of lane 1 is 2": func(p *Timeline) { p.set(1, 1, 1, 2, 2) },
		"share 3 of lane 0":      func(p *Timeline) { p.set(0, 1, 1, 2, float32(math.NaN())) },
		"lane 0 to 2 of 2":       func(p *Timeline) { p.Links, p.AllLinks = []Link{{To: 2}}, 1 },
		"1 links of 0":           func(p *Timeline) { p.Links = []Link{{}} },
		"61 lanes":               func(p *Timeline) { *p = *lanes(61) },
	} {
		p := lanes(2)
		change(p)
		for _, err := range []error{Write(io.Discard, ".png", p), Write(io.Discard, ".svg", p)} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "draw timeline") {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
