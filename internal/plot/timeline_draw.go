package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
)

// linkInk is half transparent, so that lanes below a link stay visible. Its
// components are premultiplied.
var linkInk = color.RGBA{0x18, 0x18, 0x18, 0xb0}

const linkWidth = 0.8

func (t *Timeline) raster() image.Image {
	f := sans()
	l := t.layout(f)
	c := newCanvas(l.width, l.height)
	paste(c.Image(), t.cellImage(l), l.left, l.top)
	t.draw(l, &pixelPen{c, f, l.height})
	return c.Image()
}

func (t *Timeline) vector() ([]byte, error) {
	f := sans()
	l := t.layout(f)
	var out bytes.Buffer
	vectorHead(&out, l.width, l.height, l.title)
	cells := t.cellImage(l)
	if areas := areasOf(cells, maxAreas); areas != nil {
		vectorAreas(&out, cells, areas, l.left, l.top)
	} else if err := embed(&out, cells, l.left, l.top); err != nil {
		return nil, err
	}
	t.draw(l, &vectorPen{&out, f})
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes(), nil
}

// draw draws everything except the cells.
func (t *Timeline) draw(l *timelineLayout, p pen) {
	d := &drawing{p}
	d.headline(l.title)
	for _, item := range l.legend {
		d.legendItem(item)
	}
	if len(l.links) > 0 {
		d.links(l.links)
	}
	d.box(l.left, l.top, l.columns, l.lanesHeight())
	d.rowTicks(l.rows, l.left, l.top)
	d.timeAxis(l, printable(t.TimeName))
	middle := float64(l.top+l.bottom()) / 2
	d.writeUpright(printable(t.AxisName), margin+0.8*textSize, middle, atMiddle)
	d.captionBelow(l.caption, float64(l.bottom())+axisHeight)
}

func (d *drawing) legendItem(item legendItem) {
	width := float64(swatch)
	if item.link {
		width = linkSample
		y := item.y - 0.35*textSize
		d.links([]lineSegment{{item.x, y + 5, item.x + linkSample, y - 5}})
	} else {
		left, top := ceil(item.x), ceil(item.y-0.85*swatch)
		d.rect(item.Color, left, top, swatch, swatch)
		d.box(left, top, swatch, swatch)
	}
	d.write(item.Name, item.x+width+gap, item.y, atStart)
}

func (d *drawing) timeAxis(l *timelineLayout, name string) {
	top := float64(l.bottom()) + 1
	low := top + tickLen + gap + 0.8*textSize
	for _, t := range l.times {
		x := crisp(float64(l.left) + t.at)
		d.line(ink, x, top, x, top+tickLen)
		d.write(t.text, x, low, atMiddle)
	}
	d.write(name, float64(l.left)+float64(l.columns)/2, low+1.4*textSize, atMiddle)
}
