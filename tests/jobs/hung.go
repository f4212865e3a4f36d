package jobs

import "github.com/mpitrace/mpitrace/profile"

// Call sites of Hung on rank 0. Rank r has loaded the program 16 r pages
// higher.
const (
	SiteRecv = 0x401010 + iota*0x10
	SiteBarrier
	SiteIrecv
	SiteWaitall
)

var HungSymbols = profile.Symbols{
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1010}: {Function: "exchange", Source: "/src/ring.c", Line: 40},
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1020}: {Function: "main", Source: "/src/ring.c", Line: 12},
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1030}: {Function: "post", Source: "/src/ring.c", Line: 50},
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1040}: {Function: "post", Source: "/src/ring.c", Line: 51},
}

func HungRank(r int) *profile.Profile {
	base := uint64(r) << 16
	return &profile.Profile{Run: "run-9", Rank: r, Size: 6, Host: "node0", Pid: 100 + r, Program: "/opt/ring", State: profile.Running,
		Start: Start, InitEnd: Start + Second/10, End: Start + Second, Threads: 1, Symbols: HungSymbols,
		Modules: []profile.Module{{Path: "/opt/ring", BuildID: "beef", Start: 0x401000 + base, End: 0x402000 + base, Bias: 0x400000 + base}},
		Comms: []profile.Comm{
			{ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: 6}},
			{ID: "c0ffee00000000000000000000000002", Constructor: "Comm_split", Rank: 5 - r, Members: profile.Group{Base: 5, Stride: -1, N: 6}},
		}}
}

func At(rank int, site uint64) uint64 { return site + uint64(rank)<<16 }

func RecvFrom(rank int, peer int32, after int64) profile.OpenCall {
	return profile.OpenCall{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Comm: 0, Peer: peer, Source: profile.PeerNone,
		Bytes: 8, Sized: true, Callsite: At(rank, SiteRecv), Start: Start + after}
}

// Hung returns six ranks that wait for each other forever: 0 and 1 in receives
// from each other, 2 and 3 in a barrier, 4 for receives; 5 computes. The second
// communicator has the ranks in reverse order. The job began at Start.
func Hung() []*profile.Profile {
	ps := make([]*profile.Profile, 6)
	for r := range ps {
		ps[r] = HungRank(r)
	}
	ps[0].Open = []profile.OpenCall{RecvFrom(0, 1, 2*Second)}
	ps[1].Open = []profile.OpenCall{RecvFrom(1, 0, 3*Second)}
	for r := 2; r < 4; r++ {
		ps[r].Open = []profile.OpenCall{{Call: "Barrier", Class: profile.AllToAll, Direction: profile.Send, Comm: 0,
			Peer: profile.PeerNone, Source: profile.PeerNone, Sized: true, Callsite: At(r, SiteBarrier), Start: Start + 2*Second}}
	}
	ps[4].Open = []profile.OpenCall{{Call: "Waitall", Class: profile.P2P, Comm: -1, Peer: profile.PeerNone, Source: profile.PeerNone,
		Requests: 3, Callsite: At(4, SiteWaitall), Start: Start + 4*Second}}
	ps[4].Abnormal = []profile.AbnormalOps{
		{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: 1, Peer: 0, Callsite: At(4, SiteIrecv), Count: 1},
		{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: 1, Peer: profile.PeerAnySource, Callsite: At(4, SiteIrecv), Count: 2},
	}
	return ps
}

// TimedOut returns the job of Hung after rank 5 has crashed and a launcher has
// then killed all others.
func TimedOut() []*profile.Profile {
	ps := Hung()
	for r, p := range ps {
		p.Exit = profile.Exit{At: Start + 10*Second + int64(r)*2*MS, Known: true, Signal: 15}
	}
	ps[5].Exit = profile.Exit{At: Start + 9*Second, Known: true, Signal: 11}
	return ps
}
