package recording

import (
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// role is what the events of a kind do for each other, found out once.
type role struct {
	sends, receives bool // a message
	called, posted  bool
	took            bool // perhaps a message, but it is not known which
	gave            bool // a message that is not counted
	ends            bool // a request, without a message
	found           bool // a message that is to be received by its handle
	byHandle        bool // receives, or posts the receive of, such a message
	both            bool // sends, or would but to nobody, and receives
	goesOn          bool // what it joins is not over
	posts           bool // a receive, which completes later
	tagged          bool
	window          bool // the tag names a window or a new communicator
	call            string
	comm, peer      int32 // of the channel; -1 where that is not known

	ended   uint32 // the kind of its Completed event in endedBy, + 1
	endedBy uint32
}

// roleOf: same tells of each communicator the first that is the same.
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

// tookOne reports whether an abnormal receive took a message, or stood
// before whatever receives were posted later.
func tookOne(k *profile.EventKind) bool {
	return k.Action == profile.Abnormal && !k.AbnormalKind.OfSend() && k.AbnormalKind != profile.CancelledReceive && k.AbnormalKind != profile.FailedReceive
}

// continues tells whether an event has a number as the one before has it, and
// not anew: numbers come again, and of a trace some events may be missing.
func (o *role) continues(before *role) bool {
	switch {
	case o.ends:
		return true
	case o.posted:
		return before.called
	case o.byHandle:
		return before.found
	case o.called: // it is a Sendrecv, whose received half may come first
		return o.both && before.receives && before.call == o.call
	case o.receives:
		return before.posted || before.called && (!before.sends || before.call == o.call)
	}
	return false
}

// tagOf is the tag of an event, if its call has one. What calls that wait, test
// or start have in its place is how many requests they were given.
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
