package trace

import (
	"math/bits"

	"github.com/mpitrace/mpitrace/profile"
)

// MPIs send a message up to some size eagerly: it is buffered, and the send
// completes although no receive is posted. A larger one, and each of synchronous
// mode, waits for its receiver (rendezvous). The limit is the MPI's; where it is
// not recorded, the run may show it.

// protocols is what the run shows of how messages are sent, for each path.
type protocols [profile.NumPaths]protocol

type protocol struct {
	// buffered is the size of the largest message whose send completed before its
	// receive was posted.
	buffered uint64
	used     bool // there are messages on the path
	// evidence that sends wait for their receivers, by size: see the function.
	evidence map[uint64]int
}

// proven is how much evidence is enough: by accident there is so much with a chance
// of one in 2^proven.
const proven = 8

// lasted adds evidence of a send that lasted until its receive was posted.
func (p *protocol) lasted(size uint64, evidence int) {
	if p.evidence == nil {
		p.evidence = map[uint64]int{}
	}
	p.evidence[size] += evidence
}

// evidence returns how strongly a send suggests that it waited for its receiver. The
// send began before its receive was posted and ended after that. It counts 1 for each
// halving of the chance that it ended so soon afterwards by accident, less what
// accidents add on average. A send that by then had lasted far longer than buffering
// takes counts too, however late it ended: the sender may have had no processor.
func evidence(start, posted, end int64, bytes uint64) int {
	const (
		expected   = 2
		long       = 1_000_000 // ns, beside
		nsPerByte  = 10        // of buffering, at least ten times as long as it takes
		ofLongOnes = 2
	)
	n := bits.Len64(uint64((end-start)/max(end-posted, 1))) - 1 - expected
	if posted-start >= long+nsPerByte*int64(min(bytes, 1<<40)) {
		return max(n, ofLongOnes)
	}
	return n
}

// sizeKey gives sizes that differ by less than 3 % the same number, so that there
// are few of them.
func sizeKey(bytes uint64) uint64 {
	drop := max(bits.Len64(bytes)-6, 0)
	return bytes >> drop << drop
}

// pathOf is the path of messages from one process to another.
func pathOf(from, to *process) profile.Path {
	switch {
	case from == to:
		return profile.ToSelf
	case from.trace.Host == to.trace.Host:
		return profile.InNode
	}
	return profile.BetweenNodes
}

// completed notes that the send of a message ended by that time; 0 is not known. If
// its receive was posted later, the message had been buffered.
func (p *protocols) completed(m *message, end int64) {
	if end == 0 || m.buffered || m.synchronous || m.posted.time == unknownTime {
		return
	}
	if m.posted.time > end+slack(m.lane.process, m.receiver.process) {
		at := &p[m.path]
		at.buffered = max(at.buffered, m.bytes)
	}
}

// need is whether a message waits for its receiver, by what is recorded.
type need uint8

const (
	eager need = iota // it does not
	unknownNeed
	rendezvous // it does
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

// lateReceiver is the posting of a receive that a call which sends may have waited
// for.
type lateReceiver struct {
	cause
	bytes uint64
	path  profile.Path
	need  need
}

// received tells a call that sent when the receive was posted. Where it had
// ended by then the message had been buffered, and nobody waited.
func (r *replay) received(c *call, m *message) {
	if m.posted.time > c.end {
		r.protocols.completed(m, c.end)
		return
	}
	w := lateReceiver{cause{m.posted.time, LateReceiver, m.posted.site, m.receiver, m.in}, m.bytes, m.path, m.need()}
	if have := &c.receiver; have.lane == nil || w.over(have) {
		*have = w
	}
}

// over reports whether the call more likely waited for w than for o: for a receiver
// that is known to be needed; else for that of the larger message, since larger
// messages need their receivers where smaller ones do; else for the later one.
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

// waitsForReceiver tells whether the last thing that the call waited for is the
// receiver. If it also waited for a sender that was late, it is the receiver only
// where all messages had come before the receive was posted.
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

// waitedForReceiver books the wait of a call for a receiver, or that it may have
// waited for it.
func (r *replay) waitedForReceiver(c *call) {
	w := &c.receiver
	long := w.time - c.start
	key, listed := r.wait(c, &w.cause, c.kind)
	listed.Duration = long
	if w.need == rendezvous {
		r.waits.add(key, long)
		if r.o.Wait != nil {
			r.o.Wait(listed)
		}
		c.jump(&w.cause, long, w.time)
		return
	}
	const promptly = 8 // times as long before the receive was posted as after
	v := verdict{size: sizeKey(w.bytes), path: w.path, prompt: promptly*(c.end-w.time) <= long, eager: w.need == eager}
	k := undecidedKey{key, v}
	sum := r.undecided[k]
	if sum == nil {
		sum = new(waitSum)
		r.undecided[k] = sum
	}
	sum.merge(&waitSum{1, long, long})
	if r.o.Wait != nil {
		r.listed = append(r.listed, listedWait{listed, v})
	}
	r.protocols[w.path].lasted(v.size, evidence(c.start, w.time, c.end, w.bytes))
	if v.prompt && !v.eager {
		c.jump(&w.cause, long, w.time)
	}
}

// undecided is such waits of which only the whole run tells what they are.
type undecided map[undecidedKey]*waitSum

type undecidedKey struct {
	waitKey
	verdict
}

// verdict is what the pattern of a wait for a receiver depends on.
type verdict struct {
	size   uint64 // sizeKey of the message
	path   profile.Path
	prompt bool // the call ended right after the receive was posted
	eager  bool // by the limit that is recorded
}

// listedWait is such a wait with all that is told of it.
type listedWait struct {
	profile.Wait
	verdict
}

// pattern is what a wait was by all that the run has shown: NoPattern if nobody
// was waited for.
func (p *protocols) pattern(v verdict) Pattern {
	at := &p[v.path]
	switch {
	case v.eager || v.size <= at.buffered:
		if v.prompt { // as if it had needed the receiver
			return Undecided
		}
		return NoPattern
	case at.waits(v.size):
		return LateReceiver
	}
	return Undecided
}

// waits tells whether sends of the size wait for their receivers, since those do
// that are as large or smaller.
func (p *protocol) waits(size uint64) bool {
	sum := 0
	for n, evidence := range p.evidence {
		if n > p.buffered && n <= size {
			sum += evidence
		}
	}
	return sum >= proven
}

// settle books the waits whose pattern the whole run tells.
func (r *replay) settle() {
	known := map[verdict]Pattern{}
	pattern := func(v verdict) Pattern {
		p, ok := known[v]
		if !ok {
			p = r.protocols.pattern(v)
			known[v] = p
		}
		return p
	}
	for key, s := range r.undecided {
		if key.pattern = pattern(key.verdict); key.pattern != NoPattern {
			r.waits.merge(key.waitKey, s)
		}
	}
	for i := range r.listed {
		w := &r.listed[i]
		if p := pattern(w.verdict); p != NoPattern {
			w.Pattern = p.String()
			r.o.Wait(w.Wait)
		}
	}
}

// EagerLimit is up to which size sends on a path do not wait for their receivers.
type EagerLimit struct {
	Path profile.Path `json:"path"`
	// Bytes is the limit that was recorded, and Variable the variable of the MPI
	// that has it; 0 and "" if none was.
	Bytes    uint64 `json:"limit_bytes"`
	Variable string `json:"variable"`
	// Shown is the size of the largest message whose send completed before its
	// receive was posted.
	Shown uint64 `json:"shown_bytes"`
}

// eagerLimits lists the paths that messages took. Of limits that differ
// between processes it is the lowest rank's.
func (r *replay) eagerLimits() []EagerLimit {
	list := []EagerLimit{}
	for path := range profile.NumPaths {
		if !r.protocols[path].used {
			continue
		}
		out := EagerLimit{Path: path, Shown: r.protocols[path].buffered}
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
