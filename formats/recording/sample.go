package recording

import (
	"encoding/binary"
	"math"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// stratum is a set of calls of one row of which some were timed: the number of
// calls, the number of timed calls, the sum of their times in ticks, and the
// sum of the squares.
type stratum struct{ calls, timed, time, squares float64 }

// strata returns a row's early calls and its later calls. The first calls of a
// program are often different from the others, and more of them are timed, so
// that a mean over both would be wrong for both.
func strata(r layout.Row, s layout.Sample) (early, later stratum) {
	all := stratum{float64(r.Count), float64(s.Timed), float64(r.Time), s.Squares}
	if s.Early == 0 {
		return stratum{}, all
	}
	early = stratum{float64(s.Early), layout.EarlyCalls, float64(s.EarlyTime), s.EarlySquares}
	return early, all.minus(early)
}

// minus subtracts, with 0 as the smallest result: in a killed process one
// number may include a call that the other does not.
func (s stratum) minus(o stratum) stratum {
	return stratum{max(s.calls-o.calls, 0), max(s.timed-o.timed, 0), max(s.time-o.time, 0), max(s.squares-o.squares, 0)}
}

// spread returns the variance of the time of one call. There must be at least
// two.
func (s stratum) spread() float64 {
	return max(s.squares-s.time*s.time/s.timed, 0) / (s.timed - 1)
}

// total estimates the time of all calls of the stratum, and the variance of the estimate. spread is
// the variance of the time of one call.
func (s stratum) total(spread float64) (time, variance float64) {
	left := max(1-s.timed/s.calls, 0) // timed calls do not contribute to the variance
	return s.time * s.calls / s.timed, s.calls * s.calls * left * spread / s.timed
}

// estimate returns the estimated time of all calls of a row, in ticks, and the
// variance of the estimate.
func estimate(r layout.Row, sample layout.Sample) (time, variance float64) {
	early, later := strata(r, sample)
	if early.calls > 0 {
		time, variance = early.total(early.spread())
	}
	switch {
	case later.calls == 0:
		return time, variance
	case later.timed == 0 && early.calls == 0: // a row without time
		return 0, 0
	case later.timed == 0: // use the early calls, with their spread as the error of each call
		mean := early.time / early.timed
		return time + later.calls*mean, variance + later.calls*later.calls*early.spread()
	}
	spread := later.time * later.time
	switch {
	case later.timed > 1:
		spread = later.spread()
	case early.calls > 0:
		spread = early.spread()
	}
	more, error := later.total(spread)
	return time + more, variance + error
}

// addUnsampled estimates the time of rows none of whose calls was timed. This happens if other rows
// of the same call site have many calls, because the library does not know the row when a call
// starts. Such a row gets the mean time of the site's timed calls, and the same value as its error.
// If no call of the call site was timed, the time stays unknown.
func (f *file) addUnsampled(p *profile.Profile) {
	if len(f.unsampled) == 0 {
		return
	}
	type place struct {
		site uint64
		call string
	}
	calls, time := map[place]float64{}, map[place]float64{}
	for i := range p.Rows {
		if r := &p.Rows[i]; r.MaxNs > 0 {
			at := place{r.Callsite, r.Call}
			calls[at] += float64(r.Calls)
			time[at] += float64(r.TimeNs)
		}
	}
	for _, i := range f.unsampled {
		r := &p.Rows[i]
		if at := (place{r.Callsite, r.Call}); calls[at] > 0 {
			r.TimeNs = wholeNs(float64(r.Calls) * time[at] / calls[at])
			r.TimeErrorNs = r.TimeNs
		}
	}
}

// sane reports whether the library could have written the sample.
func sane(s layout.Sample) bool {
	for _, squares := range []float64{s.Squares, s.EarlySquares} {
		if math.IsNaN(squares) || math.IsInf(squares, 0) || squares < 0 {
			return false
		}
	}
	return true
}

// addEstimate sets a row's time from its sample.
func addEstimate(r *profile.Row, raw layout.Row, s layout.Sample, scale float64) {
	time, variance := estimate(raw, s)
	r.TimeNs, r.TimeErrorNs = wholeNs(time*scale), wholeNs(math.Sqrt(variance)*scale)
	if variance > 0 {
		r.TimeErrorNs = max(r.TimeErrorNs, 1) // 0 means that the time is exact
	}
}

// wholeNs rounds to whole ns, limited to the range of uint64.
func wholeNs(ns float64) uint64 {
	if ns >= math.MaxUint64 {
		return math.MaxUint64
	}
	return uint64(ns + 0.5)
}

// sampleSize is the size of a row's sample, which is stored after the rows of
// its table.
var sampleSize = uint64(binary.Size(layout.Sample{}))

// samples returns the offset and the number of a table's samples. There are
// none if the table was not sampled. It reports a table that is too small for
// its samples.
func (f *file) samples(at uint64, s layout.Segment) (first, n uint64) {
	if f.timing() != profile.TimingSampled {
		return 0, 0
	}
	start, row := uint64(binary.Size(layout.Segment{})), uint64(binary.Size(layout.Row{}))
	room := (s.Size - start) / row // number of rows; each has one sample
	if s.Rows > room/2 {
		f.problem(at, "a table of %d rows and as many samples does not fit into %d bytes", s.Rows, s.Size)
	}
	if s.Rows >= room {
		return 0, 0
	}
	return at + start + s.Rows*row, min(s.Rows, room-s.Rows)
}

func (f *file) sample(b []byte) layout.Sample {
	o := f.order
	return layout.Sample{Timed: o.Uint64(b), Early: o.Uint64(b[8:]), EarlyTime: o.Uint64(b[16:]),
		EarlySquares: math.Float64frombits(o.Uint64(b[24:])), Squares: math.Float64frombits(o.Uint64(b[32:])),
		Every: o.Uint32(b[40:])}
}

// timing returns how calls were timed. If the value is unknown, times are not
// known either.
func (f *file) timing() profile.Timing {
	h := &f.header
	switch {
	case h.Version < 4 || h.Timing == layout.TimingExact:
		return profile.TimingExact
	case h.Timing == layout.TimingSampled:
		return profile.TimingSampled
	}
	return profile.TimingOff
}

// unfollowed reports whether nonblocking receives were not followed to
// completion.
func (f *file) unfollowed() bool {
	return f.header.Version >= 4 && f.header.Receives == layout.ReceivesUnfollowed
}
