package recording

import (
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// role describes how the events of a kind take part in messages and requests.
// It is computed once for each kind.
type role struct {
	sends, receives bool // a counted message
	called, posted  bool
	took            bool // a receive that may have taken a message; it is not known which
	gave            bool // sends a message that is not counted
	ends            bool // ends a request, without a message
	found           bool // a matched probe: a later receive takes the message by its handle
	byHandle        bool // receives a message that a probe matched, or posts its receive
	both            bool // a blocking send and receive in one call; the send may be to MPI_PROC_NULL
	goesOn          bool // the request is still open after the event
	posts           bool // posts a receive, which completes later
	tagged          bool
	window          bool // the tag refers to a window or a new communicator
	call            string
	comm, peer      int32 // of the channel; negative if not known

	ended   uint32 // kind of the Completed event, if thread endedBy completes it, + 1; 0 if not known yet
	endedBy uint32
}

// roleOf returns the role of a kind. same maps each communicator to the first
// one that is the same communicator.
func roleOf(k *profile.EventKind, same []int32) role {
	traits := profile.TraitsOf(k.Call)
	called, moved := k.Action == profile.Called, k.Action == profile.Moved
	o := role{called: called, posted: k.Action == profile.Posted, ends: k.Action == profile.Completed || k.Action == profile.Abnormal,
		goesOn: k.Action == profile.Posted || called && k.Direction == profile.None,
		tagged: tagged(traits, k), window: tellsWindow(k), call: k.Call, comm: -1, peer: k.Peer}
	if k.Class == profile.P2P {
		o.sends, o.receives = (called || moved) && k.Direction == profile.Send, (called || moved) && k.Direction == profile.Recv
		o.took = tookOne(k)
		o.gave = k.Action == profile.Abnormal && k.AbnormalKind == profile.FailedSend
		o.found = called && traits.Any(profile.TraitMatches)
		o.both = called && traits.All(profile.TraitSends|profile.TraitReceives|profile.TraitBlocks)
		o.posts = o.posted || called && traits.All(profile.TraitReceives|profile.TraitNonblocking) && !traits.Any(profile.TraitSends)
		o.byHandle = called && traits.Any(profile.TraitMatched)
	}
	if k.Comm >= 0 {
		o.comm = same[k.Comm]
	}
	return o
}

// tookOne reports whether an abnormal receive is counted when messages are numbered: it took a
// message, or may take one before receives that were posted later.
func tookOne(k *profile.EventKind) bool {
	return k.Action == profile.Abnormal && k.AbnormalKind.OfReceive() && k.AbnormalKind != profile.CancelledReceive && k.AbnormalKind != profile.FailedReceive
}

// continues reports whether an event belongs to the same request as the
// previous event with the same request number. If not, it begins a new request:
// numbers are used again, and events may be missing from the trace.
func (o *role) continues(before *role) bool {
	switch {
	case o.ends:
		return true
	case o.posted:
		return before.called
	case o.byHandle:
		return before.found
	case o.called: // a Sendrecv, whose receive may be recorded before its send
		return o.both && before.receives && before.call == o.call
	case o.receives:
		return before.posted || before.called && (!before.sends || before.call == o.call)
	}
	return false
}

// tagOf returns the tag of an event, or profile.NoTag if its call has none. For
// calls that wait, test or start, the recorded value is the number of requests.
func (o *role) tagOf(tag int32) int32 {
	switch {
	case tag == layout.EventNoTag || !o.tagged:
		return profile.NoTag
	case tag < 0:
		return profile.AnyTag
	}
	return tag
}

func tagged(traits profile.Traits, k *profile.EventKind) bool {
	switch {
	case k.Class != profile.P2P || k.Action == profile.Completed:
		return false
	case traits.Any(profile.TraitStarts):
		return k.Action != profile.Called || !traits.Any(profile.TraitArray) && k.Comm >= 0
	case traits.All(profile.TraitMatched | profile.TraitNonblocking):
		return k.Action != profile.Called
	}
	return traits.Any(profile.TraitSends | profile.TraitReceives | profile.TraitProbes)
}
