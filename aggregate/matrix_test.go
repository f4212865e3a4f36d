package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// dense is a matrix of four ranks, line by line.
func dense(m *Matrix, f func(Volume) uint64) [4][4]uint64 {
	var out [4][4]uint64
	for p, v := range m.All() {
		out[p.From][p.To] = f(v)
	}
	return out
}

// cells are the entries of each class, by row and column.
func cells(ms *Matrices) [NumMatrixClasses][]Cell {
	var out [NumMatrixClasses][]Cell
	for c := range ms {
		for p, v := range ms[c].All() {
			out[c] = append(out[c], Cell{p, v})
		}
	}
	return out
}

func bytesOf(v Volume) uint64    { return v.Bytes }
func messagesOf(v Volume) uint64 { return v.Messages }

func TestMatricesOfFixture(t *testing.T) {
	want := map[MatrixClass][2][4][4]uint64{
		External: {
			{{0, 30, 7, 0}, {0, 0, 33, 7}, {0, 0, 0, 36}, {39, 0, 0, 0}},
			{{0, 3, 1, 0}, {0, 0, 3, 1}, {0, 0, 0, 3}, {3, 0, 0, 0}},
		},
		OneSided: {
			{0: {2: 60}, 1: {3: 50}},
			{0: {2: 1}, 1: {3: 1}},
		},
		Collective: {
			{{0, 116, 116, 116}, {17, 0, 19, 20}, {16, 16, 0, 16}, {16, 16, 16, 0}},
			{{0, 3, 3, 3}, {3, 0, 3, 3}, {2, 2, 0, 2}, {2, 2, 2, 0}},
		},
		All: {
			{{0, 146, 183, 116}, {17, 0, 52, 77}, {16, 16, 0, 52}, {55, 16, 16, 0}},
			{{0, 6, 5, 3}, {3, 0, 6, 5}, {2, 2, 0, 5}, {5, 2, 2, 0}},
		},
		Internal: {},
	}
	got := New(fixture()).Matrices()
	for class, w := range want {
		m := &got[class]
		if diff := cmp.Diff(w, [2][4][4]uint64{dense(m, bytesOf), dense(m, messagesOf)}); diff != "" {
			t.Errorf("%s:\n%s", class, diff)
		}
	}
	if got[Internal].Len() != 0 || got[Internal].Size() != 0 {
		t.Error("internal traffic that nobody recorded")
	}
	if v := got[All].Total(); v != (Volume{762, 46}) {
		t.Errorf("total is %v", v)
	}
}

func TestTrafficAndProfilesGiveTheSameMatrices(t *testing.T) {
	var lines []profile.Flow
	for _, p := range fixture() {
		lines = append(lines, p.Traffic().Flows...)
	}
	if diff := cmp.Diff(cells(New(fixture()).Matrices()), cells(flows(lines...))); diff != "" {
		t.Error(diff)
	}
}

// flows are the matrices of some lines of .prof files.
func flows(all ...profile.Flow) *Matrices {
	t := NewTally(nil)
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

// TestRowSums: a rank's row of the directed matrix sums to its send rows, self
// apart, remote reads being in the row of the one who was read from.
func TestRowSums(t *testing.T) {
	j := New(fixture())
	m := &j.Matrices()[All]
	for _, p := range fixture() {
		var sent, row Volume
		for i := range p.Rows {
			if d := p.Rows[i].Direction; d == profile.Send || d == profile.Write {
				sent.add(&p.Rows[i])
			}
		}
		if p.Rank == 1 {
			sent.Bytes, sent.Messages = sent.Bytes+50, sent.Messages+1
		}
		for to := range j.Size() {
			row.Bytes += m.At(p.Rank, to).Bytes
			row.Messages += m.At(p.Rank, to).Messages
		}
		if sent != row {
			t.Errorf("rank %d sent %v, its row sums to %v", p.Rank, sent, row)
		}
	}
}

// BenchmarkMatrices sums up an Allreduce of 1024 ranks, and spreads it over all
// their pairs.
func BenchmarkMatrices(b *testing.B) {
	const n = 1024
	var ps []*profile.Profile
	for r := range n {
		p := fixtureRank(r)
		p.Comms[0].Members.N = n
		p.Rows = p.Rows[4:5]
		p.Vectors = nil
		ps = append(ps, p)
	}
	b.ReportAllocs()
	for b.Loop() {
		entries := 0
		for range New(ps).Matrices()[All].All() {
			entries++
		}
		if entries != n*(n-1) {
			b.Fatalf("got %d entries", entries)
		}
	}
	b.ReportMetric(float64(b.N)*n*(n-1)/b.Elapsed().Seconds(), "pairs/s")
}
