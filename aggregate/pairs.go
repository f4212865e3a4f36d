package aggregate

import "github.com/mpitrace/mpitrace/aggregate/matrix"

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
