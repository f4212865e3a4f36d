package plot

import (
	"image/color"
	"math"
	"sync"

	"gonum.org/v1/plot/palette/moreland"
)

// Scale gives values their colours: by the logarithm, from the least value
// that is not 0 to the greatest. The zero Scale is that of an empty matrix.
type Scale struct {
	Min, Max float64
}

// leastSpan is how far apart the ends of a scale are at least, as a quotient:
// values that are nearly equal look so.
const leastSpan = 4

// Scale is the scale of the matrix's own values, or a wider one.
func (h *Heatmap) Scale() Scale {
	least, greatest := h.extremes()
	if least < greatest {
		least = min(least, greatest/leastSpan)
	}
	return Scale{least, greatest}
}

// extremes are the least value that is not 0, and the greatest.
func (h *Heatmap) extremes() (least, greatest float64) {
	for _, row := range h.Cells {
		for _, v := range row {
			if v > 0 && (least == 0 || v < least) {
				least = v
			}
			greatest = max(greatest, v)
		}
	}
	return least, greatest
}

// Color is the colour of a value: the background's of 0, darker the greater.
func (s Scale) Color(v float64) color.RGBA {
	return s.level(v).color()
}

// position is where a value lies on the scale, from 0 to 1. Where all values
// are equal, they are in the middle.
func (s Scale) position(v float64) float64 {
	width := math.Log2(s.Max) - math.Log2(s.Min) // a quotient could overflow
	if !(width > 0) {
		return 0.5
	}
	return min(max((math.Log2(v)-math.Log2(s.Min))/width, 0), 1)
}

// level is an entry of the palette: the background, then levels of colour.
type level uint8

const (
	background level = 0
	levels           = 255
)

func (s Scale) level(v float64) level {
	if !(v > 0) {
		return background
	}
	return levelAt(s.position(v))
}

// at is the level at a position on the scale, of which one with a single value
// has only the middle.
func (s Scale) at(position float64) level {
	if !(s.Max > s.Min) {
		position = 0.5
	}
	return levelAt(position)
}

func levelAt(position float64) level {
	return 1 + level(math.Round(position*(levels-1)))
}

func (l level) color() color.RGBA { return colors()[l].(color.RGBA) }

// viridis is matplotlib's map of that name (CC0), in eighths: as far apart to
// the eye as the values are, also to the colour-blind, and in grey. It lacks
// the lightest eighth, which is too near to the background.
var viridis = []color.Color{
	color.RGBA{0x44, 0x01, 0x54, 255},
	color.RGBA{0x47, 0x2d, 0x7b, 255},
	color.RGBA{0x3b, 0x52, 0x8b, 255},
	color.RGBA{0x2c, 0x72, 0x8e, 255},
	color.RGBA{0x21, 0x91, 0x8c, 255},
	color.RGBA{0x28, 0xae, 0x80, 255},
	color.RGBA{0x5e, 0xc9, 0x62, 255},
	color.RGBA{0xad, 0xdc, 0x30, 255},
}

var (
	nothing = color.RGBA{0xff, 0xff, 0xff, 255}
	ink     = color.RGBA{0x22, 0x22, 0x22, 255}
	faint   = color.RGBA{0x66, 0x66, 0x66, 255}
	grid    = color.RGBA{0xe0, 0xe0, 0xe0, 255}
)

// colors is the palette by level. More is darker: on a light background that
// is how people read a map without looking at its colour bar.
var colors = sync.OnceValue(func() color.Palette {
	m, err := moreland.NewLuminance(viridis)
	if err != nil {
		panic(err) // the table above does not grow lighter
	}
	m.SetMax(1)
	p := color.Palette{nothing}
	for _, c := range m.Palette(levels).Colors() {
		p = append(p, color.RGBAModel.Convert(c))
	}
	for i, j := 1, levels; i < j; i, j = i+1, j-1 {
		p[i], p[j] = p[j], p[i]
	}
	return p
})
