package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

func (s *summaryText) pairsText() {
	pairs, _ := top(s.Pairs, s.Top)
	if len(pairs) == 0 {
		return
	}
	t := text.NewTable("pair", "bytes", "% of bytes", "msgs", "mean size", "in collectives")
	for _, c := range pairs {
		share, mean := 0.0, uint64(0)
		if s.Direct.Bytes > 0 {
			share = float64(c.Bytes) / float64(s.Direct.Bytes)
		}
		if c.Messages > 0 {
			mean = (c.Bytes + c.Messages/2) / c.Messages
		}
		t.Add(s.pair(c.From, c.To),
			text.Bytes(c.Bytes), text.Percent(share), text.Count(c.Messages), text.Bytes(mean), text.Bytes(c.Collective.Bytes))
	}
	all := s.Direct.Pairs
	switch {
	case all == 0:
		s.println("\ntop pairs: collectives alone (logical volume)")
		t.Drop("bytes", "% of bytes", "msgs", "mean size")
		all = s.pairsOf(matrix.Collective)
	case s.pairsOf(matrix.Collective) == 0:
		s.println("\ntop pairs: point-to-point and one-sided")
		t.Drop("in collectives")
	default:
		s.println("\ntop pairs: point-to-point and one-sided; beside them their share of collectives (logical volume)")
	}
	t.Write(s)
	s.more(all-len(pairs), "pair", " (all: profile2mat DIR)")
}

// pairsOf returns the number of pairs in a matrix.
func (s *summaryText) pairsOf(c matrix.Class) int {
	i := slices.IndexFunc(s.Traffic, func(t aggregate.MatrixTotals) bool { return t.Class == c.String() })
	if i < 0 {
		return 0
	}
	return s.Traffic[i].Pairs
}

// besideWidth is the largest width, in characters, at which two matrices are
// printed side by side if the width of lines is not limited.
const besideWidth = 100

// heatmapsText draws two matrices, one of messages between ranks and one of
// collectives, side by side if there is room.
func (s *summaryText) heatmapsText() {
	var titles []string
	var blocks [][]string
	for _, m := range []struct {
		title string
		*aggregate.BinnedMatrix
	}{{"point-to-point and one-sided", s.Heatmap}, {"collectives (logical volume)", s.CollectiveHeatmap}} {
		if m.BinnedMatrix != nil && filled(m.BinnedMatrix) {
			titles, blocks = append(titles, m.title), append(blocks, s.heatmapLines(m.BinnedMatrix))
		}
	}
	if len(blocks) == 0 {
		s.println("\nno bytes between ranks")
		return
	}
	s.println("\nbytes between ranks (row: from, column: to; blank: 0 bytes)")
	if len(blocks) == 2 {
		if both := beside(titles, blocks); widest(both, func(l *string) string { return *l }) <= cmp.Or(s.Width, besideWidth) {
			titles, blocks = []string{""}, [][]string{both}
		}
	}
	for i, block := range blocks {
		if titles[i] != "" {
			s.println(titles[i])
		}
		s.println(strings.Join(block, "\n"))
	}
	if per := s.Heatmap.RanksPerBin; per > 1 {
		s.printf("each cell adds up %d x %d ranks\n", per, per)
	}
}

// beside returns two blocks of lines side by side, under their titles.
func beside(titles []string, blocks [][]string) []string {
	left, right := append([]string{titles[0]}, blocks[0]...), append([]string{titles[1]}, blocks[1]...)
	width := widest(left, func(l *string) string { return *l }) + 4
	out := make([]string, len(left))
	for i := range left {
		out[i] = left[i] + strings.Repeat(" ", width-utf8.RuneCountInString(left[i])) + right[i]
	}
	return out
}

// filled reports whether any bytes were sent.
func filled(h *aggregate.BinnedMatrix) bool {
	_, high := extremes(h)
	return high > 0
}
