package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/text"
)

// placementText prints an answer about the placement of ranks.
type placementText struct {
	*printer
	*placement.Answer
}

// Placement prints what orders of the ranks of a job cost, and the best one that was
// found. Options.Top limits the list of nodes.
func Placement(w io.Writer, a *placement.Answer, o Options) error {
	p := &placementText{newOutput(w, o, o.Width), a}
	p.println(p.objective())
	p.rows()
	p.println()
	p.println(p.conclusion())
	if p.Gains() && p.Top != 0 {
		p.println("\nThe best order found:")
		nodes, more := top(p.Placed, p.Top)
		for _, n := range nodes {
			p.printf("  %s: %s\n", p.clean(n.Node), n.Ranks)
		}
		p.more(more, "node", " (--top all, or --json)")
	}
	return p.Flush()
}

// objective says what orders are compared by.
func (p *placementText) objective() string {
	var distances []string
	for _, l := range p.Levels {
		distances = append(distances, fmt.Sprintf("%d %s", l.Distance, within(l.Level)))
	}
	return fmt.Sprintf("objective: the sum, over all pairs of ranks, of the %s that they send to each other %s the distance of their slots: %s",
		p.By, p.pick("×", "x"), text.List(distances))
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

// rows prints the table of orders.
func (p *placementText) rows() {
	heads := []string{"order", "objective", "ratio", "leave a node"}
	levels := p.Levels
	if n := len(levels); n > 1 && levels[n-2].Level == placement.NodeLevel {
		levels = levels[:n-1] // the last one is what leaves a node
	}
	for _, l := range levels {
		heads = append(heads, within(l.Level))
	}
	t := text.NewTable(append(heads, "largest flow between nodes")...)
	for i := range p.Orders {
		r := &p.Orders[i]
		name := r.Order
		if name == placement.InNoOrder {
			name = fmt.Sprintf("%s (mean of %d)", name, placement.RandomOrders)
		}
		cells := []string{name, text.Count(r.Objective), fmt.Sprintf("%.3f", r.Ratio), p.amount(r.LeavesNode)}
		for _, w := range r.Levels[:len(levels)] {
			cells = append(cells, p.amount(w))
		}
		t.Add(append(cells, p.flow(&r.Largest))...)
	}
	p.fit(t, heads[4:]...)
	p.println()
	t.Write(p)
	if len(p.omitted) > 0 {
		p.printf("left out to fit %d characters: %s (piped into less -S, the table is whole)\n", p.Width, strings.Join(p.omitted, ", "))
	}
}

func (p *placementText) amount(n uint64) string {
	if p.By == placement.Bytes {
		return text.Bytes(n)
	}
	return text.Count(n)
}

func (p *placementText) flow(f *placement.NodeFlow) string {
	switch {
	case f.Amount == 0:
		return p.none()
	case f.From == "":
		return p.amount(f.Amount)
	}
	return fmt.Sprintf("%s, %s %s %s", p.amount(f.Amount), p.clean(f.From), p.pick("→", "->"), p.clean(f.To))
}

// conclusion says in a sentence whether the best order found should be used.
func (p *placementText) conclusion() string {
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
func (p *placementText) withUnit(n uint64) string {
	if p.By == placement.Bytes {
		return text.Bytes(n)
	}
	return text.CountOf(n, "message")
}
