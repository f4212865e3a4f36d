package plot

import (
	"image/color"
	"math"
	"slices"
	"testing"
)

func TestScaleEnds(t *testing.T) {
	s := Scale{Min: 16, Max: 1 << 20}
	for v, want := range map[float64]color.RGBA{
		0:       {0xff, 0xff, 0xff, 255},
		16:      {0xad, 0xdc, 0x30, 255},
		1 << 20: {0x44, 0x01, 0x54, 255},
		4096:    levelAt(0.5).color(), // the logarithmic middle between 16 and 1 Mi
		1:       {0xad, 0xdc, 0x30, 255},
		1 << 30: {0x44, 0x01, 0x54, 255},
	} {
		if got := s.Color(v); got != want {
			t.Errorf("%g is %v, want %v", v, got, want)
		}
	}
}

// lightness returns the CIE L* of a colour, from 0 to 100.
func lightness(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		if f := float64(v) / 255; f > 0.04045 {
			return math.Pow((f+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	y := 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	return 116*math.Cbrt(y) - 16
}

// TestPerceptuallyUniform requires that equal ratios of values are equal steps
// of lightness, darker for larger values, and that the smallest value can be
// distinguished from the background.
func TestPerceptuallyUniform(t *testing.T) {
	light := func(position float64) float64 { return lightness(levelAt(position).color()) }
	whole := light(0) - light(1)
	if whole < 60 || lightness(nothing)-light(0) < 15 {
		t.Errorf("got lightness %g to %g on a background of %g", light(0), light(1), lightness(nothing))
	}
	for i := range levels {
		at := float64(i) / (levels - 1)
		if off := light(0) - at*whole - light(at); math.Abs(off) > 1 {
			t.Errorf("lightness at %g differs by %g from a straight line", at, off)
		}
	}
}

func TestScaleKeepsOrder(t *testing.T) {
	s := Scale{Min: 1, Max: math.MaxUint64}
	last := background
	for v := 1.0; v <= math.MaxUint64; v *= 1.05 {
		l := s.level(v)
		if l < last {
			t.Fatalf("%g has level %d, less than %d of a smaller value", v, l, last)
		}
		last = l
	}
	if last < levels-1 {
		t.Errorf("the largest value has level %d, not the last one", last)
	}
}

func TestScaleOfCells(t *testing.T) {
	if got, want := ranks([][]float64{{0, 9}, {2, 0}}).Scale(), (Scale{2, 9}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Nearly equal values must get similar colours: the scale covers at least two
// doublings below the largest value.
func TestScaleOfNearlyEqualCells(t *testing.T) {
	s := ranks([][]float64{{0, 1000}, {900, 0}}).Scale()
	if s != (Scale{250, 1000}) {
		t.Errorf("%v", s)
	}
	if near, far := int(s.level(1000))-int(s.level(900)), int(s.level(1000))-int(s.level(500)); near > levels/10 || far < levels/3 {
		t.Errorf("10 %% less is %d levels lower, 50 %% less is %d", near, far)
	}
	if s := ranks([][]float64{{0, 7}, {7, 0}}).Scale(); s != (Scale{7, 7}) {
		t.Errorf("got %v for equal cells", s)
	}
}

func TestBarTicks(t *testing.T) {
	for name, c := range map[string]struct {
		s    Scale
		u    Unit
		want []string
	}{
		"powers of two":          {Scale{1000, 20_000}, Bytes, []string{"1 KiB", "2 KiB", "4 KiB", "8 KiB", "16 KiB"}},
		"every second power":     {Scale{256, 1 << 20}, Bytes, []string{"256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"}},
		"32 times":               {Scale{1, 1 << 34}, Bytes, []string{"1 B", "32 B", "1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"}},
		"64 bits":                {Scale{1, math.MaxUint64}, Bytes, []string{"1 B", "1 KiB", "1 MiB", "1 GiB", "1 TiB", "1 PiB", "1 EiB"}},
		"between powers":         {Scale{8000, 8190}, Bytes, []string{"7.85 KiB", "7.9 KiB", "7.95 KiB"}},
		"one value":              {Scale{1 << 20, 1 << 20}, Bytes, []string{"1 MiB"}},
		"nothing":                {Scale{}, Bytes, []string{}},
		"counts":                 {Scale{1, 2000}, Count, []string{"1", "10", "100", "1,000"}},
		"few powers of ten":      {Scale{5, 600}, Count, []string{"5", "10", "20", "50", "100", "200", "500"}},
		"no power of ten":        {Scale{21, 29}, Count, []string{"22", "24", "26", "28"}},
		"large counts":           {Scale{1, 1e12}, Count, []string{"1", "100", "10 k", "1 M", "100 M", "10 G", "1 T"}},
		"neighbours at 10 to 15": {Scale{1e15, 1e15 + 1}, Count, []string{"1 P", "1.000000000000001 P"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.u.prefixes().FormatAll(barTicks(c.s, c.u)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
