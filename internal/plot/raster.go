package plot

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// raster draws the whole picture as an image.
func (h *Heatmap) raster() image.Image {
	f := sans()
	l := h.layout(f)
	c := newCanvas(l.width, l.height)
	paste(c.Image(), h.cellImage(l.cell), l.left, l.top)
	if l.bar != nil {
		paste(c.Image(), barImage(h.Scale(), l.barHeight), l.barLeft, l.top)
	}
	h.drawFrame(l, &pixelPen{c, f, l.height})
	return c.Image()
}

// newCanvas returns an empty canvas of width x height pixels.
func newCanvas(width, height int) *vgimg.Canvas {
	// At 72 dots per inch one point of vg is one pixel.
	return vgimg.NewWith(vgimg.UseWH(vg.Length(width), vg.Length(height)), vgimg.UseDPI(72))
}

func paste(to draw.Image, from image.Image, left, top int) {
	at := from.Bounds().Add(image.Pt(left, top))
	draw.Draw(to, at, from, image.Point{}, draw.Src)
}

// cellImage returns the cells without the frame. Each cell is a square of cell
// x cell pixels.
func (h *Heatmap) cellImage(cell int) *image.Paletted {
	side := len(h.Cells) * cell
	img := image.NewPaletted(image.Rect(0, 0, side, side), colors())
	s := h.Scale()
	for i, row := range h.Cells {
		first := img.Pix[i*cell*img.Stride:][:side]
		for j, v := range row {
			fill(first[j*cell:][:cell], uint8(s.level(v)))
		}
		for y := i*cell + 1; y < (i+1)*cell; y++ {
			copy(img.Pix[y*img.Stride:], first)
		}
	}
	return img
}

func fill(pixels []uint8, v uint8) {
	for i := range pixels {
		pixels[i] = v
	}
}

// barImage returns the colour bar without labels. The greatest value is at the
// top.
func barImage(s Scale, height int) *image.Paletted {
	img := image.NewPaletted(image.Rect(0, 0, barWidth, height), colors())
	for y := range height {
		fill(img.Pix[y*img.Stride:][:barWidth], uint8(s.at(1-(float64(y)+0.5)/float64(height))))
	}
	return img
}

// pixelPen draws with vg, whose origin is the bottom left corner.
type pixelPen struct {
	canvas *vgimg.Canvas
	font   *typeface
	height int
}

func (p *pixelPen) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(float64(p.height) - y)}
}

func (p *pixelPen) line(c color.RGBA, x0, y0, x1, y1 float64) {
	p.canvas.SetColor(c)
	p.canvas.SetLineWidth(1)
	var path vg.Path
	path.Move(p.point(x0, y0))
	path.Line(p.point(x1, y1))
	p.canvas.Stroke(path)
}

// links draws each link as a path of its own: the time that vg needs for one
// path grows with the square of its segments.
func (p *pixelPen) links(all []lineSegment) {
	p.canvas.SetColor(linkInk)
	p.canvas.SetLineWidth(linkWidth)
	for _, s := range all {
		var path vg.Path
		path.Move(p.point(s.x0, s.y0))
		path.Line(p.point(s.x1, s.y1))
		p.canvas.Stroke(path)
	}
}

func (p *pixelPen) rect(c color.RGBA, left, top, width, height int) {
	draw.Draw(p.canvas.Image(), image.Rect(left, top, left+width, top+height), image.NewUniform(c), image.Point{}, draw.Src)
}

func (p *pixelPen) text(t label) {
	p.canvas.SetColor(t.color)
	face := p.font.face(t.size)
	before := p.font.width(t.string, t.size) * float64(t.held) / 2
	if !t.upright {
		p.canvas.FillString(face, p.point(t.x-before, t.y), t.string)
		return
	}
	p.canvas.Push()
	p.canvas.Translate(p.point(math.Round(t.x), math.Round(t.y+before))) // rotated text is blurred unless it starts at a whole pixel
	p.canvas.Rotate(math.Pi / 2)
	p.canvas.FillString(face, vg.Point{}, t.string)
	p.canvas.Pop()
}
