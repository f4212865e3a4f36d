package placement

import (
	"fmt"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// stencil returns the traffic of a grid whose ranks exchange 1 with the next in each
// dimension, with the last dimension varying fastest.
func stencil(periodic bool, size ...int) *RankTraffic {
	ranks := 1
	for _, n := range size {
		ranks *= n
	}
	m := new(matrix.Matrix)
	stride := 1
	for d := len(size) - 1; d >= 0; d-- {
		n := size[d]
		for r := range ranks {
			at := r / stride % n
			if at < n-1 {
				m.Add(matrix.Pair{From: r, To: r + stride}, matrix.Volume{Bytes: 1})
			} else if periodic && n > 2 {
				m.Add(matrix.Pair{From: r, To: r - (n-1)*stride}, matrix.Volume{Bytes: 1})
			}
		}
		stride *= n
	}
	return NewTraffic(m, ranks, Bytes)
}

// TestBestOfStencils compares with the costs of the best blockings, by arithmetic: edges
// within the innermost domains × 1, and so on.
func TestBestOfStencils(t *testing.T) {
	for _, c := range []struct {
		size      []int
		periodic  bool
		sizes     []int // of the hierarchy, innermost first
		distances []int64
		want      uint64
	}{
		// 16 nodes with blocks of 4×4, which have 2·4·3 = 24 edges; of 2·16·15 = 480.
		{[]int{16, 16}, false, []int{16, 16}, []int64{1, 10}, 16*24 + 10*(480-16*24)},
		{[]int{16, 16}, true, []int{16, 16}, []int64{1, 10}, 16*24 + 10*(512-16*24)},
		// 4 switches of 4 nodes: 8×8, which have 2·8·7 = 112 edges.
		{[]int{16, 16}, false, []int{16, 4, 4}, []int64{1, 10, 100}, 16*24 + 10*(4*112-16*24) + 100*(480-4*112)},
		// 8 nodes of 4×4×4, with 3·16·3 = 144 edges, of 8 sockets of 2×2×2, with 12.
		{[]int{8, 8, 8}, false, []int{8, 8, 8}, []int64{1, 5, 50}, 64*12 + 5*(8*144-64*12) + 50*(3*64*7-8*144)},
		{[]int{8, 8, 8}, true, []int{8, 8, 8}, []int64{1, 5, 50}, 64*12 + 5*(8*144-64*12) + 50*(3*64*8-8*144)},
		// A pipeline of 30 in 5 nodes of 6: all but 4 edges within.
		{[]int{30}, false, []int{6, 5}, []int64{1, 10}, 25 + 10*4},
		// 6 nodes with blocks of 2×3 of a grid of 6×6: 7 edges each; in all 60.
		{[]int{6, 6}, false, []int{6, 6}, []int64{1, 10}, 6*7 + 10*(60-6*7)},
		// 4-D: 16 nodes of 2×2×2×2, with 32 edges; 4·64·3 in all.
		{[]int{4, 4, 4, 4}, false, []int{16, 16}, []int64{1, 3}, 16*32 + 3*(4*64*3-16*32)},
	} {
		names := []string{"socket", "node", "switch"}[:len(c.sizes)]
		topology := hierarchyOf(t, names, c.sizes, c.distances)
		for effort := 1; effort <= 2; effort++ {
			t.Run(fmt.Sprintf("%v periodic %v on %v, effort %d", c.size, c.periodic, c.sizes, effort), func(t *testing.T) {
				o, cost, err := Best(topology, stencil(c.periodic, c.size...), Options{Effort: effort})
				testenv.NoError(t, err)
				if err := o.Check(topology); err != nil {
					t.Error(err)
				}
				if cost.Objective != c.want {
					t.Errorf("the cost is %d, want %d", cost.Objective, c.want)
				}
			})
		}
	}
}

// TestBlocking requires that the blocking alone is the best one, without the search.
func TestBlocking(t *testing.T) {
	topology := hierarchyOf(t, []string{"socket", "node", "system"}, []int{8, 8, 64}, []int64{1, 5, 50})
	traffic := stencil(false, 16, 16, 16)
	p := newProblem(topology, traffic)
	grids := p.g.grids()
	if len(grids) == 0 || grids[0].size != (gridSize{1, 16, 16, 16}) {
		t.Fatalf("the grids are %v", grids)
	}
	o := p.h.order(grids[0].blocking(p.h))
	testenv.NoError(t, o.Check(topology))
	// 512 blocks of 2×2×2 have 12 edges, 64 of 4×4×4 have 144; in all 3·256·15.
	if got, want := Evaluate(topology, traffic, o).Objective, uint64(512*12+5*(64*144-512*12)+50*(3*256*15-64*144)); got != want {
		t.Errorf("the cost is %d, want %d", got, want)
	}
}

func TestGridsOfNoGrid(t *testing.T) {
	var edges []edge
	r := generator(1)
	for range 2000 {
		if a, b := r.Int32N(512), r.Int32N(512); a != b {
			edges = append(edges, edge{a, b, 1})
		}
	}
	if grids := newGraph(512, edges, 1).grids(); len(grids) > 0 {
		t.Errorf("random edges are the grid %v", grids[0].size)
	}
}
