package profile

// Times are the times of a process of which the time in calls is a share.
type Times struct {
	InitEnd, FinalizeStart, End int64 // as in a Profile
	Lifetimes                   int64 // as in a Profile
	Threads                     int
}

// Times returns the times of the process.
func (p *Profile) Times() Times {
	return Times{p.InitEnd, p.FinalizeStart, p.End, p.Lifetimes, p.Threads}
}

// Times returns the times of the process.
func (t *Trace) Times() Times {
	return Times{t.InitEnd, t.FinalizeStart, t.End, t.Lifetimes, t.Threads}
}

// Application returns the process's own time in ns: from the end of MPI_Init to the start of
// MPI_Finalize, or to the last known moment if it did not call MPI_Finalize. The time is not
// known if the process did not leave MPI_Init.
func (t Times) Application() (ns int64, known bool) {
	last := t.FinalizeStart
	if last == 0 {
		last = max(t.End, t.InitEnd)
	}
	if t.InitEnd == 0 || last < t.InitEnd {
		return 0, false
	}
	return last - t.InitEnd, true
}

// OfThreads returns the time of the process's threads in ns. The time in calls, summed over
// the threads, is a share of that time; the rest was spent outside MPI. It is the sum of the
// threads' lifetimes, or the application time if that is longer. If the lifetimes are not
// known, it is the application time for each thread.
func (t Times) OfThreads() int64 {
	own, _ := t.Application()
	if t.Lifetimes == 0 || t.Threads <= 1 {
		return own * int64(max(t.Threads, 1))
	}
	return max(t.Lifetimes, own)
}

// OwnShare returns the application time as a share of the threads' time. A time that is
// summed over the threads, multiplied by the share, is the part of the application time that
// it took. The share is 1 if the process has one thread.
func (t Times) OwnShare() float64 {
	own, _ := t.Application()
	if threads := t.OfThreads(); own > 0 && own != threads {
		return float64(own) / float64(threads)
	}
	return 1
}

// LifetimesUnknown reports whether several threads made calls and their lifetimes are not
// known, as in recordings before version 9.
func (t Times) LifetimesUnknown() bool { return t.Lifetimes == 0 && t.Threads > 1 }

// NoCoreOf returns the share of time in which a process had no processor. Recordings
// before version 9 have no ThreadUse, but the delay of the main thread in their Usage.
// The share is not known, and nil returned, if the process did not finalize, or if the
// kernel does not count that time.
func NoCoreOf(state State, times Times, threads *ThreadUse, usage Usage) *NoCore {
	own, _ := times.Application()
	switch {
	case state != Finalized || own <= 0:
		return nil
	case threads != nil:
		return &NoCore{min(float64(threads.DelayNs)/float64(times.OfThreads()), 1), threads.Incomplete}
	case usage.DelayKnown && usage.WallNs > 0:
		return &NoCore{min(float64(usage.RunDelayNs)/float64(usage.WallNs), 1), times.Threads > 1}
	}
	return nil
}
