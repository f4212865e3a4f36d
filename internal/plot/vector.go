package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
)

// maxElements is the side of the largest matrix whose cells are SVG elements.
// Its 10,000 cells with tooltips take 1.1 MB.
const maxElements = 100

// vector draws the whole picture as SVG. It does not use gonum's vgsvg, which
// has no tooltips, blurs images, has no size in pixels, and cannot align text
// at its end (the text would move with another font).
func (h *Heatmap) vector() ([]byte, error) {
	f := sans()
	l := h.layout(f)
	var out bytes.Buffer
	vectorHead(&out, l.width, l.height, h.title())
	if err := h.vectorCells(&out, l); err != nil {
		return nil, err
	}
	if l.bar != nil {
		vectorBar(&out, h.Scale(), l)
	}
	h.drawFrame(l, &vectorPen{&out, f})
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes(), nil
}

// vectorHead writes the start of a document of width x height pixels.
func vectorHead(w io.Writer, width, height int, title string) {
	// Liberation Sans is common on Linux; Arial and Helvetica have the same
	// widths.
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<svg width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="Liberation Sans,Arial,Helvetica,sans-serif" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<title>%s</title>
<rect width="100%%" height="100%%" fill="%s"/>
`, width, height, html.EscapeString(title), Hex(nothing))
}

// vectorPen writes SVG elements.
type vectorPen struct {
	w    io.Writer
	font *typeface
}

func (p *vectorPen) line(c color.RGBA, x0, y0, x1, y1 float64) {
	fmt.Fprintf(p.w, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="%s"/>`+"\n", x0, y0, x1, y1, Hex(c))
}

// links writes one element for all links, because thousands would take
// megabytes.
func (p *vectorPen) links(all []lineSegment) {
	fmt.Fprint(p.w, `<path fill="none" d="`)
	for _, s := range all {
		fmt.Fprintf(p.w, "M%s %sL%s %s", tenths(s.x0), tenths(s.y0), tenths(s.x1), tenths(s.y1))
	}
	opaque := color.NRGBAModel.Convert(linkInk).(color.NRGBA)
	fmt.Fprintf(p.w, `" stroke="#%02x%02x%02x" stroke-opacity="%.2f" stroke-width="%g"/>`+"\n",
		opaque.R, opaque.G, opaque.B, float64(opaque.A)/255, linkWidth)
}

// tenths returns a coordinate rounded to a tenth of a pixel.
func tenths(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func (p *vectorPen) rect(c color.RGBA, left, top, width, height int) {
	fmt.Fprintf(p.w, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left, top, width, height, Hex(c))
}

// text writes the length of the text too, so that another font is fitted to it.
func (p *vectorPen) text(t label) {
	if t.string == "" {
		return
	}
	turn := ""
	if t.upright {
		turn = fmt.Sprintf(` transform="rotate(-90 %.1f %.1f)"`, t.x, t.y)
	}
	fmt.Fprintf(p.w, `<text x="%.1f" y="%.1f"%s font-size="%g" fill="%s" text-anchor="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
		t.x, t.y, turn, t.size, Hex(t.color), anchors[t.held], p.font.width(t.string, t.size), html.EscapeString(t.string))
}

var anchors = [...]string{atStart: "start", atMiddle: "middle", atEnd: "end"}

func (h *Heatmap) vectorCells(w io.Writer, l *layout) error {
	if l.bins > maxElements {
		return embed(w, h.cellImage(l.cell), l.left, l.top)
	}
	s := h.Scale()
	fmt.Fprintln(w, `<g shape-rendering="crispEdges">`)
	for i, row := range h.Cells {
		for j, v := range row {
			if v == 0 {
				continue
			}
			fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%[3]d" fill="%s"><title>%s</title></rect>`+"\n",
				l.left+j*l.cell, l.top+i*l.cell, l.cell, Hex(s.Color(v)), html.EscapeString(h.tooltip(i, j)))
		}
	}
	fmt.Fprintln(w, "</g>")
	return nil
}

// embed writes the cells as an image with one image pixel per screen pixel.
// Some viewers blur an image that they enlarge.
func embed(w io.Writer, cells image.Image, left, top int) error {
	size := cells.Bounds().Size()
	fmt.Fprintf(w, `<image x="%d" y="%d" width="%d" height="%d" image-rendering="optimizeSpeed" style="image-rendering:pixelated" xlink:href="data:image/png;base64,`,
		left, top, size.X, size.Y)
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if err := png.Encode(enc, cells); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, `"/>`)
	return err
}

func vectorBar(w io.Writer, s Scale, l *layout) {
	fill := Hex(s.Color(s.Max))
	if s.Min < s.Max {
		const stops = 32
		fmt.Fprintln(w, `<defs><linearGradient id="scale" x1="0" y1="1" x2="0" y2="0">`)
		for i := range stops + 1 {
			at := float64(i) / stops
			fmt.Fprintf(w, `<stop offset="%g" stop-color="%s"/>`+"\n", at, Hex(s.at(at).color()))
		}
		fmt.Fprintln(w, `</linearGradient></defs>`)
		fill = "url(#scale)"
	}
	fmt.Fprintf(w, `<rect x="%d" y="%d" width="%g" height="%d" fill="%s"/>`+"\n", l.barLeft, l.top, barWidth, l.barHeight, fill)
}

// tooltip returns the text of a cell: "rank 3 → rank 7: 1.5 MiB, 12 messages".
func (h *Heatmap) tooltip(from, to int) string {
	text := fmt.Sprintf("%s → %s: %s", h.bin(from), h.bin(to), h.value(h.Cells[from][to]))
	if h.Note != nil {
		if note := h.Note(from, to); note != "" {
			text += ", " + printable(note)
		}
	}
	return text
}

// bin returns the name of a row of cells: "rank 3", "ranks 24–31", a host's
// name.
func (h *Heatmap) bin(i int) string {
	first, last := i*h.PerBin, min((i+1)*h.PerBin, h.N)-1
	switch {
	case h.Labels != nil && first == last:
		return printable(h.Labels[first])
	case h.Labels != nil:
		return printable(h.Labels[first]) + " … " + printable(h.Labels[last])
	case first == last:
		return fmt.Sprintf("%s %s", h.noun(), text.Count(first))
	}
	return fmt.Sprintf("%ss %s–%s", h.noun(), text.Count(first), text.Count(last))
}

// Hex returns a colour as #rrggbb.
func Hex(c color.RGBA) string {
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// area is a rectangle of one colour in an image, in pixels.
type area struct {
	left, top, width, height int
	index                    uint8
}

// maxAreas is the largest number of areas that an SVG file holds as paths,
// about 300 KB. A picture with more areas is embedded as an image.
const maxAreas = 20_000

// areasOf divides the image into rectangles of one colour, without the
// background. It returns nil if there are more than most.
func areasOf(img *image.Paletted, most int) []area {
	size := img.Bounds().Size()
	areas := []area{}
	above := make([]int, size.X) // index+1 of the area that starts in a column and ends on the line above; 0 is none
	next := make([]int, size.X)
	for y := range size.Y {
		clear(next)
		line := img.Pix[y*img.Stride:][:size.X]
		for x := 0; x < size.X; {
			end := x + 1
			for end < size.X && line[end] == line[x] {
				end++
			}
			if line[x] != paperIndex {
				if i := above[x]; i > 0 && areas[i-1].index == line[x] && areas[i-1].width == end-x {
					areas[i-1].height++
					next[x] = i
				} else if areas = append(areas, area{x, y, end - x, 1, line[x]}); len(areas) > most {
					return nil
				} else {
					next[x] = len(areas)
				}
			}
			x = end
		}
		above, next = next, above
	}
	return areas
}

// vectorAreas writes one path for each colour. Viewers smooth the edges of
// separate rectangles, and the background would show between rectangles that
// touch.
func vectorAreas(w io.Writer, img *image.Paletted, areas []area, left, top int) {
	fmt.Fprintln(w, `<g shape-rendering="crispEdges">`)
	byColor := make([][]area, len(img.Palette))
	for _, a := range areas {
		byColor[a.index] = append(byColor[a.index], a)
	}
	for index, of := range byColor {
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(w, `<path fill="%s" d="`, Hex(img.Palette[index].(color.RGBA)))
		for _, a := range of {
			fmt.Fprintf(w, "M%d %dh%dv%dh-%dz", left+a.left, top+a.top, a.width, a.height, a.width)
		}
		fmt.Fprintln(w, `"/>`)
	}
	fmt.Fprintln(w, "</g>")
}
