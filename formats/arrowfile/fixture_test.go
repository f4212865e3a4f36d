package arrowfile

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// The fixture is a job of four ranks. Its communicators, by index: the world,
// itself, a split with the order of ranks reversed, an intercommunicator from
// the even to the odd ranks, and a ring (Cart_create) with a PROC_NULL edge.
const (
	world = iota
	self
	reversed
	inter
	ring
)

const (
	base     = 0x55550000_0000 // where the program is loaded
	exchange = base + 0x1234   // a call site in it
	mystery  = 0x1000          // one in no module
	stack    = profile.StackSite | 1
)

var testSymbols = profile.Symbols{
	{Path: "/opt/app/solve", BuildID: "beef", Offset: 0x1234}: {Function: "exchange", Source: "/src/solve.c", Line: 118},
	{Path: "/opt/app/solve", BuildID: "beef", Offset: 0x1400}: {Function: "main", Source: "/src/solve.c", Line: 12},
}

func testJob(run string) []*profile.Profile {
	ps := make([]*profile.Profile, 4)
	for rank := range ps {
		ps[rank] = testProfile(run, rank)
	}
	return ps
}

func testProfile(run string, rank int) *profile.Profile {
	const second = 1_000_000_000
	start := int64(1_700_000_000 * second)
	return &profile.Profile{
		Run: run, Rank: rank, Size: 4, Host: "node" + string(rune('a'+rank/2)), Pid: 100 + rank,
		Program: "/opt/app/solve", Command: []string{"./solve", "-n", "two words"}, Library: "Open MPI v4.1.4",
		Source: fmt.Sprintf("run/recordings/%d.rec", rank), State: profile.Finalized,
		Start: start, InitEnd: start + second, FinalizeStart: start + 4*second, End: start + 5*second + 7,
		Threads: 2, Comms: testComms(rank), Rows: testRows(rank), Vectors: testVectors(rank),
		Slices: []profile.Slice{{Index: 0, Name: "run", Start: start}, {Index: 1, Name: "solve", Start: start + 2*second}},
		Modules: []profile.Module{
			{Path: "/opt/app/solve", BuildID: "beef", Start: base + uint64(rank)<<24, End: base + uint64(rank)<<24 + 0x10000, Bias: base + uint64(rank)<<24},
		},
		Stacks:  map[uint64][]uint64{stack: {base + uint64(rank)<<24 + 0x1300, base + uint64(rank)<<24 + 0x1400}},
		Symbols: testSymbols,
		Asides: []profile.Aside{
			{Kind: profile.TruncatedReceive, Call: "Recv", Comm: reversed, Peer: 2, Callsite: base + uint64(rank)<<24 + 0x1234, Slice: 1, Count: 3},
			{Kind: profile.CancelledSend, Call: "Cancel", Comm: -1, Peer: profile.PeerNone, Count: uint64(rank) + 1, Bytes: 40},
		},
		Pauses:   2,
		Losses:   profile.Losses{Calls: uint64(rank), Requests: 7},
		Problems: []string{"recording r.rec: byte 4096: no such kind of record"},
	}
}

func testComms(rank int) []profile.Comm {
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
		world:    {ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: all},
		self:     {ID: fmt.Sprintf("000000000000000000000000000000a%d", rank), Name: "MPI_COMM_SELF", Parent: -1, Members: profile.Group{Base: rank, Stride: 1, N: 1}},
		reversed: {ID: "c0ffee00000000000000000000000002", Name: "back to front", Constructor: "Comm_split", Parent: world, Rank: 3 - rank, Members: profile.Group{List: []int32{3, 2, 1, 0}}, Freed: true, Folded: 12},
		inter:    {ID: "feedface000000000000000000000003", Constructor: "Intercomm_create", Parent: world, Inter: true, Rank: rank / 2, Members: local, Remote: remote, Freed: rank != 2},
		ring:     {ID: "0123456789abcdef0000000000000004", Constructor: "Cart_create", Parent: world, Rank: rank, Members: all, Edges: edges},
	}
}

// testRows has a row for each way of spreading messages, and each kind of peer.
func testRows(rank int) []profile.Row {
	row := func(call string, class profile.Class, dir profile.Direction, spread profile.Spread, comm, peer int32, calls, messages, bytes uint64) profile.Row {
		return profile.Row{Call: call, Class: class, Direction: dir, Spread: spread, Comm: comm, Peer: peer,
			SizeClass: 7, Callsite: exchange + uint64(rank)<<24, Calls: calls, Messages: messages, Bytes: bytes,
			TimeNs: 1000 * calls, MinNs: min(calls, 1) * 400, MaxNs: min(calls, 1) * 1600}
	}
	others := func(c profile.Comm, s profile.Spread, n uint64) uint64 { return n * uint64(c.FanOut(s)) }
	comms := testComms(rank)
	right := int32(rank+1) % 4
	rows := []profile.Row{
		row("Init", profile.Other, profile.None, profile.ToNobody, -1, profile.PeerNone, 1, 0, 0),
		row("Send", profile.P2P, profile.Send, profile.ToPeer, world, right, 3, 3, 300),
		row("Send", profile.P2P, profile.None, profile.ToPeer, world, profile.PeerProcNull, 5, 0, 0),
		row("Irecv", profile.P2P, profile.None, profile.ToPeer, world, profile.PeerAnySource, 3, 0, 0),
		row("Irecv", profile.P2P, profile.Recv, profile.ToPeer, world, int32(rank+3)%4, 0, 3, 300),
		row("Isend", profile.P2P, profile.Send, profile.ToPeer, reversed, 0, 1, 1, 40), // to world rank 3
		row("Send", profile.P2P, profile.Send, profile.ToPeer, inter, 1, 2, 2, 160),    // to the second of the others
		row("Allreduce", profile.AllToAll, profile.Send, profile.ToOthers, world, profile.PeerNone, 10, others(comms[world], profile.ToOthers, 10), others(comms[world], profile.ToOthers, 80)),
		row("Scan", profile.AllToAll, profile.Send, profile.ToHigher, world, profile.PeerNone, 1, others(comms[world], profile.ToHigher, 1), others(comms[world], profile.ToHigher, 64)),
		row("Neighbor_alltoall", profile.AllToAll, profile.Send, profile.ToEdges, ring, profile.PeerNone, 2, others(comms[ring], profile.ToEdges, 2), others(comms[ring], profile.ToEdges, 200)),
		row("Alltoallv", profile.AllToAll, profile.Send, profile.ToVector, world, profile.PeerNone, 1, 3, 6000-1000*uint64(rank)),
		row("Neighbor_alltoallv", profile.AllToAll, profile.Send, profile.ToEdgeVector, ring, profile.PeerNone, 1, others(comms[ring], profile.ToEdges, 1), 24),
		row("Put", profile.OneSided, profile.Write, profile.ToPeer, world, 2, 1, 1, 512),
		row("Get", profile.OneSided, profile.Read, profile.ToPeer, world, 1, 1, 1, 256),
	}
	rows[len(rows)-2].Callsite = stack
	if rank == 0 {
		rows = append(rows, row("Bcast", profile.OneToAll, profile.Send, profile.ToOthers, reversed, 3, 1, 3, 3000))
	} else {
		rows = append(rows, row("Reduce", profile.AllToOne, profile.Send, profile.ToPeer, reversed, 3, 1, 1, 1000))
	}
	last := &rows[len(rows)-1]
	last.Thread, last.Slice, last.Callsite = 1, 1, mystery
	last.Bytes += 1 << 60 // sums beyond what a double holds
	return rows
}

func testVectors(rank int) []profile.Vector {
	return []profile.Vector{
		{Call: "Alltoallv", Class: profile.AllToAll, Spread: profile.ToVector, Comm: world, Calls: 1, Bytes: []uint64{0, 1000, 2000, 3000}},
		{Call: "Neighbor_alltoallv", Class: profile.AllToAll, Spread: profile.ToEdgeVector, Comm: ring, Slice: 1, Callsite: mystery, Calls: 1, Bytes: []uint64{8, 1<<64 - 1}},
	}
}
