// Package jobs makes the profiles and the traces of small jobs whose numbers are
// easy to compute by hand, for the tests of what reads them.
package jobs

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

const (
	MS     = 1_000_000     // ns
	Second = 1_000_000_000 // ns
	Start  = 1_700_000_000_000_000_000
)

func FixtureRank(r int) *profile.Profile {
	p := &profile.Profile{
		Run: "run-7", Rank: r, Size: 4, Host: fmt.Sprint("node", r/2), Pid: 100 + r,
		Program: "/opt/bin/halo", Command: []string{"halo", "-n", "8"},
		Library: "Open MPI v4.1.4, package: Debian\nmore", State: profile.Finalized, Threads: 1,
		Start: Start + int64(r), InitEnd: Start + 100*MS, FinalizeStart: Start + 2100*MS,
		End: Start + 2200*MS + int64(r)*2*MS,
		Comms: []profile.Comm{
			{ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1, Rank: r,
				Members: profile.Group{Stride: 1, N: 4}},
			{ID: fmt.Sprintf("%032x", 0xabc0+r%2), Constructor: "Comm_split", Rank: 1 - r/2,
				Members: profile.Group{List: []int32{int32(r%2 + 2), int32(r % 2)}}},
		},
	}
	next, before := int32((r+1)%4), (r+3)%4
	u := uint64(r)
	p.Rows = []profile.Row{
		{Call: "Init", Class: profile.Other, Comm: -1, Peer: profile.PeerNone, Calls: 1, TimeNs: 5 * MS, MinNs: 5 * MS, MaxNs: 5 * MS},
		{Call: "Finalize", Class: profile.Other, Comm: -1, Peer: profile.PeerNone, Calls: 1, TimeNs: 3 * MS, MinNs: 3 * MS, MaxNs: 3 * MS},
		{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: next, SizeClass: 4,
			Calls: 3, Messages: 3, Bytes: 3 * (10 + u), TimeNs: 100 * MS * (u + 1), MinNs: 1 + u, MaxNs: 70 * MS},
		{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: int32(before), SizeClass: 4,
			Calls: 3, Messages: 3, Bytes: 3 * (10 + uint64(before)), TimeNs: 200 * MS, MinNs: MS, MaxNs: 150 * MS},
		{Call: "Allreduce", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Peer: profile.PeerNone,
			SizeClass: 4, Calls: 2, Messages: 2 * 3, Bytes: 2 * 3 * 8, TimeNs: 100 * MS, MinNs: 20 * MS, MaxNs: 80 * MS},
		{Call: "Barrier", Class: profile.Other, Comm: -1, Peer: profile.PeerNone, Calls: 1}, // untimed; of class Other, which has no volume
	}
	p.Rows = append(p.Rows, fixtureRooted(p, r)...)
	return p
}

func fixtureRooted(p *profile.Profile, r int) []profile.Row {
	bcast := profile.Row{Call: "Bcast", Class: profile.OneToAll, Peer: 0, Calls: 1}
	half := profile.Row{Call: "Irecv", Class: profile.P2P, Direction: profile.Recv, Comm: 1, Peer: 1, Messages: 1, Bytes: 7}
	if r < 2 {
		half = profile.Row{Call: "Isend", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Comm: 1, Peer: 0,
			SizeClass: 3, Calls: 1, Messages: 1, Bytes: 7}
	}
	if r == 0 {
		bcast.Direction, bcast.Spread, bcast.SizeClass, bcast.Messages, bcast.Bytes = profile.Send, profile.ToOthers, 7, 3, 300
	}
	rows := []profile.Row{bcast, half}
	switch r {
	case 0:
		rows = append(rows, profile.Row{Call: "Put", Class: profile.OneSided, Direction: profile.Write, Spread: profile.ToPeer,
			Peer: 2, SizeClass: 6, Calls: 1, Messages: 1, Bytes: 60})
	case 1:
		rows = append(rows, profile.Row{Call: "Scatterv", Class: profile.OneToAll, Direction: profile.Send, Spread: profile.ToVector,
			Peer: 1, SizeClass: 2, Calls: 1, Messages: 3, Bytes: 1 + 3 + 4})
		p.Vectors = []profile.Vector{{Call: "Scatterv", Class: profile.OneToAll, Spread: profile.ToVector, Calls: 1, Bytes: []uint64{1, 2, 3, 4}}}
	case 3:
		rows = append(rows, profile.Row{Call: "Get", Class: profile.OneSided, Direction: profile.Read, Spread: profile.ToPeer,
			Peer: 1, SizeClass: 6, Calls: 1, Messages: 1, Bytes: 50})
	}
	return rows
}

// Fixture returns a finished job of four ranks whose sums are easy to compute
// by hand:
//
//	r -> r+1 mod 4   3 messages of 10+r bytes           Send, Recv
//	r -> r+2, r < 2  1 message of 7 bytes               Isend, Irecv, in a communicator with reversed ranks
//	all -> others    2 operations of 8 bytes            Allreduce
//	0 -> others      1 operation of 100 bytes           Bcast
//	1 -> 0, 2, 3     1 operation of 1, 3 and 4 bytes    Scatterv
//	0 writes to 2    1 message of 60 bytes              Put
//	3 reads from 1   1 message of 50 bytes              Get
//
// Rank r spends 2 s between MPI_Init and MPI_Finalize, of which 300+100(r+1) ms
// are in MPI. In addition, it spends 5 ms in Init and 3 ms in Finalize.
func Fixture() []*profile.Profile {
	out := make([]*profile.Profile, 4)
	for r := range out {
		out[r] = FixtureRank(r)
	}
	return out
}
