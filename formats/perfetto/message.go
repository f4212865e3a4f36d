package perfetto

import (
	"strconv"

	"github.com/mpitrace/mpitrace/profile"
)

// messageKey identifies a message: it is the same for the send and the receive. comm
// is numbered within this file; ranks are world ranks.
type messageKey struct {
	comm     int
	from, to int32
	tag      int32
	seq      uint32
}

// flowEnd is a send or a receive.
type flowEnd struct {
	at    *rankTrack
	tid   int
	call  host
	bytes uint64
}

// message adds one end of a message. If the other end is known it draws the
// arrow. The receive may come first, because it may start before the send.
func (t *timeline) message(p *rankTrack, k *kindJSON, e *profile.Events, i int, call host) {
	if e.Seq[i] == 0 || !hasPeer(&k.EventKind) || k.Comm < 0 || int(k.Comm) >= len(p.comms) || p.job.ranks[k.Peer] == nil {
		return
	}
	m := flowEnd{p, p.tid(threadOf(&k.EventKind)), call, e.Bytes[i]}
	id := messageKey{comm: p.comms[k.Comm], from: p.rank, to: k.Peer, tag: e.Tag[i], seq: e.Seq[i]}
	switch k.Direction {
	case profile.Send:
		t.count(call.start, p.job.ranks[k.Peer], int64(m.bytes))
		if received, ok := t.received[id]; ok {
			delete(t.received, id)
			t.matched(m, received)
			return
		}
		t.sent[id] = m
	case profile.Recv:
		id.from, id.to = id.to, id.from
		if sent, ok := t.sent[id]; ok {
			delete(t.sent, id)
			t.matched(sent, m)
			return
		}
		t.received[id] = m
	}
}

// matched draws the arrow. It starts at the sending call and ends at the end of
// the receiving call, which is never earlier unless the clocks disagree.
func (t *timeline) matched(sent, received flowEnd) {
	t.messages++
	t.count(max(sent.call.start, received.call.end), received.at, -int64(sent.bytes))
	at := max(received.call.start, received.call.end-1)
	switch {
	case at < sent.call.start:
		t.backward++
		return
	case !sent.call.shown || !received.call.shown:
		return
	case received.call.end-received.call.start < t.arrows:
		return
	}
	t.flows++
	t.arrow('s', sent, sent.call.start, ``)
	t.arrow('f', received, at, `,"bp":"e"`) // "bp":"e" binds the arrow to the enclosing slice instead of the next one
}

func (t *timeline) arrow(phase byte, m flowEnd, at int64, more string) {
	b := t.out.begin(phase, m.at.pid, m.tid)
	b = append(b, `"ts":`...)
	b = appendMicroseconds(b, at-t.trace.start)
	b = append(b, `,"name":"message","cat":"p2p","id":`...)
	b = strconv.AppendUint(b, t.flows, 10)
	t.out.end(append(b, more...))
}
