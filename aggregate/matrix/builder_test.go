package matrix

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// cells returns the entries of each class, by row and column.
func cells(ms *ByClass) [NumClasses][]Cell {
	var out [NumClasses][]Cell
	for c := range ms {
		for p, v := range ms[c].All() {
			out[c] = append(out[c], Cell{p, v})
		}
	}
	return out
}

// flows returns the matrices of some lines of .prof files.
func flows(all ...profile.Flow) *ByClass {
	t := NewBuilder(nil)
	for i := range all {
		t.AddFlow(&all[i])
	}
	return t.Matrices()
}

func TestDropSelf(t *testing.T) {
	ms := flows(profile.Flow{Kind: profile.External, From: 1, To: 1, Bytes: 5, Messages: 1},
		profile.Flow{Kind: profile.RemoteRead, From: 1, To: 2, Bytes: 6, Messages: 1})
	ms.DropSelf()
	if ms[All].Len() != 1 || ms[All].Size() != 3 || ms[External].Size() != 0 || ms[External].Len() != 0 || ms[OneSided].At(2, 1) != (Volume{6, 1}) {
		t.Errorf("got %v", ms)
	}
}

func TestFlowsToOtherWorldsAreLeftOut(t *testing.T) {
	ms := flows(profile.Flow{Kind: profile.External, From: 1, To: profile.PeerElsewhere, Bytes: 5, Messages: 1},
		profile.Flow{Kind: profile.External, From: -1, To: 0, Bytes: 5, Messages: 1})
	if ms[All].Len() != 0 {
		t.Errorf("got %v", cells(ms))
	}
}

// TestBuilderLaws checks that the parts of a job can be merged in any order and
// in any groups.
func TestBuilderLaws(t *testing.T) {
	ps := slices.Concat(varied(), interReduceScatterProfiles(), []*profile.Profile{scattering()})
	whole := NewBuilder(nil)
	for _, p := range ps {
		whole.Add(p)
	}
	want := cells(whole.Matrices())
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		parts := []*Builder{}
		for _, i := range r.Perm(len(ps)) {
			if len(parts) == 0 || r.IntN(2) == 0 {
				parts = append(parts, NewBuilder(nil))
			}
			parts[len(parts)-1].Add(ps[i])
		}
		for len(parts) > 1 {
			i := r.IntN(len(parts) - 1)
			parts[i].Merge(parts[i+1])
			parts = slices.Delete(parts, i+1, i+2)
		}
		same(t, "merged in a tree", want, cells(parts[0].Matrices()))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// interReduceScatterProfiles returns the profiles of ranks 10 to 12, which
// called Reduce_scatter over an intercommunicator. Ranks 10 and 11 are one
// group, with counts of 5 and 6; rank 12 is the other, with a count of 7.
func interReduceScatterProfiles() []*profile.Profile {
	out := []*profile.Profile{}
	for rank := 10; rank < 13; rank++ {
		groups := []profile.Group{{List: []int32{10, 11}}, {List: []int32{12}}}
		counts := []uint64{5, 6}
		if rank == 12 {
			slices.Reverse(groups)
			counts = []uint64{7}
		}
		out = append(out, &profile.Profile{Rank: rank, Size: 13, State: profile.Finalized,
			Comms: []profile.Comm{{ID: "c", Inter: true, Parent: -1, Rank: rank % 10 % 2, Members: groups[0], Remote: groups[1]}},
			Vectors: []profile.Vector{{Call: "Reduce_scatter", Class: profile.AllToAll, Spread: profile.ToVector, Comm: 0,
				Calls: 2, Bytes: counts}}})
	}
	return out
}

func TestInterReduceScatter(t *testing.T) {
	builder := NewBuilder(nil)
	for _, p := range interReduceScatterProfiles() {
		builder.Add(p)
	}
	want := spread{{10, 12}: {7, 2}, {11, 12}: {7, 2}, {12, 10}: {5, 2}, {12, 11}: {6, 2}}
	same(t, "reduce-scatter between groups", want, entries(&builder.Matrices()[Collective]))
}
