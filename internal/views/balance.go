package views

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

// quantityNames are the names of quantities that ranks have.
var quantityNames = map[string]string{"mpi_time_ns": "MPI time", "sent_bytes": "bytes sent", "received_bytes": "bytes received",
	"messages": "messages, p2p and one-sided", "bytes": "bytes, p2p and one-sided"}

// balance returns the section of how much each rank and each node has of everything.
func (s *report) balance() Section {
	out := Section{ID: "balance", Title: "Balance and nodes", Joined: true}
	if len(s.Ranks) > 1 {
		s.imbalance(&out)
	}
	s.locality(&out)
	if len(s.Ranks) < 2 {
		return out
	}
	out.Detail(func() {
		out.Add(s.spreadTable())
		if len(s.Hosts) > 1 {
			out.Add(s.localityTable())
			out.Add(s.orderTable())
			out.Add(s.nodeTable())
		}
	})
	return out
}

// imbalance adds the imbalance of a job or within each of its programs, and which ranks differ
// most from the others.
func (s *report) imbalance(out *Section) {
	if !s.Programs.Several() {
		out.imbalance("", s.Balances)
		return
	}
	for i := range s.Programs {
		if p := &s.Programs[i]; p.Ranks.Len() > 1 {
			out.imbalance(" in "+p.Name, p.Balances)
		}
	}
}

// imbalance adds the balances of a set of ranks. where names the set.
func (s *Section) imbalance(where string, balances []aggregate.Balance) {
	var parts []string
	for i := range balances {
		if b := &balances[i]; b.Max > 0 {
			parts = append(parts, fmt.Sprintf("%s +%s (rank %d)", quantityNames[b.Quantity], text.Percent(b.Imbalance), b.MaxRank))
		}
	}
	s.Fact("imbalance"+where+", largest over mean", strings.Join(parts, ", "))
	for i := range balances {
		if b := &balances[i]; b.Max > 0 && b.Outlying > 0 {
			s.Fact("stand out"+where+" in "+quantityNames[b.Quantity], standouts(b)+"; median "+amountCell(b, b.Median).Text)
		}
	}
}

// amountCell returns a value of a quantity.
func amountCell(b *aggregate.Balance, v float64) Cell {
	switch b.Quantity {
	case "mpi_time_ns":
		return nsCell(v)
	case "messages":
		return numberCell(v)
	}
	return Cell{text.Bytes(uint64(v)), v}
}

// standouts names ranks that differ from the others.
func standouts(b *aggregate.Balance) string {
	parts := []string{}
	for _, s := range b.Standouts[:min(len(b.Standouts), mostStandouts)] {
		parts = append(parts, fmt.Sprintf("rank %d %s", s.Rank, amountCell(b, s.Value).Text))
	}
	words := strings.Join(parts, ", ")
	if more := b.Outlying - len(parts); more > 0 {
		words += fmt.Sprintf(" and %s", text.CountOf(more, "more rank"))
	}
	return words
}

// locality adds what was sent within and between nodes; nothing for a job on one node.
func (s *report) locality(out *Section) {
	if len(s.Hosts) < 2 || len(s.Localities) == 0 {
		return
	}
	l := s.Localities[0] // of matrix.All
	all := float64(l.Within.Bytes + l.Between.Bytes + l.Unknown.Bytes)
	if all == 0 {
		return
	}
	words := fmt.Sprintf("%s (%s), between nodes: %s (%s)", text.Bytes(l.Within.Bytes), text.Percent(float64(l.Within.Bytes)/all),
		text.Bytes(l.Between.Bytes), text.Percent(float64(l.Between.Bytes)/all))
	if l.Unknown != (matrix.Volume{}) {
		words += fmt.Sprintf(", not known: %s", text.Bytes(l.Unknown.Bytes))
	}
	out.Fact("sent within nodes", words)
}

// spreadTable returns how much of each quantity the ranks have.
func (s *report) spreadTable() *Table {
	type R = aggregate.Balance
	var list []R
	for _, b := range slices.Concat(s.Balances, s.Directs) {
		if b.Max > 0 {
			list = append(list, b)
		}
	}
	return tableOf("spread", list,
		col("quantity", "quantity", Words, func(b *R) Cell { return wordsCell(quantityNames[b.Quantity]) }),
		col("mean", "mean", OfColumn, func(b *R) Cell { return amountCell(b, math.Round(b.Mean)) }),
		col("median", "median", OfColumn, func(b *R) Cell { return amountCell(b, math.Round(b.Median)) }),
		col("min", minOfRank, OfColumn, func(b *R) Cell { return amountCell(b, b.Min).ofRank(b.MinRank) }),
		col("max", maxOfRank, OfColumn, func(b *R) Cell { return amountCell(b, b.Max).ofRank(b.MaxRank) }),
		col("imbalance", "above mean", Share, func(b *R) Cell { return shareCell(b.Imbalance) }),
		col("standouts", "stand out", Words, func(b *R) Cell { return wordsCell(standouts(b)) }),
	).named("what the ranks did, over the ranks")
}

func (s *report) localityTable() *Table {
	type R = aggregate.Locality
	return tableOf("locality", s.Localities,
		col("class", "class", Words, func(l *R) Cell { return wordsCell(logicalNames[l.Class]) }),
		col("within", "within nodes", Bytes, func(l *R) Cell { return bytesCell(l.Within.Bytes) }),
		col("between", "between nodes", Bytes, func(l *R) Cell { return bytesCell(l.Between.Bytes) }),
		col("share_between", "between", Share, func(l *R) Cell {
			return ratioCell(float64(l.Between.Bytes), float64(l.Within.Bytes+l.Between.Bytes+l.Unknown.Bytes))
		}),
		col("unknown", "not known", Bytes, func(l *R) Cell { return bytesCell(l.Unknown.Bytes) }),
	).named("bytes within and between nodes")
}

// orderTable returns what the simple orders of ranks send between nodes.
func (s *report) orderTable() *Table {
	type R = aggregate.NodeOrder
	return tableOf("orders", s.Orders,
		col("order", "order of the ranks", Words, func(o *R) Cell { return wordsCell(o.Name) }),
		col("between", "between nodes", Bytes, func(o *R) Cell { return bytesCell(o.Between.Bytes) }),
		col("all", "all", Bytes, func(o *R) Cell { return bytesCell(o.All.Bytes) }),
		col("share_between", "between", Share, func(o *R) Cell { return ratioCell(float64(o.Between.Bytes), float64(o.All.Bytes)) }),
	).named("bytes between nodes in other orders")
}

func (s *report) nodeTable() *Table {
	type R = aggregate.Host
	return tableOf("nodes", s.Hosts,
		col("node", "node", Words, func(h *R) Cell { return wordsCell(h.Name) }),
		col("ranks", "ranks", Count, func(h *R) Cell { return countCell(h.Ranks) }),
	).named("nodes").top(mostNodes, "node", "")
}
