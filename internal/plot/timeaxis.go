package plot

import (
	"math"
	"strconv"
)

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
