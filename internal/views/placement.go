package views

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/text"
)

// placed makes the sections of an answer about the placement of ranks.
type placed struct {
	*placement.Answer
	top int // nodes that are shown at first; all if negative
}

// Placement returns the sections of what orders of the ranks of a job cost, and of the best
// one that was found.
func Placement(a *placement.Answer, o Options) []Section {
	return Finish(placementSections(a, o)...)
}

// placementSections returns none without an answer.
func placementSections(a *placement.Answer, o Options) []Section {
	if a == nil {
		return nil
	}
	p := &placed{a, o.Top}
	orders := Section{ID: "placement", Title: "Placement"}
	orders.Say(p.objective())
	orders.Detail(func() { orders.Say("Point-to-point and one-sided calls count, or collectives if there are none.") })
	orders.Add(p.orderTable())
	best := Section{ID: "best-order", Title: "Best order", Sub: true}
	best.Say(p.conclusion())
	if p.Gains() {
		best.Detail(func() {
			best.Say("To see it, choose the order “best order found” in the matrix. mpitrace reorder RUN -o FILE writes the launcher's file.")
		})
		best.Add(p.nodeTable())
	}
	return []Section{orders, best}
}

// objective says what orders are compared by.
func (p *placed) objective() string {
	var distances []string
	for _, l := range p.Levels {
		distances = append(distances, fmt.Sprintf("%d %s", l.Distance, within(l.Level)))
	}
	return fmt.Sprintf("objective: the sum, over all pairs of ranks, of the %s that they send to each other × the distance of their slots: %s",
		p.By, text.List(distances))
}

// within returns "in a node" for the level of nodes.
func within(level string) string {
	article := "a"
	switch {
	case level == "system":
		article = "the"
	case strings.HasPrefix(level, "l"): // l3
		level = strings.ToUpper(level)
		article = "an"
	}
	return fmt.Sprintf("in %s %s", article, level)
}

// orderTable returns the table of what each order costs.
func (p *placed) orderTable() *Table {
	type R = placement.OrderCost
	unit := Count
	if p.By == placement.Bytes {
		unit = Bytes
	}
	amount := func(key, head string, of func(*R) uint64) column[R] {
		return col(key, head, unit, func(r *R) Cell { return Cell{p.amount(of(r)), of(r)} })
	}
	columns := []column[R]{
		col("order", "order", Words, func(r *R) Cell {
			if r.Order == placement.InNoOrder {
				return wordsCell(fmt.Sprintf("%s (mean of %d)", r.Order, placement.RandomOrders))
			}
			return wordsCell(r.Order)
		}),
		col("objective", "objective", Count, func(r *R) Cell { return countCell(r.Objective) }),
		col("ratio", "ratio", Number, func(r *R) Cell { return Cell{fmt.Sprintf("%.3f", r.Ratio), r.Ratio} }).help("to the objective of the first row"),
		amount("leaves_node", "leave a node", func(r *R) uint64 { return r.LeavesNode }),
	}
	levels := p.Levels
	if n := len(levels); n > 1 && levels[n-2].Level == placement.NodeLevel {
		levels = levels[:n-1] // the last one is what leaves a node
	}
	for i, l := range levels {
		columns = append(columns, amount("in_"+l.Level, within(l.Level), func(r *R) uint64 { return r.Levels[i] }).spare(1+i))
	}
	columns = append(columns, col("largest_flow", "largest flow between nodes", OfColumn, func(r *R) Cell { return p.flow(&r.Largest) }).spare(1+len(levels)))
	return tableOf("placement", p.Orders, columns...)
}

func (p *placed) amount(n uint64) string {
	if p.By == placement.Bytes {
		return text.Bytes(n)
	}
	return text.Count(n)
}

func (p *placed) flow(f *placement.NodeFlow) Cell {
	switch {
	case f.Amount == 0:
		return missing
	case f.From == "":
		return Cell{p.amount(f.Amount), f.Amount}
	}
	return Cell{fmt.Sprintf("%s, %s → %s", p.amount(f.Amount), f.From, f.To), f.Amount}
}

// nodeTable returns the ranks of each node in the best order that was found.
func (p *placed) nodeTable() *Table {
	type R = placement.NodeRanks
	return tableOf("placed", p.Placed,
		col("node", "node", Words, func(n *R) Cell { return wordsCell(n.Node) }),
		col("ranks", "ranks", Words, func(n *R) Cell {
			_, list, _ := strings.Cut(n.Ranks.String(), " ") // after "ranks"
			return wordsCell(list)
		}),
	).named("the best order found").top(p.top, "node", " (--top all, or --json)")
}

// conclusion says in a sentence whether the best order found should be used.
func (p *placed) conclusion() string {
	ran, best := p.Ran(), p.Best()
	switch {
	case p.Equal != "":
		return fmt.Sprintf("There is nothing to gain: %s.", p.Equal)
	case ran == nil && p.NearBest:
		return fmt.Sprintf("Where the job ran in this topology is not known. No order was found that costs %.0f %% less than block order.", 100*placement.NearBest)
	case ran == nil:
		return fmt.Sprintf("Where the job ran in this topology is not known. The best order found costs %s less than block order.",
			text.Percent(1-float64(best.Objective)/float64(p.Row(placement.InBlocks).Objective)))
	case ran.Objective == best.Objective:
		return "There is nothing to gain: no better order than the present one was found."
	case p.NearBest:
		return fmt.Sprintf("There is little to gain: the best order found costs %s less than the present one. Differences below %.0f %% are not worth a change.",
			text.Percent(1-best.Ratio), 100*placement.NearBest)
	case ran.LeavesNode == best.LeavesNode:
		return fmt.Sprintf("The best order found costs %s less than the present one.", text.Percent(1-best.Ratio))
	}
	return fmt.Sprintf("The best order found costs %s less than the present one: %s instead of %s leave a node.",
		text.Percent(1-best.Ratio), p.amount(best.LeavesNode), p.withUnit(ran.LeavesNode))
}

// withUnit returns an amount as part of a sentence.
func (p *placed) withUnit(n uint64) string {
	if p.By == placement.Bytes {
		return text.Bytes(n)
	}
	return text.CountOf(n, "message")
}
