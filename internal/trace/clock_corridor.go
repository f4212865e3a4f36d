package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// clockLine is the correction of a clock: offset + drift*x ns, where x is the
// clock's time in ns since the base.
type clockLine struct{ offset, drift float64 }

func (l clockLine) at(x float64) float64 { return l.offset + l.drift*x }

// then combines two corrections, where m applies to the clock that l gives: x +
// l(x) + m(x + l(x)).
func (l clockLine) then(m clockLine) clockLine {
	return clockLine{l.offset + m.at(l.offset), l.drift + m.drift + m.drift*l.drift}
}

// back returns the inverse, in terms of the corrected clock: y = x + l(x), so x
// - y = -(offset + drift y) / (1 + drift).
func (l clockLine) back() clockLine {
	return clockLine{-l.offset / (1 + l.drift), -l.drift / (1 + l.drift)}
}

func (l clockLine) correction(base int64) profile.ClockCorrection {
	return profile.ClockCorrection{At: base, Offset: l.offset, Drift: l.drift}
}

// clockPoint is a limit y (ns) at time x (ns since the base).
type clockPoint struct{ x, y float64 }

// limit is a lower limit for a line: the upper convex hull of points. A line
// that is not below any corner of the hull is not below any point.
type limit struct {
	points []clockPoint // the corners, sorted by x, followed by points that were added since
	wait   int          // number of points to add before the hull is computed again
	n      uint64       // number of all points
}

// hullStep is the smallest number of points that are added before the hull is
// computed again.
const hullStep = 64

func (l *limit) add(p clockPoint) {
	l.n++
	l.points = append(l.points, p)
	if l.wait--; l.wait < 0 {
		l.hull()
	}
}

// hull removes the points that are not corners. Random points have some dozen
// corners, whatever their number. If a clock's rate varies, the limit is curved
// and may have a corner for each message, so corners above a thousand are
// thinned out.
func (l *limit) hull() {
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
}

// hidden reports whether the last corner is not above the line from the corner
// before it to p.
func hidden(corners []clockPoint, p clockPoint) bool {
	last := corners[len(corners)-1]
	if last.x == p.x {
		return true // p is higher, because points are sorted
	}
	if len(corners) < 2 {
		return false
	}
	before := corners[len(corners)-2]
	return (last.y-before.y)*(p.x-before.x) <= (p.y-before.y)*(last.x-before.x)
}

// above returns the smallest offset with which a line of this drift is not
// below the hull: the maximum of y - drift*x.
func (l *limit) above(drift float64) float64 {
	p := l.points[l.touched(drift)]
	return p.y - drift*p.x
}

// touched returns the index of the corner that a line of this drift touches
// from above. Before it the hull rises faster than the line, after it more
// slowly.
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

// corridor is the limits of a clock's correction: a line must not be below
// floor and, with negated y, not below ceiling.
type corridor struct {
	floor, ceiling limit
	messages       uint64 // number of messages among the points
}

// mostDrift is the largest drift of a clock: a quartz is within 100 ppm, and
// NTP slews by up to 500 ppm.
const mostDrift = 500e-6

// leastFlight is about the shortest time that a message takes between hosts, in
// ns.
const leastFlight = 1000

// narrow is the largest margin, in ns, at which the middle is assumed to be
// right: about as long as a message takes on a slow network. Where limits are
// further apart, messages of one direction were received late, or sent long
// before. They say nothing about the clocks, whose true difference is more likely
// to be close to the limit that they violated.
const narrow = 200_000

// aim returns by how much a clock is moved that must be moved by low to high ns:
// not at all, to the middle, or as little as possible.
func aim(low, high float64) float64 {
	switch {
	case low <= 0 && high >= 0:
		return 0
	case (high-low)/2 <= narrow:
		return (low + high) / 2
	case low > 0:
		return low
	}
	return high
}

// margin returns the distance of the middle line of this drift from both
// limits. It is negative if no line of this drift is between them.
func (c *corridor) margin(drift float64) float64 {
	return -(c.floor.above(drift) + c.ceiling.above(-drift)) / 2
}

// line returns the line that stays furthest from the limits, and its distance
// along y. It solves: maximise m so that for all points (x, y)
//
//	offset + drift x >= y + m  of the floor
//	offset + drift x <= y - m  of the ceiling
//	|drift| <= mostDrift
//
// For a given drift the best m is margin(drift). That function is concave and
// piecewise linear; its pieces meet where the line is parallel to an edge of a
// hull. So its maximum is at one of these slopes or at an end.
//
// A drift that the messages do not show is not used. The drift is 0 if that
// leaves half of the margin. If the maximum is at an end, because all messages
// in one direction come before those in the other, or if the limits are not
// narrow, it is the smallest drift that leaves half of leastFlight. Then the
// line is as close to 0 as this distance allows, unless that margin is narrow.
// If no line is between the limits, it is the middle one of those that are about
// as good: where several hosts contradict each other, each then goes half of the
// way to the others. Both limits must have points.
func (c *corridor) line() (l clockLine, margin float64) {
	c.floor.hull()
	c.ceiling.hull()
	drift := c.widest()
	margin = c.margin(drift)
	switch {
	case c.margin(0) > 0 && c.margin(0) >= margin/2:
		drift = 0
	case math.Abs(drift) == mostDrift, margin > narrow:
		drift = c.towards(drift, 0, min(margin, leastFlight)/2)
	case margin < 0:
		least := margin + margin/100
		drift = (c.towards(drift, -mostDrift, least) + c.towards(drift, mostDrift, least)) / 2
	}
	// The line of this drift that is equally far from both limits.
	l = clockLine{(c.floor.above(drift) - c.ceiling.above(-drift)) / 2, drift}
	margin = c.margin(drift)
	if margin > narrow {
		l.offset = aim(l.offset-margin+leastFlight/2, l.offset+margin-leastFlight/2)
	}
	return l, margin
}

// correction returns the line that corrects a clock, and its largest error: none
// if nothing goes backwards without it.
func (c *corridor) correction() (l clockLine, wrong float64) {
	l, margin := c.line()
	if early, late := -c.floor.above(0), -c.ceiling.above(0); early >= 0 && late >= 0 {
		return clockLine{}, max(early, late)
	}
	return l, math.Abs(margin)
}

// nudged returns l, moved by as little as possible so that it does not violate
// the only limit that there is.
func (c *corridor) nudged(l clockLine) clockLine {
	switch {
	case c.floor.n > 0:
		c.floor.hull()
		l.offset = max(l.offset, c.floor.above(l.drift))
	case c.ceiling.n > 0:
		c.ceiling.hull()
		l.offset = min(l.offset, -c.ceiling.above(-l.drift))
	}
	return l
}

// widest returns the drift with the greatest margin, the smallest one if there
// are several.
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

// eachSlope calls f with the slope of each edge of the hull that a clock's
// drift can have.
func (l *limit) eachSlope(f func(float64)) {
	for i := range len(l.points) - 1 {
		p, q := l.points[i], l.points[i+1]
		if slope := (q.y - p.y) / (q.x - p.x); math.Abs(slope) < mostDrift {
			f(slope)
		}
	}
}

// towards returns a drift with at least this margin: of those between first and second, the
// one that is closest to second, to within 1e-15. first must have the margin.
func (c *corridor) towards(first, second, margin float64) float64 {
	for range 40 {
		if middle := (first + second) / 2; c.margin(middle) < margin {
			second = middle
		} else {
			first = middle
		}
	}
	return first
}
