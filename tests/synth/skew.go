package synth

import (
	"math"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Skewed returns the same events as read from a clock that runs differently:
// what happened at epoch + t has the time epoch + t (1 + drift) + offset.
func Skewed(src profile.EventSource, offset time.Duration, drift float64) profile.EventSource {
	return skewed{src, int64(offset), drift}
}

type skewed struct {
	profile.EventSource
	offset int64
	drift  float64
}

func (s skewed) reads(t int64) int64 {
	return t + s.offset + int64(math.Round(s.drift*float64(t-epoch)))
}

// Trace implements profile.EventSource.
func (s skewed) Trace() *profile.Trace {
	t := *s.EventSource.Trace()
	for _, at := range []*int64{&t.Start, &t.InitEnd, &t.FinalizeStart, &t.End} {
		*at = s.reads(*at)
	}
	return &t
}

// Each implements profile.EventSource.
func (s skewed) Each(f func(*profile.Events, []profile.EventKind) error) error {
	var start, duration []int64
	return s.EventSource.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		start, duration = start[:0], duration[:0]
		for i, at := range e.Start {
			began := s.reads(at)
			start, duration = append(start, began), append(duration, s.reads(at+e.Duration[i])-began)
		}
		read := *e
		read.Start, read.Duration = start, duration
		return f(&read, kinds)
	})
}
