package profile_test

import (
	"fmt"

	"github.com/mpitrace/mpitrace/profile"
)

// A profile can be made by hand. This one is of rank 0 of 2, which sent 3
// messages of 8 bytes each to rank 1.
func ExampleProfile() {
	world := profile.Comm{ID: "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: 0, Members: profile.Group{Base: 0, Stride: 1, N: 2}}
	p := &profile.Profile{
		Rank: 0, Size: 2, State: profile.Finalized,
		Comms: []profile.Comm{world},
		Rows: []profile.Row{{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer,
			Comm: 0, Peer: 1, Calls: 3, Messages: 3, Bytes: 24, TimeNs: 4500}},
	}
	for _, r := range p.Rows {
		fmt.Printf("MPI_%s to rank %d of %s: %d calls, %d bytes, %d ns\n",
			r.Call, p.WorldRank(r.Comm, r.Peer), p.Comms[r.Comm].Name, r.Calls, r.Bytes, r.TimeNs)
	}
	// Output:
	// MPI_Send to rank 1 of MPI_COMM_WORLD: 3 calls, 24 bytes, 4500 ns
}

// Traffic returns what a .prof file holds: the messages from rank to rank.
func ExampleProfile_Traffic() {
	p := &profile.Profile{
		Rank: 1, Size: 4,
		Comms: []profile.Comm{{ID: "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: 1, Members: profile.Group{Stride: 1, N: 4}}},
		Rows: []profile.Row{
			{Call: "Isend", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: 2, Calls: 2, Messages: 2, Bytes: 200, SizeClass: 7},
			{Call: "Put", Class: profile.OneSided, Direction: profile.Write, Spread: profile.ToPeer, Peer: 0, Calls: 1, Messages: 1, Bytes: 64, SizeClass: 7},
		},
	}
	for _, f := range p.Traffic().Flows {
		fmt.Printf("%c %d -> %d: %d bytes in %d messages\n", f.Kind, f.From, f.To, f.Bytes, f.Messages)
	}
	// Output:
	// E 1 -> 2: 200 bytes in 2 messages
	// S 1 -> 0: 64 bytes in 1 messages
}

func ExampleRankSet() {
	set, err := profile.ParseRankSet("64,0-15,12-20")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set)
	fmt.Println(set.Len(), set.Contains(18), set.Contains(21))
	// Output:
	// ranks 0-20, 64
	// 22 true false
}
