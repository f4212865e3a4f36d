package views

import (
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// pairs returns the section of the pairs of ranks that send most.
func (s *report) pairs() Section {
	out := Section{ID: "pairs", Title: "Pairs"}
	if len(s.Pairs) == 0 || s.Top == 0 {
		return out
	}
	all, collectives := s.Direct.Pairs, s.pairsOf(matrix.Collective)
	direct := all > 0
	switch {
	case !direct:
		out.Say("top pairs: collectives alone (logical volume)")
		all = collectives
	case collectives == 0:
		out.Say("top pairs: point-to-point and one-sided")
	default:
		out.Say("top pairs: point-to-point and one-sided; beside them their share of collectives (logical volume)")
	}
	type R = aggregate.PairTotals
	t := tableOf("pairs", s.Pairs,
		col("pair", "pair", Words, func(p *R) Cell { return pairCell(p.From, p.To) }),
		col("bytes", "bytes", Bytes, func(p *R) Cell { return bytesCell(p.Bytes) }).when(direct),
		col("share", "% of bytes", Share, func(p *R) Cell { return ratioCell(float64(p.Bytes), float64(s.Direct.Bytes)) }).when(direct),
		col("messages", "msgs", Count, func(p *R) Cell { return countCell(p.Messages) }).when(direct),
		col("mean_size", "mean size", Bytes, func(p *R) Cell { return bytesCell(meanSize(p.Volume)) }).when(direct),
		col("collective_bytes", "in collectives", Bytes, func(p *R) Cell { return bytesCell(p.Collective.Bytes) }).
			help("logical volume").when(!direct || collectives > 0),
	).top(s.Top, "pair", " (all: mpitrace matrix DIR)")
	t.Rest = all - len(s.Pairs)
	out.Add(t)
	return out
}

// pairsOf returns the number of pairs in a matrix.
func (s *report) pairsOf(c matrix.TrafficClass) int {
	i := slices.IndexFunc(s.Traffic, func(t aggregate.MatrixTotals) bool { return t.Class == c.String() })
	if i < 0 {
		return 0
	}
	return s.Traffic[i].Pairs
}

// matrix returns the section of the matrix of bytes between ranks.
func (s *report) matrix() Section {
	out := Section{ID: "matrix", Title: "Who sends to whom"}
	drawing := &Drawing{Name: "matrix", Title: "bytes between ranks (row: from, column: to; blank: 0 bytes)"}
	for _, h := range []SmallMatrix{{"point-to-point and one-sided", s.Heatmap}, {"collectives (logical volume)", s.CollectiveHeatmap}} {
		if h.BinnedMatrix != nil && h.Largest() > 0 {
			drawing.Heatmaps = append(drawing.Heatmaps, h)
		}
	}
	if len(drawing.Heatmaps) == 0 {
		out.Say("no bytes between ranks")
		drawing.Heatmaps = nil
	}
	out.Blocks = append(out.Blocks, Block{Drawing: drawing, Detail: drawing.Heatmaps == nil})
	return out
}
