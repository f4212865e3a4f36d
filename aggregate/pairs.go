package aggregate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// PairTotals are what one rank sent to another: the messages that the program
// addressed to it, and beside them its share of collectives.
type PairTotals struct {
	matrix.Cell               // point-to-point and one-sided
	Collective  matrix.Volume `json:"collective"` // logical volume
}

// matricesOf fills in what the summary tells of pairs of ranks. Collectives are
// kept apart: an Allreduce of 8 bytes would otherwise make every rank everyone's
// partner.
func (s *Summary) matricesOf(ms *matrix.ByClass) {
	direct, collective := ms.Direct(), &ms[matrix.Collective]
	s.Traffic = matrixTotals(ms)
	s.Direct = MatrixTotals{matrix.Direct.String(), direct.Total(), direct.Len()}
	s.Pairs = []PairTotals{}
	for _, c := range direct.Top(topPairs) {
		s.Pairs = append(s.Pairs, PairTotals{c, collective.At(c.From, c.To)})
	}
	for _, c := range collective.Top(topPairs) {
		if direct.Empty() {
			s.Pairs = append(s.Pairs, PairTotals{matrix.Cell{Pair: c.Pair, Volume: matrix.Volume{}}, c.Volume})
		}
	}
	s.Heatmap = NewHeatmap(direct, s.RanksExpected)
	if !collective.Empty() {
		s.CollectiveHeatmap = NewHeatmap(collective, s.RanksExpected)
	}
}

func (s *Summary) pairsText(w io.Writer, o TextOptions) {
	pairs := s.Pairs
	if o.Sites >= 0 {
		pairs = pairs[:min(len(pairs), o.Sites)]
	}
	if len(pairs) == 0 {
		return
	}
	t := table{{"pair", "bytes", "% of bytes", "msgs", "mean size", "in collectives"}}
	for _, c := range pairs {
		share, mean := 0.0, uint64(0)
		if s.Direct.Bytes > 0 {
			share = float64(c.Bytes) / float64(s.Direct.Bytes)
		}
		if c.Messages > 0 {
			mean = (c.Bytes + c.Messages/2) / c.Messages
		}
		t = append(t, []string{fmt.Sprintf("%d %s %d", c.From, o.pick("→", "->"), c.To),
			bytesText(c.Bytes), percent(share), count(c.Messages), bytesText(mean), bytesText(c.Collective.Bytes)})
	}
	all := s.Direct.Pairs
	switch {
	case all == 0:
		fmt.Fprintln(w, "\ntop pairs: collectives alone (logical volume)")
		t = t.without("bytes", "% of bytes", "msgs", "mean size")
		all = s.pairsOf(matrix.Collective)
	case s.pairsOf(matrix.Collective) == 0:
		fmt.Fprintln(w, "\ntop pairs: point-to-point and one-sided")
		t = t.without("in collectives")
	default:
		fmt.Fprintln(w, "\ntop pairs: point-to-point and one-sided; beside them their share of collectives (logical volume)")
	}
	t.write(w)
	if more := all - len(pairs); more > 0 {
		fmt.Fprintf(w, "and %s (all: profile2mat DIR)\n", CountOf(uint64(more), "more pair"))
	}
}

// pairsOf is how many pairs a matrix has.
func (s *Summary) pairsOf(c matrix.Class) int {
	i := slices.IndexFunc(s.Traffic, func(t MatrixTotals) bool { return t.Class == c.String() })
	if i < 0 {
		return 0
	}
	return s.Traffic[i].Pairs
}

// besideWidth is the width into which two matrices fit beside each other where any
// width will do.
const besideWidth = 100

// heatmapsText draws two matrices: what ranks sent to each other, and collectives.
// They stand beside each other if there is room.
func (s *Summary) heatmapsText(w io.Writer, o TextOptions) {
	var titles []string
	var blocks [][]string
	for _, m := range []struct {
		title string
		*Heatmap
	}{{"point-to-point and one-sided", s.Heatmap}, {"collectives (logical volume)", s.CollectiveHeatmap}} {
		if m.Heatmap != nil && m.filled() {
			titles, blocks = append(titles, m.title), append(blocks, m.lines(o))
		}
	}
	if len(blocks) == 0 {
		fmt.Fprintln(w, "\nno bytes between ranks")
		return
	}
	fmt.Fprintln(w, "\nbytes between ranks (row: from, column: to; blank: 0 bytes)")
	if len(blocks) == 2 {
		if both := beside(titles, blocks); widest(both, func(l *string) string { return *l }) <= cmp.Or(o.Width, besideWidth) {
			titles, blocks = []string{""}, [][]string{both}
		}
	}
	for i, block := range blocks {
		if titles[i] != "" {
			fmt.Fprintln(w, titles[i])
		}
		fmt.Fprintln(w, strings.Join(block, "\n"))
	}
	if per := s.Heatmap.RanksPerBin; per > 1 {
		fmt.Fprintf(w, "each cell adds up %d x %d ranks\n", per, per)
	}
}

// beside puts two blocks of lines beside each other, under their titles.
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
func (h *Heatmap) filled() bool {
	_, high := h.extremes()
	return high > 0
}
