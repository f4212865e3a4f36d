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
	for _, t := range f.threads {
		sum += f.lifetime(t, p, scale)
	}
	return max(sum, 0)
}

// lifetime returns the sum of the lifetimes of the threads that had a record. It is between 0
// and the time of the process, unless the record is damaged.
func (f *file) lifetime(t layout.Thread, p *profile.Profile, scale float64) int64 {
	initEnd := f.header.InitEnd.Ticks
	sum := signed(t.Last, t.First, scale)
	if t.Flags&layout.ThreadMain != 0 && t.Last > initEnd {
		main, _ := p.Times().Application()
		sum = main + signed(initEnd, t.First, scale)
	}
	return min(max(sum, 0), max(p.End-p.Start, 0))
}

// threadUse returns the CPU time and the run delay of the threads; nil if they are not known. Each of
// the two times of a thread is at most its lifetime. If no thread made a call between Init and Finalize,
// the times are those of the main thread.
func (f *file) threadUse(p *profile.Profile, scale float64) *profile.ThreadUse {
	own, known := p.Times().Application()
	if f.header.Version < 9 || f.header.Threads == 0 || f.header.State != layout.StateFinalized || !known {
		return nil
	}
	u := &profile.ThreadUse{Busy: int(min(f.header.BusyThreads, f.header.Threads))}
	for _, t := range f.threads {
		lifetime := f.lifetime(t, p, scale)
		if p.Lifetimes == 0 && t.Flags&layout.ThreadMain != 0 {
			lifetime = own
		}
		u.CPUNs += min(t.CPUTime, uint64(lifetime))
		u.DelayNs += min(t.RunDelay, uint64(lifetime))
		u.Incomplete = u.Incomplete || t.Flags&layout.ThreadUseUnknown != 0
	}
	return u
}

// signed returns the time from one moment to another in ns. It is negative if to is earlier.
func signed(to, from uint64, scale float64) int64 {
	ticks := int64(to - from)
	if scale == 1 {
		return ticks // exact, also beyond 2^53
	}
	return int64(float64(ticks) * scale)
}
