package e2e

import (
	"testing"
	"time"
)

// TestSessionsOnly runs a program without MPI_Init. Ranks and members come from
// mpi://WORLD.
func TestSessionsOnly(t *testing.T) {
	withEach(t, can(someSessions), func(t *testing.T, m implementation) {
		ranks := m.run(t, 4, m.compile(t, "sessions")).ranks
		checkMembers(t, ranks, map[string][]int{
			"first": {0, 1, 2, 3}, "second": {0, 1, 2, 3}, "reversed": {3, 2, 1, 0},
		})
		diff(t, "sent", map[string]volumes{
			"first": message(0, 3, 10), "second": message(0, 3, 20), "reversed": message(3, 0, 30),
			"between": message(1, 2, 40),
		}, pointToPointByComm(ranks))
		once := []uint64{1, 1, 1, 1}
		sends := messages(0, 3, 10, 20).plus(message(3, 0, 30)).plus(message(1, 2, 40))
		want{
			sent: map[string]volumes{
				"Send": sends, "Barrier": toOthers(4, func(from, to int) int { return 0 }),
			},
			received: map[string]volumes{"Recv": sends},
			calls: map[string][]uint64{
				"Session_init": once, "Session_finalize": once, "Group_from_session_pset": once,
				"Comm_create_from_group": {3, 3, 3, 3}, "Intercomm_create_from_groups": once,
			},
		}.check(t, ranks)
		for r, p := range ranks {
			c := named(t, p, "between")
			here, there := []int{0, 1}, []int{2, 3}
			if r >= 2 {
				here, there = there, here
			}
			diff(t, "local group", here, c.Members.Ranks())
			diff(t, "remote group", there, c.Remote.Ranks())
			diff(t, "id of the intercommunicator", named(t, ranks[0], "between").ID, c.ID)
			for i := range p.Comms {
				if name := p.Comms[i].Name; name == "MPI_COMM_WORLD" || name == "MPI_COMM_SELF" {
					t.Errorf("rank %d has a call of %s, which the program does not make", r, name)
				}
			}
		}
	})
}

// TestSessionsOneAfterTheOther checks that a recording that has ended continues
// with the next session.
func TestSessionsOneAfterTheOther(t *testing.T) {
	withEach(t, can(laterSessions), func(t *testing.T, m implementation) {
		ranks := m.run(t, 2, m.compile(t, "sessions_again")).ranks
		// Counted at the end of the first session, but not again at the others'
		// ends.
		diff(t, "abnormal", map[string]uint64{"unfinished_receives": 1}, abnormalOf(ranks))
		sends := messages(0, 1, 100, 200, 300)
		want{
			sent:     map[string]volumes{"Send": sends},
			received: map[string]volumes{"Recv": sends},
			calls: map[string][]uint64{
				"Session_init": {3, 3}, "Session_finalize": {3, 3}, "Comm_create_from_group": {3, 3},
			},
		}.check(t, ranks)
		for _, p := range ranks {
			// The program sleeps three times between the end of the first init
			// and the start of the last finalize.
			if app := time.Duration(p.FinalizeStart - p.InitEnd); app < 150*time.Millisecond {
				t.Errorf("rank %d: application time %v, want at least 150ms", p.Rank, app)
			}
		}
	})
}

// TestSessionBesideTheWorld checks that recording continues after MPI_Finalize
// while a session is open.
func TestSessionBesideTheWorld(t *testing.T) {
	withEach(t, can(someSessions), func(t *testing.T, m implementation) {
		sends := messages(0, 1, 5, 6).plus(message(1, 0, 7))
		want{
			sent:     map[string]volumes{"Send": sends},
			received: map[string]volumes{"Recv": sends},
			calls: map[string][]uint64{
				"Init": {1, 1}, "Finalize": {1, 1}, "Session_init": {1, 1}, "Session_finalize": {1, 1},
			},
		}.check(t, m.run(t, 2, m.compile(t, "sessions_beside")).ranks)
	})
}
