package trace

import (
	"cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// send records a message that the call sent.
func (r *replay) send(e *event, c *call) {
	k, own := e.kind, e.kind.lane.process
	if k.peer == profile.PeerProcNull {
		return
	}
	r.matching.Sent++
	if !numbered(e) {
		r.unmatchedSend(own.noNumber(k))
		return
	}
	rt := r.route(k, own.rank, k.peer, e.tag)
	r.frames.count(rt, c.start, e.bytes)
	if rt.receiver == nil {
		r.unmatchedSend(NotTraced)
		return
	}
	m := r.freeMessages.get()
	*m = message{start: c.start, now: k.lane.now, bytes: e.bytes, in: rt.in, lane: k.lane, site: k.site, buffered: k.buffered, synchronous: k.synchronous,
		path: rt.path, delivered: unknownTime}
	if k.blocks || k.buffered || m.need() == eager {
		m.delivered = c.end
	}
	switch {
	case k.blocks:
		r.awaitReceiver(m, c)
	case e.link > 0:
		m.linked = true
		own.links.put(e.index, e.completion(), request{sent: m})
	}
	rt.newest = max(rt.newest, e.seq)
	w := rt.receives.take(e.seq)
	switch {
	case w == nil:
		rt.sends.put(e.seq, m)
		return
	case w.gone:
		m.gone = true
		r.neverReceived(m, Abnormal)
	default:
		r.join(rt, m, w)
	}
	r.freeReceives.put(w)
}

// numbered reports whether the other end of a message can be found.
func numbered(e *event) bool { return e.kind.peer >= 0 && e.seq > 0 && e.kind.member != nil }

// noNumber returns why a message of the process has no number.
func (p *replayedRank) noNumber(k *kind) Reason {
	if k.peer >= 0 && (p.trace.Gaps || p.trace.WholeUntil > 0) {
		return Gaps
	}
	return OtherWorld
}

// receive records a message that was received in the call. p is where and when
// the receive was posted.
func (r *replay) receive(e *event, c *call, p posting) {
	k, own := e.kind, e.kind.lane.process
	if k.peer == profile.PeerProcNull {
		return
	}
	r.matching.Received++
	if !numbered(e) {
		r.unmatchedReceive(own.noNumber(k))
		return
	}
	rt := r.route(k, k.peer, own.rank, e.tag)
	if rt.sender == nil {
		r.unmatchedReceive(NotTraced)
		return
	}
	w := receive{call: c, posted: p, bytes: e.bytes}
	c.open++
	if m := rt.sends.take(e.seq); m != nil {
		r.join(rt, m, &w)
		return
	}
	if w.needed = rt.hopeful(e.seq); w.needed {
		c.needs++
	}
	late := r.freeReceives.get()
	*late = w
	rt.receives.put(e.seq, late)
}

// hopeful reports whether the send with this number may still come.
func (rt *route) hopeful(n uint32) bool {
	return n > rt.newest && !rt.sender.partial && rt.sender.progress != ended
}

// join matches a send with its receive. Each may have waited for the other.
func (r *replay) join(rt *route, m *message, w *receive) {
	r.matching.Matched++
	if m.bytes != w.bytes {
		r.matching.SizesDiffer++
	}
	r.protocols[m.path].used = true
	m.matched, m.posted, m.receiver = true, w.posted, cmp.Or(w.posted.lane, w.call.lane)
	w.call.delivered = max(w.call.delivered, m.delivered)
	r.got(w.call, cause{m.start, LateSender, m.site, m.lane, rt.in}, &m.now, w.needed)
	switch {
	case m.call != nil:
		r.received(m.call, m)
		r.gotReceiver(m)
		r.freeMessages.put(m)
	case !m.linked:
		r.protocols.completed(m, m.ended)
		r.freeMessages.put(m)
	}
}

// sent records that the last call of the thread saw a send complete.
func (r *replay) sent(m *message, c *call) {
	m.linked = false
	if c != nil {
		m.ended = c.end
	}
	waits := c != nil && c.kind.blocks && !m.buffered
	switch {
	case m.matched:
		if waits {
			r.received(c, m)
		} else {
			r.protocols.completed(m, m.ended)
		}
		r.freeMessages.put(m)
	case m.gone:
		r.freeMessages.put(m)
	case waits:
		r.awaitReceiver(m, c)
	}
}

// drop records a send or a receive that did not complete normally.
func (r *replay) drop(e *event) {
	k, own := e.kind, e.kind.lane.process
	q, _ := own.links.take(e.index)
	if m := q.sent; m != nil {
		m.linked, m.gone = false, true
		if m.matched {
			r.freeMessages.put(m)
		}
		return
	}
	if k.abnormal.OfSend() || k.abnormal == profile.CancelledReceive {
		return
	}
	if !numbered(e) {
		if !own.trace.Gaps { // with gaps, messages have no numbers
			own.unknown++
		}
		return
	}
	rt := r.route(k, k.peer, own.rank, e.tag)
	if m := rt.sends.take(e.seq); m != nil {
		m.gone = true
		r.neverReceived(m, Abnormal)
		return
	}
	w := r.freeReceives.get()
	*w = receive{gone: true}
	rt.receives.put(e.seq, w)
}

// neverReceived drops a message that has no receive.
func (r *replay) neverReceived(m *message, why Reason) {
	if m.gone {
		why = Abnormal
	}
	r.unmatchedSend(why)
	if m.call != nil {
		r.gotReceiver(m)
		m.call = nil
	}
}

// leftOver counts the messages whose other end was not found after the whole
// replay.
func (r *replay) leftOver() {
	for _, rt := range r.routes {
		r.frames.leave(rt)
		rt.sends.drain(func(m *message) { r.neverReceived(m, rt.noReceive()) })
		rt.receives.drain(func(w *receive) {
			if w.gone {
				return
			}
			r.unmatchedReceive(rt.noSend())
			r.got(w.call, cause{}, nil, w.needed)
		})
	}
}

func (rt *route) noReceive() Reason {
	p := rt.receiver
	switch {
	case p.unknown > 0:
		p.unknown--
		return Abnormal
	case p.unfinished():
		return Cut
	}
	return NeverReceived
}

func (rt *route) noSend() Reason {
	if rt.sender.unfinished() {
		return Cut
	}
	return NoSend
}

// letGo drops messages to processes whose traces have gaps, so that they do not accumulate: if a
// route has very many messages, it drops the older half.
func (r *replay) letGo() {
	const many = 1 << 13
	for _, rt := range r.lossy {
		if rt.sends.held < many {
			continue
		}
		rt.sends.halve(func(m *message) { r.neverReceived(m, Cut) })
	}
}
