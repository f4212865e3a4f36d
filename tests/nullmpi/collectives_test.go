package nullmpi

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// collectives are the phases of programs/collectives.c: the process sends to each of the
// three others.
func collectives() map[string]phase {
	others := func(p phase, call string, bytes uint64) phase {
		p.add(flow{call, false, profile.PeerNone}, 3, bytes)
		return p
	}
	rooted := newPhase() // as root 1, and to root 0
	rooted.add(flow{"Bcast", false, 1}, 3, 3*5*4)
	rooted.add(flow{"Scatter", false, 1}, 3, 3*6*4)
	rooted.add(flow{"Scatterv", false, 1}, 3, (1+3+4)*4)
	rooted = rooted.sent("Gather", 0, 7*4).sent("Gatherv", 0, 8*4).sent("Reduce", 0, 9*4)
	rooted.add(flow{"Gather", true, 1}, 3, 3*7*4)
	rooted.add(flow{"Gatherv", true, 1}, 3, (1+3+4)*4)
	rooted.add(flow{"Reduce", true, 1}, 3, 3*9*4)
	all := newPhase()
	for call, bytes := range map[string]uint64{
		"Barrier": 0, "Allgather": 3 * 1 * 4, "Allgatherv": 3 * 2 * 4, "Alltoall": 3 * 3 * 4,
		"Alltoallv": (1 + 3 + 4) * 4, "Alltoallw": 1*4 + 3*2 + 4*2, "Allreduce": 3 * 4 * 4,
		"Reduce_scatter": (1 + 3 + 4) * 4, "Reduce_scatter_block": 3 * 5 * 4,
	} {
		all = others(all, call, bytes)
	}
	all.add(flow{"Scan", false, profile.PeerNone}, 2, 2*6*4) // to the higher ranks 2 and 3
	all.add(flow{"Exscan", false, profile.PeerNone}, 2, 2*7*4)
	later := others(newPhase(), "Iallreduce", 3*4*4)
	later.add(flow{"Alltoall_init", false, profile.PeerNone}, 5*3, 5*3*3*4)
	neighbors := newPhase() // two in each of two dimensions
	neighbors.add(flow{"Neighbor_allgather", false, profile.PeerNone}, 4, 4*3*4)
	neighbors.add(flow{"Neighbor_alltoallv", false, profile.PeerNone}, 4, (1+2+3+4)*4)
	return map[string]phase{
		"rooted": rooted, "to all": all, "later": later, "neighbors": neighbors,
		"failed":        others(newPhase(), "Allreduce", 3*4),
		"communicators": others(others(newPhase(), "Allreduce", 3*4), "Allreduce", 3*4),
		"one-sided":     newPhase().sent("Put", 2, 3*4).received("Get", 3, 4*4).sent("Accumulate", 0, 5*4),
	}
}

func TestCollectives(t *testing.T) {
	withChecks(t, func(t *testing.T, m *MPI) {
		program := m.Compile(t, filepath.Join("programs", "collectives.c"))
		p := m.Record(t, []string{"NULLMPI_SIZE=4", "NULLMPI_RANK=1"}, program)
		checkPhases(t, p, 4, collectives())
		members := map[string]int{}
		for i := range p.Comms {
			members[p.Comms[i].Name] = p.Comms[i].Members.Len()
		}
		want := map[string]int{"MPI_COMM_WORLD": 4, "MPI_COMM_SELF": 1, "duplicate": 4, "split": 4, "alone": 1, "grid": 4}
		if !maps.Equal(members, want) {
			t.Errorf("communicators %v, want %v", members, want)
		}
	})
}
