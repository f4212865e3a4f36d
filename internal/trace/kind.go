package trace

import "github.com/mpitrace/mpitrace/profile"

// operation is what an event means to the replay.
type operation uint8

const (
	plainCall operation = iota // neither a message nor a collective: Wait, Irecv, one-sided, IO
	sendCall
	receiveCall
	collectiveCall
	movedSend
	movedReceive
	movedCollective
	posted
	completed
	dropped
	movedOneSided // data read from, or written to, a window; no receive gets it
)

// kind is what the replay knows of the events of one profile.EventKind.
type kind struct {
	operation   operation
	setsUp      bool // see profile.SetsUp
	blocks      bool // the call may wait for others
	probe       bool // whether the call waits for a message and leaves it in the queue
	buffered    bool // a send that waits for no receiver
	synchronous bool // a send that waits for its receiver in any case
	exchange    bool // half of a Sendrecv
	abnormal    profile.AbnormalKind
	pattern     Pattern // of a collective
	call        int32   // index of the name, the same for all processes
	site        int32   // of the call site
	stop        int32   // index in replay.stops
	peer        int32
	lane        *lane
	member      *membership // nil if there is no communicator

	rma    profile.Traits // what the call does on a window: of rmaOperations or epochCalls
	op     opMask         // of a one-sided operation
	lock   profile.Lock
	group  int32 // as in profile.EventKind
	window int32 // number of the window in the process, 0 if there is none
	win    *window

	burst latestBurst

	// The route of the last message, since programs often send on the same again.
	route *route
	tag   int32
	epoch int
}

// newKind prepares for the events of a kind.
func (r *replay) newKind(p *replayedRank, k *profile.EventKind) *kind {
	traits := profile.TraitsOf(k.Call)
	out := &kind{
		operation:   operationOf(k),
		setsUp:      profile.SetsUp(k.Call),
		blocks:      mayBlock(k),
		probe:       traits.All(profile.TraitProbes | profile.TraitBlocks),
		buffered:    traits.Any(profile.TraitBuffered),
		synchronous: traits.Any(profile.TraitSynchronous),
		exchange:    traits.All(profile.TraitSends | profile.TraitReceives | profile.TraitBlocks),
		abnormal:    k.AbnormalKind,
		pattern:     collectivePattern(k),
		call:        r.names.index(k.Call),
		site:        r.names.index(k.Callsite),
		stop:        r.stops.index(k.Call, k.Callsite),
		peer:        k.Peer,
		lane:        r.lane(p, k.Thread),
		rma:         rmaOf(k),
		op:          opOf(traits),
		lock:        k.Lock,
		group:       k.Group,
		window:      k.Window,
	}
	if of := memberOf(k); of >= 0 && int(of) < len(p.members) {
		out.member = &p.members[of]
	}
	return out
}

// memberOf returns the communicator whose members take part in a call, or -1.
// For a constructor that only the members of the new communicator call, it is
// the new one.
func memberOf(k *profile.EventKind) int32 {
	if k.Made > 0 {
		return k.Made - 1
	}
	return k.Comm
}

// operationOf returns the operation of an event's kind. Setting up a persistent collective is none:
// the collective is started later.
func operationOf(k *profile.EventKind) operation {
	switch k.Action {
	case profile.Called:
		return calledOperation(k)
	case profile.Moved:
		switch {
		case k.Class.Collective():
			return movedCollective
		case k.Class != profile.P2P:
			return movedOneSided
		case k.Direction == profile.Send:
			return movedSend
		}
		return movedReceive
	case profile.Posted:
		if k.Class.Collective() { // a persistent one, at a rank that sends nothing
			return movedCollective
		}
		return posted
	case profile.Completed:
		return completed
	}
	return dropped
}

func calledOperation(k *profile.EventKind) operation {
	switch {
	case k.Class.Collective() && k.Comm >= 0 && !profile.TraitsOf(k.Call).Any(profile.TraitPersistent), constructs(k):
		return collectiveCall
	case k.Class != profile.P2P:
		return plainCall
	case k.Direction == profile.Send:
		return sendCall
	case k.Direction == profile.Recv:
		return receiveCall
	}
	return plainCall
}

// constructs reports whether a call is collective although it is not of a
// collective class: a constructor of a communicator, or a call that all members
// of a window make.
func constructs(k *profile.EventKind) bool {
	switch collectivePattern(k) {
	case WaitAtCommCreate:
		return memberOf(k) >= 0 && (k.Made > 0 || !profile.MadeByMembers(k.Call))
	case WaitAtWinCreate:
		return k.Comm >= 0
	case WaitAtWinFree, WaitAtFence:
		return k.Window > 0
	}
	return false
}

func mayBlock(k *profile.EventKind) bool {
	traits := profile.TraitsOf(k.Call)
	switch {
	case k.Action != profile.Called || traits.Any(profile.TraitProbes): // a probe waits on behalf of the receive after it
		return false
	case rmaOf(k) != 0: // some MPIs wait for the target in any of these calls
		return true
	case k.Class == profile.P2P, k.Class.Collective(), constructs(k):
		return traits.Any(profile.TraitBlocks)
	}
	return false
}

// nameNumbers gives texts small numbers.
type nameNumbers struct {
	at   map[string]int32
	list []string
}

func (n *nameNumbers) index(s string) int32 {
	i, ok := n.at[s]
	if !ok {
		i = int32(len(n.list))
		n.at[s] = i
		n.list = append(n.list, s)
	}
	return i
}
