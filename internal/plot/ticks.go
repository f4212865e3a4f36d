package plot

import (
	"math"
	"math/bits"
	"strconv"
)

// tick is a labelled mark on an axis or on the colour bar. at is in pixels.
type tick struct {
	at   float64
	text string
}

// maxBarTicks is the largest number of labels on a colour bar.
const maxBarTicks = 9

// barTicks returns the values to mark on a scale: powers (1 KiB, 32 KiB, 1 MiB
// or 1, 10, 100) if at least two lie on the scale, otherwise round numbers.
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

// powerTicks returns as many powers as there is room for: powers of two for
// bytes, otherwise powers of ten. On a short scale it adds 2 and 5 times the
// powers of ten.
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

// fewEnough returns every n-th power, where n is the first of steps that gives
// at most maxBarTicks.
func fewEnough(s Scale, radix float64, steps ...int) []float64 {
	for _, step := range steps {
		if ticks := powers(s, radix, step); len(ticks) <= maxBarTicks {
			return ticks
		}
	}
	return nil
}

// powers returns the powers of radix on the scale whose exponent is a multiple
// of step. It returns none if they are too many.
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

// roundTicks returns multiples of 1, 2 or 5 times a power of ten, in the unit
// of the greatest value. If the scale is too short for these it returns the two
// ends.
func roundTicks(s Scale, u Unit) []float64 {
	const tooShort = 1e-9
	if s.Max-s.Min < tooShort*s.Max {
		return []float64{s.Min, s.Max}
	}
	unit := u.prefixes().Multiple(s.Max)
	step := roundDown((s.Max-s.Min)/unit/3) * unit
	var ticks []float64
	for i := math.Ceil(s.Min / step); i*step <= s.Max; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// roundDown returns the greatest number of the form 1, 2 or 5 times a power of
// ten that is not above v.
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

// maxAxisTicks is the largest number of labels on an axis, even if there is
// room for more.
const maxAxisTicks = 20

// lineStep returns the smallest step between numbered lines that leaves at
// least room pixels for each label. perLine is the size of a line in pixels.
// Steps are 1, 2, 5, 10, ..., or 1, 2, 4, 8, ... if n is a power of two.
func lineStep(n int, perLine, room float64) int {
	for i := 0; ; i++ {
		step := []int{1, 2, 5}[i%3] * int(math.Pow10(i/3))
		if n >= 16 && bits.OnesCount(uint(n)) == 1 {
			step = 1 << i
		}
		if step >= n || float64(step)*perLine >= room && ceilDiv(n, step) <= maxAxisTicks {
			return step
		}
	}
}

type timeUnit struct {
	name    string
	seconds float64
}

// timeUnits are the units of the time axis, the largest first.
var timeUnits = []timeUnit{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}

// timeUnitOf returns the largest unit that is not greater than the duration.
func timeUnitOf(seconds float64) timeUnit {
	for _, u := range timeUnits {
		if seconds >= u.seconds {
			return u
		}
	}
	return timeUnits[len(timeUnits)-1]
}

// timeTicks returns ticks at multiples of 1, 2 or 5 times a power of ten for an
// axis that is pixels wide. All labels have the same unit and the same number
// of decimals. The first and the last label may extend beyond the axis.
func timeTicks(from, to float64, pixels int, width func(string) float64) []tick {
	unit := timeUnitOf(max(math.Abs(from), math.Abs(to)))
	from, to = from/unit.seconds, to/unit.seconds
	perUnit := float64(pixels) / (to - from)
	for i := int(math.Floor(3 * math.Log10((to-from)/float64(pixels)))); ; i++ {
		power := int(math.Floor(float64(i) / 3))
		factor := []float64{1, 2, 5}[i-3*power]
		step, decimals := factor*math.Pow10(power), max(-power, 0)
		text := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) + " " + unit.name }
		if step*perUnit < 2*max(width(text(from)), width(text(to))) {
			continue
		}
		var ticks []tick
		for n := math.Ceil(from/step - 1e-9); n*step <= to*(1+1e-12); n++ {
			ticks = append(ticks, tick{(n*step - from) * perUnit, text(n*step + 0)}) // + 0 turns -0 into 0
		}
		return ticks
	}
}
