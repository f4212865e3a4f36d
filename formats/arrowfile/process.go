package arrowfile

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// process makes the profile of the rows of one process.
type process struct {
	file     *File
	facts    []fact
	ranks    []*rank // usually one
	shares   []share
	flows    []sent
	readings []reading
	unknown  *unknown

	out    *profile.Profile
	comms  []*comm          // by index in out.Comms; nil if its members are not known
	labels map[string]int32 // indices in out.Comms
	slices map[string]uint32
}

func (p *process) profile(k key) (*profile.Profile, error) {
	var known *rank
	if len(p.ranks) > 0 {
		known = p.ranks[0]
		p.out = &known.Profile
	} else {
		p.out = &profile.Profile{Size: -1, State: profile.Finalized}
	}
	out := p.out
	out.Run, out.Rank, out.Source = k.run, int(k.rank), cmp.Or(out.Source, p.file.path)
	out.Modules, out.Stacks, out.Symbols = p.file.sites.modules, p.file.sites.stacks, p.file.sites.symbols
	p.slices = map[string]uint32{runSlice: 0}
	out.Slices = []profile.Slice{{Name: runSlice, Start: out.Start}}
	p.addComms(k)
	timed := p.addRows()
	if known == nil || !known.timed {
		out.Timing = profile.TimingExact
		if !timed {
			out.Timing = profile.TimingOff
		}
	}
	if known != nil {
		comm, peer := int32(-1), int32(profile.PeerNone)
		if known.openComm != "" {
			comm = p.comm(known.openComm)
			peer = p.peer(comm, known.openPeer, false)
		}
		out.Open = known.open(comm, peer, p.file.sites.labels[known.openSite])
		out.Physical = p.physical(known.physical)
	} else {
		out.Physical = p.physical("")
	}
	p.addVectors()
	p.spreadRows()
	return out, p.addReadings()
}

// addComms adds the communicators of which the process is a member.
func (p *process) addComms(k key) {
	p.labels, p.comms = map[string]int32{}, nil // discard those of an earlier process with the same rank
	for _, c := range p.file.comms.ofProcess(k) {
		own := c.Comm
		own.Parent = -1
		own.Members, own.Remote = c.members.Group, c.remote.Group
		i, member := c.members.index(k.rank)
		if !member {
			own.Members, own.Remote = own.Remote, own.Members
			i, _ = c.remote.index(k.rank)
		}
		own.Rank = int(i)
		for _, to := range c.edges[k.rank] {
			edge, ok := c.members.index(to)
			if !ok {
				edge = profile.PeerProcNull
			}
			own.Edges = append(own.Edges, edge)
		}
		p.labels[c.label] = int32(len(p.out.Comms))
		p.comms, p.out.Comms = append(p.comms, c), append(p.out.Comms, own)
	}
	for i, c := range p.comms {
		if parent, ok := p.labels[c.parent]; ok {
			p.out.Comms[i].Parent = parent
		}
		if c.label == worldComm && p.out.Size < 0 {
			p.out.Size = c.members.Len()
		}
	}
}

const worldComm = "MPI_COMM_WORLD"

// comm returns the index of a communicator. If its members are not known, it takes the members'
// world ranks as their ranks in the communicator, so that Row.Peer leads to the right process.
func (p *process) comm(label string) int32 {
	if i, known := p.labels[label]; known {
		return i
	}
	c := nameComm(label)
	c.Parent, c.Rank = -1, p.out.Rank
	size := p.out.Size
	for i := range p.facts {
		size = max(size, int(p.facts[i].peer)+1)
	}
	c.Members = profile.Group{Stride: 1, N: max(size, p.out.Rank+1)}
	var members *comm
	if label == worldComm && p.out.Size > 0 {
		members = &comm{Comm: c, members: group32{Group: c.Members}}
	}
	i := int32(len(p.out.Comms))
	p.labels[label] = i
	p.out.Comms, p.comms = append(p.out.Comms, c), append(p.comms, members)
	return i
}

// peer returns the rank that a process, given by its world rank, has in a communicator. If messages
// have a peer without a world rank, this peer is a process of another world, or is not known.
func (p *process) peer(comm, world int32, messages bool) int32 {
	if comm < 0 || world < 0 && !messages {
		if messages {
			return profile.PeerLost
		}
		return profile.PeerNone
	}
	c := p.comms[comm]
	if c == nil {
		return max(world, profile.PeerNone)
	}
	g := &c.members
	if own := &p.out.Comms[comm]; own.Inter && slices.Equal(own.Remote.List, c.remote.List) && own.Remote.Base == c.remote.Base {
		g = &c.remote
	}
	if world < 0 {
		world = profile.PeerElsewhere
	}
	if i, ok := g.index(world); ok {
		return i
	}
	return profile.PeerLost
}

func (p *process) slice(name string) uint32 {
	i, known := p.slices[name]
	if !known {
		i = uint32(len(p.slices))
		p.slices[name] = i
		p.out.Slices = append(p.out.Slices, profile.Slice{Index: i, Name: name})
	}
	return i
}

// addRows adds the rows of the process to its profile. timed reports whether any row has a
// time.
func (p *process) addRows() (timed bool) {
	threads := 0
	for i := range p.facts {
		f := &p.facts[i]
		if f.internal {
			continue
		}
		timed = timed || f.timed
		threads = max(threads, int(f.Thread)+1)
		f.Row.Comm = -1
		if f.comm != "" {
			f.Row.Comm = p.comm(f.comm)
		}
		f.Peer = p.peer(f.Row.Comm, f.peer, f.Messages > 0 && f.Class == profile.P2P)
		f.Callsite, f.Slice = p.file.sites.known[f.site], p.slice(f.slice)
		p.out.Rows = append(p.out.Rows, f.Row)
	}
	if p.out.Threads == 0 {
		p.out.Threads = threads
	}
	return timed
}

// internal returns what the MPI library sent on its own behalf; nil if there are no such
// rows.
func (p *process) internal() (flows []profile.Flow) {
	for i := range p.facts {
		if f := &p.facts[i]; f.internal && f.peer >= 0 {
			flows = append(flows, profile.Flow{Kind: profile.Internal, From: p.out.Rank, To: int(f.peer), Bytes: f.Bytes, Messages: f.Messages})
		}
	}
	return flows
}

// addVectors adds vectors to the profile. A vector is added only if profile.arrow has rows with
// its key, and as many messages.
func (p *process) addVectors() {
	var keys []vectorKey
	byKey := map[vectorKey][]share{}
	for _, s := range p.shares {
		if byKey[s.vectorKey] == nil {
			keys = append(keys, s.vectorKey)
		}
		byKey[s.vectorKey] = append(byKey[s.vectorKey], s)
	}
	rows := map[vectorKey]*profile.Row{} // sums
	for i := range p.facts {
		f := &p.facts[i]
		if f.Spread != profile.ToVector && f.Spread != profile.ToEdgeVector {
			continue
		}
		k := vectorKey{f.Thread, f.comm, f.Call, f.site.label, f.slice}
		if rows[k] == nil {
			rows[k] = &profile.Row{Comm: f.Row.Comm, Callsite: f.Callsite, Slice: f.Slice}
		}
		rows[k].Messages += f.Messages
	}
	for _, k := range keys {
		row, call := rows[k], profile.CallNamed(k.call)
		if row == nil || call == nil || p.comms[row.Comm] == nil {
			continue
		}
		of := p.out.Comms[row.Comm]
		if v := vector(of, call, byKey[k]); v != nil && v.Calls*uint64(of.FanOut(v.Spread)) == row.Messages {
			v.Thread, v.Comm, v.Callsite, v.Slice = k.thread, row.Comm, row.Callsite, row.Slice
			p.out.Vectors = append(p.out.Vectors, *v)
			delete(rows, k)
		}
	}
	for k, row := range rows {
		if row.Messages > 0 {
			p.unknown.add(noVector, k.call, row.Messages)
		}
	}
}

// spreadRows sets the spread of rows whose receivers are not known, and counts their messages.
func (p *process) spreadRows() {
	for i := range p.out.Rows {
		r := &p.out.Rows[i]
		if r.Comm < 0 || r.Messages == 0 {
			continue
		}
		switch {
		case r.Spread == profile.ToOthers, r.Spread == profile.ToHigher:
			if p.comms[r.Comm] != nil {
				continue
			}
			p.unknown.add(noMembers, r.Call, r.Messages)
		case r.Spread == profile.ToEdges && p.out.Comms[r.Comm].FanOut(r.Spread) == 0:
			p.unknown.add(noEdges, r.Call, r.Messages)
		default:
			continue
		}
		r.Spread = profile.ToNobody
	}
}
