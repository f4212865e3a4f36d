package matrix

import "github.com/mpitrace/mpitrace/profile"

// crossings are the Reduce_scatters over intercommunicators: what a process
// sends to each member of the other group is in the counts that the other group
// gave, and all of its members gave the same. Where nobody of the other group
// was recorded the messages are in no matrix, which Problems tells.
type interReduceScatters struct {
	received map[interReduceScatter]receivedCounts
	sent     map[reduceScatterSender]*reduceScatterSends
}

// crossing is a Reduce_scatter over an intercommunicator, as one of its groups
// called it.
type interReduceScatter struct {
	comm, call string
	first      int // world rank of the group's first member
}

// counts are what each member of a group received in all, as the lowest rank
// of those that were added says it.
type receivedCounts struct {
	rank  int
	bytes []uint64
}

// senderOver is a process, and the other group's side of the crossing.
type reduceScatterSender struct {
	interReduceScatter
	rank int
}

type reduceScatterSends struct {
	calls  uint64
	remote profile.Group
}

func (x *interReduceScatters) add(p *profile.Profile, v *profile.Vector) {
	c := &p.Comms[v.Comm]
	if v.Calls == 0 || c.Members.Len() == 0 {
		return
	}
	if x.received == nil {
		x.received, x.sent = map[interReduceScatter]receivedCounts{}, map[reduceScatterSender]*reduceScatterSends{}
	}
	x.receive(interReduceScatter{c.ID, v.Call, c.Members.At(0)}, receivedCounts{p.Rank, v.Bytes})
	if c.Remote.Len() > 0 {
		x.send(reduceScatterSender{interReduceScatter{c.ID, v.Call, c.Remote.At(0)}, p.Rank}, &reduceScatterSends{v.Calls, c.Remote})
	}
}

func (x *interReduceScatters) receive(key interReduceScatter, said receivedCounts) {
	known, ok := x.received[key]
	switch {
	case !ok || said.rank < known.rank:
		x.received[key] = receivedCounts{said.rank, append([]uint64{}, said.bytes...)}
	case said.rank == known.rank && len(said.bytes) == len(known.bytes):
		for i, n := range said.bytes {
			known.bytes[i] += n
		}
	}
}

func (x *interReduceScatters) send(key reduceScatterSender, to *reduceScatterSends) {
	if known := x.sent[key]; known != nil {
		known.calls += to.calls
		return
	}
	x.sent[key] = &reduceScatterSends{to.calls, to.remote}
}

func (x *interReduceScatters) merge(o *interReduceScatters) {
	if x.received == nil {
		x.received, x.sent = map[interReduceScatter]receivedCounts{}, map[reduceScatterSender]*reduceScatterSends{}
	}
	for key, said := range o.received {
		x.receive(key, said)
	}
	for key, to := range o.sent {
		x.send(key, to)
	}
}

// spread gives what each process sent to each member of the other group.
func (x *interReduceScatters) spread(f func(profile.Flow)) {
	for key, sent := range x.sent {
		said := x.received[key.interReduceScatter]
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
