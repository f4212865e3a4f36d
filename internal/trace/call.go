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

	open     int   // number of causes that are not known yet, plus 1 while completions may follow
	needs    int   // number of unknown causes that the ideal time depends on
	ideal    int64 // latest ideal time of the causes so far, ns
	released bool  // whether the thread continues without the unknown causes
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
	if before := l.call; before != nil {
		l.ideal = max(l.ideal, before.ideal)
		if before.kind.probe && e.kind.operation == receiveCall {
			probed = probe{before.kind, before.start, before.end, before.index}
		}
		r.close(before)
	}
	l.ideal += max(e.start-l.last, 0)
	r.came(l, e)
	l.last = max(l.last, e.end)
	inside := overlap(e.start, e.end, l.process.from(), l.process.to())
	if !e.kind.setsUp {
		l.mpi += e.end - e.start
		l.called = l.called || e.end > l.process.from()
	}
	r.calls.add(e.kind.call, inside, l.process.own(inside))
	c := r.freeCalls.get()
	*c = call{lane: l, kind: e.kind, start: e.start, end: e.end, index: e.index, probed: probed, open: 1}
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

// got adds one of the causes for which the call is open. needed says whether the ideal time depends
// on it. A cause without a lane will never be known.
func (r *replay) got(c *call, w cause, ideal int64, needed bool) {
	if w.lane != nil {
		c.learn(w)
		c.ideal = max(c.ideal, ideal)
	}
	if w.pattern != LateSender {
		c.delivered = unknownTime
	}
	if needed {
		c.needs--
	}
	if p := c.lane.process; c.needs == 0 && p.parkedOn == c {
		p.parkedOn = nil
		r.proceed(p)
	}
	r.close(c)
}

// posting returns the call as the posting of a receive.
func (c *call) posting() posting { return posting{c.start, c.kind.site} }

// close removes one reason to keep the call. After the last one it is known how
// long the call waited, and for what.
func (r *replay) close(c *call) {
	c.open--
	if c.open > 0 {
		return
	}
	if c.kind.blocks {
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
	r.log(&c.latest, c.lane, index, 0, until-start, uint32(c.latest.pattern))
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
