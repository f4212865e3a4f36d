package trace

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// route is the path of messages that may not overtake each other: same
// communicator, sender, receiver and tag.
type route struct {
	routeKey
	in       *communicator
	sender   *replayedRank // nil if it has no trace
	receiver *replayedRank // nil if it has no trace
	path     profile.Path  // valid if both have a trace
	sends    queue[message]
	receives queue[receive]
	newest   uint32 // highest number of the sends so far
	touched  int    // round of the last use
	volume   volume // messages of the current frame
	frame    int64
}

type routeKey struct{ comm, from, to, tag int32 }

// message is a message that was sent. It is kept until its receive is known, and what the sender
// waited for is known.
type message struct {
	start       int64  // start of the call that sent it, Unix ns
	now         clocks // of the sender
	bytes       uint64
	in          *communicator
	lane        *lane
	site        int32 // call site of that call
	buffered    bool  // Bsend: the sender waits for no receiver
	synchronous bool  // Ssend: the sender always waits for the receiver
	path        profile.Path
	ended       int64 // end of the call that completed the send; 0 if unknown
	delivered   int64 // latest time at which it had arrived, or unknownTime
	call        *call // the call that may have waited for the receiver; nil if there is none, or none yet
	linked      bool  // whether a later event will set call
	needed      bool  // whether call's clocks depend on the receiver
	matched     bool
	gone        bool // the receiver's trace does not show whether the message was received
	posted      posting
	receiver    *lane // lane that posted the receive
}

// receive is a message that was received and whose send has not been replayed.
type receive struct {
	call   *call
	posted posting
	bytes  uint64
	needed bool // whether call's clocks depend on it
	gone   bool // whether what it received is unknown
}

// posting is the call that posted a receive.
type posting struct {
	time int64 // start of the call, Unix ns
	site int32
	lane *lane   // nil if it is not known
	now  *clocks // nil if there are no changes
}

// unknownTime stands for an unknown time of posting. It is later than all calls
// that could have waited for the receive.
const unknownTime = 1<<63 - 1

// route returns a route, and creates it if needed.
func (r *replay) route(k *kind, from, to, tag int32) *route {
	if k.route == nil || k.tag != tag || k.epoch != r.epoch {
		key := routeKey{k.member.in.id, from, to, tag}
		rt := r.routes[key]
		if rt == nil {
			rt = &route{routeKey: key, in: k.member.in, sender: r.byRank[from], receiver: r.byRank[to]}
			if rt.sender != nil && rt.receiver != nil {
				rt.path = pathOf(rt.sender, rt.receiver)
			}
			r.routes[key] = rt
			if rt.receiver != nil && rt.receiver.partial {
				r.lossy = append(r.lossy, rt)
			}
		}
		k.route, k.tag, k.epoch = rt, tag, r.epoch
	}
	k.route.touched = r.round
	return k.route
}

// forget drops routes that are no longer used: a program may use a new tag for
// each message.
func (r *replay) forget() {
	const worth = 1 << 16
	if len(r.routes) < 2*r.routesKept+worth {
		return
	}
	for key, rt := range r.routes {
		if rt.sends.held+rt.receives.held == 0 && rt.touched < r.round-1 {
			r.frames.leave(rt)
			delete(r.routes, key)
		}
	}
	r.lossy = slices.DeleteFunc(r.lossy, func(rt *route) bool { return r.routes[rt.routeKey] != rt })
	r.routesKept = len(r.routes)
	r.epoch++ // invalidates the routes that kinds remember
}
