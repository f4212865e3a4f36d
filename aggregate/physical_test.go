package aggregate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// Physical traffic is in no sum except its own.
func TestPhysicalIsBeside(t *testing.T) {
	was, is := New(fixture()), New(sent())
	x, y := was.Matrices(), is.Matrices()
	want := entriesOf(x)
	want[matrix.Internal] = []matrix.Cell{{Pair: matrix.Pair{From: 0, To: 1}, Volume: matrix.Volume{Bytes: 116, Messages: 3}}, {Pair: matrix.Pair{From: 0, To: 2}, Volume: matrix.Volume{Bytes: 116, Messages: 3}}, {Pair: matrix.Pair{From: 1, To: 3}, Volume: matrix.Volume{Bytes: 116, Messages: 3}}}
	if diff := cmp.Diff(want, entriesOf(y)); diff != "" {
		t.Errorf("matrices (-want +got):\n%s", diff)
	}
	a, b := was.Summary(), is.Summary()
	unknown := "what the MPI library sent on rank 2 is unknown: the disk was full"
	if !slices.Equal(b.Problems, append(slices.Clone(a.Problems), unknown)) {
		t.Errorf("problems: %q", b.Problems)
	}
	b.Physical, b.Problems, b.NotMeasured, b.Losses = nil, a.Problems, a.NotMeasured, a.Losses
	b.Traffic = slices.DeleteFunc(b.Traffic, func(m MatrixTotals) bool { return m.Class == matrix.Internal.String() })
	b.Localities = slices.DeleteFunc(b.Localities, func(l Locality) bool { return l.Class == matrix.Internal.String() })
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(NamedPlace{})); diff != "" {
		t.Errorf("summary (-without +with):\n%s", diff)
	}
}

func TestPhysicalSummary(t *testing.T) {
	whole := New(sent())
	parts := [2]*Job{NewJob(Options{}), NewJob(Options{})}
	for i, p := range sent() {
		parts[i%2].Add(p)
	}
	parts[1].Merge(parts[0])
	s := whole.Summary()
	want := &PhysicalComparison{
		Logical:  []MatrixTotals{{"all", s.Traffic[0].Volume, 12}, {"external", matrix.Volume{Bytes: 152, Messages: 14}, 6}, {"osc", matrix.Volume{Bytes: 110, Messages: 2}, 2}, {"coll", matrix.Volume{Bytes: 500, Messages: 30}, 12}},
		External: MatrixTotals{"external", matrix.Volume{Bytes: 70, Messages: 7}, 3}, Internal: MatrixTotals{"internal", matrix.Volume{Bytes: 348, Messages: 9}, 3}, Sum: matrix.Volume{Bytes: 418, Messages: 16},
		Asked: matrix.Volume{Bytes: 30 + 7 + 33 + 7 + 39, Messages: 11}, Known: 3,
		Unknown: []PhysicalUnknown{{profile.RankSet{{First: 2, Last: 2}}, "rank 2", "the disk was full"}},
	}
	for name, got := range map[string]*PhysicalComparison{"at once": s.Physical, "merged": parts[1].Summary().Physical} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if s := New(fixture()).Summary(); s.Physical != nil {
		t.Errorf("nobody asked, and it says %+v", s.Physical)
	}
}

// --class physical selects what the library sent and nothing else. Other
// selections exclude the messages that it sent on its own behalf.
func TestPhysicalSelected(t *testing.T) {
	for name, c := range map[string]struct {
		s    matrix.Selection
		want [matrix.NumClasses]matrix.Volume
	}{
		"physical": {matrix.Selection{Physical: true}, [...]matrix.Volume{{Bytes: 418, Messages: 16}, {Bytes: 70, Messages: 7}, {Bytes: 348, Messages: 9}, {}, {}}},
		"a class":  {matrix.Selection{Classes: []profile.Class{profile.P2P}}, [...]matrix.Volume{{Bytes: 152, Messages: 14}, {Bytes: 152, Messages: 14}, {}, {}, {}}},
		"a call":   {matrix.Selection{Calls: []string{"Isend"}}, [...]matrix.Volume{{Bytes: 14, Messages: 2}, {Bytes: 14, Messages: 2}, {}, {}, {}}},
	} {
		builder := matrix.NewBuilder(&c.s)
		for _, p := range sent() {
			builder.Add(p)
		}
		ms := builder.Matrices()
		for class := range ms {
			if got := ms[class].Total(); got != c.want[class] {
				t.Errorf("%s: %s: got %v, want %v", name, matrix.TrafficClass(class), got, c.want[class])
			}
		}
		if c.s.Physical != slices.Equal(builder.PhysicalUnknown, []int{2}) {
			t.Errorf("%s: unknown are %v", name, builder.PhysicalUnknown)
		}
	}
}
