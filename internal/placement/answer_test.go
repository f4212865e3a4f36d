package placement

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// asked is a machine of 2 nodes with 2 sockets of 2 cores, and what 6 ranks send. Rank 0
// exchanges 9 bytes with rank 4, 8 bytes with rank 1 and 7 bytes with rank 2; ranks 4 and 5
// exchange 2 bytes.
func asked(t *testing.T) Question {
	t.Helper()
	topology := hierarchyOf(t, []string{"socket", "node", "system"}, []int{2, 2, 2}, []int64{1, 10, 100})
	m := new(matrix.Matrix)
	for _, c := range []struct {
		from, to        int
		bytes, messages uint64
	}{{0, 1, 6, 1}, {1, 0, 2, 1}, {0, 2, 7, 1}, {4, 0, 9, 1}, {5, 4, 2, 20}, {3, 3, 1000, 1000}} {
		m.Add(matrix.Pair{From: c.from, To: c.to}, matrix.Volume{Bytes: c.bytes, Messages: c.messages})
	}
	return Question{Topology: topology, Matrix: m, Ranks: 6, By: Bytes, Options: Options{Seed: 1, Effort: 1}}
}

func TestAsk(t *testing.T) {
	q := asked(t)
	q.Ran = Order{0, 4, 1, 5, 2, 6} // 0, 2 and 4 on one node, 1, 3 and 5 on the other
	a, err := Ask(q)
	testenv.NoError(t, err)
	inTurn := OrderCost{Cost: Cost{7*1 + 9*10 + (8+2)*100, []uint64{7, 9, 10}}, Ratio: 1, LeavesNode: 10, Largest: NodeFlow{"node 0", "node 1", 6}}
	ran, turn := inTurn, inTurn
	ran.Order, turn.Order = AsItRan, InTurn
	block := OrderCost{InBlocks, Cost{(8+2)*1 + 7*10 + 9*100, []uint64{10, 7, 9}}, 980.0 / 1097, 9, NodeFlow{"node 1", "node 0", 9}}
	// 0 and 4 share a socket, 1 and 2 their node, 5 is elsewhere.
	best := OrderCost{BestFound, Cost{9*1 + (8+7)*10 + 2*100, []uint64{9, 15, 2}}, 359.0 / 1097, 2, a.Orders[1].Largest}
	testenv.Equal(t, []OrderCost{ran, best, block, turn}, a.Orders[:4])
	if a.Orders[1].Largest.Amount != 2 || a.NearBest || a.Equal != "" || !a.Gains() || a.Slots != 8 || a.Nodes != 2 {
		t.Errorf("%+v", a)
	}
	if want := []Distance{{"socket", 1}, {"node", 10}, {"system", 100}}; !slices.Equal(a.Levels, want) {
		t.Errorf("levels %v", a.Levels)
	}
	if err := a.Slot.Check(q.Topology); err != nil || len(a.Slot) != 6 || a.Slot[0]/2 != a.Slot[4]/2 || a.Slot[0]/4 != a.Slot[1]/4 || a.Slot[0]/4 != a.Slot[2]/4 {
		t.Errorf("%v, %v", a.Slot, err)
	}
	var placed []int
	for _, n := range a.Placed {
		placed = append(placed, n.Ranks.Len())
	}
	if len(a.Placed) != 2 || placed[0]+placed[1] != 6 {
		t.Errorf("placed %+v", a.Placed)
	}
	checkRandom(t, &q, &a.Orders[4])
}

// checkRandom requires that a row is the mean of random orders, rounded down.
func checkRandom(t *testing.T, q *Question, got *OrderCost) {
	t.Helper()
	var objective float64
	for i := range RandomOrders {
		o := Random(q.Topology, q.Ranks, q.Seed+uint64(i))
		for p, v := range q.Matrix.All() {
			objective += float64(v.Bytes) * float64(q.Topology.Distance(o[p.From], o[p.To])) / RandomOrders
		}
	}
	if got.Order != InNoOrder || math.Abs(float64(got.Objective)-objective) > 1 {
		t.Errorf("%+v, the mean objective is %g", got, objective)
	}
}

// TestLargeSums asks about sums that fit into 64 bits, and about some that do not.
func TestLargeSums(t *testing.T) {
	for bytes, fits := range map[uint64]bool{1 << 52: true, 1 << 60: false} {
		q := asked(t)
		q.Matrix = new(matrix.Matrix)
		for rank := range 3 { // 3, 4 and 5 are at the other node as it ran
			q.Matrix.Add(matrix.Pair{From: rank, To: 5 - rank}, matrix.Volume{Bytes: bytes, Messages: 1})
		}
		q.Ran = Order{0, 1, 2, 4, 5, 6}
		a, err := Ask(q)
		if !fits {
			if err == nil || !strings.Contains(err.Error(), "do not fit into 64 bits") {
				t.Errorf("%d bytes: %v", bytes, err)
			}
			continue
		}
		if err != nil || a.Orders[0].Objective != 3*100*bytes || a.Orders[1].Objective != 3*bytes {
			t.Errorf("%d bytes: %+v, %v", bytes, a, err)
		}
	}
}

func TestAskByMessages(t *testing.T) {
	q := asked(t)
	q.By = Messages
	a, err := Ask(q)
	testenv.NoError(t, err)
	// In blocks: 2 + 20 messages in sockets, 1 in a node, 1 between nodes.
	block := a.Row(InBlocks)
	if want := (Cost{22*1 + 1*10 + 1*100, []uint64{22, 1, 1}}); !cmp.Equal(want, block.Cost) || block.Largest != (NodeFlow{"node 1", "node 0", 1}) {
		t.Errorf("%+v", block)
	}
	if a.Ran() != nil || a.Orders[0].Order != BestFound || !a.NearBest { // block is the best order
		t.Errorf("%+v", a)
	}
}

// Hosts name the nodes, and without a level of nodes all ranks are on one.
func TestNodeNames(t *testing.T) {
	q := asked(t)
	for s := range q.Topology.Slots[4:] {
		q.Topology.Slots[4+s].Host = "b"
	}
	want := []NodeRanks{{"node 0", profile.RankSetOf(0, 1, 2, 3)}, {"b", profile.RankSetOf(4, 5)}}
	testenv.Equal(t, want, q.Topology.placed(Block(6)))
	q.Topology.Levels = slices.Delete(q.Topology.Levels, 1, 2)
	a, err := Ask(q)
	testenv.NoError(t, err)
	if a.Nodes != 1 || a.Best().LeavesNode != 0 || len(a.Placed) != 1 {
		t.Errorf("%+v", a)
	}
}

// The limit of 2 % includes 2 %.
func TestNearBest(t *testing.T) {
	for ran, want := range map[uint64]bool{1000: true, 1020: true, 1021: false, 2000: false} {
		a := Answer{Orders: []OrderCost{{Order: AsItRan, Cost: Cost{Objective: ran}}, {Order: BestFound, Cost: Cost{Objective: 1000}}, {Order: InBlocks, Cost: Cost{Objective: 5000}}}}
		if a.compare(); a.NearBest != want || a.Orders[0].Ratio != 1 || a.Orders[1].Ratio != 1000/float64(ran) {
			t.Errorf("%d: %+v", ran, a)
		}
		unknown := Answer{Orders: []OrderCost{{Order: BestFound, Cost: Cost{Objective: 1000}}, {Order: InBlocks, Cost: Cost{Objective: ran}}}}
		if unknown.compare(); unknown.NearBest != want || unknown.Orders[1].Ratio != float64(ran)/1000 {
			t.Errorf("in blocks, %d: %+v", ran, unknown)
		}
	}
	none := Answer{Orders: []OrderCost{{Order: AsItRan}, {Order: BestFound}, {Order: InTurn, Cost: Cost{Objective: 1}}}}
	if none.compare(); !none.NearBest || none.Orders[1].Ratio != 1 || math.IsInf(none.Orders[2].Ratio, 0) {
		t.Errorf("%+v", none)
	}
}

// Some questions have no answer, others one that says why all orders cost the same.
func TestNothingToFind(t *testing.T) {
	flat := hierarchyOf(t, []string{"socket", "node", "system"}, []int{1, 8, 1}, []int64{1, 10, 100})
	for name, c := range map[string]struct {
		change func(*Question)
		want   string
	}{
		"no ranks":         {func(q *Question) { q.Ranks = 0 }, "the job has no ranks"},
		"few slots":        {func(q *Question) { q.Ranks = 9 }, "the topology has 8 slots, too few for 9 ranks"},
		"wrong order":      {func(q *Question) { q.Ran = Order{0, 1} }, "the present order has 2 of 6 ranks"},
		"two in a slot":    {func(q *Question) { q.Ran = Order{0, 1, 2, 3, 4, 4} }, "rank 5 is in slot 4"},
		"one rank":         {func(q *Question) { q.Ranks = 1 }, "there is one rank"},
		"nothing was sent": {func(q *Question) { q.Matrix = new(matrix.Matrix) }, "no rank sent any bytes to another"},
		"flat":             {func(q *Question) { q.Topology = flat }, "all slots are equally far from each other"},
	} {
		q := asked(t)
		c.change(&q)
		a, err := Ask(q)
		got := ""
		if err != nil {
			got = err.Error()
		} else if got = a.Equal; a.Gains() {
			t.Errorf("%s: there is something to gain", name)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The work is the number of edges of each rank × the slots of the nodes that it may have
// peers on: 3, 1, 1, 0, 2 and 1 edges, 2 nodes of 4 slots.
func TestTooMuch(t *testing.T) {
	q := asked(t)
	const work = 3*2*4 + 1*4 + 1*4 + 2*2*4 + 1*4
	for within, want := range map[int64]error{work: nil, work - 1: ErrTooMuch} {
		q.Within = within
		if _, err := Ask(q); err != want {
			t.Errorf("within %d: %v", within, err)
		}
	}
}

// Collectives count if there is nothing else.
func TestCounted(t *testing.T) {
	var ms matrix.ByClass
	ms[matrix.Collective].Add(matrix.Pair{From: 0, To: 1}, matrix.Volume{Bytes: 1, Messages: 1})
	ms[matrix.All].Merge(&ms[matrix.Collective])
	if m, class := Counted(&ms); class != matrix.All || m.Total().Bytes != 1 {
		t.Errorf("%v, %v", class, m.Total())
	}
	ms[matrix.OneSided].Add(matrix.Pair{From: 0, To: 1}, matrix.Volume{Bytes: 4, Messages: 1})
	if m, class := Counted(&ms); class != matrix.Direct || m.Total().Bytes != 4 {
		t.Errorf("%v, %v", class, m.Total())
	}
}
