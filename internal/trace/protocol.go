package trace

import (
	"math/bits"

	"github.com/mpitrace/mpitrace/profile"
)

// An MPI sends a message up to some size eagerly: it buffers the message, and
// the send completes although no receive is posted. A larger message, and each
// synchronous send, waits for its receiver (rendezvous). The MPI decides the
// limit. If it is not recorded, the run may show it.

// protocols is what the run shows about how messages are sent, by path.
type protocols [profile.NumPaths]protocol

type protocol struct {
	// buffered is the size of the largest message whose send completed before
	// its receive was posted.
	buffered uint64
	used     bool // whether the path has messages
	// evidence that sends wait for their receivers, by sizeKey; see the
	// function evidence.
	evidence map[uint64]int
}

// proven is the amount of evidence that is enough. So much arises by accident
// with a probability of 1 in 2^proven.
const proven = 8

// lasted adds the evidence of a send that lasted until its receive was posted.
func (p *protocol) lasted(size uint64, evidence int) {
	if p.evidence == nil {
		p.evidence = map[uint64]int{}
	}
	p.evidence[size] += evidence
}

// evidence returns how strongly a send suggests that it waited for its receiver. The send started
// before its receive was posted and ended after that. The result is the number of halvings of the
// probability that it ended so soon after the posting by accident, minus the average result of
// accidents. A send that had lasted far longer than buffering takes before the posting counts too,
// however late it ended: the sender may have had no processor.
func evidence(start, posted, end int64, bytes uint64) int {
	const (
		expected   = 2
		long       = 1_000_000 // ns, to which nsPerByte is added
		nsPerByte  = 10        // buffering takes at most a tenth of this
		ofLongOnes = 2
	)
	n := bits.Len64(uint64((end-start)/max(end-posted, 1))) - 1 - expected
	if posted-start >= long+nsPerByte*int64(min(bytes, 1<<40)) {
		return max(n, ofLongOnes)
	}
	return n
}

// sizeKey returns the same number for sizes that differ by less than 3 %, so
// that there are few keys.
func sizeKey(bytes uint64) uint64 {
	drop := max(bits.Len64(bytes)-6, 0)
	return bytes >> drop << drop
}

// pathOf returns the path of messages from one process to another.
func pathOf(from, to *replayedRank) profile.Path {
	switch {
	case from == to:
		return profile.ToSelf
	case from.trace.Host == to.trace.Host:
		return profile.InNode
	}
	return profile.BetweenNodes
}

// completed records that the send of a message ended at or before end; 0 means
// unknown. If its receive was posted later, the message was buffered.
func (p *protocols) completed(m *message, end int64) {
	if end == 0 || m.buffered || m.synchronous || m.posted.time == unknownTime {
		return
	}
	if m.posted.time > end+slack(m.lane.process, m.receiver.process) {
		at := &p[m.path]
		at.buffered = max(at.buffered, m.bytes)
	}
}

// need says whether a message waits for its receiver, according to the recorded
// limit.
type need uint8

const (
	eager need = iota // it does not wait
	unknownNeed
	rendezvous // it waits
)

func (m *message) need() need {
	limit := m.lane.process.limits[m.path]
	switch {
	case m.synchronous || limit != nil && m.bytes > limit.Bytes:
		return rendezvous
	case limit != nil:
		return eager
	}
	return unknownNeed
}

// lateReceiver is the posting of a receive that a sending call may have waited
// for.
type lateReceiver struct {
	cause
	bytes uint64
	path  profile.Path
	need  need
}

// received adds the posting of a message's receive to the call that sent it. If
// the call had ended by then, the message was buffered and nobody waited.
func (r *replay) received(c *call, m *message) {
	posted := m.receivePosted(c.end)
	if posted > c.end {
		r.protocols.completed(m, c.end)
		return
	}
	w := lateReceiver{cause{posted, LateReceiver, m.posted.site, m.receiver, m.in}, m.bytes, m.path, m.need()}
	if m.posted.now != nil && r.needsReceiver(m) {
		r.dependsOn(c, &w.cause, m.posted.now)
	}
	if have := &c.receiver; have.lane == nil || w.over(have) {
		*have = w
	}
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

// receivePosted returns when the receive of a message was posted. If the send cannot end before
// that, the result is at most sendEnd: a later posting is an error of the clocks. A synchronous
// send never ends before the posting. A send above the recorded limit does not either, but the
// limit may be wrong, so only a small difference is taken for an error of the clocks.
func (m *message) receivePosted(sendEnd int64) int64 {
	posted := m.posted.time
	if posted == unknownTime {
		return posted
	}
	if m.synchronous || m.need() == rendezvous && posted <= sendEnd+slack(m.lane.process, m.receiver.process) {
		return min(posted, sendEnd)
	}
	return posted
}

// over reports whether the call more likely waited for w than for o. It prefers
// a receiver that is known to be needed, then that of the larger message (large
// messages need their receiver more often), then the one that posted later.
func (w *lateReceiver) over(o *lateReceiver) bool {
	switch {
	case w.need != o.need:
		return w.need > o.need
	case w.need == unknownNeed && w.bytes != o.bytes:
		return w.bytes > o.bytes
	case w.time != o.time:
		return w.time > o.time
	}
	return w.before(&o.cause)
}

// waitsForReceiver reports whether the last thing that the call waited for is
// the receiver. If the call also waited for a late sender, it is the receiver
// only if all messages had arrived before the receive was posted.
func (c *call) waitsForReceiver() bool {
	w := &c.receiver
	if w.time <= c.start {
		return false
	}
	if c.latest.lane == nil || c.latest.time <= c.start {
		return true
	}
	return w.need == rendezvous && w.time > max(c.latest.time, c.delivered)
}

// waitedForReceiver adds the call's wait, or possible wait, for a receiver to
// the sums.
func (r *replay) waitedForReceiver(c *call) {
	w := &c.receiver
	long := w.time - c.start
	key, listed := r.wait(c, &w.cause, c.kind)
	listed.Duration = long
	if w.need == rendezvous {
		r.add(key, listed, long)
		r.logged.add(c.lane.process.index, loggedWait{c.index, 0, long, w.lane.id, uint32(LateReceiver)})
		c.jump(&w.cause, long, w.time)
		return
	}
	const promptly = 8 // the call ended promptly if it lasted this many times longer before the posting than after it
	v := verdict{size: sizeKey(w.bytes), path: w.path, prompt: promptly*(c.end-w.time) <= long, eager: w.need == eager}
	r.receivers.add(r, key, v, listed, long)
	if !v.eager {
		pattern := r.logged.depends(v, func() Pattern { return r.protocols.pattern(v) })
		r.logged.add(c.lane.process.index, loggedWait{c.index, 0, long, w.lane.id, pattern})
	}
	r.protocols[w.path].lasted(v.size, evidence(c.start, w.time, c.end, w.bytes))
	if v.prompt && !v.eager {
		c.jump(&w.cause, long, w.time)
	}
}

// verdict is everything that the pattern of a wait for a receiver depends on.
type verdict struct {
	size   uint64 // sizeKey of the message
	path   profile.Path
	prompt bool // the call ended right after the receive was posted
	eager  bool // according to the recorded limit
}

// pattern returns the pattern of a wait, according to everything that the run
// has shown. It returns NoPattern if the call waited for nobody.
func (p *protocols) pattern(v verdict) Pattern {
	at := &p[v.path]
	switch {
	case v.eager || v.size <= at.buffered:
		if v.prompt { // like a send that needed its receiver
			return Undecided
		}
		return NoPattern
	case at.waits(v.size):
		return LateReceiver
	}
	return Undecided
}

// waits reports whether sends of this size wait for their receivers: whether
// the run shows it for sends of this or a smaller size.
func (p *protocol) waits(size uint64) bool {
	sum := 0
	for n, evidence := range p.evidence {
		if n > p.buffered && n <= size {
			sum += evidence
		}
	}
	return sum >= proven
}

// settle adds the possible waits for receivers, now that the run is complete.
func (r *replay) settle() {
	known := map[verdict]Pattern{}
	r.receivers.settle(r, func(k undecidedKey[verdict]) Pattern {
		p, ok := known[k.on]
		if !ok {
			p = r.protocols.pattern(k.on)
			known[k.on] = p
		}
		return p
	})
}

// ObservedEagerLimit is the size up to which sends on a path do not wait for their
// receivers.
type ObservedEagerLimit struct {
	Path profile.Path `json:"path"`
	// Bytes is the recorded limit, and Variable the MPI's variable that
	// contains it. They are 0 and "" if none was recorded.
	Bytes    uint64 `json:"limit_bytes"`
	Variable string `json:"variable"`
	// Shown is the size of the largest message whose send completed before its
	// receive was posted.
	Shown uint64 `json:"shown_bytes"`
}

// eagerLimits returns the limits of the paths that messages took. If the
// recorded limits differ between processes, it returns that of the lowest rank.
func (r *replay) eagerLimits() []ObservedEagerLimit {
	list := []ObservedEagerLimit{}
	for path := range profile.NumPaths {
		if !r.protocols[path].used {
			continue
		}
		out := ObservedEagerLimit{Path: path, Shown: r.protocols[path].buffered}
		for _, p := range r.processes {
			if l := p.trace.EagerLimit(path); l != nil {
				out.Bytes, out.Variable = l.Bytes, l.Variable
				break
			}
		}
		list = append(list, out)
	}
	return list
}
