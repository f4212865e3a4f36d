package placement

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestStencil counts the edges: 3·s²·(s-1) faces, and for 26 neighbours 6·s·(s-1)² edges
// and 4·(s-1)³ corners.
func TestStencil(t *testing.T) {
	for _, c := range []struct {
		neighbours     int
		edges, weights uint64
	}{
		{6, 3 * 64 * 7, 64 * 3 * 64 * 7},
		{26, 3*64*7 + 6*8*49 + 4*343, 64*3*64*7 + 8*6*8*49 + 4*343},
	} {
		g := stencil(8, c.neighbours)
		var sum uint64
		for _, w := range g.traffic.Value {
			sum += w
		}
		if n := uint64(len(g.traffic.Column)); n != 2*c.edges || sum != 2*c.weights {
			t.Errorf("%s: %d entries of %d in all, want %d of %d", g.name, n, sum, 2*c.edges, 2*c.weights)
		}
	}
}

func TestPowerLaw(t *testing.T) {
	if g := powerLaw(100, 4); len(g.traffic.Column) != 2*96*4 {
		t.Errorf("%d entries, want %d", len(g.traffic.Column), 2*96*4)
	}
}

func TestMETIS(t *testing.T) {
	g := stencil(8, 26)
	path := filepath.Join(t.TempDir(), "x.graph")
	var text strings.Builder
	testenv.NoError(t, g.writeMETIS(&text))
	testenv.WriteFile(t, path, text.String())
	read, err := readMETIS(path)
	testenv.NoError(t, err)
	if diff := cmp.Diff(g.traffic, read.traffic); diff != "" {
		t.Errorf("another graph: %s", diff)
	}
}

// TestMETISOfVertexWeights reads a path of three vertices, with weights of vertices.
func TestMETISOfVertexWeights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.graph")
	testenv.WriteFile(t, path, "% a path\n3 2 11\n7 2 5\n8 1 5 3 6\n9 2 6\n")
	g, err := readMETIS(path)
	testenv.NoError(t, err)
	want := &placement.RankTraffic{Ranks: 3, Compressed: matrix.Compressed[uint64]{Start: []int{0, 1, 3, 4}, Column: []int32{1, 0, 2, 1}, Value: []uint64{5, 5, 6, 6}}}
	if diff := cmp.Diff(want, g.traffic); diff != "" {
		t.Errorf("another graph: %s", diff)
	}
}

func TestHierarchies(t *testing.T) {
	for _, ranks := range []int{16, 27, 36, 64, 128, 512, 4096, 32768} {
		for _, h := range hierarchies(ranks) {
			if h.slots() != ranks {
				t.Errorf("%d ranks: %v has %d slots", ranks, &h, h.slots())
			}
			if _, err := h.topology(); err != nil {
				t.Errorf("%d ranks: %v: %v", ranks, &h, err)
			}
		}
	}
	h, err := parseHierarchy("16:4:2/1:10:100")
	if err != nil || h.String() != "16:4:2 1:10:100" || h.slots() != 128 {
		t.Errorf("the hierarchy is %v, %v", &h, err)
	}
	for _, bad := range []string{"", "16:4", "16:4/1", "16:x/1:2", "2:2/10:1"} {
		if _, err := parseHierarchy(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
