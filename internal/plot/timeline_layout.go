package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Sizes of a timeline, in pixels.
const (
	maxPitch   = 64 // distance between two lanes
	roomForGap = 5  // smallest pitch that leaves a gap between lanes
	lanesRight = 40 // room for half a label of the time axis
	swatch     = 13
	legendGap  = 18.0
	linkSample = 22.0 // length of the sample line in the legend

	// roomForTexts is the height of the title, two lines of legend, the time
	// axis and four lines of caption. With more text the picture becomes higher
	// than requested.
	roomForTexts = 240
)

// timelineLayout is the position of everything in a timeline, in pixels from
// the top left corner.
type timelineLayout struct {
	width, height int
	left, top     int // corner of the lanes
	columns       int
	lanes         int
	pitch, bar    int // distance between two lanes, and the height of a lane
	title         string
	legend        []legendItem
	rows, times   []tick // tick.at counts from the upper left corner of the lanes
	links         []lineSegment
	caption       []string
}

// lanesHeight returns the height of all lanes with the gaps between them.
func (l *timelineLayout) lanesHeight() int { return (l.lanes-1)*l.pitch + l.bar }

// bottom returns the lower edge of the lanes.
func (l *timelineLayout) bottom() int { return l.top + l.lanesHeight() }

// legendItem explains one colour, or what the links are.
type legendItem struct {
	LegendEntry
	link bool
	x, y float64 // left end, and baseline
}

// lanesLeft returns the left edge of the lanes.
func (t *Timeline) lanesLeft(f *typeface) int {
	samples := t.Labels
	if len(samples) > 1000 { // numbers, of which one of the longest is wide enough
		samples = []string{slices.MaxFunc(samples, func(a, b string) int { return len(a) - len(b) })}
	}
	widest := 0.0
	for _, label := range samples {
		widest = max(widest, f.width(laneLabel(label), textSize))
	}
	return ceil(margin + textSize + 2*gap + widest + gap + tickLen)
}

// laneLabel returns a label, shortened if it is long.
func laneLabel(label string) string {
	const most = 24 // letters
	if letters := []rune(printable(label)); len(letters) > most {
		return elide(letters, most)
	}
	return printable(label)
}

func (t *Timeline) layout(f *typeface) *timelineLayout {
	l := &timelineLayout{width: t.Width, columns: t.Columns(), lanes: len(t.Lanes), left: t.lanesLeft(f)}
	room := float64(t.Width) - 2*margin
	l.title = f.fit(printable(t.Title), titleSize, room)
	low := t.placeLegend(l, f, margin+titleSize+2*gap)
	l.top = ceil(low + 2*gap)
	l.caption = wrapped(f, t.facts(l), room) // as high as the final caption, or one line lower
	l.setPitch((t.Height - l.top - l.belowLanes()) / l.lanes)
	if l.links = t.segments(l); len(l.links) == 0 {
		l.legend = slices.DeleteFunc(l.legend, func(item legendItem) bool { return item.link })
	}
	l.caption = wrapped(f, t.facts(l), room)
	l.height = l.bottom() + l.belowLanes()
	l.rows = t.rowTicks(l)
	l.times = timeTicks(t.From, t.To, l.columns, func(s string) float64 { return f.width(s, textSize) })
	return l
}

func (l *timelineLayout) setPitch(room int) {
	l.pitch = min(max(room, 1), maxPitch)
	l.bar = l.pitch
	if l.pitch >= roomForGap {
		l.bar -= max(l.pitch/6, 1)
	}
}

// facts returns the parts of the caption: the number of lines, which links are
// drawn, and how a column with several classes looks.
func (t *Timeline) facts(l *timelineLayout) []string {
	facts := slices.Clone(t.Caption)
	if t.AllLinks > 0 {
		facts = append(facts, t.linksFact(len(l.links)))
	}
	column := text.Duration(1e9*(t.To-t.From)/float64(l.columns), false)
	how := "its height shows the share of each colour"
	if l.bar < stackFrom {
		how = "its colour is what took most, paler the more there is of " + printable(t.Ground.Name)
	}
	return append(facts, fmt.Sprintf("a column of pixels is %s, %s", column, how))
}

func (t *Timeline) linksFact(drawn int) string {
	words := text.CountOf(t.AllLinks, printable(t.LinkName))
	switch drawn {
	case t.AllLinks:
		return words
	case 0:
		return words + ", too close together to be drawn"
	}
	return fmt.Sprintf("%s of %s drawn, %s", text.Count(drawn), words, printable(t.LinkChoice))
}

// wrapped is like wrap, but accepts no parts, and breaks parts that are longer
// than a line.
func wrapped(f *typeface, parts []string, room float64) []string {
	if len(parts) == 0 {
		return nil
	}
	shown := make([]string, len(parts))
	for i, part := range parts {
		shown[i] = f.fit(printable(part), textSize, room)
	}
	return wrap(f, shown, room)
}

// belowLanes returns the height of the time axis and the caption.
func (l *timelineLayout) belowLanes() int {
	return ceil(axisHeight + lineHeight*float64(len(l.caption)) + margin)
}

// axisHeight is the height of the time axis: ticks, labels and name.
const axisHeight = tickLen + gap + 1.4*textSize*2 + gap

// placeLegend distributes the items over lines, and returns the lower edge of
// the last line.
func (t *Timeline) placeLegend(l *timelineLayout, f *typeface, top float64) float64 {
	x, y := margin, top
	for _, item := range t.legendItems() {
		width := swatch + gap + f.width(item.Name, textSize)
		if item.link {
			width += linkSample - swatch
		}
		if x > margin && x+width > float64(t.Width)-margin {
			x, y = margin, y+1.5*textSize
		}
		item.x, item.y = x, y+0.85*textSize
		l.legend = append(l.legend, item)
		x += width + legendGap
	}
	return y + textSize
}

// legendItems returns the items for the classes and links that the picture
// contains.
func (t *Timeline) legendItems() []legendItem {
	var items []legendItem
	used := t.usedClasses()
	for i, c := range t.Classes {
		if used[i] {
			items = append(items, legendItem{LegendEntry: LegendEntry{printable(c.Name), c.Color}})
		}
	}
	items = append(items, legendItem{LegendEntry: LegendEntry{printable(t.Ground.Name), t.Ground.Color}})
	if len(t.Links) > 0 {
		items = append(items, legendItem{LegendEntry: LegendEntry{Name: printable(t.LinkName)}, link: true})
	}
	return items
}

func (t *Timeline) usedClasses() []bool {
	used := make([]bool, len(t.Classes))
	for _, lane := range t.Lanes {
		for i, share := range lane.Shares {
			if share > 0 {
				used[i%len(used)] = true
			}
		}
	}
	return used
}

// rowTicks returns labels for as many lines as there is room for.
func (t *Timeline) rowTicks(l *timelineLayout) []tick {
	perLine := float64(l.pitch) / float64(t.PerLane)
	step := lineStep(len(t.Labels), perLine, lineHeight)
	shift := 0.5 * float64(l.bar) / float64(l.pitch)
	var ticks []tick
	for i := 0; i < len(t.Labels); i += step {
		ticks = append(ticks, tick{(float64(i) + shift) * perLine, laneLabel(t.Labels[i])})
	}
	return ticks
}

// x returns the horizontal position of a time.
func (t *Timeline) x(l *timelineLayout, seconds float64) float64 {
	return float64(l.left) + (seconds-t.From)/(t.To-t.From)*float64(l.columns)
}

const (
	linkCover  = 0.1 // largest share of the lanes' area that links may cover
	linkCrowd  = 4   // largest number of links between two lanes that start or end within linkSpace
	linkSpace  = 8.0 // pixels
	linkExtent = 3.0 // pixels of time; if links are left out, shorter ones go first, as they all look alike
)

// segments returns the links to draw, cut off at the ends of the lanes. Links
// that a reader could not tell apart are left out.
func (t *Timeline) segments(l *timelineLayout) []lineSegment {
	var out []lineSegment
	left, right := float64(l.left), float64(l.left+l.columns)
	crowded := t.crowded(l)
	for i, link := range t.Links {
		s := lineSegment{t.x(l, link.Start), l.middle(link.From), t.x(l, link.End), l.middle(link.To)}
		if s, is := s.cut(left, right); is && !crowded[i] {
			out = append(out, s)
		}
	}
	room := linkCover * float64(l.columns) * float64(l.lanesHeight())
	if len(t.Links) == t.AllLinks && cover(out) <= room {
		return out
	}
	for i, s := range out {
		if room -= s.length(); room < 0 || math.Abs(s.x1-s.x0) < linkExtent {
			return out[:i]
		}
	}
	return out
}

// crowded reports for each link whether it cannot be distinguished from others:
// more than linkCrowd links between the same two lanes start or end within
// linkSpace pixels.
func (t *Timeline) crowded(l *timelineLayout) []bool {
	type end struct {
		x    float64
		link int
	}
	ends := map[[3]int][]end{} // by the two lanes, and the lane of this end
	for i, link := range t.Links {
		low, high := min(link.From, link.To), max(link.From, link.To)
		from, to := [3]int{low, high, link.From}, [3]int{low, high, link.To}
		ends[from] = append(ends[from], end{t.x(l, link.Start), i})
		if from != to {
			ends[to] = append(ends[to], end{t.x(l, link.End), i})
		}
	}
	out := make([]bool, len(t.Links))
	for _, list := range ends {
		slices.SortFunc(list, func(a, b end) int { return cmp.Compare(a.x, b.x) })
		for i := 0; i+linkCrowd < len(list); i++ {
			if list[i+linkCrowd].x-list[i].x < linkSpace {
				for _, e := range list[i : i+linkCrowd+1] {
					out[e.link] = true
				}
			}
		}
	}
	return out
}

func (s lineSegment) length() float64 { return math.Hypot(s.x1-s.x0, s.y1-s.y0) }

// cover returns how many pixels the segments cover, if they do not cross.
func cover(all []lineSegment) float64 {
	sum := 0.0
	for _, s := range all {
		sum += s.length()
	}
	return sum
}

// middle returns the vertical middle of a lane.
func (l *timelineLayout) middle(lane int) float64 {
	return float64(l.top+lane*l.pitch) + float64(l.bar)/2
}

// cut returns the part of the segment between left and right, and reports
// whether there is one.
func (s lineSegment) cut(left, right float64) (lineSegment, bool) {
	if min(s.x0, s.x1) > right || max(s.x0, s.x1) < left {
		return s, false
	}
	if s.x0 == s.x1 {
		return s, true
	}
	cut := s
	cut.x0, cut.y0 = s.at(min(max(s.x0, left), right))
	cut.x1, cut.y1 = s.at(min(max(s.x1, left), right))
	return cut, true
}

// at returns the point of the segment at x. At an end it returns exactly that
// end.
func (s lineSegment) at(x float64) (float64, float64) {
	if x == s.x1 {
		return x, s.y1
	}
	return x, s.y0 + (x-s.x0)/(s.x1-s.x0)*(s.y1-s.y0)
}
