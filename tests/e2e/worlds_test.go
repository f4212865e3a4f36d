package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

func TestPartitioned(t *testing.T) {
	withEach(t, mpi4, func(t *testing.T, m implementation) {
		ranks := m.part(t, "partitioned")
		diff(t, "point-to-point", messages(0, 1, 400, 400, 400), pointToPoint(ranks))
		checkReceived(t, ranks)
		calls := callsBy(ranks)
		for _, call := range []string{"Pready", "Pready_range", "Pready_list"} {
			diff(t, "calls of "+call, []uint64{3, 0}, calls[call])
		}
		if n := calls["Parrived"]; n == nil || n[0] != 0 || n[1] < 3 {
			t.Errorf("calls of Parrived: %v, want 3 or more, on rank 1 only", n)
		}
	})
}

// TestSpawned checks that messages to another world are counted, and that its
// ranks are not confused with those of this world.
func TestSpawned(t *testing.T) {
	withEach(t, can(spawnedWorlds), func(t *testing.T, m implementation) {
		j := record(t, nil, m.launch(2, m.compile(t, "spawned"))...)
		checkParents(t, j, 2*7)
		checkOtherWorlds(t, j)
		const says = "the processes that MPI_Comm_spawn started are not recorded"
		if own := len(j.ranks) == 2; strings.Contains(j.stderr, says) != own {
			t.Errorf("%d recordings, of 2 parents and 2 children; it says that the children are not recorded: %t", len(j.ranks), !own)
		}
		// As the message advises.
		dir, program := filepath.Join(t.TempDir(), "run"), m.compile(t, "spawned")
		script := []string{"sh", "-c", fmt.Sprintf("exec %s run -o %s -- %s", mpitrace, dir, program)}
		out := succeed(t, nil, slices.Concat([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(2, append([]string{program}, script...)...))...)
		if ranks := readRecordings(t, dir); len(ranks) != 4 || strings.Contains(out.stderr, says) {
			t.Errorf("%d recordings, want those of 2 parents and 2 children\n%s", len(ranks), out.stderr)
		}
	})
}

// checkParents checks the two ranks that spawned two others. Each sent 100
// bytes to both, and rank 0 received this number of bytes from them.
func checkParents(t *testing.T, j job, bytes uint64) {
	t.Helper()
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
		var sent, received profile.FlowVolume
		for i := range p.Rows {
			switch r := &p.Rows[i]; r.Call + r.Direction.String() {
			case "Sendsend":
				sent.Add(profile.FlowVolume{Bytes: r.Bytes, Count: r.Messages})
			case "Recvrecv":
				received.Add(profile.FlowVolume{Bytes: r.Bytes, Count: r.Messages})
			}
		}
		diff(t, "sent", profile.FlowVolume{Bytes: 200, Count: 2}, sent)
		if p.Rank == 0 {
			diff(t, "received", profile.FlowVolume{Bytes: bytes, Count: 2}, received)
		}
		diff(t, "flows", 0, len(p.Traffic().Flows))
	}
}

// checkOtherWorlds requires that the conservation check of the parents states
// what it could not compare: they send 4 messages of 100 bytes, and receive 2
// of 7.
func checkOtherWorlds(t *testing.T, j job) {
	t.Helper()
	c := conservations(t, j.dir)[0] // the parents' job starts first
	if c.Verdict != aggregate.PartlyKnown || c.Pairs != 0 {
		t.Errorf("conservation %q of %d pairs, want none compared", c.Verdict, c.Pairs)
	}
	diff(t, "other worlds", aggregate.Exchange{Sent: matrix.Volume{Bytes: 400, Messages: 4},
		Received: matrix.Volume{Bytes: 14, Messages: 2}}, c.OtherWorlds)
}

// TestSpawnedChildren preloads the library into the children without mpitrace,
// because the MPI's own launcher spawns them.
func TestSpawnedChildren(t *testing.T) {
	withEach(t, can(spawnedWorlds), func(t *testing.T, m implementation) {
		lib := strings.TrimSpace(succeed(t, nil, mpitrace, "build", "--print-path", "--cc", m.cc).stdout)
		dir := t.TempDir()
		succeed(t, nil, m.launch(2, m.compile(t, "spawned"), "LD_PRELOAD="+lib, "MPITRACE_DIR="+dir)...)
		children := readRecordings(t, dir)
		if len(children) != 2 {
			t.Fatalf("%d recordings of 2 children", len(children))
		}
		for _, p := range children {
			checkChild(t, p)
		}
	})
}

// checkChild requires that a child knows its parents as ranks of another world,
// on a communicator with the name that MPI gives it.
func checkChild(t *testing.T, p *profile.Profile) {
	t.Helper()
	c := named(t, p, "MPI_COMM_PARENT")
	if !c.Inter || c.Found {
		t.Errorf("child %d: %+v, want an intercommunicator that exists from the start", p.Rank, c)
	}
	diff(t, "members", []int{0, 1}, c.Members.Ranks())
	diff(t, "parents", []int{profile.PeerElsewhere, profile.PeerElsewhere}, c.Remote.Ranks())
	var received, sent profile.FlowVolume
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Comm < 0 || &p.Comms[r.Comm] != c {
			continue
		}
		switch r.Direction {
		case profile.Recv:
			received.Add(profile.FlowVolume{Bytes: r.Bytes, Count: r.Messages})
		case profile.Send:
			sent.Add(profile.FlowVolume{Bytes: r.Bytes, Count: r.Messages})
		}
	}
	diff(t, "received from the parents", profile.FlowVolume{Bytes: 200, Count: 2}, received)
	diff(t, "sent to them", profile.FlowVolume{Bytes: 7, Count: 1}, sent)
}

// TestJoined joins two ranks of the same world by a socket. Both must know the
// communicator under the same id.
func TestJoined(t *testing.T) {
	withEach(t, can(joinedWorlds), func(t *testing.T, m implementation) {
		ranks := m.part(t, "joined")
		diff(t, "sent over it", message(0, 1, 11), pointToPointBy(ranks, "Comm_join"))
		checkReceived(t, ranks)
		diff(t, "id", madeBy(t, ranks[0], "Comm_join").ID, madeBy(t, ranks[1], "Comm_join").ID)
	})
}

// pointToPointBy returns what was sent point to point on the communicators of
// one constructor.
func pointToPointBy(ranks []*profile.Profile, constructor string) volumes {
	sent := volumes{}
	for _, p := range ranks {
		p.EachFlow(func(row *profile.Row, f profile.Flow) {
			if f.Kind == profile.External && p.Comms[row.Comm].Constructor == constructor {
				sent.add(f.From, f.To, f.Bytes, f.Messages)
			}
		})
	}
	return sent
}
