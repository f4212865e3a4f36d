package trace

import "github.com/mpitrace/mpitrace/profile"

// call is an MPI call in which a thread may have waited for others. It is kept
// until everything that it may have waited for is known.
type call struct {
	lane       *lane
	kind       *kind
	start, end int64 // Unix ns
	index      int64 // index of its event
	probed     probe // the probe before a receive

	open     int    // number of causes that are not known yet, plus 1 while completions may follow
	needs    int    // number of unknown causes that the clocks depend on
	causes   clocks // the latest times of the causes so far
	entered  int64  // start, or end of the call around it, Unix ns
	until    int64  // when the last of the causes so far came, at most the end, Unix ns
	released bool   // whether the thread continues without the unknown causes
	latest   cause
	// When the received messages had certainly arrived, Unix ns; unknownTime if that is unknown.
	delivered int64
	receiver  lateReceiver // for the messages that it sent
	away      *away        // nil unless a target was outside of MPI
}

// probe is a call that waited for a message which a later call receives.
type probe struct {
	kind       *kind
	start, end int64
	index      int64
}

// cause is what a call waited for: a send, the posting of a receive, or the
// arrival of another member.
type cause struct {
	time    int64 // Unix ns
	pattern Pattern
	site    int32 // call site of the lane's call
	lane    *lane
	comm    *communicator
}

// begin makes a call the last one of its lane. The call before it gets no more
// completions. The time between the two was spent computing.
func (r *replay) begin(e *event) *call {
	l := e.kind.lane
	var probed probe
	entered, burst := max(e.start, l.last), max(e.start-l.last, 0)
	e.kind.burst.add(l.process.bursts, burstKey{l.stop, e.kind.stop}, burst)
	if before := l.call; before != nil && before.kind.probe && e.kind.operation == receiveCall {
		probed = probe{before.kind, before.start, before.end, before.index}
		entered = before.entered // for the changes, the two are one call
		l.now[idealNetwork] += burst
		r.close(before)
	} else {
		if before != nil {
			r.leave(before)
			r.close(before)
		}
		r.compute(l, e.kind, burst)
	}
	r.came(l, e)
	l.last, l.stop = max(l.last, e.end), e.kind.stop
	inside := overlap(e.start, e.end, l.process.from(), l.process.to())
	if e.kind.setsUp {
		l.mpi += inside // of a later session
	} else {
		l.mpi += e.end - e.start
		l.called = l.called || e.end > l.process.from()
	}
	r.calls.add(e.kind.call, inside, l.process.own(inside))
	c := r.freeCalls.get()
	*c = call{lane: l, kind: e.kind, start: e.start, end: e.end, index: e.index, probed: probed, open: 1, entered: entered}
	l.call = c
	return c
}

// overlap returns the length of the intersection of two intervals.
func overlap(a, b, from, to int64) int64 { return max(min(b, to)-max(a, from), 0) }

// learn adds a cause. Of two causes at the same time it keeps the one with the
// lower rank, so that the result does not depend on the order of the replay.
func (c *call) learn(w cause) {
	have := &c.latest
	if have.lane == nil || w.time > have.time || w.time == have.time && w.before(have) {
		*have = w
	}
}

func (w *cause) before(o *cause) bool {
	if w.lane.process.rank != o.lane.process.rank {
		return w.lane.process.rank < o.lane.process.rank
	}
	return w.lane.thread < o.lane.thread || w.lane.thread == o.lane.thread && w.pattern < o.pattern
}

// got adds one of the causes for which the call is open: w at the times now. needed says whether the
// clocks depend on it. A cause without a lane will never be known.
func (r *replay) got(c *call, w cause, now *clocks, needed bool) {
	if w.lane != nil {
		c.learn(w)
		if now != nil {
			r.dependsOn(c, &w, now)
		}
	}
	if w.pattern != LateSender {
		c.delivered = unknownTime
	}
	if needed {
		r.known(c)
	}
	r.close(c)
}

// known removes one of the unknown causes that the clocks of a call depend on. After the last one,
// the process continues.
func (r *replay) known(c *call) {
	c.needs--
	if p := c.lane.process; c.needs == 0 && p.parkedOn == c {
		p.parkedOn = nil
		r.proceed(p)
	}
}

// close removes one reason to keep the call. After the last one it is known how
// long the call waited, and for what.
func (r *replay) close(c *call) {
	c.open--
	if c.open > 0 {
		return
	}
	if c.kind.blocks && r.first == nil {
		r.waited(c)
	}
	r.freeCalls.put(c)
}

// waited adds the wait of a call to the sums. If a receive follows a probe, the
// wait was in the probe.
func (r *replay) waited(c *call) {
	if c.receiver.lane != nil && c.waitsForReceiver() {
		r.waitedForReceiver(c)
		return
	}
	if c.latest.lane == nil {
		r.waitedForTarget(c)
		return
	}
	start, end, kind, index := c.start, c.end, c.kind, c.index
	if p := &c.probed; p.kind != nil && c.latest.pattern == LateSender && c.latest.time <= p.end+slack(c.lane.process, c.latest.lane.process) {
		start, end, kind, index = p.start, p.end, p.kind, p.index
	}
	until := min(c.latest.time, end)
	if until <= start || c.latest.pattern.mayPass() && c.latest.time > end+slack(c.lane.process, c.latest.lane.process) {
		return
	}
	key, listed := r.wait(c, &c.latest, kind)
	listed.Event, listed.Start, listed.Duration = index, start, until-start
	r.add(key, listed, until-start)
	r.logged.add(c.lane.process.index, loggedWait{index, 0, until - start, c.latest.lane.id, uint32(c.latest.pattern)})
	c.jump(&c.latest, until-start, until)
}

// wait returns the wait of a call for a cause, as a key of the sums and as a
// row of the list. in is the kind of the call that waited: c's own, or that of
// the probe before it.
func (r *replay) wait(c *call, w *cause, in *kind) (waitKey, profile.Wait) {
	rank, peer := c.lane.process.rank, w.lane.process.rank
	key := waitKey{w.pattern, rank, peer, in.call, in.site, w.comm.id, w.site}
	if r.o.Wait == nil {
		return key, profile.Wait{}
	}
	return key, profile.Wait{Rank: int(rank), Event: c.index, Peer: int(peer), Pattern: w.pattern.String(), Start: c.start,
		Callsite: r.names.list[in.site], PeerCallsite: r.names.list[w.site], Comm: w.comm.label,
		Window: int(c.kind.window)}
}

// jump lets the critical path continue at the rank that the call waited for, if
// the wait was long enough.
func (c *call) jump(w *cause, long, until int64) {
	if long >= pathWait && w.lane != c.lane {
		c.lane.jumps = append(c.lane.jumps, jump{until, w.lane.id})
	}
}

// slack returns the possible error between the times of two processes, in ns.
// The corrected clock of another host is not exact: a probe may seem to end
// shortly before its message was sent, and a synchronous send shortly before its
// receive was posted.
func slack(a, b *replayedRank) int64 {
	const corrected = 100_000 // ns
	if a.trace.Clock == nil && b.trace.Clock == nil {
		return 0
	}
	return corrected
}

// compute moves the clocks of a lane over a burst of ns before a call. to is nil at the end of the
// process.
func (r *replay) compute(l *lane, to *kind, ns int64) {
	l.now[idealNetwork] += ns
	stop := finalized
	if to != nil {
		stop = to.stop
	}
	for i := range r.changes {
		ch, now, owed := &r.changes[i], &l.now[i+1], &l.owed[i+1]
		takes, later := ch.burst(l.process.index, burstKey{l.stop, stop}, ns)
		if *owed > 0 && (later > 0 || to == nil || to.after(ns, *owed)) {
			*now += *owed
			*owed = 0
		}
		*now += takes
		if to == nil {
			*now += later // nothing comes after it
		} else {
			*owed += later
		}
	}
}

// after reports whether a call comes after the computing that a change put off. Before it come sends,
// and the receives that follow without much computing: they could all be posted before.
func (k *kind) after(burst, owed int64) bool {
	const much = 16 // part of what is owed
	switch {
	case !k.blocks, k.operation == sendCall && !k.exchange:
		return false
	case k.operation == receiveCall:
		return burst > owed/much
	}
	return true
}

// leave moves the clocks of a lane to the end of its last call. While it waits, it does computing that
// was put off.
func (r *replay) leave(c *call) {
	l := c.lane
	l.now[idealNetwork] = max(l.now[idealNetwork], c.causes[idealNetwork])
	cost := max(c.left()-max(c.entered, c.until), 0)
	for i := 1; i <= len(r.changes); i++ {
		waits := max(c.causes[i]-l.now[i], 0)
		l.owed[i] -= min(waits, l.owed[i])
		l.now[i] += waits + cost
	}
}

// left returns when the call ended, at the latest when the process called Finalize.
func (c *call) left() int64 { return min(c.end, c.lane.process.to()) }

// dependsOn lets the call wait for a cause that came at the times now. A cause that came after the
// end of the call, because clocks differ, keeps its distance.
func (r *replay) dependsOn(c *call, w *cause, now *clocks) {
	c.causes[idealNetwork] = max(c.causes[idealNetwork], now[idealNetwork])
	if len(r.changes) == 0 || w.pattern.mayPass() && w.time > c.end+slack(c.lane.process, w.lane.process) {
		return
	}
	after := max(w.time-c.left(), 0)
	for i := 1; i <= len(r.changes); i++ {
		c.causes[i] = max(c.causes[i], now[i]-after)
	}
	c.until = max(c.until, w.time-after)
}

// freeList reuses objects, because most of them are short-lived.
type freeList[T any] struct{ free []*T }

func (p *freeList[T]) get() *T {
	n := len(p.free)
	if n == 0 {
		return new(T)
	}
	x := p.free[n-1]
	p.free = p.free[:n-1]
	return x
}

func (p *freeList[T]) put(x *T) { p.free = append(p.free, x) }
