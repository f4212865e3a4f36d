package matrix

import "github.com/mpitrace/mpitrace/profile"

// interReduceScatters collects the calls of MPI_Reduce_scatter over
// intercommunicators. How much a process sends to each member of the remote
// group depends on the counts that the remote group passed to the call, which
// are the same on all its members. So profiles of both groups are needed. If
// there is no profile of the remote group, the messages are in no matrix, and
// Builder.Placed shows that.
type interReduceScatters struct {
	received map[interReduceScatter]receivedCounts
	sent     map[reduceScatterSender]*reduceScatterSends
}

// interReduceScatter identifies the calls of one group over a communicator.
type interReduceScatter struct {
	comm, call string
	first      int // world rank of the group's first member
}

// receivedCounts holds what each member of a group received in all calls. All
// members record the same counts; those of the lowest rank are kept.
type receivedCounts struct {
	rank  int // rank that recorded the counts
	bytes []uint64
}

// reduceScatterSender is a process and the calls of its remote group.
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
	x.init()
	x.receive(interReduceScatter{c.ID, v.Call, c.Members.At(0)}, receivedCounts{p.Rank, v.Bytes})
	if c.Remote.Len() > 0 {
		x.send(reduceScatterSender{interReduceScatter{c.ID, v.Call, c.Remote.At(0)}, p.Rank}, &reduceScatterSends{v.Calls, c.Remote})
	}
}

func (x *interReduceScatters) init() {
	if x.received == nil {
		x.received, x.sent = map[interReduceScatter]receivedCounts{}, map[reduceScatterSender]*reduceScatterSends{}
	}
}

func (x *interReduceScatters) receive(key interReduceScatter, counts receivedCounts) {
	known, ok := x.received[key]
	switch {
	case !ok || counts.rank < known.rank:
		x.received[key] = receivedCounts{counts.rank, append([]uint64{}, counts.bytes...)}
	case counts.rank == known.rank && len(counts.bytes) == len(known.bytes): // further calls
		for i, n := range counts.bytes {
			known.bytes[i] += n
		}
	}
}

func (x *interReduceScatters) send(key reduceScatterSender, sends *reduceScatterSends) {
	if known := x.sent[key]; known != nil {
		known.calls += sends.calls
		return
	}
	x.sent[key] = &reduceScatterSends{sends.calls, sends.remote}
}

func (x *interReduceScatters) merge(o *interReduceScatters) {
	x.init()
	for key, counts := range o.received {
		x.receive(key, counts)
	}
	for key, sends := range o.sent {
		x.send(key, sends)
	}
}

// spread calls f with what each process sent to each member of its remote group.
func (x *interReduceScatters) spread(f func(profile.Flow)) {
	for key, sends := range x.sent {
		counts := x.received[key.interReduceScatter]
		if len(counts.bytes) != sends.remote.Len() {
			continue
		}
		for i, n := range counts.bytes {
			if to := sends.remote.At(i); to >= 0 {
				f(profile.Flow{Kind: profile.Collective, From: key.rank, To: to, Bytes: n, Messages: sends.calls})
			}
		}
	}
}
