package trace

// A lane has several clocks, which the replay moves at the same time: one for the ideal network, and
// one for each change of the job that is tried. All are times since the start of the job, in ns.
//
// On the ideal network, calls take only as long as they wait for others. With a change, each call
// takes as long as it did beyond its wait, and waits for the same ranks as before, which may now come
// earlier or later. So a change that changes nothing gives the recorded times, to the nanosecond:
// an error of this model is in both sides of the difference that is shown as the saving.
type clocks [1 + maxChanges]int64

// idealNetwork is the first of the clocks. Those of the changes follow.
const idealNetwork = 0

// maxChanges is how many changes one replay tries. Each takes 8 bytes of each message under way.
const maxChanges = 5

// wait moves the clocks to those of another lane, where these are later.
func (c *clocks) wait(o *clocks) {
	for i := range c {
		c[i] = max(c[i], o[i])
	}
}

// compute moves the clocks of a lane over a burst of ns before a stop. pays is that of the call there.
func (r *replay) compute(l *lane, to int32, pays bool, ns int64) {
	l.now[idealNetwork] += ns
	for i := range r.changes {
		ch, now, owed := &r.changes[i], &l.now[i+1], &l.owed[i+1]
		takes, later := ch.burst(l, to, ns)
		if later == 0 && pays {
			*now += *owed
			*owed = 0
		}
		*now += takes
		*owed += later
	}
}

// pays reports whether computing that a change put off is done at the latest in this call: a call
// that only sends, or posts a receive, comes before it.
func (k *kind) pays() bool { return k.blocks && (k.operation != sendCall || k.exchange) }

// leave moves the clocks of a lane to the end of its last call.
func (r *replay) leave(c *call) {
	l := c.lane
	l.now[idealNetwork] = max(l.now[idealNetwork], c.causes[idealNetwork])
	cost := max(c.left()-max(c.entered, c.until), 0)
	for i := 1; i <= len(r.changes); i++ {
		if c.kind.pays() {
			l.now[i] += l.owed[i]
			l.owed[i] = 0
		}
		l.now[i] = max(l.now[i], c.causes[i]) + cost
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

// awaitReceiver lets a call wait for the receiver of its message, if the message needs it.
func (r *replay) awaitReceiver(m *message, c *call) {
	m.call = c
	c.open++
	if m.needed = c.end-c.start >= pathWait && r.needsReceiver(m); m.needed {
		c.needs++
	}
}

// needsReceiver reports whether the clocks of the sender depend on the receiver of a message. Those
// of the ideal network never do, and only a second replay knows the other messages of the job.
func (r *replay) needsReceiver(m *message) bool {
	if r.first == nil {
		return false
	}
	switch m.need() {
	case rendezvous:
		return true
	case unknownNeed:
		return r.first.protocols.pattern(verdict{size: sizeKey(m.bytes), path: m.path}) == LateReceiver
	}
	return false
}

// gotReceiver ends the wait of a call for the receiver of its message.
func (r *replay) gotReceiver(m *message) {
	if m.needed {
		r.known(m.call)
	}
	r.close(m.call)
}

// posting returns the call as the posting of a receive.
func (r *replay) posting(l *lane, start int64, site int32) posting {
	p := posting{time: start, site: site}
	if len(r.changes) > 0 {
		now := l.now
		p.now = &now
	}
	return p
}
