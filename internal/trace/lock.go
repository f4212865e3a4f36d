package trace

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// lockEpoch is a passive target epoch of an origin, from Win_lock to
// Win_unlock.
type lockEpoch struct {
	lane      *lane
	target    int32 // world rank, or allTargets
	exclusive bool
	locked    int64 // start of Win_lock, Unix ns
	unlocked  moment
	end       int64 // end of Win_unlock, Unix ns
	// held is the end of a flush in the epoch, at which the origin certainly
	// had the lock; 0 if there was none.
	held int64
	// calls are the calls that may wait for the lock: Win_lock itself and, if
	// the MPI requests the lock later, the first operation that takes long and
	// the first call that completes operations.
	calls [3]*call
}

const (
	callOfLock = iota
	callOfOperation
	callOfCompletion
)

// Epochs that ended are kept for a while, because calls of other ranks that
// waited for them may come later in the replay.
const (
	epochRounds = 2
	mostEpochs  = 2048 // per window, unless more are open
)

// lock replays a Win_lock or Win_lock_all.
func (r *replay) lock(w *window, c *call) {
	target := c.kind.target()
	x := &lockEpoch{lane: c.lane, target: target, exclusive: c.kind.lock == profile.ExclusiveLock, locked: c.start}
	x.calls[callOfLock] = c
	c.open++
	w.locks[target] = x
	m := w.in.rma
	m.epochs = append(m.epochs, x)
	if len(m.epochs) > max(m.full, mostEpochs) {
		oldest := len(m.epochs) / 2
		r.dropEpochsIf(w.in, func(i int, x *lockEpoch) bool { return i < oldest && x.unlocked.lane != nil })
		m.full = 2 * len(m.epochs) // many may be open, for example after Win_lock_all on all ranks
	}
	if target != allTargets {
		r.needsTarget(w, c, target, pendingOps{c.start, opLock})
	}
}

// unlock replays a Win_unlock or Win_unlock_all.
func (r *replay) unlock(w *window, c *call) {
	r.flush(w, c)
	target := c.kind.target()
	x := w.locks[target]
	if x == nil {
		return
	}
	delete(w.locks, target)
	x.unlocked, x.end = c.moment(), c.end
}

// needsLock records the first call of an epoch that communicates, or that
// completes operations: it may wait for the lock.
func (r *replay) needsLock(w *window, c *call, as int) {
	x := w.locks[c.kind.target()]
	if x == nil {
		x = w.locks[allTargets]
	}
	if x == nil {
		return
	}
	if x.calls[as] == nil {
		x.calls[as] = c
		c.open++
	}
	if x.held == 0 && c.kind.rma.Any(profile.TraitFlushes) && !c.kind.rma.Any(profile.TraitLocal) && len(w.pending) > 0 {
		x.held = c.end
	}
}

// excludes reports whether two epochs cannot both have the lock.
func (x *lockEpoch) excludes(y *lockEpoch) bool {
	return x.lane.process != y.lane.process && (x.exclusive || y.exclusive) &&
		(x.target == y.target || x.target == allTargets || y.target == allTargets)
}

// waitedFor adds x's unlock as a cause to the calls of y that waited for it. They did if x
// requested the lock first, and x completed operations before it unlocked, or x had unlocked before
// y completed any. Otherwise the events do not show who had the lock.
func (x *lockEpoch) waitedFor(y *lockEpoch, in *communicator) {
	if x.unlocked.lane == nil || x.locked >= y.locked || !x.excludes(y) {
		return
	}
	for i, c := range y.calls {
		if c == nil || c.start >= x.unlocked.time || x.unlocked.time > c.end {
			continue
		}
		before := x.held > 0 || y.unlocked.lane == nil || x.end <= y.unlocked.time || i == callOfCompletion && c.start == y.unlocked.time && x.end <= y.end
		if before {
			c.learn(x.unlocked.cause(LockContention, in))
		}
	}
}

// dropEpochsIf removes the epochs of a window for which drop returns true. It closes the calls of these
// epochs.
// drop gets each epoch x with its index i: epochs are ordered by when they began.
func (r *replay) dropEpochsIf(in *communicator, drop func(i int, x *lockEpoch) bool) {
	var dropped, kept []*lockEpoch
	for i, x := range in.rma.epochs {
		if drop(i, x) {
			dropped = append(dropped, x)
		} else {
			kept = append(kept, x)
		}
	}
	if len(dropped) == 0 {
		return
	}
	contention(in)
	for _, x := range dropped {
		for _, c := range x.calls {
			if c != nil {
				r.close(c)
			}
		}
	}
	in.rma.epochs = kept
}

// contention finds the calls that waited for another epoch of the window to
// end. It compares each epoch with those that requested the lock while it
// lasted, unless neither of the two is exclusive.
func contention(in *communicator) {
	if !slices.ContainsFunc(in.rma.epochs, func(x *lockEpoch) bool { return x.exclusive }) {
		return
	}
	byTime := slices.Clone(in.rma.epochs)
	slices.SortStableFunc(byTime, func(x, y *lockEpoch) int { return cmp.Compare(x.locked, y.locked) })
	var exclusive []*lockEpoch
	for _, x := range byTime {
		if x.exclusive {
			exclusive = append(exclusive, x)
		}
	}
	after := func(x *lockEpoch, list []*lockEpoch) {
		if x.unlocked.lane == nil {
			return
		}
		first, _ := slices.BinarySearchFunc(list, x.locked+1, func(y *lockEpoch, t int64) int { return cmp.Compare(y.locked, t) })
		for _, y := range list[first:] {
			if y.locked >= x.unlocked.time {
				return
			}
			x.waitedFor(y, in)
		}
	}
	for _, x := range byTime {
		if x.exclusive {
			after(x, byTime)
		} else {
			after(x, exclusive)
		}
	}
}

// oldEpochs drops the epochs that ended some rounds ago.
func (r *replay) oldEpochs() {
	old := r.until - epochRounds*r.window
	for _, in := range r.windows {
		if len(in.rma.epochs) > 0 && slices.ContainsFunc(in.rma.epochs, func(x *lockEpoch) bool { return x.old(old) }) {
			r.dropEpochsIf(in, func(_ int, x *lockEpoch) bool { return x.old(old) })
		}
	}
}

func (x *lockEpoch) old(before int64) bool { return x.unlocked.lane != nil && x.end < before }
