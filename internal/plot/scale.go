package plot

import (
	"image/color"
	"math"
	"sync"

	"gonum.org/v1/plot/palette/moreland"
)

// Scale maps values to colours by their logarithm, from the smallest value
// above 0 to the greatest. The zero Scale belongs to an empty matrix.
type Scale struct {
	Min, Max float64
}

// leastSpan is the smallest ratio of the two ends of a scale. Values that are
// nearly equal then have nearly equal colours.
const leastSpan = 4

// Scale returns the scale from the matrix's smallest to its greatest value,
// widened to leastSpan, or Ends.
func (h *Heatmap) Scale() Scale {
	if h.Ends != nil {
		return *h.Ends
	}
	_, least, greatest := h.extremes()
	if least < greatest {
		least = min(least, greatest/leastSpan)
	}
	return Scale{least, greatest}
}

// extremes returns the number of cells above 0, the smallest of their values and
// the greatest value.
func (h *Heatmap) extremes() (used int, least, greatest float64) {
	for _, row := range h.Cells {
		for _, v := range row {
			if v > 0 {
				if used++; used == 1 || v < least {
					least = v
				}
				greatest = max(greatest, v)
			}
		}
	}
	return used, least, greatest
}

// Color returns the colour of a value. 0 has the colour of the background;
// greater values are darker.
func (s Scale) Color(v float64) color.RGBA {
	return s.level(v).color()
}

// position returns where a value lies on the scale, from 0 to 1. If all values
// are equal it returns 0.5.
func (s Scale) position(v float64) float64 {
	width := math.Log2(s.Max) - math.Log2(s.Min) // the quotient s.Max/s.Min could overflow
	if !(width > 0) {
		return 0.5
	}
	return min(max((math.Log2(v)-math.Log2(s.Min))/width, 0), 1)
}

// level is an index into the palette: 0 is the background, then the colours
// from light to dark.
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

// at returns the level for a position on the scale. If all values are equal,
// every position has the middle level.
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

// viridis is the colour map of that name in matplotlib (CC0), in eighths. Equal
// steps in value look like equal steps in colour, also to colour-blind readers
// and in grey. The lightest eighth is left out: it is too close to the
// background.
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

// colors returns the palette by level. Greater values are darker: on a light
// background readers expect this without a look at the colour bar.
var colors = sync.OnceValue(func() color.Palette {
	m, err := moreland.NewLuminance(viridis)
	if err != nil {
		panic(err) // cannot happen: the table above gets darker from entry to entry
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
