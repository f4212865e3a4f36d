package plot

import (
	"math"
	"strconv"
)

type timeUnit struct {
	name    string
	seconds float64
}

// timeUnits are what times are written in, the longest first.
var timeUnits = []timeUnit{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}

// timeUnitOf is the longest that is not longer than that.
func timeUnitOf(seconds float64) timeUnit {
	for _, u := range timeUnits {
		if seconds >= u.seconds {
			return u
		}
	}
	return timeUnits[len(timeUnits)-1]
}

// duration writes seconds with three digits.
func duration(seconds float64) string {
	u := timeUnitOf(rounded(seconds, 3))
	return plain(seconds/u.seconds, 3) + " " + u.name
}

// timeTicks marks an axis of so many pixels at multiples of 1, 2 or 5 times a
// power of ten. All labels have the unit and the decimals that it takes to tell
// them apart; their ends may lie a bit beyond the axis's.
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
			ticks = append(ticks, tick{(n*step - from) * perUnit, text(n*step + 0)}) // no -0
		}
		return ticks
	}
}
