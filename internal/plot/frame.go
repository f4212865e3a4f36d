package plot

import (
	"image/color"
	"math"
)

// pen draws lines, rectangles and text. Coordinates are pixels from the top
// left corner.
type pen interface {
	line(c color.RGBA, x0, y0, x1, y1 float64)
	links(all []lineSegment)
	rect(c color.RGBA, left, top, width, height int)
	text(t label)
}

// lineSegment is a straight line for a link. Thousands of them may overlap.
type lineSegment struct{ x0, y0, x1, y1 float64 }

// label is one line of text whose baseline passes through x, y.
type label struct {
	string
	x, y, size float64
	held       hold
	upright    bool // reads from bottom to top
	color      color.RGBA
}

// hold is the alignment of a text: which part of it lies at x, y.
type hold int

const (
	atStart hold = iota
	atMiddle
	atEnd
)

// chartFrame draws everything except the cells, in the same way for PNG and SVG.
type chartFrame struct {
	*layout
	drawing
}

// drawing has the drawing functions that heatmaps and timelines share.
type drawing struct{ pen }

func (h *Heatmap) drawFrame(l *layout, p pen) {
	d := &chartFrame{l, drawing{p}}
	side, left, top := float64(l.side()), float64(l.left), float64(l.top)
	d.headline(l.title)
	d.write("receiving "+h.axis(), left+side/2, margin+titleSize+3*gap+0.8*textSize, atMiddle)
	d.writeUpright("sending "+h.axis(), margin+0.8*textSize, top+side/2, atMiddle)
	d.grid()
	d.borders(h.Borders, h.PerBin)
	d.box(l.left, l.top, l.side(), l.side())
	d.rowTicks(l.rows, l.left, l.top)
	d.columnTicks()
	if l.bar != nil {
		d.colorBar(h.barName())
	}
	d.captionBelow(l.caption, top+side+2*gap)
}

func (d *drawing) headline(title string) {
	d.text(label{string: title, x: margin, y: margin + 0.8*titleSize, size: titleSize, color: ink})
}

func (d *drawing) captionBelow(lines []string, top float64) {
	for i, line := range lines {
		y := top + lineHeight*(float64(i)+0.8)
		d.text(label{string: line, x: margin, y: y, size: textSize, color: faint})
	}
}

func (h *Heatmap) axis() string    { return printable(h.AxisName) }
func (h *Heatmap) barName() string { return printable(h.Quantity) + ", log scale" }

// borders draws lines between the groups of lines that begin at these lines.
func (d *chartFrame) borders(firsts []int, perBin int) {
	for _, first := range firsts {
		at := float64(first*d.cell/perBin) - 0.5
		for _, line := range []struct {
			color color.RGBA
			off   float64
		}{{nothing, -1}, {nothing, 1}, {ink, 0}} { // seen between dark cells, too
			x, y := float64(d.left)+at+line.off, float64(d.top)+at+line.off
			d.line(line.color, x, float64(d.top), x, float64(d.top+d.side()))
			d.line(line.color, float64(d.left), y, float64(d.left+d.side()), y)
		}
	}
}

// grid draws lines between the cells if the cells are large enough.
func (d *chartFrame) grid() {
	if d.cell < gridFrom {
		return
	}
	for i := 1; i < d.bins; i++ {
		x, y := float64(d.left+i*d.cell)-0.5, float64(d.top+i*d.cell)-0.5
		d.line(grid, x, float64(d.top), x, float64(d.top+d.side()))
		d.line(grid, float64(d.left), y, float64(d.left+d.side()), y)
	}
}

// box draws a frame just outside an area.
func (d *drawing) box(left, top, width, height int) {
	l, t := float64(left)-0.5, float64(top)-0.5
	r, b := float64(left+width)+0.5, float64(top+height)+0.5
	d.line(ink, l-0.5, t, r+0.5, t)
	d.line(ink, l-0.5, b, r+0.5, b)
	d.line(ink, l, t, l, b)
	d.line(ink, r, t, r, b)
}

// rowTicks draws the labels of rows to the left of an area.
func (d *drawing) rowTicks(rows []tick, left, top int) {
	right := float64(left) - 1
	for _, t := range rows {
		y := crisp(float64(top) + t.at)
		d.line(ink, right-tickLen, y, right, y)
		d.write(t.text, right-tickLen-gap, y+0.35*textSize, atEnd)
	}
}

func (d *chartFrame) columnTicks() {
	bottom := float64(d.top) - 1
	for _, t := range d.columns {
		x := crisp(float64(d.left) + t.at)
		d.line(ink, x, bottom-tickLen, x, bottom)
		if d.upright {
			d.writeUpright(t.text, x+0.35*textSize, bottom-tickLen-gap, atStart)
		} else {
			d.write(t.text, x, bottom-tickLen-gap, atMiddle)
		}
	}
}

// colorBar draws the labels of the colour bar and, below the bar, the sample of
// the background.
func (d *chartFrame) colorBar(name string) {
	right, low := float64(d.barLeft+barWidth), d.top+d.barHeight
	d.box(d.barLeft, d.top, barWidth, d.barHeight)
	for _, t := range d.bar {
		y := crisp(float64(low) - t.at)
		d.line(ink, right+1, y, right+1+tickLen, y)
		d.write(t.text, right+1+tickLen+gap, y+0.35*textSize, atStart)
	}
	d.box(d.barLeft, low+barWidth, barWidth, barWidth)
	d.write(nothingText, right+1+tickLen+gap, float64(low)+1.5*barWidth+0.35*textSize, atStart)
	x := right + 1 + tickLen + gap + d.barTextWidth + 2*gap + 0.8*textSize
	d.writeUpright(name, x, float64(d.top)+float64(d.barHeight)/2, atMiddle)
}

// crisp returns the centre of the pixel that contains v, so that a line of one
// pixel is not blurred over two.
func crisp(v float64) float64 { return math.Floor(v) + 0.5 }

func (d *drawing) write(s string, x, y float64, held hold) {
	d.text(label{string: s, x: x, y: y, size: textSize, held: held, color: ink})
}

func (d *drawing) writeUpright(s string, x, y float64, held hold) {
	d.text(label{string: s, x: x, y: y, size: textSize, held: held, upright: true, color: ink})
}
