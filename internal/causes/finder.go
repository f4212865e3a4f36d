package causes

import (
	"cmp"
	"math"
	"sync"
)

// A Finder finds the causes of waits. It is told the calls of all lanes, in the order of time:
//
//	for each interval of time {
//		f.Call(...) for each call that starts in it // of a lane in order
//		f.Advance(end of the interval)
//	}
//	f.Close()
//	f.Causes(...)
//
// Times are ns since any moment.
type Finder struct {
	lanes  []lane
	room   int               // number of segments that a lane keeps
	last   int32             // the lane for which lanes that end early wait; -1 if there is none
	bursts Numbers[[2]int32] // of kinds of bursts: the stops before and after
	// Each walker has sums of its own, for the waits of some of the lanes.
	walkers [numWalkers]*walker
	// pending are waits whose end all calls have not passed yet.
	pending []wait
	blocked int // number of waits in lane.blocked
	credit  int // number of segments that walks may visit
}

// numWalkers is how many waits are explained at once. It does not depend on the machine, so that the
// results do not either.
const numWalkers = 8

// Numbers of the stops that are no calls of a lane.
const (
	InitStop     = 0 // before the first call
	FinalizeStop = 1 // after the last call
)

// RankThread is a thread of a rank: a lane.
type RankThread struct {
	Rank       int32 // index of the rank
	Begin, End int64 // the rank's end of MPI_Init and begin of MPI_Finalize, or its last known time
	// Main says that the lane is the thread that ends with its rank. Others end with their last call.
	Main bool
	// Partial says that calls before the first one that is known, or after the last, may be missing.
	Partial bool
	// Holes says that calls may be missing anywhere, so that time between calls need not be computing.
	Holes bool
}

// LaneWait is a wait in a call.
type LaneWait struct {
	Start, End int64
	For        int32 // the lane that is waited for
	Place      int32 // number of the site and pattern of the wait
	// Unknown says that the wait has no cause that could be found.
	Unknown bool
}

// wait is a wait of a lane.
type wait struct {
	LaneWait
	lane int32
}

func (w *wait) long() int64 { return w.End - w.Start }

// NewFinder returns a Finder for the lanes, of which those of a rank follow one another. budget is
// the memory, in bytes, that segments and sums may need.
func NewFinder(lanes []RankThread, budget int, overflow *Overflow) *Finder {
	f := &Finder{lanes: make([]lane, len(lanes)), last: -1, credit: firstCredit}
	f.room = ringRoom(budget/2, len(lanes))
	for i, l := range lanes {
		f.lanes[i] = lane{RankThread: l, known: l.Begin, ring: ring{begin: l.Begin, most: f.room}, before: InitStop}
		if l.Main && (f.last < 0 || l.End > f.lanes[f.last].End) {
			f.last = int32(i)
		}
	}
	for i := range f.walkers {
		f.walkers[i] = newWalker(f, budget/2/numWalkers, overflow)
	}
	return f
}

// Calls returns how many calls of a lane may be added before waits are explained. With more, the
// segments that an explanation needs may be gone.
func (f *Finder) Calls() int { return f.room / 8 }

// Call adds a call of a lane, made at a stop, with the waits in it.
func (f *Finder) Call(at int32, start, end int64, stop int32, waits []LaneWait) {
	f.credit += stepsPerCall
	l := &f.lanes[at]
	for _, w := range waits {
		f.pending = append(f.pending, wait{w, at})
	}
	from, to := max(start, l.known), min(end, l.End)
	if from > l.End {
		return
	}
	f.burst(l, from, stop)
	l.before = stop
	if to <= from {
		f.retry(l)
		return
	}
	for _, w := range waits {
		if a, b := max(w.Start, from), min(w.End, to); a < b {
			l.add(a, callKind(stop), noLane)
			l.add(b, callKind(stop), w.For)
		}
	}
	l.add(to, callKind(stop), noLane)
	f.retry(l)
}

// burst adds the time since the last call of a lane, until the stop.
func (f *Finder) burst(l *lane, until int64, stop int32) {
	long := until - l.known
	switch {
	case long <= 0:
		return
	case l.Holes || l.Partial && (l.before == InitStop || stop == FinalizeStop):
		l.missing += long
		l.add(until, unknownKind, noLane)
		return
	}
	b := l.bursts.at(&f.bursts, l.before, stop)
	if l.Main || stop != FinalizeStop { // another thread may have ended
		b.add(long)
		l.computed += long
	}
	l.add(until, burstKind(b.number), noLane)
}

// Advance explains the waits that ended by the given time. All calls that started by then have been
// added, except calls of further threads of ranks with several.
func (f *Finder) Advance(until int64) {
	kept, ready := f.pending[:0], 0
	for i := range f.pending {
		if p := &f.pending[i]; p.End <= until {
			w := f.walkers[p.lane%numWalkers]
			w.ready = append(w.ready, *p)
			ready++
		} else {
			kept = append(kept, *p)
		}
	}
	f.pending = kept
	f.explain(ready)
	for _, w := range f.walkers {
		for _, b := range w.blocked {
			if f.blocked < mostBlocked {
				f.lanes[b.lane].block(b.wait, b.time)
				f.blocked++
			} else {
				w.sums.unknown(&b.wait)
			}
		}
	}
}

// mostBlocked is how many waits may wait for calls of lanes that are not known yet.
const mostBlocked = 1 << 20

// explain finds the causes of the waits that are ready, of which there are n.
func (f *Finder) explain(n int) {
	const worthwhile = 64 // waits, that goroutines are started for
	part, used := f.credit/creditPart, 0
	for _, w := range f.walkers {
		w.credit = part * len(w.ready) / max(n, 1)
		used += w.credit
	}
	var group sync.WaitGroup
	for _, w := range f.walkers {
		if n < worthwhile {
			w.explain()
		} else {
			group.Go(w.explain)
		}
	}
	group.Wait()
	for _, w := range f.walkers {
		used -= w.credit
	}
	f.credit = max(f.credit-used, 0)
}

// retry lets the waits that needed the lane be explained again.
func (f *Finder) retry(l *lane) {
	if len(l.blocked) > 0 && l.needed <= l.known {
		f.pending = append(f.pending, l.blocked...)
		f.blocked -= len(l.blocked)
		l.blocked = l.blocked[:0]
	}
}

// End says that a lane has no further calls. The time from its last call to the end of its rank was
// spent computing. Then it waits for the last lane, at the given place.
func (f *Finder) End(at, place int32) {
	l := &f.lanes[at]
	f.burst(l, l.End, FinalizeStop)
	finalize := callKind(FinalizeStop)
	if last := f.last; last >= 0 && f.lanes[last].End > l.End {
		until := f.lanes[last].End
		l.add(until, finalize, last)
		if l.Main {
			f.pending = append(f.pending, wait{LaneWait{Start: l.End, End: until, For: last, Place: place}, at})
		}
	}
	l.add(math.MaxInt64, finalize, noLane)
	f.retry(l)
}

// Close explains the waits that are left. All lanes have ended.
func (f *Finder) Close() error {
	f.Advance(math.MaxInt64)
	var err error
	for _, w := range f.walkers {
		err = cmp.Or(err, w.sums.err)
	}
	return err
}

// Coverage returns the part of the lanes' time whose calls are known, from 0 to 1.
func (f *Finder) Coverage() float64 {
	var all, missing float64
	for i := range f.lanes {
		l := &f.lanes[i]
		all += float64(l.End - l.Begin)
		missing += float64(l.missing)
	}
	if all <= 0 {
		return 1
	}
	return 1 - missing/all
}
