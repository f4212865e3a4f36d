package trace

import "github.com/mpitrace/mpitrace/profile"

// An MPI may need the target of an operation to be in a call of MPI, as it has no
// other thread that takes part. A flush then waits until the target's next call.
// That is shown where the target was outside of MPI when the flush began and the
// flush ended just after the target came back, unless operations of the same kind on
// the same window were completed at a target that was outside all the time.

// opMask is a set of kinds of operations, which an MPI may carry out in different ways.
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

// leastAbsence is the shortest wait, in ns, that a target's absence is the reason
// of: a message takes about as long.
const leastAbsence = 20_000

// operation notes what is to be completed at a target. Some MPIs wait for the target
// before the operation returns.
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

func opOf(call string) opMask {
	switch call {
	case "Put", "Rput":
		return opPut
	case "Get", "Rget":
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
		targets = targets[:0]
		for t := range w.pending {
			targets = append(targets, t)
		}
	}
	for _, t := range targets {
		p, ok := w.pending[t]
		switch c.kind.rma {
		case winUnlock, winUnlockAll:
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

// local tells the calls after which operations may still be under way at the target.
func (k *kind) local() bool {
	return k.rma == rmaOperation || k.rma == winFlushLocal || k.rma == winFlushLocalAll
}

// absence is a time that a process spent outside of MPI.
type absence struct {
	from, to int64
	site     int32 // of the call that ended it
}

// watcher is a call that may have waited for its target to come into MPI.
type watcher struct {
	call *call
	in   *communicator
	pendingOps
}

// mostAbsences is how many of the latest absences of a process are kept.
const mostAbsences = 128

// needsTarget finds out whether a call had to wait for the target to be in MPI.
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

// came notes that a process entered MPI, and was outside before.
func (r *replay) came(l *lane, e *event) {
	p := l.process
	if e.start > l.last && p.windows != nil { // else nobody can wait for it so
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

// leave keeps an absence, in place of the oldest if there are too many.
func (p *process) leave(a absence) {
	if len(p.absences) < mostAbsences {
		p.absences = append(p.absences, a)
	} else {
		p.absences[p.absent%mostAbsences] = a
	}
	p.absent++
}

// absencesIn gives the absences of the process between two times, the latest first,
// until it is told to stop. The first may last longer.
func (p *process) absencesIn(from, to int64, f func(absence) bool) {
	for i := p.absent - 1; i >= 0 && i >= p.absent-mostAbsences; i-- {
		a := p.absences[i%mostAbsences]
		if a.to <= from || a.from < to && !f(a) {
			return
		}
	}
}

// judge decides on a call when it is known what the target did: of the absences during
// the call the latest counts that ended just before the call did. If there is none the
// longest one may have been waited for.
func (x *watcher) judge(t *process) {
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

// absent tells a call of the absence of a target. Whether that is proved is known in
// the end.
func (c *call) absent(w cause, from int64, ops opMask) {
	have := c.away
	if have == nil || w.time > have.time || w.time == have.time && w.before(&have.cause) {
		c.away = &away{w, from, ops}
	}
}

// away is the latest target to come back into MPI while a call waited.
type away struct {
	cause
	from int64 // when it was outside, and the call had begun
	ops  opMask
}

// awayKey names such waits, until it is known whether operations of their kinds
// need their target at all.
type awayKey struct {
	waitKey
	rma *rma // of the window
	ops opMask
}

// needless reports whether such operations were completed without their target.
func (k *awayKey) needless() bool { return k.ops&^k.rma.alone == 0 }

// awayWaits are the waits for targets that were outside of MPI: their sums; and
// each that the critical path may leave its rank at, or that is listed.
type awayWaits struct {
	sums   map[awayKey]*waitSum
	jumps  []awayJump
	listed []awayListed
}

type awayJump struct {
	own *lane
	jump
	rma *rma
	ops opMask
}

type awayListed struct {
	profile.Wait
	key awayKey
}

// waitedForTarget keeps the wait of a call for a target that was outside of MPI, if
// it had one.
func (r *replay) waitedForTarget(c *call) {
	w := c.away
	if w == nil {
		return
	}
	wait, listed := r.wait(c, &w.cause, c.kind)
	key, long := awayKey{wait, w.comm.rma, w.ops}, w.time-w.from
	sum := r.away.sums[key]
	if sum == nil {
		sum = new(waitSum)
		r.away.sums[key] = sum
	}
	sum.merge(&waitSum{1, long, long})
	if w.pattern != Undecided && long >= pathWait {
		r.away.jumps = append(r.away.jumps, awayJump{c.lane, jump{w.time, w.lane.id}, key.rma, key.ops})
	}
	if r.o.Wait != nil {
		listed.Start, listed.Duration = w.from, long
		r.away.listed = append(r.away.listed, awayListed{listed, key})
	}
}

// leftAway books the waits for targets that were outside of MPI, but for those of
// operations that were completed without them.
func (r *replay) leftAway() {
	for key, sum := range r.away.sums {
		if !key.needless() {
			r.waits.merge(key.waitKey, sum)
		}
	}
	for _, w := range r.away.listed {
		if !w.key.needless() {
			r.o.Wait(w.Wait)
		}
	}
	for _, j := range r.away.jumps {
		if k := (awayKey{rma: j.rma, ops: j.ops}); !k.needless() {
			j.own.jumps = append(j.own.jumps, j.jump)
		}
	}
}
