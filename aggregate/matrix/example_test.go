package matrix_test

import (
	"fmt"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// ring returns the profiles of n ranks. Each sent 100 bytes to the next one
// with MPI_Send, and then called MPI_Allreduce on 8 bytes.
func ring(n int) []*profile.Profile {
	var out []*profile.Profile
	for rank := range n {
		others := uint64(n - 1)
		out = append(out, &profile.Profile{
			Rank: rank, Size: n, Host: fmt.Sprint("node", rank/2),
			Comms: []profile.Comm{{ID: "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: profile.Group{Stride: 1, N: n}}},
			Rows: []profile.Row{
				{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer,
					Peer: int32((rank + 1) % n), Calls: 1, Messages: 1, Bytes: 100},
				{Call: "Allreduce", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers,
					Peer: profile.PeerNone, Calls: 1, Messages: others, Bytes: 8 * others},
			},
		})
	}
	return out
}

// A Builder makes the matrices of a job from the profiles of its ranks.
func Example() {
	b := matrix.NewBuilder(nil) // nil selects everything
	for _, p := range ring(4) {
		b.Add(p)
	}
	all := &b.Matrices()[matrix.All]
	for from := range all.Size() {
		for to := range all.Size() {
			fmt.Printf("%4d", all.At(from, to).Bytes)
		}
		fmt.Println()
	}
	// Output:
	//    0 108   8   8
	//    8   0 108   8
	//    8   8   0 108
	//  108   8   8   0
}

// All iterates over only the pairs that communicated.
func ExampleMatrix_All() {
	b := matrix.NewBuilder(&matrix.Selection{Calls: []string{"MPI_Send"}})
	for _, p := range ring(4) {
		b.Add(p)
	}
	for pair, v := range b.Matrices()[matrix.All].All() {
		fmt.Printf("%d -> %d: %d bytes, %d message\n", pair.From, pair.To, v.Bytes, v.Messages)
	}
	// Output:
	// 0 -> 1: 100 bytes, 1 message
	// 1 -> 2: 100 bytes, 1 message
	// 2 -> 3: 100 bytes, 1 message
	// 3 -> 0: 100 bytes, 1 message
}

// Fold adds up the ranks of each node.
func ExampleMatrix_Fold() {
	b, ranks := matrix.NewBuilder(nil), new(matrix.Ranks)
	for _, p := range ring(4) {
		b.Add(p)
		ranks.Add(p)
	}
	nodes, nodeOf := ranks.Hosts()
	byNode := b.Matrices()[matrix.External].Fold(nodeOf)
	for pair, v := range byNode.All() {
		fmt.Printf("%s -> %s: %d bytes\n", nodes[pair.From], nodes[pair.To], v.Bytes)
	}
	// Output:
	// node0 -> node0: 100 bytes
	// node0 -> node1: 100 bytes
	// node1 -> node0: 100 bytes
	// node1 -> node1: 100 bytes
}
