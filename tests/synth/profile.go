package synth

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// Times of a job, in ns unless stated otherwise.
const (
	epoch       = 1_700_000_000_000_000_000 // Unix ns; the first rank starts then
	initTime    = 40_000_000
	setUp       = 20_000_000 // from the end of Init to a rank's first call
	finalizing  = 9_000_000
	programBase = 0x400000 // load address of the program
)

// Profile returns the profile that a rank recorded.
func (j *Job) Profile(rank int) *profile.Profile {
	b := j.begin(rank)
	b.enter(j)
	// At least 1 s into the job, so that all ranks of a small job leave at the
	// same time.
	b.FinalizeStart = max(b.InitEnd+setUp+int64(b.mpiNs)*2, epoch+1_000_000_000)
	if j.Fault != nil {
		b.faulty(j.Fault)
	}
	if b.State == profile.Finalized {
		b.End = b.FinalizeStart + finalizing
		b.environment("Finalize", finalizing)
	}
	b.retime()
	return b.Profile
}

// begin returns the profile of a rank that is about to call MPI_Init.
func (j *Job) begin(rank int) *rows {
	p := &profile.Profile{Run: fmt.Sprintf("synth-%s-%d", j.Name, j.Ranks), Rank: rank, Size: j.Ranks,
		Host: fmt.Sprintf("node%04d", j.node(rank)), Pid: 10_000 + rank%max(j.PerNode, 1),
		Program: "/opt/synth/bin/" + j.Name, Command: []string{j.Name, "--ranks", fmt.Sprint(j.Ranks)},
		Library: "Open MPI v5.0.8, synthetic", State: profile.Finalized, Timing: j.Timing, Threads: 1,
		Start:  epoch + int64(mix(uint64(rank), 1)%1_000_000),
		Slices: []profile.Slice{{Name: "run"}},
		Modules: []profile.Module{
			{Path: "/opt/synth/bin/" + j.Name, BuildID: "5f1e0a7d00000000000000000000000000000001", Start: programBase, End: programBase + 0x100000},
			{Path: "/opt/synth/lib/libmpi.so.40", BuildID: "5f1e0a7d00000000000000000000000000000002", Start: 0x7f0000000000, End: 0x7f0000400000, Bias: 0x7f0000000000},
		}}
	p.Slices[0].Start = p.Start
	p.InitEnd = p.Start + initTime
	return &rows{Profile: p, rank: rank, comms: map[Part]int32{}}
}

// node returns the number of a rank's node.
func (j *Job) node(rank int) int {
	perNode := max(j.PerNode, 1)
	if j.RoundRobin {
		return rank % ((j.Ranks + perNode - 1) / perNode)
	}
	return rank / perNode
}

// rows fills a profile with rows.
type rows struct {
	*profile.Profile
	rank  int
	comms map[Part]int32
	slice uint32
	mpiNs uint64
}

func (b *rows) enter(j *Job) {
	b.environment("Init", initTime)
	b.enterComm(j, World)
	for _, c := range j.Collectives {
		if _, made := b.comms[c.On]; !made {
			b.enterComm(j, c.On)
			b.timed(profile.Row{Call: "Comm_split", Class: profile.Other, Peer: profile.PeerNone, Calls: 1}, 20+int(c.On))
		}
	}
	if j.Phases == 0 {
		b.work(j)
	}
	for b.slice = 1; int(b.slice) <= j.Phases; b.slice++ {
		b.Slices = append(b.Slices, profile.Slice{Index: b.slice, Name: fmt.Sprintf("phase %d", b.slice), Start: b.InitEnd + setUp + int64(b.mpiNs)})
		b.work(j)
	}
	b.slice = 0
}

// work adds what a rank does in each phase.
func (b *rows) work(j *Job) {
	if j.Graph != nil {
		b.exchange(j.Graph)
	}
	for i, c := range j.Collectives {
		b.collective(c, 40+i)
	}
}

// environment adds one call of MPI_Init or MPI_Finalize.
func (b *rows) environment(call string, ns uint64) {
	b.Rows = append(b.Rows, profile.Row{Call: call, Class: profile.Other, Comm: -1, Peer: profile.PeerNone,
		Callsite: siteAt(len(call)), Calls: 1, TimeNs: ns, MinNs: ns, MaxNs: ns})
}

// siteAt returns the return address of the n-th call in the program.
func siteAt(n int) uint64 { return programBase + 0x1000 + uint64(n)*0x20 }

// timed adds a row with the times of its calls: between 1 and 4 µs each, and
// longer for larger messages.
func (b *rows) timed(r profile.Row, site int) {
	r.Callsite, r.Slice = siteAt(site), b.slice
	if r.Calls > 0 {
		jitter := mix(uint64(b.rank), uint64(len(b.Rows)))
		r.MinNs = 1000 + jitter%1000 + r.Bytes/max(r.Messages, 1)/10
		r.MaxNs = r.MinNs
		if r.Calls > 1 {
			r.MaxNs += jitter >> 20 % 2000
		}
		r.TimeNs = r.MinNs + r.MaxNs*(r.Calls-1)
	}
	b.mpiNs += r.TimeNs
	b.Rows = append(b.Rows, r)
}

// retime adapts the times to the job's kind of timing: none if it is off, and
// an error for rows of more than 64 calls if it is sampled.
func (b *rows) retime() {
	for i := range b.Rows {
		r := &b.Rows[i]
		switch {
		case b.Timing == profile.TimingOff:
			r.TimeNs, r.MinNs, r.MaxNs = 0, 0, 0
		case b.Timing == profile.TimingSampled && r.Calls > 64:
			r.TimeErrorNs = 1 + (r.MaxNs-r.MinNs)/4
		}
	}
}

// enterComm adds the rank's communicator of the part.
func (b *rows) enterComm(j *Job, part Part) {
	on := part.comm(j.grid, b.rank)
	c := profile.Comm{Parent: -1, Rank: on.rank(b.rank), Members: profile.Group{Base: on.base, Stride: on.stride, N: on.size},
		ID: idOf(part, on.base), Fold: idOf(part+numParts, on.base), Name: "MPI_COMM_WORLD"}
	if part != World {
		c.Name, c.Constructor, c.Parent = "", "Comm_split", b.comms[World]
		c.Freed = part == Columns
	}
	b.comms[part] = int32(len(b.Comms))
	b.Comms = append(b.Comms, c)
}

func idOf(part Part, base int) string {
	return fmt.Sprintf("%016x%016x", mix(uint64(part), uint64(base)), mix(uint64(base), uint64(part)+1000))
}

// exchange adds the point-to-point messages.
func (b *rows) exchange(g Graph) {
	send, receive := g.calls()
	for _, l := range g.Out(b.rank) {
		r := b.message(send, profile.Send, l)
		r.Calls = l.Messages
		b.timed(r, 60+l.Site)
	}
	var rounds uint64
	for _, l := range g.In(b.rank) {
		rounds = max(rounds, l.Messages)
		r := b.message(receive, profile.Recv, l)
		switch receive {
		case "Recv":
			r.Calls = l.Messages
			b.timed(r, 64+l.Site)
		case "Sendrecv": // the row of the send half counts the calls
			b.timed(r, 60+l.Site)
		default:
			b.timed(profile.Row{Call: receive, Peer: int32(l.Peer), Calls: l.Messages}, 64+l.Site)
			b.timed(r, 64+l.Site)
		}
	}
	if receive == "Irecv" && rounds > 0 {
		b.timed(profile.Row{Call: "Waitall", Comm: -1, Peer: profile.PeerNone, Calls: rounds}, 68)
	}
}

func (b *rows) message(call string, way profile.Direction, l Link) profile.Row {
	return profile.Row{Call: call, Direction: way, Spread: profile.ToPeer, Comm: b.comms[World], Peer: int32(l.Peer),
		SizeClass: sizeClass(l.Bytes), Messages: l.Messages, Bytes: l.Messages * l.Bytes}
}

// collective adds the rank's rows of a collective.
func (b *rows) collective(c Collective, site int) {
	comm := b.comms[c.On]
	on := &b.Comms[comm]
	size, rank := on.Members.N, on.Rank
	r := profile.Row{Call: c.Call.String(), Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers,
		Comm: comm, Peer: profile.PeerNone, SizeClass: sizeClass(c.Bytes), Calls: uint64(c.Times)}
	others := uint64(size - 1)
	switch {
	case c.Times == 0:
		return
	case c.Call.fromRoot() || c.Call.toRoot():
		b.rooted(c, r, site)
		return
	case c.Call == Scan:
		r.Spread, others = profile.ToHigher, uint64(size-1-rank)
	case c.Call == Alltoallv:
		b.vector(c, r, site)
		return
	}
	r.Messages = r.Calls * others
	r.Bytes = r.Messages * c.Bytes
	b.timed(r, site)
}

// rooted adds one row per root, in the order of the first call with that root.
func (b *rows) rooted(c Collective, r profile.Row, site int) {
	size, rank := b.Comms[r.Comm].Members.N, b.Comms[r.Comm].Rank
	r.Class = profile.OneToAll
	if c.Call.toRoot() {
		r.Class = profile.AllToOne
	}
	seen := map[int]bool{}
	for i := range c.Times {
		root := c.root(i, size)
		if seen[root] {
			continue
		}
		seen[root] = true
		r := r
		r.Peer, r.Calls = int32(root), c.rooted(root, size)
		r.Messages = r.Calls
		switch {
		case rank == root && c.Call.toRoot():
			r.Direction, r.Messages = profile.Recv, r.Calls*uint64(size-1)
		case rank == root:
			r.Messages *= uint64(size - 1)
		case c.Call.toRoot():
			r.Spread = profile.ToPeer
		default:
			r.Direction, r.Spread, r.SizeClass, r.Messages = profile.None, profile.ToNobody, 0, 0
		}
		r.Bytes = r.Messages * c.Bytes
		b.timed(r, site)
	}
}

// vector adds an Alltoallv: its row, and the bytes to each member.
func (b *rows) vector(c Collective, r profile.Row, site int) {
	size, rank := b.Comms[r.Comm].Members.N, b.Comms[r.Comm].Rank
	v := profile.Vector{Call: r.Call, Class: r.Class, Spread: profile.ToVector, Comm: r.Comm, Callsite: siteAt(site), Slice: b.slice,
		Calls: r.Calls, Bytes: make([]uint64, size)}
	for i := range v.Bytes {
		v.Bytes[i] = r.Calls * c.pair(rank, i)
		if i != rank {
			r.Bytes += v.Bytes[i]
		}
	}
	r.Spread, r.Messages = profile.ToVector, r.Calls*uint64(size-1)
	r.SizeClass = sizeClass(r.Bytes / max(r.Messages, 1)) // size class of the mean
	b.timed(r, site)
	b.Vectors = append(b.Vectors, v)
}
