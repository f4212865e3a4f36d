package views_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

// answer returns an answer with invented amounts: the best order costs a quarter.
func answer() *placement.Answer {
	cost := func(o uint64, levels ...uint64) placement.Cost { return placement.Cost{Objective: o, Levels: levels} }
	return &placement.Answer{Ranks: 3, Slots: 4, Nodes: 2, By: placement.Bytes,
		Levels: []placement.Distance{{Level: "l3", Distance: 2}, {Level: "node", Distance: 5}, {Level: "switch", Distance: 25}, {Level: "system", Distance: 50}},
		Orders: []placement.OrderCost{
			{Order: placement.AsItRan, Cost: cost(1_000_000, 0, 0, 4096, 2048), Ratio: 1, LeavesNode: 6144, Largest: placement.NodeFlow{From: "a\x1b", To: "b", Amount: 3000}},
			{Order: placement.BestFound, Cost: cost(250_000, 6144, 0, 0, 0), Ratio: 0.25},
			{Order: placement.InBlocks, Cost: cost(500_000, 0, 6144, 0, 0), Ratio: 0.5},
			{Order: placement.InNoOrder, Cost: cost(750_000, 1, 2, 3, 4), Ratio: 0.75, LeavesNode: 7, Largest: placement.NodeFlow{Amount: 2}}},
		Placed: []placement.NodeRanks{{Node: "a", Ranks: profile.RankSetOf(0, 2)}, {Node: "b", Ranks: profile.RankSetOf(1)}},
		Slot:   placement.Order{0, 2, 1}}
}

func printed(t *testing.T, a *placement.Answer, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, views.Placement(a, views.Options{Top: o.Top}), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPlacement(t *testing.T) {
	want := `objective: the sum, over all pairs of ranks, of the bytes that they send to each other × the distance of their slots: 2 in an L3, 5 in a node, 25 in a switch and 50 in the system
order               objective  ratio  leave a node  in an L3  in a node  in a switch  in the system  largest flow between nodes
as it ran           1,000,000  1.000      6.00 KiB       0 B        0 B     4.00 KiB       2.00 KiB         2.93 KiB, a\x1b → b
best found            250,000  0.250           0 B  6.00 KiB        0 B          0 B            0 B                           –
block                 500,000  0.500           0 B       0 B   6.00 KiB          0 B            0 B                           –
random (mean of 5)    750,000  0.750           7 B       1 B        2 B          3 B            4 B                         2 B

The best order found costs 75.0 % less than the present one: 0 B instead of 6.00 KiB leave a node.
the best order found  ranks
a                     0, 2
b                     1
`
	if got := printed(t, answer(), Options{Top: -1}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// If the level below the outermost is the node, what leaves a node has one column.
func TestPlacementOfNodes(t *testing.T) {
	a := answer()
	a.By = placement.Messages
	a.Levels = append(a.Levels[1:2:2], a.Levels[3])
	for i := range a.Orders {
		a.Orders[i].Levels = a.Orders[i].Levels[2:]
	}
	got := printed(t, a, Options{Top: 1, ASCII: true})
	for _, want := range []string{
		"of the messages that they send to each other x the distance of their slots: 5 in a node and 50 in the system\n",
		"order               objective  ratio  leave a node  in a node  largest flow between nodes\n",
		"as it ran           1,000,000  1.000         6,144      4,096           3,000, a\\x1b -> b\n",
		"\na                     0, 2\nand 1 more node (--top all, or --json)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// Columns that a terminal has no room for are named.
func TestPlacementFits(t *testing.T) {
	got := printed(t, answer(), Options{Top: -1, Width: 100})
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if !strings.Contains(got, "\nleft out to fit 100 characters: in an L3, in a node") {
		t.Errorf("got\n%s", got)
	}
}

func TestPlacementConclusions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*placement.Answer)
		want   string
	}{
		"equal":       {func(a *placement.Answer) { a.Equal = "there is one rank" }, "There is nothing to gain: there is one rank."},
		"best":        {func(a *placement.Answer) { a.NearBest, a.Orders[1].Objective = true, 1_000_000 }, "There is nothing to gain: no better order than the present one was found."},
		"near":        {func(a *placement.Answer) { a.NearBest, a.Orders[1].Objective, a.Orders[1].Ratio = true, 985_000, 0.985 }, "There is little to gain: the best order found costs 1.5 % less than the present one. Differences below 2 % are not worth a change."},
		"within":      {func(a *placement.Answer) { a.Orders[1].LeavesNode = 6144 }, "The best order found costs 75.0 % less than the present one."},
		"elsewhere":   {func(a *placement.Answer) { a.Orders = a.Orders[1:] }, "Where the job ran in this topology is not known. The best order found costs 50.0 % less than block order."},
		"block is it": {func(a *placement.Answer) { a.Orders, a.NearBest = a.Orders[1:], true }, "Where the job ran in this topology is not known. No order was found that costs 2 % less than block order."},
	} {
		a := answer()
		c.change(a)
		got := printed(t, a, Options{Top: -1})
		if !strings.Contains(got, "\n"+c.want+"\n") || strings.Contains(got, "the best order found  ") == (a.NearBest || a.Equal != "") {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
}
