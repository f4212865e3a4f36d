package jobs

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// Communicators of Full, by index: the world, the process itself, a split with
// the order of ranks reversed, an intercommunicator from the even to the odd
// ranks, and a ring (Cart_create) with an edge to MPI_PROC_NULL.
const (
	World = iota
	Self
	Reversed
	Inter
	Ring
)

const (
	base     = 0x55550000_0000 // address of the program
	exchange = base + 0x1234   // a call site in the program
	mystery  = 0x1000          // a call site in no module
	stack    = profile.StackSite | 1
)

var symbols = profile.Symbols{
	{Path: "/opt/app/solve", BuildID: "beef", Offset: 0x1234}: {Function: "exchange", Source: "/src/solve.c", Line: 118},
	{Path: "/opt/app/solve", BuildID: "beef", Offset: 0x1400}: {Function: "main", Source: "/src/solve.c", Line: 12},
}

// Full returns a job of four ranks that has each kind of row, of communicator and of recorded fact.
// A file format that keeps everything must keep all of these.
func Full(run string) []*profile.Profile {
	ps := make([]*profile.Profile, 4)
	for rank := range ps {
		ps[rank] = FullRank(run, rank)
	}
	return ps
}

// MixedTimings returns Full with ranks that were recorded in different ways: the
// times of rank 1 are sampled, rank 2 has no times, and neither followed
// nonblocking receives.
func MixedTimings(run string) []*profile.Profile {
	ps := Full(run)
	ps[1].Timing, ps[1].Unfollowed = profile.TimingSampled, true
	ps[2].Timing, ps[2].Unfollowed = profile.TimingOff, true
	for i := range ps[1].Rows {
		ps[1].Rows[i].TimeErrorNs = 7 * ps[1].Rows[i].Calls
		r := &ps[2].Rows[i]
		r.TimeNs, r.MinNs, r.MaxNs = 0, 0, 0
	}
	return ps
}

// Killed returns Full as a job that ended before MPI_Finalize: rank 0 was killed
// in an MPI call in both of its threads, rank 1 exited outside MPI, rank 2
// called MPI_Abort and its end was not seen, and rank 3 was stopped.
func Killed(run string) []*profile.Profile {
	ps := Full(run)
	for _, p := range ps {
		p.State, p.FinalizeStart, p.End = profile.Running, 0, p.Start+3*Second
	}
	start := ps[0].Start
	ps[0].Open = []profile.OpenCall{
		{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Comm: Reversed, Peer: 1, Source: profile.PeerNone,
			Bytes: 8, Sized: true, Callsite: exchange, Start: start + 4*Second},
		{Thread: 1, Call: "Waitall", Class: profile.P2P, Comm: -1, Peer: profile.PeerNone, Source: profile.PeerNone,
			Requests: 6, Callsite: stack, Slice: 1},
	}
	ps[0].Exit = profile.Exit{At: start + 5*Second, Known: true, Signal: 9}
	ps[1].Exit = profile.Exit{At: start + 6*Second, Known: true, Status: 3}
	ps[2].Exit = profile.Exit{Gone: true}
	ps[2].Open = []profile.OpenCall{{Call: "Abort", Class: profile.Other, Comm: World, Peer: profile.PeerNone, Source: profile.PeerNone,
		Code: -3, Callsite: mystery}}
	ps[3].Exit = profile.Exit{Alive: start + 7*Second, Stopped: true}
	ps[3].Open = []profile.OpenCall{{Call: "Probe", Class: profile.P2P, Comm: World, Peer: profile.PeerAnySource,
		Source: profile.PeerNone, Callsite: mystery, Start: start + 6*Second}}
	return ps
}

// Physical returns Full as a job for which the MPI library was asked what it
// sent. It is known for ranks 0 and 1, of which 1 sent nothing, and not known
// for rank 2. It was not requested for rank 3.
func Physical(run string) []*profile.Profile {
	ps := Full(run)
	few, many := new(profile.Histogram), new(profile.Histogram)
	few[0], few[4] = 1, 5
	many[len(many)-1] = 1<<64 - 1
	ps[0].Physical = &profile.Physical{Flows: []profile.Flow{
		{Kind: profile.External, From: 0, To: 1, Bytes: 300, Messages: 3},
		{Kind: profile.External, From: 0, To: 2, Bytes: 9, Messages: 1},
		{Kind: profile.Internal, From: 0, To: 1, Bytes: 80, Messages: 10},
		{Kind: profile.Internal, From: 0, To: 2, Bytes: 60, Messages: 6, Histogram: few},
		{Kind: profile.Internal, From: 0, To: 3, Bytes: 1<<64 - 1, Messages: 1<<64 - 1, Histogram: many},
	}}
	ps[1].Physical = &profile.Physical{}
	ps[2].Physical = &profile.Physical{Unknown: "no file was written"}
	return ps
}

// FullRank returns one of the ranks of Full.
func FullRank(run string, rank int) *profile.Profile {
	return &profile.Profile{
		Run: run, Rank: rank, Size: 4, Host: "node" + string(rune('a'+rank/2)), Pid: 100 + rank,
		Program: "/opt/app/solve", Command: []string{"./solve", "-n", "two words"}, Library: "Open MPI v4.1.4",
		Source: fmt.Sprintf("run/recordings/%d.rec", rank), State: profile.Finalized,
		Start: Start, InitEnd: Start + Second, FinalizeStart: Start + 4*Second, End: Start + 5*Second + 7,
		Threads: 2, Comms: comms(rank), Rows: rows(rank), Vectors: vectors(rank),
		Slices: []profile.Slice{{Index: 0, Name: "run", Start: Start}, {Index: 1, Name: "solve", Start: Start + 2*Second}},
		Modules: []profile.Module{
			{Path: "/opt/app/solve", BuildID: "beef", Start: base + uint64(rank)<<24, End: base + uint64(rank)<<24 + 0x10000, Bias: base + uint64(rank)<<24},
		},
		Stacks:  map[uint64][]uint64{stack: {base + uint64(rank)<<24 + 0x1300, base + uint64(rank)<<24 + 0x1400}},
		Symbols: symbols,
		Abnormal: []profile.AbnormalOps{
			{Kind: profile.TruncatedReceive, Call: "Recv", Comm: Reversed, Peer: 2, Callsite: base + uint64(rank)<<24 + 0x1234, Slice: 1, Count: 3},
			{Kind: profile.CancelledSend, Call: "Cancel", Comm: -1, Peer: profile.PeerNone, Count: uint64(rank) + 1, Bytes: 40},
		},
		Settings: map[string]string{"timing": "exact", "watch-unexpected": "3"},
		Variables: []profile.Variable{
			{Name: "OMPI_MCA_pml", Value: "ob1"},
			{Name: "btl_eager_limit", Value: fmt.Sprint(4096 + rank), Asked: true, Scope: profile.ScopeAllEq},
			{Name: "no_such", Value: "\x1b", Asked: true, Refused: "there is none"},
		},
		Late: []profile.Late{
			{Call: "Irecv", Comm: World, Peer: profile.PeerAnySource, Callsite: exchange + uint64(rank)<<24, Slice: 1, Count: 2, Queued: 1 << 40},
			{Call: "Recv", Comm: -1, Peer: 1, Callsite: stack, Count: uint64(rank) + 1, Queued: 9},
		},
		Pauses: 2,
		Placement: &profile.Placement{Processors: "0-3,64", CPULimit: 1.5, LimitGroup: 4711,
			NodeProcessors: 128, NodeCores: 64, NodeSockets: 2},
		Usage:       []profile.Usage{{WallNs: 5_000, UserNs: 4_000, SystemNs: 500, Voluntary: 3, Involuntary: 7, RunDelayNs: 400, DelayKnown: true}},
		ThreadUse:   &profile.ThreadUse{Busy: 3, CPUNs: 3_000_000_001, DelayNs: 700, Incomplete: rank == 1},
		Clocks:      profile.ClockCheck{Error: 3_000_000, Step: -5},
		Intercepted: &profile.FileAndFunctions{Library: "/opt/tool.so", Functions: []string{"MPI_Send", "MPI_Isend"}},
		Losses:      profile.Losses{Calls: uint64(rank), Requests: 7},
		Problems:    []string{"recording r.rec: byte 4096: no such kind of record"},
	}
}

func comms(rank int) []profile.Comm {
	even, odd := profile.Group{Base: 0, Stride: 2, N: 2}, profile.Group{Base: 1, Stride: 2, N: 2}
	local, remote := even, odd
	if rank%2 == 1 {
		local, remote = odd, even
	}
	edges := []int32{int32(rank+1) % 4, int32(rank+3) % 4}
	if rank == 3 {
		edges[0] = profile.PeerProcNull
	}
	all := profile.Group{Base: 0, Stride: 1, N: 4}
	return []profile.Comm{
		World:    {ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: all},
		Self:     {ID: fmt.Sprintf("000000000000000000000000000000a%d", rank), Name: "MPI_COMM_SELF", Parent: -1, Members: profile.Group{Base: rank, Stride: 1, N: 1}},
		Reversed: {ID: "c0ffee00000000000000000000000002", Name: "back to front", Constructor: "Comm_split", Parent: World, Rank: 3 - rank, Members: profile.Group{List: []int32{3, 2, 1, 0}}, Freed: true, Folded: 12},
		Inter:    {ID: "feedface000000000000000000000003", Constructor: "Intercomm_create", Parent: World, Inter: true, Rank: rank / 2, Members: local, Remote: remote, Freed: rank != 2},
		Ring:     {ID: "0123456789abcdef0000000000000004", Constructor: "Cart_create", Parent: World, Rank: rank, Members: all, Edges: edges},
	}
}

// rows returns a row for each kind of spread, and for each kind of peer.
func rows(rank int) []profile.Row {
	row := func(call string, class profile.Class, dir profile.Direction, spread profile.Spread, comm, peer int32, calls, messages, bytes uint64) profile.Row {
		return profile.Row{Call: call, Class: class, Direction: dir, Spread: spread, Comm: comm, Peer: peer,
			SizeClass: 7, Callsite: exchange + uint64(rank)<<24, Calls: calls, Messages: messages, Bytes: bytes,
			TimeNs: 1000 * calls, MinNs: min(calls, 1) * 400, MaxNs: min(calls, 1) * 1600}
	}
	others := func(c profile.Comm, s profile.Spread, n uint64) uint64 { return n * uint64(c.FanOut(s)) }
	comms := comms(rank)
	right := int32(rank+1) % 4
	rows := []profile.Row{
		row("Init", profile.Other, profile.None, profile.ToNobody, -1, profile.PeerNone, 1, 0, 0),
		row("Send", profile.P2P, profile.Send, profile.ToPeer, World, right, 3, 3, 300),
		row("Send", profile.P2P, profile.None, profile.ToPeer, World, profile.PeerProcNull, 5, 0, 0),
		row("Irecv", profile.P2P, profile.None, profile.ToPeer, World, profile.PeerAnySource, 3, 0, 0),
		row("Irecv", profile.P2P, profile.Recv, profile.ToPeer, World, int32(rank+3)%4, 0, 3, 300),
		row("Isend", profile.P2P, profile.Send, profile.ToPeer, Reversed, 0, 1, 1, 40), // to world rank 3
		row("Send", profile.P2P, profile.Send, profile.ToPeer, Inter, 1, 2, 2, 160),    // to the Second rank of the remote group
		row("Allreduce", profile.AllToAll, profile.Send, profile.ToOthers, World, profile.PeerNone, 10, others(comms[World], profile.ToOthers, 10), others(comms[World], profile.ToOthers, 80)),
		row("Scan", profile.AllToAll, profile.Send, profile.ToHigher, World, profile.PeerNone, 1, others(comms[World], profile.ToHigher, 1), others(comms[World], profile.ToHigher, 64)),
		row("Neighbor_alltoall", profile.AllToAll, profile.Send, profile.ToEdges, Ring, profile.PeerNone, 2, others(comms[Ring], profile.ToEdges, 2), others(comms[Ring], profile.ToEdges, 200)),
		row("Alltoallv", profile.AllToAll, profile.Send, profile.ToVector, World, profile.PeerNone, 1, 3, 6000-1000*uint64(rank)),
		row("Neighbor_alltoallv", profile.AllToAll, profile.Send, profile.ToEdgeVector, Ring, profile.PeerNone, 1, others(comms[Ring], profile.ToEdges, 1), 24),
		row("Put", profile.OneSided, profile.Write, profile.ToPeer, World, 2, 1, 1, 512),
		row("Get", profile.OneSided, profile.Read, profile.ToPeer, World, 1, 1, 1, 256),
	}
	rows[len(rows)-2].Callsite = stack
	if rank == 0 {
		rows = append(rows, row("Bcast", profile.OneToAll, profile.Send, profile.ToOthers, Reversed, 3, 1, 3, 3000))
	} else {
		rows = append(rows, row("Reduce", profile.AllToOne, profile.Send, profile.ToPeer, Reversed, 3, 1, 1, 1000))
	}
	last := &rows[len(rows)-1]
	last.Thread, last.Slice, last.Callsite = 1, 1, mystery
	last.Bytes += 1 << 60 // sums are larger than a double can hold exactly
	return rows
}

func vectors(rank int) []profile.Vector {
	return []profile.Vector{
		{Call: "Alltoallv", Class: profile.AllToAll, Spread: profile.ToVector, Comm: World, Callsite: exchange + uint64(rank)<<24, Calls: 1, Bytes: []uint64{0, 1000, 2000, 3000}},
		{Call: "Neighbor_alltoallv", Class: profile.AllToAll, Spread: profile.ToEdgeVector, Comm: Ring, Callsite: exchange + uint64(rank)<<24, Calls: 1, Bytes: []uint64{8, 1<<64 - 1}},
	}
}
