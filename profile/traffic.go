package profile

import (
	"cmp"
	"slices"
)

// Kind is the kind of a flow: the letter with which its line in a .prof file
// begins.
type Kind byte

const (
	External    Kind = 'E' // point-to-point, sent by the program
	Internal    Kind = 'I' // sent by the MPI library itself
	RemoteWrite Kind = 'S' // one-sided, from the origin to the target
	RemoteRead  Kind = 'R' // one-sided, a read by From of To's window: the data move from To to From
	Collective  Kind = 'C' // logical volume of collectives
)

// Flow is the sum of what one process sent to another. Ranks are world ranks.
type Flow struct {
	Kind      Kind
	From, To  int
	Bytes     uint64
	Messages  uint64
	Histogram *Histogram // of External flows, and of Internal flows without an External one; otherwise nil
}

// CommTraffic holds the bytes and operations of one process in the collectives
// of one communicator. O2A has what the root sent, A2O what the root received,
// A2A what each process sent.
type CommTraffic struct {
	Name    string
	Rank    int   // world rank of the process
	Members []int // world ranks
	O2A     FlowVolume
	A2O     FlowVolume
	A2A     FlowVolume
}

// FlowVolume is a number of bytes and the number of operations that moved them.
type FlowVolume struct {
	Bytes uint64 `json:"bytes"`
	Count uint64 `json:"count"`
}

// Add adds w to v.
func (v *FlowVolume) Add(w FlowVolume) { v.Bytes += w.Bytes; v.Count += w.Count }

// Traffic is the content of a .prof file: sums per pair of processes and per
// communicator. Flows are sorted by Kind (E, I, S and R together, C), then by
// From, then by To.
type Traffic struct {
	Flows []Flow
	Comms []CommTraffic
}

// EachFlow calls f for each destination of each row that sends or reads. The
// volume of a collective is distributed over the other members. f is called
// several times for the same pair, so it must add up the parts. part.Histogram
// is nil: all messages of a part are in the row's size class.
func (p *Profile) EachFlow(f func(row *Row, part Flow)) {
	for i := range p.Rows {
		r := &p.Rows[i]
		p.RowFlows(r, func(part Flow) { f(r, part) })
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		row := Row{Thread: v.Thread, Call: v.Call, Class: v.Class, Direction: Send, Spread: v.Spread,
			Comm: v.Comm, Peer: PeerNone, Callsite: v.Callsite, Slice: v.Slice}
		p.VectorFlows(v, func(part Flow) { f(&row, part) })
	}
}

// KindOf returns the kind of flow of a row's bytes, and false if they belong to
// none: a row of receives, or of calls that moved no bytes.
func KindOf(c Class, d Direction) (Kind, bool) {
	switch {
	case d == Send && c == P2P:
		return External, true
	case d == Send && c.Collective():
		return Collective, true
	case d == Write && c == OneSided:
		return RemoteWrite, true
	case d == Read && c == OneSided:
		return RemoteRead, true
	}
	return 0, false
}

// RowFlows does what EachFlow does, for one row. Rows of irregular collectives
// have no flows: use VectorFlows.
func (p *Profile) RowFlows(r *Row, f func(Flow)) {
	kind, ok := KindOf(r.Class, r.Direction)
	if !ok || r.Messages == 0 || r.Comm < 0 || int(r.Comm) >= len(p.Comms) {
		return
	}
	c := &p.Comms[r.Comm]
	part := Flow{Kind: kind, From: p.Rank}
	emit := func(to int) {
		if to >= 0 {
			part.To = to
			f(part)
		}
	}
	fan := uint64(c.FanOut(r.Spread))
	if fan == 0 {
		return
	}
	part.Bytes, part.Messages = r.Bytes/fan, r.Messages/fan
	peers := c.Peers()
	switch r.Spread {
	case ToPeer:
		emit(c.WorldRank(r.Peer))
	case ToOthers:
		for i := range peers.Len() {
			if c.Inter || i != c.Rank {
				emit(peers.At(i))
			}
		}
	case ToHigher:
		for i := c.Rank + 1; i < peers.Len(); i++ {
			emit(peers.At(i))
		}
	case ToEdges:
		for _, e := range c.Edges {
			if c.leaves(e) {
				emit(c.WorldRank(e))
			}
		}
	}
}

// VectorFlows does what EachFlow does, for one Vector.
func (p *Profile) VectorFlows(v *Vector, f func(Flow)) {
	if v.Comm < 0 || int(v.Comm) >= len(p.Comms) || v.Calls == 0 {
		return
	}
	c := &p.Comms[v.Comm]
	if v.OwnGroup(c) {
		return // only the remote group knows the receivers: package aggregate combines both groups
	}
	for i, bytes := range v.Bytes {
		if to, ok := v.Receiver(c, i); ok && to >= 0 {
			f(Flow{Kind: Collective, From: p.Rank, To: int(to), Bytes: bytes, Messages: v.Calls})
		}
	}
}

// Receiver returns the world rank, or the Peer constant, of the process that v.Bytes[i] is
// about. ok is false if these bytes go to no other process. If v.OwnGroup, the receiver is a
// member of the process's own group; it may be the process itself.
func (v *Vector) Receiver(c *Comm, i int) (rank int32, ok bool) {
	member := int32(i)
	switch {
	case v.OwnGroup(c):
		if i >= c.Members.Len() {
			return PeerLost, false
		}
		return int32(c.Members.At(i)), true
	case v.Spread == ToEdgeVector:
		if i >= len(c.Edges) || !c.leaves(c.Edges[i]) {
			return PeerNone, false
		}
		member = c.Edges[i]
	case !c.Inter && i == c.Rank:
		return PeerNone, false
	}
	return int32(c.WorldRank(member)), true
}

// Traffic returns the sums over the rows, per pair of world ranks and per
// communicator. It includes the messages of the MPI library itself, if they are
// known.
func (p *Profile) Traffic() *Traffic {
	type pair struct {
		kind Kind
		to   int
	}
	flows := map[pair]*Flow{}
	p.EachFlow(func(r *Row, part Flow) {
		key := pair{part.Kind, part.To}
		sum := flows[key]
		if sum == nil {
			sum = &Flow{Kind: part.Kind, From: part.From, To: part.To}
			if part.Kind == External {
				sum.Histogram = new(Histogram)
			}
			flows[key] = sum
		}
		sum.Bytes += part.Bytes
		sum.Messages += part.Messages
		if sum.Histogram != nil {
			sum.Histogram[r.SizeClass] += part.Messages
		}
	})
	t := &Traffic{Comms: p.commTraffic()}
	external := map[int]bool{}
	for key, sum := range flows {
		if key.kind == External {
			external[key.to] = true
		}
		t.Flows = append(t.Flows, *sum)
	}
	t.Flows = append(t.Flows, p.Physical.internal(external)...)
	SortFlows(t.Flows)
	return t
}

// SortFlows sorts flows in the order of a .prof file.
func SortFlows(flows []Flow) {
	order := func(k Kind) int {
		switch k {
		case External:
			return 0
		case Internal:
			return 1
		case RemoteWrite, RemoteRead: // one section, sorted by pair, S before R
			return 2
		}
		return 3
	}
	slices.SortFunc(flows, func(a, b Flow) int {
		return cmp.Or(order(a.Kind)-order(b.Kind), a.From-b.From, a.To-b.To, int(b.Kind)-int(a.Kind)) // 'S' before 'R'
	})
}

// commTraffic returns the traffic of each communicator, in the order in which
// they were created.
func (p *Profile) commTraffic() []CommTraffic {
	out := make([]CommTraffic, len(p.Comms))
	for i := range p.Comms {
		c := &p.Comms[i]
		out[i] = CommTraffic{Name: cmp.Or(c.Name, "(no-name)"), Rank: p.Rank, Members: c.Members.Ranks()}
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Comm < 0 || int(r.Comm) >= len(out) {
			continue
		}
		t := &out[r.Comm]
		ops := r.Calls
		if r.Messages > 0 {
			ops = r.Messages / uint64(max(p.Comms[r.Comm].FanOut(r.Spread), 1))
		}
		switch {
		case r.Class == OneToAll && r.Direction == Send:
			t.O2A.Add(FlowVolume{r.Bytes, ops})
		case r.Class == AllToAll && r.Direction == Send:
			t.A2A.Add(FlowVolume{r.Bytes, ops})
		case r.Class == AllToOne && r.Direction == Recv:
			t.A2O.Add(FlowVolume{r.Bytes, ops})
		}
	}
	return out
}
