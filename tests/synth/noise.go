package synth

import (
	"math"
	"time"
)

// Noise is looked up in tables of quantiles: what is drawn is a bit field of a
// hash, and the table makes a distribution of it. So it costs one load, has an
// upper end, and the same hash gives the same time on every machine.

// waits is exponentially distributed, with 4096 values between 0.0001 and 9
// times its mean.
type waits [1 << waitBits]int64

const waitBits = 12

// newWaits has the quantiles -mean ln(1 - (i + 1/2)/4096).
func newWaits(mean time.Duration) *waits {
	w := new(waits)
	for i := range w {
		w[i] = int64(-float64(mean) * math.Log1p(-(float64(i)+0.5)/float64(len(w))))
	}
	return w
}

func (w *waits) at(bits uint64) int64 { return w[bits&(1<<waitBits-1)] }

// lengths is how long a call takes: at least 3/4 of what is usual, that much in
// the middle, and now and then some times as long.
type lengths [256]int64

// newLengths has a tail of 1/4 of `usual` of exponential distribution beyond
// the least; steady ones are all as usual.
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
