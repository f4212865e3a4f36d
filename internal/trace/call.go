package trace

import "github.com/mpitrace/mpitrace/profile"

// call is a call of MPI in which a thread may have waited for others, until all
// is known of what it waited for.
type call struct {
	lane       *lane
	kind       *kind
	start, end int64 // Unix ns
	index      int64 // of its event
	probed     probe // before a receive

	open     int   // what is not known yet, and 1 while completions may follow
	needs    int   // of what is not known, what the ideal time depends on
	ideal    int64 // the ideal time of all that it depends on
	released bool  // the thread goes on without what is needed
	latest   cause
	// What it received had come by then; unknownTime if that is not known.
	delivered int64
	receiver  lateReceiver // of what it sent
	away      *away        // nil unless a target was outside of MPI
}

// probe is a call that waited for a message, and left it to a receive.
type probe struct {
	kind       *kind
	start, end int64
	index      int64
}

// cause is what a call waited for: a send, the posting of a receive, the arrival
// of another member.
type cause struct {
	time    int64 // Unix ns
	pattern Pattern
	site    int32 // of the lane's call
	lane    *lane
	comm    *communicator
}

// begin makes a call the last of its lane; the one before gets no completions
// any more. The time between the two was spent computing.
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
	l.mpi += inside
	r.calls.add(e.kind.call, inside)
	c := r.freeCalls.get()
	*c = call{lane: l, kind: e.kind, start: e.start, end: e.end, index: e.index, probed: probed, open: 1}
	l.call = c
	return c
}

// overlap is how much two intervals have in common.
func overlap(a, b, from, to int64) int64 { return max(min(b, to)-max(a, from), 0) }

// learn tells the call of something that it may have waited for. Of what comes
// at the same time the lowest rank counts, so that the order of the replay does
// not matter.
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

// got is one of the things that the call is open for, and may have needed; the
// cause has no lane where it never will come.
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

// close takes away a reason to keep the call; when there is none left it is known
// how long it waited, and for what.
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

// waited books the wait of a call. A receive after a probe has waited there.
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
	r.waits.add(key, until-start)
	if r.o.Wait != nil {
		r.o.Wait(listed)
	}
	c.jump(&c.latest, until-start, until)
}

// wait returns the wait of a call for a cause, as a key of the sums and as a row to
// list. in is the kind of the call, or of the probe before it, in which it waited.
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

// jump has the critical path continue at the rank that the call waited for, if the
// wait was long enough.
func (c *call) jump(w *cause, long, until int64) {
	if long >= pathWait && w.lane != c.lane {
		c.lane.jumps = append(c.lane.jumps, jump{until, w.lane.id})
	}
}

// slack is how far the times of two processes may be off. Clocks are corrected by
// when messages were received, so that a probe may seem to end a little before
// what it saw was sent.
func slack(a, b *process) int64 {
	const corrected = 100_000 // ns
	if a.trace.Clock == nil && b.trace.Clock == nil {
		return 0
	}
	return corrected
}

// pool keeps what is used again, since most of it lives shortly.
type pool[T any] struct{ free []*T }

func (p *pool[T]) get() *T {
	n := len(p.free)
	if n == 0 {
		return new(T)
	}
	x := p.free[n-1]
	p.free = p.free[:n-1]
	return x
}

func (p *pool[T]) put(x *T) { p.free = append(p.free, x) }
