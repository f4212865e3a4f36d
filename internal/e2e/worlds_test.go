package e2e

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

func TestPartitioned(t *testing.T) {
	withEach(t, mpi4, func(t *testing.T, m implementation) {
		ranks := m.run(t, 2, m.compile(t, "partitioned")).ranks
		diff(t, "point-to-point", messages(0, 1, 400, 400, 400), pointToPoint(ranks))
		checkReceived(t, ranks)
		calls := callsBy(ranks)
		for _, call := range []string{"Pready", "Pready_range", "Pready_list"} {
			diff(t, "calls of "+call, []uint64{3, 0}, calls[call])
		}
	})
}

// What goes to another world is counted, and never taken for a rank of this one.
func TestSpawned(t *testing.T) {
	spawns := func(m implementation) bool { return m.name != "mpich" } // Debian's fails, with and without us
	withEach(t, spawns, func(t *testing.T, m implementation) {
		j := record(t, nil, m.launch(2, m.compile(t, "spawned"))...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s", j.code, j.stderr)
		}
		var parents []*profile.Profile
		for _, p := range j.ranks {
			if callsBy([]*profile.Profile{p})["Comm_spawn"] != nil {
				parents = append(parents, p)
			}
		}
		if len(parents) != 2 {
			t.Fatalf("%d parents among %d recordings", len(parents), len(j.ranks))
		}
		for _, p := range parents {
			c := madeBy(t, p, "Comm_spawn")
			diff(t, "remote", []int{profile.PeerElsewhere, profile.PeerElsewhere}, c.Remote.Ranks())
			var sent, received profile.Volume
			for i := range p.Rows {
				switch r := &p.Rows[i]; r.Call + r.Direction.String() {
				case "Sendsend":
					sent.Add(profile.Volume{Bytes: r.Bytes, Count: r.Messages})
				case "Recvrecv":
					received.Add(profile.Volume{Bytes: r.Bytes, Count: r.Messages})
				}
			}
			diff(t, "sent", profile.Volume{Bytes: 200, Count: 2}, sent)
			if p.Rank == 0 {
				diff(t, "received", profile.Volume{Bytes: 14, Count: 2}, received)
			}
			diff(t, "flows", 0, len(p.Traffic().Flows))
		}
		checkOtherWorlds(t, j)
	})
}

// checkOtherWorlds requires that the check of the parents says what it could not
// compare: they send 4 messages of 100 bytes, and get 2 of 7.
func checkOtherWorlds(t *testing.T, j job) {
	t.Helper()
	c := conservations(t, j.dir)[0] // the first to start
	if c.Verdict != aggregate.PartlyKnown || c.Pairs != 0 {
		t.Errorf("verdict %q of %d pairs, want none compared", c.Verdict, c.Pairs)
	}
	diff(t, "other worlds", aggregate.Exchange{Sent: aggregate.Volume{Bytes: 400, Messages: 4},
		Received: aggregate.Volume{Bytes: 14, Messages: 2}}, c.OtherWorlds)
}
