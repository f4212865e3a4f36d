package patterns

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// matrixOf returns the sum of graphs, from the formula of each for each pair.
func matrixOf(ranks int, graphs ...synth.Graph) *matrix.Matrix {
	m := new(matrix.Matrix)
	for from := range ranks {
		for to := range ranks {
			for _, g := range graphs {
				if v := g.Between(from, to); v.Messages > 0 {
					m.Add(matrix.Pair{From: from, To: to}, matrix.Volume(v))
				}
			}
		}
	}
	return m
}

// known is a graph and the component that it must be recognised as, without volume.
type known struct {
	name  string
	graph synth.Graph
	want  Component
}

func no(n int) []bool  { return make([]bool, n) }
func yes(n int) []bool { return slices.Repeat([]bool{true}, n) }

func ptr(v int) *int { return &v }

// cart returns a stencil that must be recognised with the offsets that it has.
func cart(name string, kind PatternKind, each synth.Exchange, grid []int, periodic []bool, offsets [][]int) known {
	width := make([]int, len(grid))
	for _, o := range offsets {
		for i, d := range o {
			width[i] = max(width[i], d, -d)
		}
	}
	return known{name, synth.Cart{Exchange: each, Grid: grid, Periodic: periodic, Offsets: offsets},
		Component{Kind: kind, Grid: grid, Periodic: periodic, Width: width, Offsets: offsets}}
}

// shares returns how the volumes of graphs make up the whole.
func shares(found []known) (volumes []matrix.Volume, total matrix.Volume) {
	for _, k := range found {
		v := matrix.Volume(k.graph.Total())
		volumes = append(volumes, v)
		total.Add(v)
	}
	return volumes, total
}

var ignoreText = cmp.Options{cmpopts.IgnoreFields(Component{}, "Text"), cmpopts.SortSlices(slices.Compare[[]int])}

// check compares what is found in the sum of graphs with what the formulas say.
func check(t *testing.T, ranks int, graphs ...known) {
	t.Helper()
	var add []synth.Graph
	for _, k := range graphs {
		add = append(add, k.graph)
	}
	volumes, total := shares(graphs)
	want := Part{Total: total}
	for i, k := range graphs {
		c := k.want
		c.Volume, c.Share = volumes[i], float64(volumes[i].Bytes)/float64(total.Bytes)
		want.Components = append(want.Components, c)
	}
	slices.SortStableFunc(want.Components, func(a, b Component) int { return int(b.Bytes) - int(a.Bytes) })
	testenv.Equal(t, want, Of(matrixOf(ranks, add...), ranks), ignoreText)
}

var one = synth.Exchange{Bytes: 1000, Messages: 7}

// TestStencils recovers stencils in one to four dimensions, periodic or not, across
// faces only or with corners.
func TestStencils(t *testing.T) {
	for _, grid := range [][]int{{12}, {64}, {8, 8}, {5, 7}, {16, 3}, {3, 20}, {4, 4, 4}, {3, 3, 3}, {5, 4, 3}, {3, 4, 5}, {4, 3, 4, 3}, {3, 3, 3, 3}} {
		n := len(grid)
		for _, offsets := range [][][]int{synth.Faces(n), synth.Box(n, 1)} {
			for bits := range 1 << n {
				periodic, ranks := no(n), 1
				for i := range n {
					periodic[i] = bits>>i&1 == 1
					ranks *= grid[i]
				}
				k := cart("", Stencil, one, grid, periodic, offsets)
				if slices.Max(grid) == 3 && bits == 1<<n-1 && len(offsets) == ranks-1 { // the simplest name of it
					k.want = Component{Kind: AllToAll, Size: ranks, Groups: 1, Stride: 1}
				}
				t.Run(fmt.Sprint(grid, periodic, len(offsets)), func(t *testing.T) { check(t, ranks, k) })
			}
		}
	}
}

// TestShifts recovers ranks that all send to those at the same, irregular distances.
func TestShifts(t *testing.T) {
	odd := [][]int{{-12}, {-7}, {-3}, {1}, {24}, {60}, {70}}
	check(t, 720, cart("", Stencil, one, []int{720}, no(1), odd))
	check(t, 720, cart("", Stencil, one, []int{720}, yes(1), odd))
	doubling := [][]int{{1}, {2}, {4}, {8}, {16}, {32}} // of MPI_Barrier, for example
	check(t, 100, cart("", Stencil, one, []int{100}, yes(1), doubling))
}

// cubes are grids of three and four dimensions, by their number of ranks.
var cubes = map[int][][]int{64: {{4, 4, 4}}, 60: {{5, 4, 3}}, 45: {{5, 3, 3}}, 300: {{5, 10, 6}, {5, 4, 5, 3}}}

// basics returns one graph of each kind for a number of ranks, on a grid of two dimensions
// and on cubes.
func basics(rows, columns int, each synth.Exchange) []known {
	n := rows * columns
	grid := []int{rows, columns}
	var out []known
	add := func(name string, g synth.Graph, want Component) { out = append(out, known{name, g, want}) }
	out = append(out,
		cart("torus", Stencil, each, grid, yes(2), synth.Faces(2)),
		cart("stencil", Stencil, each, grid, no(2), synth.Box(2, 1)),
		cart("chain", Stencil, each, []int{n}, no(1), synth.Box(1, 1)),
		cart("wide", Stencil, each, []int{n}, yes(1), synth.Box(1, 2)),
		cart("sweep", Sweep, each, grid, no(2), [][]int{{0, 1}, {1, 0}}),
		cart("sweep back", Sweep, each, grid, no(2), [][]int{{0, -1}, {-1, 0}}),
		cart("pipeline", Sweep, each, []int{n}, no(1), [][]int{{1}}),
		cart("ring", Ring, each, []int{n}, yes(1), [][]int{{1}}),
		cart("rows shift", Ring, each, grid, []bool{false, true}, [][]int{{0, 1}}),
		cart("shift by 7", Ring, each, []int{n}, yes(1), [][]int{{7}}),
		cart("columns", Stencil, each, grid, no(2), [][]int{{-1, 0}, {1, 0}}),
	)
	for _, cube := range cubes[n] {
		d := len(cube)
		out = append(out, cart(fmt.Sprint("box of ", cube), Stencil, each, cube, no(d), synth.Box(d, 1)),
			cart(fmt.Sprint("faces of ", cube), Stencil, each, cube, no(d), synth.Faces(d)))
	}
	add("all-to-all", synth.Groups{Exchange: each, Ranks: n, Size: n, Stride: 1}, Component{Kind: AllToAll, Size: n, Groups: 1, Stride: 1})
	add("in rows", synth.Groups{Exchange: each, Ranks: n, Size: columns, Stride: 1}, Component{Kind: AllToAll, Size: columns, Groups: rows, Stride: 1})
	add("in columns", synth.Groups{Exchange: each, Ranks: n, Size: rows, Stride: columns}, Component{Kind: AllToAll, Size: rows, Groups: columns, Stride: columns})
	add("transpose", synth.Transpose{Exchange: each, Rows: rows, Columns: columns}, Component{Kind: Transpose, Grid: grid, Size: n, Groups: 1, Stride: 1})
	add("tree down", synth.Tree{Exchange: each, Ranks: n, Down: true}, Component{Kind: Tree, Root: ptr(0), Direction: FromRoot, Shape: "binomial"})
	add("tree up", synth.Tree{Exchange: each, Ranks: n, Root: 5, Up: true}, Component{Kind: Tree, Root: ptr(5), Direction: ToRoot, Shape: "binomial"})
	add("binary tree", synth.Tree{Exchange: each, Ranks: n, Arity: 2, Down: true, Up: true}, Component{Kind: Tree, Root: ptr(0), Direction: BothWays, Shape: "2-ary"})
	add("ternary tree", synth.Tree{Exchange: each, Ranks: n, Root: 7, Arity: 3, Up: true}, Component{Kind: Tree, Root: ptr(7), Direction: ToRoot, Shape: "3-ary"})
	add("master", synth.Master{Exchange: each, Ranks: n, To: true, From: true}, Component{Kind: MasterWorker, Root: ptr(0), Direction: BothWays})
	add("gather", synth.Master{Exchange: each, Ranks: n, Master: 3, To: true}, Component{Kind: MasterWorker, Root: ptr(3), Direction: ToRoot})
	if stages := butterflyOf(n); len(stages) > 0 {
		add("butterfly", synth.Butterfly{Exchange: each, Ranks: n, Bits: len(stages)}, Component{Kind: Butterfly, Stages: stages})
	}
	add("random", synth.NewRandomGraph(n, 9, 1), Component{Kind: Random, Peers: 9})
	return out
}

// butterflyOf returns the stages of a butterfly of n ranks.
func butterflyOf(n int) (stages []int) {
	for bit := 1; n%(2*bit) == 0; bit *= 2 {
		stages = append(stages, bit)
	}
	return stages
}

var basicGrids = [][2]int{{8, 8}, {6, 10}, {5, 9}, {16, 4}, {12, 25}}

func TestBasics(t *testing.T) {
	for _, g := range basicGrids {
		for _, k := range basics(g[0], g[1], one) {
			t.Run(fmt.Sprint(k.name, g), func(t *testing.T) { check(t, g[0]*g[1], k) })
		}
	}
}

// alike reports whether the sum of two graphs has another description that is as simple:
// both have the same grid, of which the sum is one stencil; the pairs in one direction are
// the same in both, so that any split of the bytes is possible; random messages close a
// chain to a ring; or one is all-to-all in groups of 4, which is also a ring of neighbours
// and an exchange with the opposite rank, and the other has these rings.
func alike(a, b known, ranks int) bool {
	first, isCart := a.graph.(synth.Cart)
	second, areBoth := b.graph.(synth.Cart)
	closed := func(g synth.Graph) bool { return g.Between(ranks-1, 0).Messages+g.Between(0, ranks-1).Messages > 0 }
	rings := func(k known) bool { // of 4 ranks
		i := slices.Index(k.want.Periodic, true)
		return k.want.Kind == Stencil && i >= 0 && slices.Contains(k.want.Grid[i:], 4)
	}
	fours := func(k known) bool { return k.want.Kind == AllToAll && k.want.Size == 4 }
	switch {
	case rings(a) && fours(b) || rings(b) && fours(a):
		return true
	case isCart && areBoth:
		return slices.Equal(first.Grid, second.Grid) || slices.ContainsFunc(directions(first, ranks), func(way []int) bool {
			return slices.ContainsFunc(directions(second, ranks), func(other []int) bool { return slices.Equal(way, other) })
		})
	case isCart && b.want.Kind == Random:
		return len(first.Grid) == 1 && closed(b.graph)
	case areBoth && a.want.Kind == Random:
		return len(second.Grid) == 1 && closed(a.graph)
	}
	return false
}

// directions returns, for each offset of a graph, the rank that each rank sends to within the grid;
// -1 if there is none.
func directions(c synth.Cart, ranks int) (out [][]int) {
	for _, offset := range c.Offsets {
		one := synth.Cart{Exchange: c.Exchange, Grid: c.Grid, Periodic: no(len(c.Grid)), Offsets: [][]int{offset}}
		var to []int
		for rank := range ranks {
			if links := one.Out(rank); len(links) == 1 {
				to = append(to, links[0].Peer)
			} else {
				to = append(to, -1)
			}
		}
		out = append(out, to)
	}
	return out
}

// TestMixtures recovers both components of the sums of two graphs.
func TestMixtures(t *testing.T) {
	t.Parallel()
	for at, g := range basicGrids {
		if at >= 1 {
			testenv.At(t, testenv.All)
		} else {
			testenv.At(t, testenv.Quick)
		}
		ranks := g[0] * g[1]
		first := basics(g[0], g[1], one)
		second := basics(g[0], g[1], synth.Exchange{Bytes: 1777, Messages: 3})
		for i, a := range first {
			for j, b := range second {
				if other := i < j || i > j && at == 0; other && !alike(a, b, ranks) {
					t.Run(fmt.Sprint(a.name, " + ", b.name, g), func(t *testing.T) { check(t, ranks, a, b) })
				}
			}
		}
	}
}

// jobOf returns the matrices of a synthetic job, from its profiles.
func jobOf(t *testing.T, shape string, ranks int) (*synth.Job, *matrix.ByClass) {
	t.Helper()
	j, err := synth.Named(shape, ranks)
	testenv.NoError(t, err)
	b := matrix.NewBuilder(nil)
	testenv.NoError(t, j.Each(func(p *profile.Profile) error { b.Add(p); return nil }))
	return j, b.Matrices()
}

// TestJobs recovers the shapes of synthetic jobs from their profiles.
func TestJobs(t *testing.T) {
	const ranks = 60 // 5 × 4 × 3, or 10 × 6
	faces, box := synth.Faces(2), synth.Box(3, 1)
	for shape, want := range map[string]Component{
		"stencil":   {Kind: Stencil, Grid: []int{5, 4, 3}, Periodic: no(3), Width: []int{1, 1, 1}, Offsets: box},
		"ring":      {Kind: Ring, Grid: []int{60}, Periodic: yes(1), Width: []int{1}, Offsets: [][]int{{1}}},
		"random":    {Kind: Random, Peers: 16},
		"torus":     {Kind: Stencil, Grid: []int{10, 6}, Periodic: yes(2), Width: []int{1, 1}, Offsets: faces},
		"sweep":     {Kind: Sweep, Grid: []int{10, 6}, Periodic: no(2), Width: []int{1, 1}, Offsets: [][]int{{0, 1}, {1, 0}}},
		"butterfly": {Kind: Butterfly, Stages: []int{1, 2}},
		"transpose": {Kind: Transpose, Grid: []int{10, 6}, Size: 60, Groups: 1, Stride: 1},
		"tree":      {Kind: Tree, Root: ptr(0), Direction: BothWays, Shape: "binomial"},
		"master":    {Kind: MasterWorker, Root: ptr(0), Direction: BothWays},
	} {
		t.Run(shape, func(t *testing.T) {
			j, ms := jobOf(t, shape, ranks)
			want.Volume, want.Share = matrix.Volume(j.TotalP2P()), 1
			testenv.Equal(t, Part{Components: []Component{want}, Total: want.Volume}, Find(ms, ranks).Direct, ignoreText)
		})
	}
}

// TestCollectives finds all-to-all by regular and irregular collectives, of all ranks and
// in lines of the grid.
func TestCollectives(t *testing.T) {
	j, ms := jobOf(t, "alltoall", 12)
	total := matrix.Volume(j.TotalColl())
	want := Part{Total: total, Components: []Component{{Kind: AllToAll, Size: 12, Groups: 1, Stride: 1, Volume: total, Share: 1}}}
	testenv.Equal(t, Decomposition{Direct: Part{Components: []Component{}}, Collectives: want}, Find(ms, 12), ignoreText)

	// 27 ranks, a grid of 3 × 3 × 3: 100 Allreduces of 8 bytes on all ranks, 20 of 16
	// bytes on the lines of 3, 5 Allgathers of 64 bytes on the planes of 9.
	j, ms = jobOf(t, "stencil", 27)
	got := Find(ms, 27).Collectives
	bytes := map[string]uint64{}
	for _, c := range got.Components {
		bytes[c.Text] = c.Bytes
	}
	wantBytes := map[string]uint64{
		"every rank sends to every rank": 100 * 8 * 27 * 26,
		"all-to-all in 9 groups of 3":    20 * 16 * 27 * 2,
		"all-to-all in 3 groups of 9":    5 * 64 * 27 * 8,
	}
	if diff := cmp.Diff(wantBytes, bytes); diff != "" || got.Total != matrix.Volume(j.TotalColl()) {
		t.Errorf("-want +got:\n%s\ntotal %+v, want %+v", diff, got.Total, j.TotalColl())
	}
}

// TestSmallJobs finds nothing in jobs of two ranks, whose patterns all look alike.
func TestSmallJobs(t *testing.T) {
	v := matrix.Volume{Bytes: 10, Messages: 1}
	matrixOf := func(pairs ...matrix.Pair) *matrix.Matrix {
		m := new(matrix.Matrix)
		for _, p := range pairs {
			m.Add(p, v)
		}
		return m
	}
	for _, test := range []struct {
		m     *matrix.Matrix
		ranks int
		want  []string
		rest  uint64
	}{
		{matrixOf(), 0, nil, 0},
		{matrixOf(), 5, nil, 0},
		{matrixOf(matrix.Pair{From: 0, To: 0}), 1, []string{"ranks to themselves"}, 0},
		{matrixOf(matrix.Pair{From: 0, To: 1}), 2, nil, 10},
		{matrixOf(matrix.Pair{From: 0, To: 1}, matrix.Pair{From: 1, To: 0}), 2, nil, 20},
		{matrixOf(matrix.Pair{From: 0, To: 1}, matrix.Pair{From: 1, To: 2}, matrix.Pair{From: 2, To: 0}), 3, []string{"ring of 3, to higher ranks"}, 0},
		{matrixOf(matrix.Pair{From: 0, To: 2}, matrix.Pair{From: 2, To: 1}, matrix.Pair{From: 1, To: 0}), 3, []string{"ring of 3, to lower ranks"}, 0},
	} {
		p := Of(test.m, test.ranks)
		var got []string
		for _, c := range p.Components {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, test.want) || p.Residual.Bytes != test.rest {
			t.Errorf("%d ranks: %q, not explained %d, want %q and %d", test.ranks, got, p.Residual.Bytes, test.want, test.rest)
		}
	}
}

// TestResidual leaves a few irregular messages unexplained.
func TestResidual(t *testing.T) {
	chain := cart("", Stencil, one, []int{20}, no(1), synth.Faces(1))
	m := matrixOf(20, chain.graph)
	m.Add(matrix.Pair{From: 3, To: 11}, matrix.Volume{Bytes: 14000, Messages: 2})
	p := Of(m, 20) // 2 × 19 pairs with 7000 bytes each
	if len(p.Components) != 1 || p.Components[0].Bytes != 2*19*7000 || p.Residual != (matrix.Volume{Bytes: 14000, Messages: 2}) || p.ResidualShare != 1./20 {
		t.Errorf("%+v", p)
	}
}

// halo is the exchange of the borders of cubes of n points in each dimension on a grid of 2 ranks in
// each: n² points across a face, n across an edge, and one across a corner.
type halo struct {
	synth.Graph   // nil: only Between is used
	dimensions, n int
}

func (h halo) Between(from, to int) synth.Volume {
	apart := bits.OnesCount(uint(from ^ to))
	if apart == 0 {
		return synth.Volume{}
	}
	points := 1
	for range h.dimensions - apart {
		points *= h.n
	}
	return synth.Volume{Bytes: uint64(8 * points), Messages: 1}
}

// All-to-all whose volumes are by chance is no cube.
func TestNoCube(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		m := new(matrix.Matrix)
		for from := range 8 {
			for to := range 8 {
				if from != to {
					m.Add(matrix.Pair{From: from, To: to}, matrix.Volume{Bytes: 1 + uint64(random.IntN(1000)), Messages: 1})
				}
			}
		}
		if p := Of(m, 8); p.Components[0].Text != "every rank sends to every rank" {
			t.Errorf("%+v", p.Components)
		}
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct {
		ranks int
		graph synth.Graph
		want  string
	}{
		{64, synth.Cart{Exchange: one, Grid: []int{4, 4, 4}, Periodic: no(3), Offsets: synth.Box(3, 1)}, "3-D stencil 4 × 4 × 4, 26 neighbours, not periodic"},
		{35, synth.Cart{Exchange: one, Grid: []int{5, 7}, Periodic: []bool{true, false}, Offsets: synth.Faces(2)}, "2-D stencil 5 × 7, 4 neighbours, periodic in dimension 1"},
		{40, synth.Cart{Exchange: one, Grid: []int{40}, Periodic: yes(1), Offsets: synth.Box(1, 2)}, "1-D stencil 40, 4 neighbours, width 2, periodic"},
		{30, synth.Cart{Exchange: one, Grid: []int{6, 5}, Periodic: []bool{false, true}, Offsets: [][]int{{0, -1}}}, "ring of 6 × 5 in dimension 2, to lower ranks"},
		{30, synth.Cart{Exchange: one, Grid: []int{6, 5}, Periodic: no(2), Offsets: [][]int{{0, 1}, {1, 0}}}, "2-D sweep 6 × 5, to higher ranks"},
		{30, synth.Cart{Exchange: one, Grid: []int{6, 5}, Periodic: no(2), Offsets: [][]int{{0, -1}, {1, 0}}}, "2-D sweep 6 × 5, in one direction of each dimension"},
		{24, synth.Groups{Exchange: one, Ranks: 24, Size: 6, Stride: 4}, "all-to-all in 4 groups of 6, ranks 4 apart"},
		{16, synth.Butterfly{Exchange: one, Ranks: 16, Bits: 4}, "butterfly: ranks r and r xor 1, 2, 4 and 8"},
		{24, synth.Transpose{Exchange: one, Rows: 4, Columns: 6}, "transpose 4 × 6"},
		{16, synth.Tree{Exchange: one, Ranks: 16, Up: true}, "binomial tree to rank 0"},
		{4, synth.Butterfly{Exchange: one, Ranks: 4, Bits: 2}, "2 × 2 stencil: sides"},
		{4, synth.Cart{Exchange: one, Grid: []int{4}, Periodic: yes(1), Offsets: synth.Faces(1)}, "1-D stencil 4, 2 neighbours, periodic"},
		{16, synth.Master{Exchange: one, Ranks: 16, Master: 3, From: true}, "rank 3 to all others"},
		{8, synth.Groups{Exchange: one, Ranks: 8, Size: 8, Stride: 1}, "every rank sends to every rank"},
		{3, synth.Groups{Exchange: one, Ranks: 3, Size: 3, Stride: 1}, "every rank sends to every rank"},
		{3, synth.Cart{Exchange: one, Grid: []int{3}, Periodic: no(1), Offsets: [][]int{{1}}}, "1-D sweep 3, to higher ranks"},
		{3, synth.Cart{Exchange: one, Grid: []int{3}, Periodic: no(1), Offsets: synth.Faces(1)}, "1-D stencil 3, 2 neighbours, not periodic"},
		{3, synth.Master{Exchange: one, Ranks: 3, Master: 2, To: true}, "all others to rank 2"},
		{7, synth.Cart{Exchange: one, Grid: []int{7}, Periodic: yes(1), Offsets: [][]int{{1}}}, "ring of 7, to higher ranks"},
		{16, synth.Master{Exchange: one, Ranks: 16, To: true, From: true}, "master-worker: rank 0 and all others"},
		{15, synth.Tree{Exchange: one, Ranks: 15, Arity: 2, Down: true, Up: true}, "2-ary tree of rank 0, both ways"},
		{8, halo{dimensions: 3, n: 10}, "2 × 2 × 2 stencil: faces, edges, corners"},
		{4, halo{dimensions: 2, n: 10}, "2 × 2 stencil: sides, corners"},
		{8, halo{dimensions: 3, n: 1}, "every rank sends to every rank"}, // of one point, nothing shows a grid
		{8, synth.Butterfly{Exchange: one, Ranks: 8, Bits: 3}, "2 × 2 × 2 stencil: faces"},
	} {
		p := Of(matrixOf(test.ranks, test.graph), test.ranks)
		if len(p.Components) != 1 || p.Components[0].Text != test.want {
			t.Errorf("%+v, want %s", p.Components, test.want)
		}
	}
}

// TestSums checks that components and residual make up the matrix, for matrices with and
// without order, also if parts of a pattern are missing.
func TestSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		ranks := 1 + random.IntN(40)
		m := new(matrix.Matrix)
		var total matrix.Volume
		add := func(from, to int, v matrix.Volume) {
			m.Add(matrix.Pair{From: from, To: to}, v)
			total.Add(v)
		}
		stride, missing := 1+random.IntN(ranks), random.IntN(8)
		for r := range ranks {
			for _, to := range []int{r + 1, r - 1, r + stride, r - stride, r ^ 2, 0} {
				if to >= 0 && to < ranks && random.IntN(8) >= missing {
					add(r, to, matrix.Volume{Bytes: uint64(random.IntN(3)) * 100, Messages: uint64(random.IntN(3))})
				}
			}
		}
		p := Of(m, ranks)
		sum, share := p.Residual, p.ResidualShare
		for _, c := range p.Components {
			sum.Add(c.Volume)
			share += c.Share
			if c.Bytes > total.Bytes || c.Text == "" {
				t.Errorf("%d ranks: component %+v of %+v", ranks, c, total)
			}
		}
		if sum != total || p.Total != total || total.Messages > 0 && math.Abs(share-1) > 1e-9 {
			t.Errorf("%d ranks: %+v, total %+v, shares add up to %g", ranks, p, total, share)
		}
	}
}
