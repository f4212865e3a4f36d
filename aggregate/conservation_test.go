package aggregate

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// TestConservationLists names the largest differences and counts the others.
func TestConservationLists(t *testing.T) {
	ps := fixture()
	world := make([]int32, 100)
	for i := range world {
		world[i] = int32(i)
	}
	for _, p := range ps {
		p.Size = 100
		p.Comms[0].Members = profile.Group{List: world}
	}
	for i := range 20 { // ranks that receive nothing of what 0 sends them
		peer := fixtureRank(0)
		peer.Rank, peer.Size, peer.Comms, peer.Rows = 4+i, 100, ps[0].Comms, nil
		ps[0].Rows = append(ps[0].Rows, profile.Row{Call: "Send", Class: profile.P2P, Direction: profile.Send,
			Spread: profile.ToPeer, Peer: int32(4 + i), Messages: 1, Bytes: uint64(i)})
		ps = append(ps, peer)
	}
	c := New(ps).Conservation(AllRanks)
	if c.Verdict != Differs || c.Unequal != 20 || len(c.Differing) != maxListed {
		t.Fatalf("got %+v", c)
	}
	for i, x := range c.Differing {
		if want := (Imbalance{matrix.Pair{From: 0, To: 23 - i}, Exchange{Sent: matrix.Volume{Bytes: uint64(19 - i), Messages: 1}}}); x != want {
			t.Errorf("%d: got %+v, want %+v", i, x, want)
		}
	}
	if c := New(ps).Conservation(7); c.Unequal != 1 || c.Differing[0].To != 7 || c.Pairs != 1 {
		t.Errorf("rank 7: got %+v", c)
	}
}
