package trace

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// An MPI without a progress thread may need the target of a one-sided operation to be in an MPI
// call. A flush then waits until the target's next call. The replay concludes this if the target
// was outside of MPI when the flush started, and the flush ended just after the target came back.
// It does not conclude this if operations of the same kind on the same window were completed while
// their target was outside all the time.

// opMask is a set of kinds of operations, which an MPI may implement in
// different ways.
type opMask uint8

const (
	opPut opMask = 1 << iota
	opGet
	opAtomic
	opLock
	opUnlock
)

// pendingOps are operations that an origin has not completed at a target.
type pendingOps struct {
	since int64 // when the first of them was called
	ops   opMask
}

// leastAbsence is the shortest wait, in ns, that is attributed to a target's
// absence. A message takes about as long.
const leastAbsence = 20_000

// operation adds a pending operation at a target. In some MPIs the call itself
// waits for the target.
func (r *replay) operation(w *window, c *call) {
	k := c.kind
	p, ok := w.pending[k.peer]
	if !ok {
		p.since = c.start
	}
	p.ops |= k.op
	w.pending[k.peer] = p
	if c.end-c.start >= leastAbsence {
		r.needsLock(w, c, callOfOperation)
		r.needsTarget(w, c, k.peer, pendingOps{c.start, k.op})
	}
}

func opOf(call profile.Traits) opMask {
	switch {
	case call.Any(profile.TraitPuts):
		return opPut
	case call.Any(profile.TraitGets):
		return opGet
	}
	return opAtomic
}

// flush replays a call that completes operations at one target, or at all.
func (r *replay) flush(w *window, c *call) {
	r.needsLock(w, c, callOfCompletion)
	target := c.kind.target()
	targets := []int32{target}
	if target == allTargets {
		targets = slices.Collect(maps.Keys(w.pending))
	}
	for _, t := range targets {
		p, ok := w.pending[t]
		if c.kind.rma.Any(profile.TraitUnlocks) {
			if !ok {
				p.since = c.start
			}
			p.ops, ok = p.ops|opUnlock, true
		}
		if !ok {
			continue
		}
		if !c.kind.local() {
			delete(w.pending, t)
		}
		r.needsTarget(w, c, t, p)
	}
}

// local reports whether operations may still be under way at the target after
// the call.
func (k *kind) local() bool {
	return k.rma.Any(rmaOperations | profile.TraitLocal)
}

// absence is a time that a process spent outside of MPI.
type absence struct {
	from, to int64
	site     int32 // call site of the call that ended it
}

// watcher is a call that may have waited for its target to enter MPI.
type watcher struct {
	call *call
	in   *communicator
	pendingOps
}

// mostAbsences is how many of a process's latest absences are kept.
const mostAbsences = 128

// needsTarget determines whether a call had to wait for the target to be in
// MPI.
func (r *replay) needsTarget(w *window, c *call, rank int32, p pendingOps) {
	t := r.byRank[rank]
	if t == nil || t == c.lane.process || t.trace.Threads > 1 || t.partial || t.trace.Gaps {
		return
	}
	x := watcher{c, w.in, p}
	if t.present > c.end || t.progress == ended {
		x.judge(t)
		return
	}
	c.open++
	t.watchers = append(t.watchers, x)
}

// came records that a process entered MPI after an absence.
func (r *replay) came(l *lane, e *event) {
	p := l.process
	if e.start > l.last && p.windows != nil { // without windows no call can wait for it in this way
		p.leave(absence{l.last, e.start, e.kind.site})
	}
	p.present = max(p.present, e.end)
	if len(p.watchers) > 0 {
		kept := p.watchers[:0]
		for _, x := range p.watchers {
			if p.present <= x.call.end {
				kept = append(kept, x)
				continue
			}
			x.judge(p)
			r.close(x.call)
		}
		p.watchers = kept
	}
}

// leave adds an absence, and replaces the oldest if there are too many.
func (p *replayedRank) leave(a absence) {
	if len(p.absences) < mostAbsences {
		p.absences = append(p.absences, a)
	} else {
		p.absences[p.absent%mostAbsences] = a
	}
	p.absent++
}

// absencesIn calls f with the absences of the process that overlap the time
// between from and to, the latest first, until f returns false.
func (p *replayedRank) absencesIn(from, to int64, f func(absence) bool) {
	for i := p.absent - 1; i >= 0 && i >= p.absent-mostAbsences; i-- {
		a := p.absences[i%mostAbsences]
		if a.to <= from || a.from < to && !f(a) {
			return
		}
	}
}

// judge decides about a call once the target's absences are known. Of the
// absences during the call it takes the latest that ended just before the call
// did. If there is none, the call may have waited for the longest one.
func (x *watcher) judge(t *replayedRank) {
	c := x.call
	var longest absence
	found := false
	t.absencesIn(c.start, c.end, func(a absence) bool {
		if a.to > c.end && a.from <= x.since { // the call ended without the target
			if !c.kind.local() {
				x.in.rma.alone |= x.ops
			}
			found = true
			return false
		}
		site, end := a.site, a.to
		a = absence{max(a.from, c.start), min(a.to, c.end), a.site}
		waited, after := a.to-a.from, c.end-a.to
		if waited < leastAbsence {
			return true
		}
		if end <= c.end && after <= max(waited/10, leastAbsence) {
			c.absent(cause{a.to, WaitForProgress, site, t.main(), x.in}, a.from, x.ops)
			found = true
			return false
		}
		if waited > longest.to-longest.from {
			longest = a
		}
		return true
	})
	if !found && longest.to > 0 {
		c.absent(cause{longest.to, Undecided, longest.site, t.main(), x.in}, longest.from, x.ops)
	}
}

// absent adds the absence of a target as a cause. Whether the call waited for it is proven only at
// the end of the replay.
func (c *call) absent(w cause, from int64, ops opMask) {
	have := c.away
	if have == nil || w.time > have.time || w.time == have.time && w.before(&have.cause) {
		c.away = &away{w, from, ops}
	}
}

// away is a wait of a call for a target that was outside of MPI: the target that returned to MPI
// last.
type away struct {
	cause
	from int64 // when both the target was outside and the call had started
	ops  opMask
}

// windowOps are kinds of operations on a window. Only at the end of the replay is it known whether
// they need their target at all.
type windowOps struct {
	rma *rma
	ops opMask
}

// needless reports whether such operations were completed without their target.
func (w windowOps) needless() bool { return w.ops&^w.rma.alone == 0 }

// pattern returns the pattern of a wait for the target of such operations, or NoPattern if they do
// not need it.
func (w windowOps) pattern(of Pattern) Pattern {
	if w.needless() {
		return NoPattern
	}
	return of
}

// awayWaits are the waits for targets outside of MPI, and the waits among them at which the
// critical path may leave its rank.
type awayWaits struct {
	undecidedWaits[windowOps]
	jumps []awayJump
}

type awayJump struct {
	own *lane
	jump
	windowOps
}

// waitedForTarget keeps the wait of a call for a target that was outside of
// MPI, if there is one.
func (r *replay) waitedForTarget(c *call) {
	w := c.away
	if w == nil {
		return
	}
	key, listed := r.wait(c, &w.cause, c.kind)
	ops, long := windowOps{w.comm.rma, w.ops}, w.time-w.from
	if w.pattern != Undecided && long >= pathWait {
		r.away.jumps = append(r.away.jumps, awayJump{c.lane, jump{w.time, w.lane.id}, ops})
	}
	listed.Start, listed.Duration = w.from, long
	r.away.add(r, key, ops, listed, long)
	if w.pattern != Undecided {
		pattern := r.logged.depends(ops, func() Pattern { return ops.pattern(WaitForProgress) })
		r.logged.add(c.lane.process.index, loggedWait{c.index, w.from - c.start, long, w.lane.id, pattern})
	}
}

// leftAway adds the waits for targets outside of MPI to the sums, except those
// of operations that were completed without their target.
func (r *replay) leftAway() {
	r.away.settle(r, func(k undecidedKey[windowOps]) Pattern {
		return k.on.pattern(k.pattern)
	})
	for _, j := range r.away.jumps {
		if !j.needless() {
			j.own.jumps = append(j.own.jumps, j.jump)
		}
	}
}
