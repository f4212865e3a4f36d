package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// A form is a variant of the collectives: how to compile a program for it, what
// its calls are named, and how often each is started.
type form struct {
	name    string
	flags   []string
	has     func(implementation) bool
	call    func(name string) string
	started uint64
}

func forms() []form {
	same := func(name string) string { return name }
	return []form{
		{"blocking", nil, anyMPI, same, 1},
		{"nonblocking", []string{"-DNONBLOCKING"}, anyMPI, nonblocking, 1},
		{"persistent", []string{"-DPERSISTENT"}, mpi4, func(name string) string { return name + "_init" }, 2},
		{"large counts", []string{"-DLARGE"}, large, same, 1},
	}
}

// nonblocking returns the name of a collective's nonblocking form.
func nonblocking(name string) string { return "I" + strings.ToLower(name[:1]) + name[1:] }

// sent returns what a program sends in this form, given what the blocking form
// sends.
func (f form) sent(once map[string]volumes) map[string]volumes {
	sent := map[string]volumes{}
	for name, v := range once {
		sent[f.call(name)] = v.times(f.started)
	}
	return sent
}

// skips reports whether the program omits a call with this MPI. MPICH 4.0,
// and Intel MPI, whose programs forms.h takes for the same, can neither start a request of Scatter_init nor wait for one of
// Reduce_scatter_block_init on an intercommunicator.
func (f form) skips(m implementation, program, call string) bool {
	early := (m.name == "mpich" || m.name == "impi") && f.name == "persistent"
	return early && (call == "Scatter" || program == "inter_collectives" && call == "Reduce_scatter_block") ||
		f.name == "large counts" && call == "Barrier"
}

// eachForm runs a program in each form under each MPI.
func eachForm(t *testing.T, program string, once func(form) map[string]volumes, flags ...string) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			withEach(t, f.has, func(t *testing.T, m implementation) {
				sent := once(f)
				for call := range sent {
					if f.skips(m, program, call) {
						delete(sent, call)
					}
				}
				ranks := m.part(t, program, slices.Concat(f.flags, flags)...)
				want{sent: f.sent(sent)}.check(t, ranks)
				checkRowSums(t, ranks)
				calls := callsBy(ranks)
				for call := range sent {
					diff(t, "calls of "+f.call(call), []uint64{1, 1, 1, 1}, calls[f.call(call)])
				}
			})
		})
	}
}

// checkRowSums requires that what a process sent according to its rows equals
// the sum over its pairs of ranks.
func checkRowSums(t *testing.T, ranks []*profile.Profile) {
	t.Helper()
	for _, p := range ranks {
		var rows, pairs profile.FlowVolume
		for _, r := range p.Rows {
			if r.Direction == profile.Send {
				rows.Add(profile.FlowVolume{Bytes: r.Bytes, Count: r.Messages})
			}
		}
		p.EachFlow(func(_ *profile.Row, f profile.Flow) {
			pairs.Add(profile.FlowVolume{Bytes: f.Bytes, Count: f.Messages})
		})
		if rows != pairs {
			t.Errorf("rank %d sent %+v by its rows, %+v over pairs", p.Rank, rows, pairs)
		}
	}
}

func size(bytes int) func(from, to int) int { return func(int, int) int { return bytes } }
func each(bytes int) func(int) int          { return func(int) int { return bytes } }

// toHigher returns one message from each of four ranks to each higher rank.
func toHigher(bytes int) volumes {
	return eachPair(4, func(from, to int) int {
		if to <= from {
			return -1
		}
		return bytes
	})
}

// sentByCollectives returns what collectives.c sends.
func sentByCollectives(form) map[string]volumes {
	return map[string]volumes{
		"Barrier":    toOthers(4, size(0)),
		"Bcast":      fromRoot(4, 1, each(10)),
		"Gather":     toRoot(4, 2, each(11)),
		"Gatherv":    toRoot(4, 0, func(from int) int { return 12 + from }),
		"Scatter":    fromRoot(4, 3, each(13)),
		"Scatterv":   fromRoot(4, 1, func(to int) int { return 14 + to }),
		"Reduce":     toRoot(4, 3, each(5*4)),
		"Allgather":  toOthers(4, size(15)),
		"Allgatherv": toOthers(4, func(from, to int) int { return 16 + from }),
		"Alltoall":   toOthers(4, size(17)),
		"Alltoallv":  toOthers(4, func(from, to int) int { return 18 + 4*from + to }),
		"Alltoallw": toOthers(4, func(from, to int) int {
			return (from + 1) * (4 - 2*(to%2)) // ints to even ranks, shorts to odd ones
		}),
		"Allreduce":            toOthers(4, size(6*4)),
		"Reduce_scatter":       toOthers(4, func(from, to int) int { return (1 + to) * 4 }),
		"Reduce_scatter_block": toOthers(4, size(2*4)),
		"Scan":                 toHigher(3 * 4),
		"Exscan":               toHigher(4 * 4),
	}
}

func TestCollectives(t *testing.T) { eachForm(t, "collectives", sentByCollectives) }

// sentInPlace returns what in_place.c sends.
func sentInPlace(f form) map[string]volumes {
	odd := 2 // sizeof(short)
	if f.name == "nonblocking" || f.name == "persistent" {
		odd = 4
	}
	return map[string]volumes{
		"Gather":     toRoot(4, 1, each(3)),
		"Gatherv":    toRoot(4, 1, func(from int) int { return 4 + from }),
		"Scatter":    fromRoot(4, 1, each(5)),
		"Scatterv":   fromRoot(4, 1, func(to int) int { return 6 + to }),
		"Reduce":     toRoot(4, 1, each(2*4)),
		"Allgather":  toOthers(4, size(7)),
		"Allgatherv": toOthers(4, func(from, to int) int { return 8 + from }),
		"Alltoall":   toOthers(4, size(9)),
		"Alltoallv":  toOthers(4, func(from, to int) int { return 10 + from + to }),
		"Alltoallw": toOthers(4, func(from, to int) int {
			if (from+to)%2 == 1 {
				return (1 + from + to) * odd
			}
			return (1 + from + to) * 4
		}),
		"Allreduce":            toOthers(4, size(3*4)),
		"Reduce_scatter":       toOthers(4, func(from, to int) int { return (1 + to) * 4 }),
		"Reduce_scatter_block": toOthers(4, size(4*4)),
		"Scan":                 toHigher(5 * 4),
		"Exscan":               toHigher(6 * 4),
	}
}

func TestCollectivesInPlace(t *testing.T) { eachForm(t, "in_place", sentInPlace) }

// TestBlocks checks the operations and bytes per class that collectives.c has
// on MPI_COMM_WORLD.
func TestBlocks(t *testing.T) {
	type classes struct{ O2A, A2O, A2A profile.FlowVolume }
	var all [4]classes
	all[1].O2A = profile.FlowVolume{Bytes: 3*10 + (14 + 16 + 17), Count: 2} // Bcast, Scatterv to 0, 2 and 3
	all[3].O2A = profile.FlowVolume{Bytes: 3 * 13, Count: 1}                // Scatter
	all[0].A2O = profile.FlowVolume{Bytes: 13 + 14 + 15, Count: 1}          // Gatherv from 1, 2 and 3
	all[2].A2O = profile.FlowVolume{Bytes: 3 * 11, Count: 1}                // Gather
	all[3].A2O = profile.FlowVolume{Bytes: 3 * 20, Count: 1}                // Reduce
	for call, v := range sentByCollectives(form{}) {
		switch call {
		case "Bcast", "Scatter", "Scatterv", "Gather", "Gatherv", "Reduce":
			continue
		}
		for r := range all {
			all[r].A2A.Count++
		}
		for p, vol := range v {
			all[p.From].A2A.Bytes += vol.Bytes
		}
	}
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		var got [4]classes
		for r, p := range m.part(t, "collectives") {
			for _, block := range p.Traffic().Comms {
				if block.Name == "MPI_COMM_WORLD" {
					got[r] = classes{block.O2A, block.A2O, block.A2A}
					diff(t, "members", []int{0, 1, 2, 3}, block.Members)
				}
			}
		}
		diff(t, "blocks", all, got)
	})
}

// sentToNeighbors returns what neighbors.c sends on its grid of 2 x 2 ranks.
// Ranks that differ in bit 1 are neighbours along dimension 0, and those that
// differ in bit 0 along dimension 1. Each edge exists `edges` times.
func sentToNeighbors(edges uint64) func(form) map[string]volumes {
	along := func(bytes func(from, dimension int) int) volumes {
		return eachPair(4, func(from, to int) int {
			switch from ^ to {
			case 2:
				return bytes(from, 0)
			case 1:
				return bytes(from, 1)
			}
			return -1
		}).times(edges)
	}
	return func(form) map[string]volumes {
		return map[string]volumes{
			"Neighbor_allgather":  along(func(from, d int) int { return 10 }),
			"Neighbor_allgatherv": along(func(from, d int) int { return 11 + from }),
			"Neighbor_alltoall":   along(func(from, d int) int { return 12 }),
			"Neighbor_alltoallv":  along(func(from, d int) int { return 13 + 4*from + d }),
			// two ints along dimension 0, three shorts along dimension 1
			"Neighbor_alltoallw": along(func(from, d int) int { return []int{2 * 4, 3 * 2}[d] }),
		}
	}
}

func TestNeighbors(t *testing.T) {
	t.Run("open ends", func(t *testing.T) { eachForm(t, "neighbors", sentToNeighbors(1)) })
	t.Run("two-wide and periodic", func(t *testing.T) {
		eachForm(t, "neighbors", sentToNeighbors(2), "-DPERIODIC")
	})
	t.Run("graphs", func(t *testing.T) {
		step := func(by int, bytes func(from int) int) volumes {
			return eachPair(4, func(from, to int) int {
				if to != (from+by)%4 {
					return -1
				}
				return bytes(from)
			})
		}
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			want{sent: map[string]volumes{
				"Neighbor_allgather": step(1, each(9)).plus(step(3, each(9))),
				"Neighbor_alltoallv": step(1, func(from int) int { return 5 + from }).
					plus(step(1, func(from int) int { return 50 + from })).
					plus(step(2, func(from int) int { return 100 + from })),
				"Neighbor_alltoall": step(2, each(21)),
			}}.check(t, m.part(t, "graphs"))
		})
	})
}
