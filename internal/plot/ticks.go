package plot

import (
	"math"
	"math/bits"
)

// tick is a mark on an axis or on the colour bar. at is in pixels.
type tick struct {
	at   float64
	text string
}

// maxBarTicks keeps a colour bar's labels well apart.
const maxBarTicks = 9

// barTicks marks a scale at powers: 1 KiB, 32 KiB, 1 MiB; 1, 10, 100. Where
// fewer than two lie within it, at round numbers.
func barTicks(s Scale, u Unit) []float64 {
	switch {
	case s.Max == 0:
		return nil
	case s.Max == s.Min:
		return []float64{s.Min}
	}
	ticks := powerTicks(s, u)
	if len(ticks) < 2 {
		return roundTicks(s, u)
	}
	return ticks
}

// powerTicks are as many as there is room for: powers of two for bytes, else
// of ten, with 2 and 5 times these on a short scale.
func powerTicks(s Scale, u Unit) []float64 {
	if u == Bytes {
		return fewEnough(s, 2, 1, 2, 5, 10, 20, 40, 80, 160, 320)
	}
	ones := powers(s, 10, 1)
	if 3*len(ones) > maxBarTicks {
		return fewEnough(s, 10, 1, 2, 3, 6, 12, 24, 48, 96, 192)
	}
	if len(ones) == 0 {
		return nil
	}
	var ticks []float64
	for p := ones[0] / 10; p <= s.Max; p *= 10 {
		for _, v := range []float64{p, 2 * p, 5 * p} {
			if s.Min <= v && v <= s.Max {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

// fewEnough is the powers by the least of the steps that keeps them apart.
func fewEnough(s Scale, radix float64, steps ...int) []float64 {
	for _, step := range steps {
		if ticks := powers(s, radix, step); len(ticks) <= maxBarTicks {
			return ticks
		}
	}
	return nil
}

// powers are those of radix that lie on the scale and whose exponent is a
// multiple of step. They are counted before any is made.
func powers(s Scale, radix float64, step int) []float64 {
	const rounding = 1e-9
	first := math.Ceil(math.Log2(s.Min)/math.Log2(radix)/float64(step) - rounding)
	last := math.Floor(math.Log2(s.Max)/math.Log2(radix)/float64(step) + rounding)
	var ticks []float64
	for e := first; e <= last; e++ {
		ticks = append(ticks, math.Pow(radix, e*float64(step)))
	}
	return ticks
}

// roundTicks are multiples of 1, 2 or 5 times a power of ten in the unit that
// the greatest value is written in; the ends of a scale that is too short.
func roundTicks(s Scale, u Unit) []float64 {
	const tooShort = 1e-9
	if s.Max-s.Min < tooShort*s.Max {
		return []float64{s.Min, s.Max}
	}
	_, power := u.prefixed(s.Max, 4)
	unit := math.Pow(u.base(), float64(power))
	step := roundDown((s.Max-s.Min)/unit/3) * unit
	var ticks []float64
	for i := math.Ceil(s.Min / step); i*step <= s.Max; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// roundDown is the greatest 1, 2 or 5 times a power of ten that is at most v.
func roundDown(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	switch {
	case v >= 5*p:
		return 5 * p
	case v >= 2*p:
		return 2 * p
	}
	return p
}

// maxAxisTicks keeps an axis calm where all labels would fit.
const maxAxisTicks = 20

// lineStep is the least step between numbered lines that leaves each label at
// least room pixels, with cells of that many pixels a line: 1, 2, 5, 10, ...;
// 1, 2, 4, 8, ... where the number of lines is itself a power of two.
func lineStep(n int, perLine, room float64) int {
	for i := 0; ; i++ {
		step := []int{1, 2, 5}[i%3] * pow10(i/3)
		if n >= 16 && bits.OnesCount(uint(n)) == 1 {
			step = 1 << i
		}
		if step >= n || float64(step)*perLine >= room && ceilDiv(n, step) <= maxAxisTicks {
			return step
		}
	}
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}
