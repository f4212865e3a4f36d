package trace

// event is the event of a process that is being replayed.
type event struct {
	kind       *kind
	start, end int64 // Unix ns
	bytes      uint64
	index      int64 // index in the trace, starting at 0
	tag, link  int32
	seq        uint32
}

// completion returns the index of the event that completes what this event
// posted.
func (e *event) completion() int64 { return e.index + int64(e.link) }

// run replays the events of a process up to the end of the round, or until it
// has to wait for another process or for its own next batch.
func (r *replay) run(p *replayedRank) {
	if p.batch.last {
		r.end(p)
		return
	}
	b := p.batch.events
	n := b.Len()
	for ; p.at < n; p.at++ {
		i := p.at
		k := p.kinds[b.Kind[i]]
		e := event{kind: k, start: b.Start[i], end: b.Start[i] + b.Duration[i], bytes: b.Bytes[i],
			index: p.before + int64(i), tag: b.Tag[i], link: b.Link[i], seq: b.Seq[i]}
		if e.end > r.until {
			return
		}
		if c := k.lane.call; k.operation.begins() && c != nil && c.needs > 0 && !c.released {
			r.park(p, c)
			return
		}
		r.steps++
		r.step(&e)
	}
	p.before += int64(n)
	p.progress = loading
	r.loading++
	p.resume <- struct{}{}
}

// end ends a process if none of its threads waits for further events.
func (r *replay) end(p *replayedRank) {
	for _, l := range p.lanes {
		if l != nil && l.call != nil && l.call.needs > 0 && !l.call.released {
			r.park(p, l.call)
			return
		}
	}
	p.progress = ended
}

// begins reports whether events of this kind are calls. After a call, the
// thread's previous call gets no more completions.
func (o operation) begins() bool { return o <= collectiveCall }

// step replays one event.
func (r *replay) step(e *event) {
	k := e.kind
	if k.operation.begins() {
		r.stepCall(e)
		return
	}
	c := k.lane.call
	if c == nil { // the trace starts after the call
		c = r.begin(e)
	}
	links := &k.lane.process.links
	switch k.operation {
	case movedSend:
		r.send(e, c)
	case movedReceive:
		r.stepReceive(e, c)
	case movedCollective:
		r.collective(e, c, c.start)
	case posted:
		if e.link > 0 {
			links.put(e.index, e.completion(), request{posted: r.posting(c.lane, c.start, c.kind.site)})
		}
	case completed:
		if q, ok := links.take(e.index); ok && q.sent != nil {
			r.sent(q.sent, c)
		} else if ok && q.joined != nil {
			q.as.call = c
			r.await(q.joined, q.as)
		}
	case dropped:
		r.drop(e)
	}
}

// stepCall replays a call.
func (r *replay) stepCall(e *event) {
	k := e.kind
	l := k.lane
	c := r.begin(e)
	switch k.operation {
	case sendCall:
		r.send(e, c)
	case receiveCall:
		r.receive(e, c, r.posted(e))
	case collectiveCall:
		r.collective(e, c, e.start)
	case plainCall:
		if k.rma != 0 {
			r.oneSided(e, c)
		}
		if e.link > 0 {
			l.process.links.put(e.index, e.completion(), request{posted: r.posted(e)})
		}
	}
	if k.exchange {
		for i := range l.ahead {
			r.receive(&l.ahead[i], c, r.posting(c.lane, c.start, c.kind.site))
		}
		l.ahead = l.ahead[:0]
	}
}

// posted returns what posted the receive of a call: the call itself, or the
// probe that matched the message.
func (r *replay) posted(e *event) posting {
	if q, ok := e.kind.lane.process.links.take(e.index); ok {
		return q.posted
	}
	return r.posting(e.kind.lane, e.start, e.kind.site)
}

// posting returns the call as the posting of a receive.
func (r *replay) posting(l *lane, start int64, site int32) posting {
	p := posting{time: start, site: site, lane: l}
	if len(r.changes) > 0 {
		now := l.now
		p.now = &now
	}
	return p
}

// stepReceive replays the completion of a receive that was posted before. For a
// Sendrecv it may come before the call: it is then kept for the call, because
// the send half must be replayed before the receive can be waited for.
func (r *replay) stepReceive(e *event, c *call) {
	l := e.kind.lane
	switch {
	case e.kind.exchange && e.link > 0:
		l.ahead = append(l.ahead, *e)
		return
	case e.kind.exchange:
		r.receive(e, c, r.posting(c.lane, c.start, c.kind.site))
		return
	}
	posted := posting{time: unknownTime}
	if q, ok := l.process.links.take(e.index); ok {
		posted = q.posted
	}
	r.receive(e, c, posted)
}
