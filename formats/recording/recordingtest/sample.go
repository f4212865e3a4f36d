package recordingtest

import (
	"math"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// rawTime sets the times of raw and returns its sample. It reports whether
// reading them gives back the row's times.
func rawTime(timing profile.Timing, r *profile.Row, raw *layout.Row) (layout.Sample, bool) {
	switch timing {
	case profile.TimingOff:
		raw.Min = math.MaxUint64 // as the library has it
		return layout.Sample{}, r.TimeNs == 0 && r.TimeErrorNs == 0 && r.MinNs == 0 && r.MaxNs == 0
	case profile.TimingExact:
		return layout.Sample{}, r.TimeErrorNs == 0
	}
	return sampleOf(r, raw)
}

// sampleOf finds times of some of the calls from which the times of all are
// estimated as the row has them. A row does not say how many calls were timed:
// sampleOf uses the first number that gives whole ns.
func sampleOf(r *profile.Row, raw *layout.Row) (layout.Sample, bool) {
	const tries = 100
	calls, time, wrong := float64(raw.Count), float64(r.TimeNs), float64(r.TimeErrorNs)
	if r.TimeErrorNs == 0 {
		s := layout.Sample{Timed: raw.Count, Squares: time * time / max(calls, 1)}
		return s, sane(s) && readsBack(r, *raw, s)
	}
	for i := uint64(1); i <= tries && i+2 <= raw.Count; i++ {
		timed := float64(raw.Count - i)
		tried := *raw
		tried.Time = wholeNs(time * timed / calls)
		each := wrong * wrong * timed / (calls * float64(i))
		s := layout.Sample{Timed: raw.Count - i, Squares: each*(timed-1) + float64(tried.Time)*float64(tried.Time)/timed}
		if sane(s) && readsBack(r, tried, s) {
			*raw = tried
			return s, true
		}
	}
	return layout.Sample{}, false
}

// sane reports whether the library could have written the sample.
func sane(s layout.Sample) bool {
	return s.Squares >= 0 && !math.IsInf(s.Squares, 0)
}

// readsBack reports whether the time of all calls and its error, estimated from
// a sample of them, are those of the row.
func readsBack(r *profile.Row, raw layout.Row, s layout.Sample) bool {
	var time, variance float64
	if calls, timed, sum := float64(raw.Count), float64(s.Timed), float64(raw.Time); timed > 0 {
		one := sum * sum // variance of the time of one call
		if timed > 1 {
			one = max(s.Squares-sum*sum/timed, 0) / (timed - 1)
		}
		time = sum * calls / timed
		variance = calls * calls * max(1-timed/calls, 0) * one / timed
	}
	standardError := wholeNs(math.Sqrt(variance))
	if variance > 0 {
		standardError = max(standardError, 1)
	}
	return wholeNs(time) == r.TimeNs && standardError == r.TimeErrorNs && (raw.Time != 0 || r.MinNs == 0)
}

// wholeNs rounds to whole ns, limited to the range of uint64.
func wholeNs(ns float64) uint64 {
	if ns >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(ns + 0.5)
}
