package aggregate_test

import (
	"fmt"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// pingPong returns the profiles of two ranks that sent each other 10 messages
// of 1000 bytes within 1 s. Rank 1 spent most of this time in MPI_Recv.
func pingPong() []*profile.Profile {
	const second = 1_000_000_000 // ns
	var out []*profile.Profile
	for rank := range 2 {
		other := int32(1 - rank)
		receiving := uint64(100_000_000 + 500_000_000*rank)
		out = append(out, &profile.Profile{
			Rank: rank, Size: 2, Host: "node0", Program: "/opt/bin/pingpong", State: profile.Finalized, Threads: 1,
			InitEnd: second, FinalizeStart: 2 * second, Start: second, End: 2 * second,
			Comms: []profile.Comm{{ID: "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: profile.Group{Stride: 1, N: 2}}},
			Rows: []profile.Row{
				{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: other,
					Calls: 10, Messages: 10, Bytes: 10_000, TimeNs: 20_000_000},
				{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: other,
					Calls: 10, Messages: 10, Bytes: 10_000, TimeNs: receiving},
			},
		})
	}
	return out
}

// A Job is made of the profiles of its ranks. Its summary holds what `mpitrace
// report` prints.
func Example() {
	job := aggregate.New(pingPong())
	s := job.Summary()
	fmt.Printf("%s on %d ranks\n", s.Program, s.RanksRecorded)
	for _, c := range s.Calls {
		fmt.Printf("MPI_%s: %d calls, %d ms, %d bytes\n", c.Call, c.Calls, c.TimeNs/1e6, c.Bytes)
	}
	// Output:
	// pingpong on 2 ranks
	// MPI_Recv: 20 calls, 700 ms, 20000 bytes
	// MPI_Send: 20 calls, 40 ms, 20000 bytes
}

// Conservation checks that the messages received are those sent.
func ExampleConservation() {
	profiles := pingPong()
	profiles[1].Rows[1].Messages, profiles[1].Rows[1].Bytes = 9, 9_000 // one message was never received
	c := aggregate.New(profiles).Summary().Conservation
	fmt.Println(c.Verdict)
	for _, pair := range c.Differing {
		fmt.Printf("%d -> %d: sent %d, received %d\n", pair.From, pair.To, pair.Sent.Messages, pair.Received.Messages)
	}
	// Output:
	// differs
	// 0 -> 1: sent 10, received 9
}
