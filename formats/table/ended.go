package table

import (
	"cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// Columns of ranks.arrow about how processes ended.

func exitStatus(p *profile.Profile) (int32, bool) {
	return int32(p.Exit.Status), p.Exit.Known && p.Exit.Signal == 0
}

func exitSignal(p *profile.Profile) (int32, bool) {
	return int32(p.Exit.Signal), p.Exit.Known && p.Exit.Signal != 0
}

// lastCall is an MPI call that had not returned.
type lastCall struct {
	*profile.OpenCall
	of *profile.Profile
}

// opened returns the open call of the first thread that has one.
func opened(p *profile.Profile) (*lastCall, bool) {
	if len(p.Open) == 0 {
		return nil, false
	}
	return &lastCall{&p.Open[0], p}, true
}

// openText returns a function for a column: it applies get to a process's open call. ok is false if
// there is no open call or its text is empty.
func openText(get func(*lastCall) string) func(*profile.Profile) (string, bool) {
	return func(p *profile.Profile) (text string, ok bool) {
		if o, is := opened(p); is {
			text = get(o)
		}
		return text, text != ""
	}
}

func (o *lastCall) call() string { return o.Call }

func (o *lastCall) comm() string {
	if c := o.communicator(); c != nil {
		return c.Label()
	}
	return ""
}

func (o *lastCall) communicator() *profile.Comm {
	if o.Comm < 0 || int(o.Comm) >= len(o.of.Comms) {
		return nil
	}
	return &o.of.Comms[o.Comm]
}

func (o *lastCall) callsite() string {
	if frames := o.of.Frames(o.Callsite); len(frames) > 0 {
		return frames[0].String()
	}
	return ""
}

func openPeer(p *profile.Profile) (int32, bool) {
	o, ok := opened(p)
	if !ok || o.communicator() == nil {
		return 0, false
	}
	rank := o.communicator().WorldRank(o.Peer)
	return int32(rank), rank >= 0
}

// physicalText returns "known" if the messages that the MPI library sent are known, otherwise the
// reason why they are not. ok is false if they were not requested.
func physicalText(p *profile.Profile) (text string, ok bool) {
	if p.Physical == nil {
		return "", false
	}
	return cmp.Or(p.Physical.Unknown, "known"), true
}

func openSince(p *profile.Profile) int64 {
	if o, ok := opened(p); ok {
		return o.Start
	}
	return 0
}
