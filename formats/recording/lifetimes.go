package recording

import (
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// lifetimes returns the sum of the lifetimes of all threads, see profile.Profile. The other
// times of p must be known.
func (f *file) lifetimes(p *profile.Profile, scale float64) (sum int64) {
	if f.header.Version < 9 {
		return 0
	}
	longest := p.End - p.Start // that of a thread, unless its record is damaged
	for _, t := range f.threads {
		sum += min(max(f.lifetime(t, p, scale), 0), longest)
	}
	return max(sum, 0)
}

// lifetime returns the sum of the lifetimes of the threads that had a record.
func (f *file) lifetime(t layout.Thread, p *profile.Profile, scale float64) int64 {
	initEnd := f.header.InitEnd.Ticks
	if t.Flags&layout.ThreadMain == 0 || t.Last <= initEnd {
		return signed(t.Last, t.First, scale)
	}
	main, _ := p.Times().Application()
	return main + signed(initEnd, t.First, scale)
}

// signed returns the time from one moment to another in ns. It is negative if to is earlier.
func signed(to, from uint64, scale float64) int64 {
	ticks := int64(to - from)
	if scale == 1 {
		return ticks // exact, also beyond 2^53
	}
	return int64(float64(ticks) * scale)
}
