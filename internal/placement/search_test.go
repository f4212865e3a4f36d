package placement

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func uniform(t *testing.T, sizes []int, distances []int64) *Topology {
	t.Helper()
	topology := hierarchyOf(t, []string{"l3", "socket", "node", "switch"}[:len(sizes)], sizes, distances)
	return topology
}

// randomTraffic has random pairs, and a group of every third rank.
func randomTraffic(ranks, degree int, seed uint64) *RankTraffic {
	r := rand.New(rand.NewPCG(seed, 1))
	m := new(matrix.Matrix)
	for range ranks * degree / 2 {
		if a, b := r.IntN(ranks), r.IntN(ranks); a != b {
			m.Add(matrix.Pair{From: a, To: b}, matrix.Volume{Bytes: uint64(1 + r.IntN(100))})
		}
	}
	traffic := NewTraffic(m, ranks, Bytes)
	g := WeightedGroup{}
	for i := 0; i < ranks; i += 3 {
		g.Members = append(g.Members, int32(i))
		g.Sent, g.Received = append(g.Sent, r.Uint64N(20)), append(g.Received, r.Uint64N(20))
	}
	traffic.Groups = []WeightedGroup{g}
	return traffic
}

// TestBestIsDeterministic requires the same order for each number of processors.
func TestBestIsDeterministic(t *testing.T) {
	topology, traffic := uniform(t, []int{4, 5, 8, 2}, []int64{1, 7, 30, 31}), randomTraffic(300, 6, 1)
	var want Order
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		o, _, err := Best(topology, traffic, Options{Seed: 3, Effort: 1})
		testenv.NoError(t, err)
		if want == nil {
			want = o
		}
		if !slices.Equal(o, want) {
			t.Errorf("%d processors: another order", processors)
		}
	}
}

// TestSwapGain compares the gains with the differences of what Evaluate returns, with a
// group whose pairs are all edges, and empty slots.
func TestSwapGain(t *testing.T) {
	topology, traffic := uniform(t, []int{4, 5, 16}, []int64{1, 7, 30}), randomTraffic(300, 6, 2)
	g := &traffic.Groups[0]
	g.Members, g.Sent, g.Received = g.Members[:maxClique], g.Sent[:maxClique], g.Received[:maxClique]
	p := newProblem(topology, traffic)
	m := newMapping(p, p.blocks(Random(topology, 300, 1)))
	r := generator(1)
	cost := Evaluate(topology, traffic, m.slot).Objective
	outward := slices.Clone(m.outward)
	for n := range 1000 {
		a, b := m.slot[r.IntN(300)], r.Int32N(320)
		if m.h.blockAt[a] == m.h.blockAt[b] {
			continue
		}
		gain := m.swapGain(a, b, -1<<62)
		m.swap(a, b)
		after := Evaluate(topology, traffic, m.slot).Objective
		if gain != int64(cost-after) {
			t.Fatalf("swap %d: the gain is %d, but the costs are %d and %d", n, gain, cost, after)
		}
		cost = after
	}
	if slices.Equal(outward, m.outward) {
		t.Error("no swap changed the outward costs")
	}
	for rank := range int32(300) {
		if got, want := m.outward[rank], m.outwardOf(rank); got != want {
			t.Errorf("rank %d: the outward cost is %d, but %d from the beginning", rank, got, want)
		}
	}
}

// TestBestOfGroups has groups of the even and of the odd ranks, which fit into one node
// each.
func TestBestOfGroups(t *testing.T) {
	traffic := NewTraffic(new(matrix.Matrix), 64, Bytes)
	for odd := range 2 {
		g := WeightedGroup{}
		for i := range 32 {
			g.Members = append(g.Members, int32(2*i+odd))
			g.Sent, g.Received = append(g.Sent, 5), append(g.Received, 3)
		}
		traffic.Groups = append(traffic.Groups, g)
	}
	for _, nodes := range []int{2, 3} { // full, and with a node to spare
		topology := uniform(t, []int{32, nodes}, []int64{1, 50})
		_, cost, err := Best(topology, traffic, Options{Effort: 1})
		testenv.NoError(t, err)
		if want := uint64(2 * 32 * 31 * 5 * 3); cost.Objective != want {
			t.Errorf("%d nodes: the cost is %d, want %d", nodes, cost.Objective, want)
		}
	}
}

// TestBestOfRowsAndColumns has a grid of 32×32 ranks, in any order, with collectives in
// its rows and, of a third of the volume, in its columns. Rows fit into nodes of 2 sockets
// of 16 slots.
func TestBestOfRowsAndColumns(t *testing.T) {
	const n = 32
	rank := rand.New(rand.NewPCG(1, 1)).Perm(n * n)
	traffic := NewTraffic(new(matrix.Matrix), n*n, Bytes)
	for i := range n {
		var row, column WeightedGroup
		for j := range n {
			row.Members, row.Sent, row.Received = append(row.Members, int32(rank[i*n+j])), append(row.Sent, 3), append(row.Received, 1)
			column.Members, column.Sent, column.Received = append(column.Members, int32(rank[j*n+i])), append(column.Sent, 1), append(column.Received, 1)
		}
		traffic.Groups = append(traffic.Groups, row, column)
	}
	topology := uniform(t, []int{16, 2, 32}, []int64{1, 10, 100})
	o, cost, err := Best(topology, traffic, Options{Effort: 1})
	testenv.NoError(t, err)
	if err := o.Check(topology); err != nil {
		t.Error(err)
	}
	// A row has 2·16·15 ordered pairs in sockets and 2·16·16 in the node; all of a column
	// are in different nodes.
	if want := uint64(32*3*(2*16*15+10*2*16*16) + 100*32*32*31); cost.Objective != want {
		t.Errorf("the cost is %d, want %d", cost.Objective, want)
	}
}

// TestBestLeavesSlotsEmpty has 3 cliques of 5 ranks for 4 nodes with 6, 5, 8 and 5 slots.
// Each clique, of 10 edges, fits into a node, but not into a socket.
func TestBestLeavesSlotsEmpty(t *testing.T) {
	socket := []int32{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 7, 7}
	node := []int32{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}
	topology := &Topology{Slots: make([]Slot, len(node)), Levels: []Level{
		{Name: "socket", Distance: 1, Domain: socket}, {Name: NodeLevel, Distance: 10, Domain: node},
		{Name: "system", Distance: 100, Domain: make([]int32, len(node))},
	}}
	m := new(matrix.Matrix)
	for a := range 15 {
		for b := a + 3; b < 15; b += 3 {
			m.Add(matrix.Pair{From: a, To: b}, matrix.Volume{Bytes: 1})
		}
	}
	traffic := NewTraffic(m, 15, Bytes)
	_, cost, err := Best(topology, traffic, Options{Effort: 1})
	testenv.NoError(t, err)
	// Divided as 4+1, a clique has 6 edges at distance 1 and 4 at 10; as 3+2, 4 and 6.
	// One node has sockets of 4, the others at most of 3.
	if want := uint64(6+4*10) + 2*(4+6*10); cost.Objective != want {
		t.Errorf("the cost is %d, want %d", cost.Objective, want)
	}
}

// TestBestOfLargeVolumes has a ring of 64 ranks that exchange 2^50 bytes: the sum of
// bytes × distance needs 63 bits.
func TestBestOfLargeVolumes(t *testing.T) {
	traffic := stencil(true, 64)
	for i := range traffic.Value {
		traffic.Value[i] = 1 << 50
	}
	_, cost, err := Best(uniform(t, []int{8, 8}, []int64{1, 900}), traffic, Options{Effort: 1})
	testenv.NoError(t, err)
	if want := uint64(8*7+8*900) << 50; cost.Objective != want {
		t.Errorf("the cost is %d, want %d", cost.Objective, want)
	}
}

// TestBestKeepsAStart requires that an order is returned as it is if none is better.
func TestBestKeepsAStart(t *testing.T) {
	topology := uniform(t, []int{4, 8}, []int64{1, 10})
	start := Block(32)
	slices.Reverse(start)
	o, _, err := Best(topology, stencil(false, 32), Options{Effort: 1, Starts: []Order{start}})
	if err != nil || !slices.Equal(o, start) {
		t.Errorf("the order is %v, %v, want the one it started with", o, err)
	}
	few := stencil(false, 4)
	o, _, err = Best(topology, few, Options{Effort: 1, Starts: []Order{{31, 30, 29, 28}}})
	if err != nil || !slices.Equal(o, Order{31, 30, 29, 28}) {
		t.Errorf("the order of 4 ranks is %v, %v, want the one it started with", o, err)
	}
}

// TestBestOfAnyTopology requires valid orders, no worse than that it started with, for
// irregular topologies.
func TestBestOfAnyTopology(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for n := range 40 {
		topology := randomTopology(r, 10+r.IntN(60))
		ranks := 1 + r.IntN(len(topology.Slots))
		traffic := randomTraffic(ranks, 1+r.IntN(8), uint64(n))
		start := Random(topology, ranks, uint64(n))
		o, cost, err := Best(topology, traffic, Options{Seed: uint64(n), Effort: 1 + n%2, Starts: []Order{start}})
		if err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
		if err := o.Check(topology); err != nil || len(o) != ranks {
			t.Errorf("case %d: %d ranks for %d: %v", n, len(o), ranks, err)
		}
		if was := Evaluate(topology, traffic, start).Objective; cost.Objective > was || Evaluate(topology, traffic, o).Objective != cost.Objective {
			t.Errorf("case %d: the cost is %d, it was %d", n, cost.Objective, was)
		}
	}
}

func TestBestRefuses(t *testing.T) {
	topology := uniform(t, []int{4, 2}, []int64{1, 10})
	for _, c := range []struct {
		ranks  int
		opts   Options
		reason string
	}{
		{9, Options{Effort: 1}, "9 ranks for 8 slots"},
		{8, Options{}, "effort 0 is not 1 to 3"},
		{8, Options{Effort: 4}, "effort 4 is not 1 to 3"},
		{4, Options{Effort: 1, Starts: []Order{{0, 1, 2}}}, "3 entries for 4 ranks"},
		{3, Options{Effort: 1, Starts: []Order{{0, 1, 1}}}, "rank 2 is in slot 1"},
	} {
		if _, _, err := Best(topology, stencil(false, c.ranks), c.opts); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%d ranks, %+v: the error is %v, want one about %q", c.ranks, c.opts, err, c.reason)
		}
	}
}

func TestDistinct(t *testing.T) {
	a, b := Order{0, 1, 2}, Order{1, 0, 2}
	if got := distinct([]Order{a, b, slices.Clone(a), b}); !slices.EqualFunc(got, []Order{a, b}, slices.Equal[Order]) {
		t.Errorf("%v", got)
	}
}
