package profile

import "slices"

// Kind tells flows apart as the lines of a .prof file do.
type Kind byte

const (
	External    Kind = 'E' // point-to-point, sent by the program
	Internal    Kind = 'I' // sent by the MPI library on its own behalf
	RemoteWrite Kind = 'S' // one-sided, from the origin to the target
	RemoteRead  Kind = 'R' // one-sided, by From out of To's window: the data flows from To to From
	Collective  Kind = 'C' // logical volume of collectives
)

// Flow is what one process sent to another in total. Ranks are world ranks.
type Flow struct {
	Kind      Kind
	From, To  int
	Bytes     uint64
	Messages  uint64
	Histogram *Histogram // of External and lone Internal flows, nil elsewhere
}

// CommTraffic is what one process did in the collectives of one communicator:
// operations and bytes. O2A counts at the root what it sent, A2O at the root
// what it received, A2A at each process what it sent.
type CommTraffic struct {
	Name    string
	Rank    int   // world rank of the process
	Members []int // world ranks
	O2A     Volume
	A2O     Volume
	A2A     Volume
}

// Volume is a number of bytes moved by a number of operations.
type Volume struct {
	Bytes uint64 `json:"bytes"`
	Count uint64 `json:"count"`
}

// Add adds w to v.
func (v *Volume) Add(w Volume) { v.Bytes += w.Bytes; v.Count += w.Count }

// Traffic is what a .prof file holds: totals between pairs of processes, and
// per communicator. Flows are sorted by Kind in the order E, I, S and R, C,
// and by From and To.
type Traffic struct {
	Flows []Flow
	Comms []CommTraffic
}

// EachFlow calls f for every (row, destination) pair of what the process sent
// (or read), with the row's call, communicator and so on: a collective's
// volume is spread over its members, the share that stays at home left out.
// The messages of one pair come in many parts; f adds them up. Histogram is
// nil; all messages of a part are of the row's size class.
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

// KindOf tells which flow a row belongs to, and whether it is one at all:
// receives and mere calls are not.
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

// RowFlows is EachFlow of one row. Rows of irregular collectives have none:
// their vectors do.
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

// VectorFlows is EachFlow of one irregular collective.
func (p *Profile) VectorFlows(v *Vector, f func(Flow)) {
	if v.Comm < 0 || int(v.Comm) >= len(p.Comms) || v.Calls == 0 {
		return
	}
	c := &p.Comms[v.Comm]
	if v.OwnGroup(c) {
		return // to whom is known to the other group: aggregate puts them together
	}
	for i, bytes := range v.Bytes {
		member := int32(i)
		if v.Spread == ToEdgeVector {
			if i >= len(c.Edges) {
				break
			}
			if member = c.Edges[i]; !c.leaves(member) {
				continue
			}
		} else if !c.Inter && i == c.Rank {
			continue
		}
		if to := c.WorldRank(member); to >= 0 {
			f(Flow{Kind: Collective, From: p.Rank, To: to, Bytes: bytes, Messages: v.Calls})
		}
	}
}

// Traffic adds up the rows between pairs of world ranks, and per communicator.
// With them is what the MPI library sent on its own behalf, where that is known.
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

// SortFlows puts flows into the order of a .prof file.
func SortFlows(flows []Flow) {
	order := func(k Kind) int {
		switch k {
		case External:
			return 0
		case Internal:
			return 1
		case RemoteWrite, RemoteRead: // one section, pair by pair, S before R
			return 2
		}
		return 3
	}
	slices.SortFunc(flows, func(a, b Flow) int {
		if d := order(a.Kind) - order(b.Kind); d != 0 {
			return d
		}
		if d := a.From - b.From; d != 0 {
			return d
		}
		if d := a.To - b.To; d != 0 {
			return d
		}
		return int(b.Kind) - int(a.Kind) // 'S' before 'R'
	})
}

// commTraffic is a block for each communicator, in the order of their making.
func (p *Profile) commTraffic() []CommTraffic {
	out := make([]CommTraffic, len(p.Comms))
	for i := range p.Comms {
		c := &p.Comms[i]
		name := c.Name
		if name == "" {
			name = "(no-name)"
		}
		out[i] = CommTraffic{Name: name, Rank: p.Rank, Members: c.Members.Ranks()}
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
			t.O2A.Add(Volume{r.Bytes, ops})
		case r.Class == AllToAll && r.Direction == Send:
			t.A2A.Add(Volume{r.Bytes, ops})
		case r.Class == AllToOne && r.Direction == Recv:
			t.A2O.Add(Volume{r.Bytes, ops})
		}
	}
	return out
}
