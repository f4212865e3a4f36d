package plot

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Sizes in pixels.
const (
	titleSize = 18.0
	textSize  = 13.0

	lineHeight = 1.4 * textSize

	margin    = 16.0
	tickLen   = 5.0
	gap       = 6.0 // between a tick and its label, and between two texts
	barWidth  = 18.0
	nameLimit = 180.0 // maximum width of a host's name

	gridFrom = 12 // smallest cell that gets grid lines around it
)

// layout is the position of everything in a heatmap, in pixels from the top
// left corner.
type layout struct {
	width, height int
	cell          int // side of a cell
	bins          int
	left, top     int // corner of the cells
	title         string
	rows, columns []tick // tick.at counts from the edge of the first cell
	upright       bool   // whether the labels of the columns read from bottom to top
	rowsWidth     float64
	columnsHeight float64
	bar           []tick // tick.at counts from the lower end of the bar
	barLeft       int
	barHeight     int
	barTextWidth  float64
	caption       []string
}

// side returns the side of the square of all cells, in pixels.
func (l *layout) side() int { return l.cell * max(l.bins, 1) }

// cellSize returns the side of a cell in pixels, so that a matrix is about 640
// pixels wide, or up to 1000 if it has many cells. It is a whole number: cells
// of unequal width would show patterns that are not in the data.
func cellSize(bins int) int {
	if bins <= 64 {
		return min(640/max(bins, 1), 200)
	}
	return max(1000/bins, 1)
}

func (h *Heatmap) layout(f *typeface) *layout {
	l := &layout{bins: len(h.Cells), cell: cellSize(len(h.Cells))}
	h.axes(l, f)
	l.barHeight = l.side() - 2*barWidth // the sample of the background is below the bar
	h.bar(l, f)

	l.left = ceil(margin + textSize + 2*gap + l.rowsWidth + gap + tickLen)
	l.barLeft = l.left + l.side() + 28
	width := float64(l.left+l.side()) + 2*margin
	if l.bar != nil {
		width = float64(l.barLeft) + barWidth + tickLen + gap + l.barTextWidth + 2*gap + textSize + margin
	}
	room := max(width, 560) - 2*margin
	l.title = f.fit(h.title(), titleSize, room)
	l.caption = wrap(f, h.facts(), room)
	l.width = ceil(max(width, f.width(l.title, titleSize)+2*margin, f.widest(l.caption, textSize)+2*margin))

	l.top = ceil(margin + titleSize + 3*gap + textSize + 2*gap + l.columnsHeight + gap + tickLen)
	l.height = ceil(float64(l.top+l.side()) + 2*gap + lineHeight*float64(len(l.caption)) + margin)
	return l
}

func ceil(v float64) int { return int(v + 0.999) }

// axes sets the ticks of both axes.
func (h *Heatmap) axes(l *layout, f *typeface) {
	perLine := float64(l.cell) / float64(h.PerBin)
	if h.Labels == nil {
		widest := f.width(text.Count(max(h.N-1, 0)), textSize)
		step := lineStep(h.N, perLine, widest+12)
		for i := 0; i < h.N; i += step {
			l.rows = append(l.rows, tick{(float64(i) + 0.5) * perLine, text.Count(i)})
		}
		l.columns = l.rows
		l.rowsWidth, l.columnsHeight = widest, textSize
		return
	}
	l.rows = h.named(l, f)
	l.columns = l.rows
	l.rowsWidth = widestTick(f, l.rows)
	l.columnsHeight = textSize
	if l.upright = l.rowsWidth+12 > float64(l.cell); l.upright {
		l.columnsHeight = l.rowsWidth
	}
}

// named returns ticks for as many bins as there is room for, each labelled with
// the name of its first line.
func (h *Heatmap) named(l *layout, f *typeface) []tick {
	step := max(ceilDiv(ceil(lineHeight), l.cell), 1)
	names := shortHosts(h.Labels)
	var ticks []tick
	for i := 0; i < l.bins; i += step {
		name := f.fit(printable(names[i*h.PerBin]), textSize, nameLimit)
		ticks = append(ticks, tick{(float64(i) + 0.5) * float64(l.cell), name})
	}
	return ticks
}

// bar sets the ticks of the colour bar.
func (h *Heatmap) bar(l *layout, f *typeface) {
	s := h.Scale()
	values := barTicks(s, h.Unit)
	for i, words := range h.Unit.prefixes().FormatAll(values) {
		l.bar = append(l.bar, tick{s.position(values[i]) * float64(l.barHeight), words})
	}
	l.barTextWidth = max(widestTick(f, l.bar), f.width(nothingText, textSize))
}

// nothingText is the label of the background's sample.
const nothingText = "none"

func (h *Heatmap) title() string { return printable(h.Title) }

// noun returns the first word of AxisName: "block" of "block of 8 ranks".
func (h *Heatmap) noun() string {
	noun, _, _ := strings.Cut(h.AxisName, " ")
	return noun
}

// lines returns a number of lines as text: "1 rank", "12 blocks of 8 ranks".
func (h *Heatmap) lines(n int) string {
	noun, rest, _ := strings.Cut(h.AxisName, " ")
	return strings.TrimSpace(text.CountOf(n, noun) + " " + rest)
}

// facts returns the parts of the caption. A part is not broken over lines.
func (h *Heatmap) facts() []string {
	cells := len(h.Cells) * len(h.Cells)
	facts := []string{h.lines(h.N)}
	if h.PerBin > 1 {
		does := "adds up"
		if h.Mean {
			does = "averages"
		}
		facts = append(facts, fmt.Sprintf("each cell %s %s × %s", does, text.Count(h.PerBin), h.lines(h.PerBin)))
	}
	used, least, greatest := h.extremes()
	if greatest == 0 {
		return append(facts, "nothing was sent")
	}
	facts = append(facts, fmt.Sprintf("%s of %s cells in use", text.Count(used), text.Count(cells)))
	if least == greatest {
		return append(facts, "each "+h.value(least))
	}
	ends := h.Unit.prefixes().FormatAll([]float64{least, greatest})
	return append(facts, fmt.Sprintf("least %s, greatest %s", ends[0], ends[1]+h.suffix()))
}

// value returns a value as text: "1.5 MiB", "1.5 MiB per message", "12
// messages".
func (h *Heatmap) value(v float64) string { return h.Unit.prefixes().Format(v, 3) + h.suffix() }

func (h *Heatmap) suffix() string {
	if h.Unit == Bytes {
		return printable(strings.TrimPrefix(h.Quantity, "bytes"))
	}
	return printable(" " + h.Quantity)
}

// wrap joins the parts with semicolons into lines of at most room pixels. A
// part that is longer than that is a line by itself.
func wrap(f *typeface, parts []string, room float64) []string {
	lines := []string{parts[0]}
	for _, part := range parts[1:] {
		last := &lines[len(lines)-1]
		if longer := *last + "; " + part; f.width(longer, textSize) <= room {
			*last = longer
		} else {
			lines = append(lines, part)
		}
	}
	return lines
}

func widestTick(f *typeface, ticks []tick) float64 {
	w := 0.0
	for _, t := range ticks {
		w = max(w, f.width(t.text, textSize))
	}
	return w
}
