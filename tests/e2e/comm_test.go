package e2e

import (
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

func TestCommunicators(t *testing.T) {
	t.Run("reversed rank order", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			ranks := m.part(t, "subcomm")
			sent := message(3, 2, 100).plus(message(2, 1, 200)).plus(message(1, 0, 300))
			want{
				sent:     map[string]volumes{"Send": sent, "Bcast": fromRoot(4, 2, func(int) int { return 40 })},
				received: map[string]volumes{"Recv": sent},
				calls:    map[string][]uint64{"Bcast": {1, 1, 1, 1}, "Comm_split": {1, 1, 1, 1}, "Comm_free": {1, 1, 1, 1}},
			}.check(t, ranks)
			for _, p := range ranks {
				diff(t, "members", []int{3, 2, 1, 0}, madeBy(t, p, "Comm_split").Members.Ranks())
			}
			checkBlock(t, ranks[2], []int{3, 2, 1, 0}, profile.FlowVolume{Bytes: 3 * 40, Count: 1})
		})
	})
	t.Run("duplicate of a part", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			ranks := m.part(t, "dup")
			sent := message(3, 1, 10).plus(message(1, 0, 20)).plus(message(0, 3, 30))
			within := func(from, to int) int {
				if from == 2 || to == 2 {
					return -1
				}
				return 0
			}
			want{
				sent:     map[string]volumes{"Send": sent, "Barrier": toOthers(4, within)},
				received: map[string]volumes{"Recv": sent},
			}.check(t, ranks)
			checkMembers(t, ranks, map[string][]int{"duplicate": {3, 1, 0}})
		})
	})
	t.Run("handle reused after a free", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			sent := volumes{}
			for k := 1; k <= 20; k += 2 {
				sent = sent.plus(message(0, 1, k)).plus(message(2, 3, k))
				sent = sent.plus(message(0, 3, k+1)).plus(message(1, 2, k+1))
			}
			want{
				sent: map[string]volumes{"Send": sent}, received: map[string]volumes{"Recv": sent},
				calls: map[string][]uint64{"Comm_split": {20, 20, 20, 20}, "Comm_free": {20, 20, 20, 20}},
			}.check(t, m.part(t, "reuse"))
		})
	})
	t.Run("receive completes after the free", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			want{
				sent:     map[string]volumes{"Send": messages(0, 1, 700, 50)},
				received: map[string]volumes{"Irecv": message(0, 1, 700), "Recv": message(0, 1, 50)},
			}.check(t, m.part(t, "late_receive"))
		})
	})
	t.Run("MPI_COMM_SELF", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			toSelf := messages(0, 0, 64, 64, 64).plus(messages(1, 1, 64, 64, 64))
			once := message(0, 0, 32).plus(message(1, 1, 32))
			want{
				sent:     map[string]volumes{"Send": toSelf, "Sendrecv": once},
				received: map[string]volumes{"Irecv": toSelf, "Sendrecv": once},
				calls:    map[string][]uint64{"Allreduce": {1, 1}, "Bcast": {1, 1}},
			}.check(t, m.part(t, "self"))
		})
	})
}

func TestCommunicatorIDs(t *testing.T) {
	t.Run("same members", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			ranks := m.part(t, "twins")
			checkMembers(t, ranks, map[string][]int{"first": {0, 1}, "second": {0, 1}})
			diff(t, "sent", map[string]volumes{
				"first": message(0, 1, 11), "second": messages(0, 1, 22, 22),
			}, pointToPointByComm(ranks))
			checkReceived(t, ranks)
		})
	})
	t.Run("idup in opposite order", func(t *testing.T) {
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			ranks := m.part(t, "idup")
			checkMembers(t, ranks, map[string][]int{"child of the first": {0, 1}, "child of the second": {0, 1}})
			diff(t, "sent", map[string]volumes{
				"child of the first": message(0, 1, 100), "child of the second": message(0, 1, 101),
			}, pointToPointByComm(ranks))
			checkReceived(t, ranks)
		})
	})
	t.Run("each constructor", func(t *testing.T) {
		made := map[string][]int{
			"create": {3, 0, 2}, "create_group": {3, 0, 2}, "odd": {3, 1}, "even": {2, 0}, "upper": {2, 3},
			"node": {3, 2, 1, 0}, "dup_with_info": {0, 1, 2, 3}, "idup": {0, 1, 2, 3},
			"first row": {0, 1}, "second row": {2, 3}, "grid": {0, 1, 2, 3}, "line": {0, 1, 2},
		}
		sent := map[string]volumes{}
		for name, members := range made {
			sent[name] = message(members[0], members[len(members)-1], len(members))
		}
		withEach(t, anyMPI, func(t *testing.T, m implementation) {
			ranks := m.part(t, "constructors")
			checkMembers(t, ranks, made)
			diff(t, "sent", sent, pointToPointByComm(ranks))
			checkReceived(t, ranks)
		})
	})
}

func TestIntercommunicator(t *testing.T) {
	left, right := []int{1, 0}, []int{4, 3, 2} // world ranks, indexed by local rank
	across := func(fromLeft, fromRight func(i, j int) int) volumes {
		v := volumes{}
		for i, l := range left {
			for j, r := range right {
				if fromLeft != nil {
					v = v.plus(message(l, r, fromLeft(i, j)))
				}
				if fromRight != nil {
					v = v.plus(message(r, l, fromRight(i, j)))
				}
			}
		}
		return v
	}
	size := func(bytes int) func(i, j int) int { return func(i, j int) int { return bytes } }
	isends := across(func(i, j int) int { return 10*(i+1) + j }, nil)
	// On the merged communicator from 4 to 0, on the duplicate from left 0 to
	// right 1.
	sends := message(4, 0, 33).plus(message(1, 3, 3))
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "intercomm")
		want{
			sent: map[string]volumes{
				"Isend": isends, "Send": sends,
				"Bcast":                messages(0, 2, 100).plus(message(0, 3, 100)).plus(message(0, 4, 100)),
				"Gather":               message(0, 2, 8).plus(message(1, 2, 8)),
				"Scatter":              message(4, 0, 5).plus(message(4, 1, 5)),
				"Reduce":               message(2, 1, 12).plus(message(3, 1, 12)).plus(message(4, 1, 12)),
				"Allgather":            across(size(6), size(9)),
				"Alltoall":             across(size(4), size(7)),
				"Alltoallv":            across(func(i, j int) int { return 10 + 3*i + j }, func(i, j int) int { return 20 + 2*j + i }),
				"Allreduce":            across(size(2*4), size(2*4)),
				"Reduce_scatter_block": across(size(2*4), size(3*4)), // bytes that each receiver gets
				"Barrier":              across(size(0), size(0)),
			},
			received: map[string]volumes{"Recv": isends.plus(sends)},
		}.check(t, ranks)
		for r, p := range ranks {
			c := named(t, p, "between")
			here, there := left, right
			if r >= 2 {
				here, there = right, left
			}
			diff(t, "local group", here, c.Members.Ranks())
			diff(t, "remote group", there, c.Remote.Ranks())
			if id := named(t, ranks[0], "between").ID; c.ID != id {
				t.Errorf("rank %d has the id %s, rank 0 %s", r, c.ID, id)
			}
		}
	})
}

// named returns the communicator with a name that MPI_Comm_set_name has set.
func named(t *testing.T, p *profile.Profile, name string) *profile.Comm {
	t.Helper()
	for i := range p.Comms {
		if p.Comms[i].Name == name {
			return &p.Comms[i]
		}
	}
	t.Fatalf("rank %d: no communicator %q", p.Rank, name)
	return nil
}

// madeBy returns the first communicator of a constructor.
func madeBy(t *testing.T, p *profile.Profile, constructor string) *profile.Comm {
	t.Helper()
	for i := range p.Comms {
		if p.Comms[i].Constructor == constructor {
			return &p.Comms[i]
		}
	}
	t.Fatalf("rank %d: no communicator by %s", p.Rank, constructor)
	return nil
}

// checkMembers requires that the communicators with these names have these
// members. Only the members may know them, under the same id, which no other
// communicator has.
func checkMembers(t *testing.T, ranks []*profile.Profile, members map[string][]int) {
	t.Helper()
	nameOf := map[string]string{}
	for name, world := range members {
		id := named(t, ranks[world[0]], name).ID
		if other, taken := nameOf[id]; taken {
			t.Errorf("%q and %q have the same id", name, other)
		}
		nameOf[id] = name
		for r, rank := range world {
			c := named(t, ranks[rank], name)
			diff(t, "members of "+name, world, c.Members.Ranks())
			if c.ID != id || c.Rank != r {
				t.Errorf("%q on world rank %d: id %s, rank %d, want %s, %d", name, rank, c.ID, c.Rank, id, r)
			}
		}
	}
	for _, p := range ranks {
		for _, c := range p.Comms {
			if world, ok := members[c.Name]; ok && !slices.Contains(world, p.Rank) {
				t.Errorf("rank %d has communicator %q, of which it is not a member", p.Rank, c.Name)
			}
		}
	}
}

// pointToPointByComm returns what was sent point to point, by name of
// communicator.
func pointToPointByComm(ranks []*profile.Profile) map[string]volumes {
	sent := map[string]volumes{}
	for _, p := range ranks {
		p.EachFlow(func(row *profile.Row, f profile.Flow) {
			if f.Kind != profile.External {
				return
			}
			name := p.Comms[row.Comm].Name
			if sent[name] == nil {
				sent[name] = volumes{}
			}
			sent[name].add(f.From, f.To, f.Bytes, f.Messages)
		})
	}
	return sent
}

// checkBlock requires that the .prof file has a D block with these members, and
// the O2A volume of the calls of which the process was the root.
func checkBlock(t *testing.T, p *profile.Profile, members []int, o2a profile.FlowVolume) {
	t.Helper()
	for _, block := range p.Traffic().Comms {
		if len(block.Members) == len(members) && block.Members[0] == members[0] {
			diff(t, "members of the block", members, block.Members)
			diff(t, "O2A of the block", o2a, block.O2A)
			return
		}
	}
	t.Errorf("rank %d: no block with members %v", p.Rank, members)
}
