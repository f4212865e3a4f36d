package synth

import (
	"math"
	"time"
)

// Noise is looked up in tables of quantiles. The index is a bit field of a
// hash, and the table gives the distribution. A lookup costs one load, the
// noise has an upper bound, and the same hash gives the same time on every
// machine.

// waits is an exponential distribution with 4096 values, between 0.0001 and 9
// times its mean.
type waits [1 << waitBits]int64

const waitBits = 12

// newWaits fills the table with the quantiles -mean ln(1 - (i + 1/2)/4096), in
// ns.
func newWaits(mean time.Duration) *waits {
	w := new(waits)
	for i := range w {
		w[i] = int64(-float64(mean) * math.Log1p(-(float64(i)+0.5)/float64(len(w))))
	}
	return w
}

func (w *waits) at(bits uint64) int64 { return w[bits&(1<<waitBits-1)] }

// lengths is the distribution of the duration of a call: at least 3/4 of the
// usual one, which is the median, and at most 3 times the usual one.
type lengths [256]int64

// newLengths fills the table, in ns: 3/4 of `usual` plus an exponentially
// distributed time with the median usual/4. If steady, all durations are
// `usual`.
func newLengths(usual time.Duration, steady bool) *lengths {
	l := new(lengths)
	for i := range l {
		l[i] = int64(usual)
		if !steady {
			tail := -math.Log2(1 - (float64(i)+0.5)/float64(len(l)))
			l[i] = int64(float64(usual) * (0.75 + 0.25*tail))
		}
	}
	return l
}

func (l *lengths) at(bits uint64) int64 { return l[bits&0xff] }
