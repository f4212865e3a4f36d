package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// dense returns f of each entry of a matrix of four ranks.
func dense(m *matrix.Matrix, f func(matrix.Volume) uint64) [4][4]uint64 {
	var out [4][4]uint64
	for p, v := range m.All() {
		out[p.From][p.To] = f(v)
	}
	return out
}

// entriesOf returns the entries of each class, by row and column.
func entriesOf(ms *matrix.ByClass) [matrix.NumClasses][]matrix.Cell {
	var out [matrix.NumClasses][]matrix.Cell
	for c := range ms {
		for p, v := range ms[c].All() {
			out[c] = append(out[c], matrix.Cell{Pair: p, Volume: v})
		}
	}
	return out
}

func bytesOf(v matrix.Volume) uint64    { return v.Bytes }
func messagesOf(v matrix.Volume) uint64 { return v.Messages }

func TestMatricesOfFixture(t *testing.T) {
	want := map[matrix.TrafficClass][2][4][4]uint64{
		matrix.External: {
			{{0, 30, 7, 0}, {0, 0, 33, 7}, {0, 0, 0, 36}, {39, 0, 0, 0}},
			{{0, 3, 1, 0}, {0, 0, 3, 1}, {0, 0, 0, 3}, {3, 0, 0, 0}},
		},
		matrix.OneSided: {
			{0: {2: 60}, 1: {3: 50}},
			{0: {2: 1}, 1: {3: 1}},
		},
		matrix.Collective: {
			{{0, 116, 116, 116}, {17, 0, 19, 20}, {16, 16, 0, 16}, {16, 16, 16, 0}},
			{{0, 3, 3, 3}, {3, 0, 3, 3}, {2, 2, 0, 2}, {2, 2, 2, 0}},
		},
		matrix.All: {
			{{0, 146, 183, 116}, {17, 0, 52, 77}, {16, 16, 0, 52}, {55, 16, 16, 0}},
			{{0, 6, 5, 3}, {3, 0, 6, 5}, {2, 2, 0, 5}, {5, 2, 2, 0}},
		},
		matrix.Internal: {},
	}
	got := New(fixture()).Matrices()
	for class, w := range want {
		m := &got[class]
		if diff := cmp.Diff(w, [2][4][4]uint64{dense(m, bytesOf), dense(m, messagesOf)}); diff != "" {
			t.Errorf("%s:\n%s", class, diff)
		}
	}
	if got[matrix.Internal].Len() != 0 || got[matrix.Internal].Size() != 0 {
		t.Error("internal traffic that nobody recorded")
	}
	if v := got[matrix.All].Total(); v != (matrix.Volume{Bytes: 762, Messages: 46}) {
		t.Errorf("total is %v", v)
	}
}

func TestTrafficAndProfilesGiveTheSameMatrices(t *testing.T) {
	var lines []profile.Flow
	for _, p := range fixture() {
		lines = append(lines, p.Traffic().Flows...)
	}
	fromLines := matrix.NewBuilder(nil)
	for i := range lines {
		fromLines.AddFlow(&lines[i])
	}
	if diff := cmp.Diff(entriesOf(New(fixture()).Matrices()), entriesOf(fromLines.Matrices())); diff != "" {
		t.Error(diff)
	}
}

// TestRowSums checks that a rank's row of the matrix sums to its send rows. A
// remote read is in the row of the rank that was read from.
func TestRowSums(t *testing.T) {
	j := New(fixture())
	m := &j.Matrices()[matrix.All]
	for _, p := range fixture() {
		var sent, row matrix.Volume
		for i := range p.Rows {
			if d := p.Rows[i].Direction; d == profile.Send || d == profile.Write {
				sent.AddRow(&p.Rows[i])
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

// BenchmarkMatrices adds up an Allreduce of 1024 ranks and spreads it over all
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
		for range New(ps).Matrices()[matrix.All].All() {
			entries++
		}
		if entries != n*(n-1) {
			b.Fatalf("got %d entries", entries)
		}
	}
	b.ReportMetric(float64(b.N)*n*(n-1)/b.Elapsed().Seconds(), "pairs/s")
}
