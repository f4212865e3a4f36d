package aggregate

import "github.com/mpitrace/mpitrace/profile"

// crossings are the Reduce_scatters over intercommunicators: what a process
// sends to each member of the other group is in the counts that the other group
// gave, and all of its members gave the same. Where nobody of the other group
// was recorded the messages are in no matrix, which Problems tells.
type crossings struct {
	received map[crossing]counts
	sent     map[senderOver]*toGroup
}

// crossing is a Reduce_scatter over an intercommunicator, as one of its groups
// called it.
type crossing struct {
	comm, call string
	first      int // world rank of the group's first member
}

// counts are what each member of a group received in all, as the lowest rank
// of those that were added says it.
type counts struct {
	by    int
	bytes []uint64
}

// senderOver is a process, and the other group's side of the crossing.
type senderOver struct {
	crossing
	rank int
}

type toGroup struct {
	calls  uint64
	remote profile.Group
}

func (x *crossings) add(p *profile.Profile, v *profile.Vector) {
	c := &p.Comms[v.Comm]
	if v.Calls == 0 || c.Members.Len() == 0 {
		return
	}
	if x.received == nil {
		x.received, x.sent = map[crossing]counts{}, map[senderOver]*toGroup{}
	}
	x.receive(crossing{c.ID, v.Call, c.Members.At(0)}, counts{p.Rank, v.Bytes})
	if c.Remote.Len() > 0 {
		x.send(senderOver{crossing{c.ID, v.Call, c.Remote.At(0)}, p.Rank}, &toGroup{v.Calls, c.Remote})
	}
}

func (x *crossings) receive(key crossing, said counts) {
	known, ok := x.received[key]
	switch {
	case !ok || said.by < known.by:
		x.received[key] = counts{said.by, append([]uint64{}, said.bytes...)}
	case said.by == known.by && len(said.bytes) == len(known.bytes):
		for i, n := range said.bytes {
			known.bytes[i] += n
		}
	}
}

func (x *crossings) send(key senderOver, to *toGroup) {
	if known := x.sent[key]; known != nil {
		known.calls += to.calls
		return
	}
	x.sent[key] = &toGroup{to.calls, to.remote}
}

func (x *crossings) merge(o *crossings) {
	if x.received == nil {
		x.received, x.sent = map[crossing]counts{}, map[senderOver]*toGroup{}
	}
	for key, said := range o.received {
		x.receive(key, said)
	}
	for key, to := range o.sent {
		x.send(key, to)
	}
}

// spread gives what each process sent to each member of the other group.
func (x *crossings) spread(f func(profile.Flow)) {
	for key, sent := range x.sent {
		said := x.received[key.crossing]
		if len(said.bytes) != sent.remote.Len() {
			continue
		}
		for i, n := range said.bytes {
			if to := sent.remote.At(i); to >= 0 {
				f(profile.Flow{Kind: profile.Collective, From: key.rank, To: to, Bytes: n, Messages: sent.calls})
			}
		}
	}
}
