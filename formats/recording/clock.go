package recording

import (
	"math"
	"time"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Two clocks of one process may differ by what it takes to read both, and by what
// the system's clock is adjusted (at most 500 in a million).
const (
	clockTolerance = int64(time.Millisecond)
	stepTolerance  = int64(100 * time.Millisecond)
	adjusted       = 0.001
)

// nsPerTick is the clock's rate, from the two readings of both clocks that are
// furthest apart.
func (f *file) nsPerTick() float64 {
	start := f.header.Start
	if f.header.Clock == layout.ClockMonotonic {
		return 1
	}
	rate, span := 1.0, uint64(0)
	for _, c := range f.laterClocks() {
		if c.Ticks <= start.Ticks || c.Monotonic <= start.Monotonic {
			continue
		}
		if d := c.Monotonic - start.Monotonic; d > span {
			span = d
			rate = float64(d) / float64(c.Ticks-start.Ticks)
		}
	}
	return rate
}

// laterClocks are the readings of all clocks after the first one.
func (f *file) laterClocks() []layout.Clock {
	h := &f.header
	var out []layout.Clock
	for _, c := range []layout.Clock{h.InitEnd, f.lastClock(), h.FinalizeStart, h.FinalizeEnd} {
		if c != (layout.Clock{}) {
			out = append(out, c)
		}
	}
	return out
}

// lastClock is the reading at the latest new row, if it was written whole.
func (f *file) lastClock() layout.Clock {
	if f.header.LastWrites%2 != 0 {
		return layout.Clock{}
	}
	return f.header.Last
}

// checkClocks compares how far each clock went from the start of the recording to
// every later reading. The rate of the ticks is not known beforehand: where it was
// the same all the time, the clocks agree.
func (f *file) checkClocks() profile.ClockCheck {
	var check profile.ClockCheck
	start, rate := f.header.Start, f.nsPerTick()
	for _, c := range f.laterClocks() {
		monotonic := int64(c.Monotonic - start.Monotonic)
		ticks := int64(math.Round(float64(int64(c.Ticks-start.Ticks)) * rate))
		step := int64(c.Realtime-start.Realtime) - monotonic
		if d := monotonic - ticks; disagree(d, monotonic, clockTolerance) && magnitude(d) > magnitude(check.Error) {
			check.Error = d
		}
		if disagree(step, monotonic, stepTolerance) {
			check.Step = step // the latest: it may have been set back
		}
	}
	return check
}

func disagree(difference, span, tolerance int64) bool {
	return magnitude(difference) > float64(tolerance)+adjusted*magnitude(span)
}

func magnitude(ns int64) float64 { return math.Abs(float64(ns)) }

// timeOf is a reading as Unix ns. It is counted from the start by the clock that
// nobody sets: durations are right where the time of day was changed meanwhile.
func (f *file) timeOf(c layout.Clock) int64 {
	start := f.header.Start
	if c == (layout.Clock{}) {
		return 0
	}
	if c.Monotonic < start.Monotonic {
		return int64(c.Realtime) // damaged, or of a clock that jumps
	}
	return int64(start.Realtime + c.Monotonic - start.Monotonic)
}

// unixTime turns a moment in ticks into Unix ns.
func (f *file) unixTime(ticks uint64, scale float64) int64 {
	start := f.header.Start
	return int64(start.Realtime) + int64(float64(int64(ticks-start.Ticks))*scale)
}

// lastKnown is when a process ended that did not say so, as far as it is known:
// when its latest call returned.
func (f *file) lastKnown(p *profile.Profile) int64 {
	return max(p.Start, p.InitEnd, p.FinalizeStart, f.timeOf(f.lastClock()), f.latest)
}
