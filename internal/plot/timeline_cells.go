package plot

import (
	"image"
	"image/color"
	"math"
)

const (
	// stackFrom is the smallest height of a bar that shows the shares of the
	// classes one above the other. A lower bar has one colour in each column:
	// that of the class with the largest share.
	stackFrom = 8
	tints     = 8 // tints of each class; a lighter tint means that more of the column belongs to Ground
	// maxClasses is limited by the palette: 2 + 24 × 8 of 256 colours.
	maxClasses = 24
)

// The palette of the cells: background, Ground, and then the tints of each
// class from light to full.
const (
	paperIndex  = 0
	groundIndex = 1
	firstTint   = 2
)

func (t *Timeline) palette() color.Palette {
	p := color.Palette{nothing, t.Ground.Color}
	for _, c := range t.Classes {
		for i := range tints {
			p = append(p, mix(t.Ground.Color, c.Color, float64(i+1)/tints))
		}
	}
	return p
}

// mix returns a mixture of two colours with the given share of b.
func mix(a, b color.RGBA, share float64) color.RGBA {
	at := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + share*(float64(b)-float64(a)))) }
	return color.RGBA{at(a.R, b.R), at(a.G, b.G), at(a.B, b.B), 255}
}

// tint returns the palette index of a class whose share of a column is given.
// Even the smallest share gets a visible tint.
func tint(class int, share float64) uint8 {
	level := min(max(int(math.Round(share*tints)), 1), tints)
	return uint8(firstTint + class*tints + level - 1)
}

// cellImage returns the lanes without the frame.
func (t *Timeline) cellImage(l *timelineLayout) *image.Paletted {
	img := image.NewPaletted(image.Rect(0, 0, l.columns, l.lanesHeight()), t.palette())
	n := len(t.Classes)
	for i, lane := range t.Lanes {
		ground := t.present(l, lane)
		for column := range l.columns {
			shares := lane.Shares[column*n : (column+1)*n]
			base := uint8(paperIndex)
			if ground(column) {
				base = groundIndex
			}
			paintColumn(img.Pix[i*l.pitch*img.Stride+column:], img.Stride, l.bar, shares, base)
		}
	}
	return img
}

// present returns a function that reports whether any line of the lane exists
// in a column.
func (t *Timeline) present(l *timelineLayout, lane Lane) func(column int) bool {
	perSecond := float64(l.columns) / (t.To - t.From)
	begin, end := (lane.Begin-t.From)*perSecond, (lane.End-t.From)*perSecond
	return func(column int) bool {
		middle := float64(column) + 0.5
		return begin <= middle && middle <= end
	}
}

// paintColumn colours one column of a bar. pixels[0] is the upper end of the
// column.
func paintColumn(pixels []uint8, stride, bar int, shares []float32, base uint8) {
	var sum float64
	most := 0
	for class, share := range shares {
		sum += float64(share)
		if share > shares[most] {
			most = class
		}
	}
	if sum > 0 && bar < stackFrom {
		base = tint(most, sum)
	}
	for y := range bar {
		pixels[y*stride] = base
	}
	if sum == 0 || bar < stackFrom {
		return
	}
	var below float64
	low := 0
	for class, share := range shares {
		below += float64(share)
		high := min(int(math.Round(below*float64(bar))), bar)
		if class == most && sum*float64(bar) < 0.5 {
			high = 1 // at least one pixel, so that every class is visible
		}
		for ; low < high; low++ {
			pixels[(bar-1-low)*stride] = tint(class, 1)
		}
	}
}
