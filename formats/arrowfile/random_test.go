package arrowfile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// randomJob returns a job whose ranks call each kind of function on communicators with
// random members: lists, intercommunicators and topologies.
func randomJob(r *rand.Rand, run string, size int) []*profile.Profile {
	ps := make([]*profile.Profile, size)
	for rank := range ps {
		ps[rank] = &profile.Profile{Run: run, Rank: rank, Size: size, State: profile.Finalized, Threads: 1,
			Slices: []profile.Slice{{Name: "run"}, {Index: 1, Name: "solve"}}}
	}
	for n := range 6 {
		order := r.Perm(size)
		cut := 1 + r.IntN(size-1)
		groups := [2][]int32{}
		for i, rank := range order {
			side := 0
			if i >= cut {
				side = 1
			}
			groups[side] = append(groups[side], int32(rank))
		}
		inter := n%3 == 2
		for side, members := range groups {
			if side == 1 && !inter {
				continue // not a member
			}
			for i, rank := range members {
				c := profile.Comm{ID: fmt.Sprintf("%08x%024x", 0xc0ffee00+n, n), Constructor: "Comm_create", Parent: -1, Inter: inter, Rank: i,
					Members: profile.Group{List: members}}
				if inter {
					c.Remote = profile.Group{List: groups[1-side]}
				}
				if n%3 == 1 { // a topology, with duplicate edges, edges to the process itself and to MPI_PROC_NULL
					for range 1 + r.IntN(4) {
						c.Edges = append(c.Edges, int32(r.IntN(len(members)+1))-1)
						if last := &c.Edges[len(c.Edges)-1]; *last < 0 {
							*last = profile.PeerProcNull
						}
					}
				}
				p := ps[rank]
				p.Comms = append(p.Comms, c)
				addRandomCalls(r, p, int32(len(p.Comms)-1))
			}
		}
	}
	return ps
}

func addRandomCalls(r *rand.Rand, p *profile.Profile, comm int32) {
	c := &p.Comms[comm]
	for _, name := range []string{"Send", "Recv", "Put", "Get", "Bcast", "Gather", "Allreduce", "Scan", "Alltoallv", "Scatterv", "Reduce_scatter",
		"Neighbor_allgather", "Neighbor_alltoallw", "Barrier"} {
		call := profile.CallNamed(name)
		direction := map[string]profile.Direction{"Recv": profile.Recv, "Put": profile.Write, "Get": profile.Read}[name]
		if direction == profile.None {
			direction = profile.Send
		}
		spread := call.SpreadOf(direction)
		neighbors := spread == profile.ToEdges || spread == profile.ToEdgeVector
		if neighbors != (c.Edges != nil) || c.Inter && spread == profile.ToHigher {
			continue
		}
		row := profile.Row{Call: name, Class: call.Class, Direction: direction, Spread: spread, Comm: comm, Peer: profile.PeerNone,
			SizeClass: uint8(r.IntN(20)), Callsite: 0x1000 + uint64(r.IntN(3)), Slice: uint32(r.IntN(2)), Calls: 1 + uint64(r.IntN(5))}
		if spread == profile.ToPeer {
			row.Peer = int32(r.IntN(c.Peers().Len()))
		}
		fan := uint64(c.FanOut(spread))
		row.Messages, row.Bytes = row.Calls*fan, row.Calls*fan*uint64(r.IntN(1000))
		v := profile.Vector{Call: name, Class: call.Class, Spread: spread, Comm: comm, Callsite: row.Callsite, Slice: row.Slice, Calls: row.Calls}
		n := c.Peers().Len()
		switch {
		case spread == profile.ToEdgeVector:
			n = len(c.Edges)
		case spread != profile.ToVector:
			n = 0
		case v.OwnGroup(c):
			n = c.Members.Len()
		}
		for range n {
			v.Bytes = append(v.Bytes, uint64(r.IntN(1000)))
		}
		if n > 0 {
			p.Vectors = append(p.Vectors, v)
		}
		p.Rows = append(p.Rows, row)
	}
}

// TestRandomJobs compares the matrices of random jobs with those of their tables.
func TestRandomJobs(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 1))
		ps := randomJob(r, "b", 2+r.IntN(8))
		if seed%2 == 0 {
			ps = append(ps, randomJob(r, "a", 2+r.IntN(8))...)
		}
		got := read(t, writeRun(t, ps))
		if diff := gocmp.Diff(cells(ps), cells(got)); diff != "" {
			t.Fatalf("seed %d: cells (-written +read):\n%s", seed, diff)
		}
		if untold := got[len(got)-1].Untold; untold != nil {
			t.Fatalf("seed %d: untold: %q", seed, untold)
		}
	}
}
