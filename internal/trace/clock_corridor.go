package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// clockLine is what is to be added to a clock: offset + drift x ns, at x ns after
// the base by the clock itself.
type clockLine struct{ offset, drift float64 }

func (l clockLine) at(x float64) float64 { return l.offset + l.drift*x }

// then is both corrections, the second by the clock that the first one makes:
// x + l(x) + m(x + l(x)).
func (l clockLine) then(m clockLine) clockLine {
	return clockLine{l.offset + m.at(l.offset), l.drift + m.drift + m.drift*l.drift}
}

// back takes the correction away from a corrected clock: y = x + l(x), so
// x - y = -(offset + drift y) / (1 + drift).
func (l clockLine) back() clockLine {
	return clockLine{-l.offset / (1 + l.drift), -l.drift / (1 + l.drift)}
}

func (l clockLine) correction(base int64) profile.ClockCorrection {
	return profile.ClockCorrection{At: base, Offset: l.offset, Drift: l.drift}
}

// clockPoint is a limit at a time: x ns after the base, y ns.
type clockPoint struct{ x, y float64 }

// limit is what a line must not be below: the upper convex hull of points. Lines
// that are not below any of its corners are not below any point.
type limit struct {
	points []clockPoint // corners, in the order of x, and behind them what is new
	wait   int          // how many points until it is made a hull again
	n      uint64       // points added
}

// hullStep is at least how many points are added before the hull is made again.
const hullStep = 64

func (l *limit) add(p clockPoint) {
	l.n++
	l.points = append(l.points, p)
	if l.wait--; l.wait < 0 {
		l.hull()
	}
}

// hull leaves the corners. Random points have some dozens, of any number; a
// limit of a clock that runs unevenly is curved and may have as many as there
// are messages, so corners above a thousand are thinned.
func (l *limit) hull() []clockPoint {
	slices.SortFunc(l.points, func(p, q clockPoint) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.y, q.y)) })
	corners := l.points[:0]
	for _, p := range l.points {
		for len(corners) > 0 && hidden(corners, p) {
			corners = corners[:len(corners)-1]
		}
		corners = append(corners, p)
	}
	const most = 1024
	if len(corners) > most {
		last := corners[len(corners)-1]
		for i := range len(corners) / 2 {
			corners[i] = corners[2*i]
		}
		corners = append(corners[:len(corners)/2], last)
	}
	l.points, l.wait = corners, max(hullStep, len(corners))
	return corners
}

// hidden tells that the last corner is not above the line from the one before
// it to p.
func hidden(corners []clockPoint, p clockPoint) bool {
	last := corners[len(corners)-1]
	if last.x == p.x {
		return true // p is higher, as points are sorted
	}
	if len(corners) < 2 {
		return false
	}
	before := corners[len(corners)-2]
	return (last.y-before.y)*(p.x-before.x) <= (p.y-before.y)*(last.x-before.x)
}

// above is the lowest offset of a line of the drift that is not below the hull:
// the greatest y - drift x.
func (l *limit) above(drift float64) float64 {
	p := l.points[l.touched(drift)]
	return p.y - drift*p.x
}

// touched is the corner that a line of the drift touches from above: before it
// the hull rises faster than the line, behind it slower.
func (l *limit) touched(drift float64) int {
	p := l.points
	low, high := 0, len(p)-1
	for low < high {
		i := (low + high) / 2
		if p[i+1].y-p[i].y > drift*(p[i+1].x-p[i].x) {
			low = i + 1
		} else {
			high = i
		}
	}
	return low
}

// corridor is the limits of what is to be added to a clock: a line that is not
// below floor, nor, upside down, below ceiling.
type corridor struct{ floor, ceiling limit }

// Clocks are not off by more than this: a quartz is within 100 ppm, and NTP
// slews by up to 500.
const mostDrift = 500e-6

// leastFlight is about the shortest time that a message takes between hosts, ns.
const leastFlight = 1000

// margin is how far the middle line of a drift is from both limits, negative if
// no line of this drift is between them.
func (c *corridor) margin(drift float64) float64 {
	return -(c.floor.above(drift) + c.ceiling.above(-drift)) / 2
}

// middle is the line of the drift that is as far from one limit as from the
// other.
func (c *corridor) middle(drift float64) clockLine {
	return clockLine{(c.floor.above(drift) - c.ceiling.above(-drift)) / 2, drift}
}

// line is the one that stays furthest from the limits, and how far that is,
// measured along y. It solves: maximise m so that for all points (x, y)
//
//	offset + drift x >= y + m  of the floor
//	offset + drift x <= y - m  of the ceiling
//	|drift| <= mostDrift
//
// For a given drift the best m is margin(drift), which is concave and made of
// straight pieces that meet where the line is parallel to an edge of a hull. So
// the best one of all is at one of their slopes, or at an end.
//
// A drift that the messages do not tell is not made up: there is none if that
// leaves half of the margin; and where it is best at the end, as the messages one
// way all come before those the other way, it is the smallest that leaves as much
// as half of leastFlight. With one limit only see lineAbove.
func (c *corridor) line() (l clockLine, margin float64) {
	c.floor.hull()
	c.ceiling.hull()
	switch {
	case c.ceiling.n == 0:
		return c.floor.lineAbove(), 0
	case c.floor.n == 0:
		l := c.ceiling.lineAbove()
		return clockLine{-l.offset, -l.drift}, 0
	}
	drift := c.widest()
	margin = c.margin(drift)
	switch {
	case c.margin(0) > 0 && c.margin(0) >= margin/2:
		drift = 0
	case math.Abs(drift) == mostDrift:
		drift = c.smallest(drift, min(margin, leastFlight)/2)
	}
	return c.middle(drift), c.margin(drift)
}

// widest is the drift of the greatest margin, the smallest if there are several.
func (c *corridor) widest() float64 {
	best, margin := 0.0, c.margin(0)
	try := func(drift float64) {
		if m := c.margin(drift); m > margin || m == margin && math.Abs(drift) < math.Abs(best) {
			best, margin = drift, m
		}
	}
	c.floor.eachSlope(try)
	c.ceiling.eachSlope(func(drift float64) { try(-drift) })
	try(-mostDrift)
	try(mostDrift)
	return best
}

// eachSlope calls f with the slope of each edge of the hull that a clock may
// have.
func (l *limit) eachSlope(f func(float64)) {
	for i := range len(l.points) - 1 {
		p, q := l.points[i], l.points[i+1]
		if slope := (q.y - p.y) / (q.x - p.x); math.Abs(slope) < mostDrift {
			f(slope)
		}
	}
}

// smallest is the drift closest to 0 on the way to `drift` with at least the
// margin, which the latter has, to within 10^-15.
func (c *corridor) smallest(drift, margin float64) float64 {
	least, most := 0.0, drift
	for range 40 {
		if middle := (least + most) / 2; c.margin(middle) < margin {
			least = middle
		} else {
			most = middle
		}
	}
	return most
}

// lineAbove is the lowest line that is not below the hull, where lowest means in
// the middle of the time that it spans: the edge there. It has no drift if that
// is higher by less than leastFlight, which a message takes in any case.
func (l *limit) lineAbove() clockLine {
	p := l.points
	middle := (p[0].x + p[len(p)-1].x) / 2
	drift := 0.0
	for i := range len(p) - 1 {
		if p[i+1].x >= middle {
			drift = (p[i+1].y - p[i].y) / (p[i+1].x - p[i].x)
			break
		}
	}
	drift = max(-mostDrift, min(drift, mostDrift))
	line := clockLine{l.above(drift), drift}
	if level := l.above(0); level-line.at(middle) < leastFlight {
		return clockLine{level, 0}
	}
	return line
}
