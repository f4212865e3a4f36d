package recording

import (
	"math"
	"time"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Two clocks of one process may differ by the time that it takes to read both,
// and by the rate at which the system clock is adjusted (at most 500 ppm).
const (
	clockTolerance = int64(time.Millisecond)
	stepTolerance  = int64(100 * time.Millisecond)
	adjusted       = 0.001
)

// nsPerTick returns the duration of a tick, from the two readings of both
// clocks that are furthest apart.
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

// laterClocks returns all clock readings after the first one.
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

// lastClock returns the reading that was made with the latest new row, if it
// was written completely.
func (f *file) lastClock() layout.Clock {
	if f.header.LastWrites%2 != 0 {
		return layout.Clock{}
	}
	return f.header.Last
}

// checkClocks compares how far each clock advanced from the start of the
// recording to every later reading. The rate of the ticks is not known
// beforehand: the clocks agree if the rate was the same at all readings.
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
			check.Step = step // keep the latest step: the clock may have been set back since
		}
	}
	return check
}

func disagree(difference, span, tolerance int64) bool {
	return magnitude(difference) > float64(tolerance)+adjusted*magnitude(span)
}

func magnitude(ns int64) float64 { return math.Abs(float64(ns)) }

// timeOf returns a reading as Unix ns. It adds the monotonic time since the
// start of the recording to the start's time of day, so that durations are
// correct even if the time of day was changed meanwhile.
func (f *file) timeOf(c layout.Clock) int64 {
	start := f.header.Start
	if c == (layout.Clock{}) {
		return 0
	}
	if c.Monotonic < start.Monotonic {
		return int64(c.Realtime) // the file is damaged, or a clock jumped
	}
	return int64(start.Realtime + c.Monotonic - start.Monotonic)
}

func ns(ticks uint64, scale float64) uint64 { return uint64(float64(ticks)*scale + 0.5) }

// unixTime converts a time in ticks to Unix ns.
func (f *file) unixTime(ticks uint64, scale float64) int64 {
	start := f.header.Start
	return int64(start.Realtime) + int64(float64(int64(ticks-start.Ticks))*scale)
}

// lastKnown returns when the process's latest call returned, in Unix ns. It is
// used as the end of a process that did not finalize.
func (f *file) lastKnown(p *profile.Profile) int64 {
	return max(p.Start, p.InitEnd, p.FinalizeStart, f.timeOf(f.lastClock()), f.latest)
}
