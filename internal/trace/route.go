package trace

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// route is what messages take that may not overtake each other.
type route struct {
	routeKey
	in       *communicator
	sender   *process     // nil if it has no trace
	receiver *process     // the same
	path     profile.Path // if both have one
	sends    queue[message]
	receives queue[receive]
	newest   uint32 // the highest number of the sends so far
	touched  int    // round
	volume   volume // that was sent in a frame, the last one
	frame    int64
}

type routeKey struct{ comm, from, to, tag int32 }

// message is one that was sent, until it is known when it was received and what
// the sender waited for.
type message struct {
	start       int64 // of the call that sent it, Unix ns
	ideal       int64 // as lane.ideal
	bytes       uint64
	in          *communicator
	lane        *lane
	site        int32 // of that call
	buffered    bool  // the sender waits for no receiver: Bsend
	synchronous bool  // it waits for the receiver in any case: Ssend
	path        profile.Path
	ended       int64 // when the call ended that had it complete; 0 if none is known
	delivered   int64 // when the receiver could have it at the latest, or unknownTime
	call        *call // that may have waited for the receiver; nil if there is none, or none yet
	linked      bool  // a completion will tell of its call
	matched     bool
	gone        bool // nobody knows whether it was received
	posted      posting
	receiver    *lane // that posted
}

// receive is a message that was received whose send has not been seen.
type receive struct {
	call   *call
	posted posting
	bytes  uint64
	needed bool // by call
	gone   bool // it was set aside: what it got is in no row
}

// posting is the call that posted a receive.
type posting struct {
	time int64 // when it began, Unix ns
	site int32
}

// unknownTime is when a receive was posted of which that is not known: after
// all calls that could have waited for it.
const unknownTime = 1<<63 - 1

// route finds a route, or makes it.
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

// forget lets go of routes that nobody uses: a program may use a new tag for each
// message.
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
	r.epoch++ // no kind may go on using one of them
}
