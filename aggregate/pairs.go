package aggregate

import "github.com/mpitrace/mpitrace/aggregate/matrix"

// PairTotals holds what one rank sent to another: the messages that the program
// addressed to it and, separately, its share of collectives.
type PairTotals struct {
	matrix.Cell               // point-to-point and one-sided
	Collective  matrix.Volume `json:"collective"` // logical volume
}

// matricesOf fills in the parts of the summary that are made of matrices.
// Collectives are kept separate. Otherwise an Allreduce of 8 bytes would make
// all ranks partners of each other.
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
	s.Heatmap = newHeatmap(direct, s.RanksExpected)
	if !collective.Empty() {
		s.CollectiveHeatmap = newHeatmap(collective, s.RanksExpected)
	}
}

// maxBins is the largest number of rows and columns of a heatmap.
const maxBins = 32

// Heatmap is a size matrix reduced to at most maxBins × maxBins entries. Each
// entry is the sum of a block of RanksPerBin × RanksPerBin pairs.
type Heatmap struct {
	Ranks       int        `json:"ranks"`
	RanksPerBin int        `json:"ranks_per_bin"`
	Bytes       [][]uint64 `json:"bytes"` // [from][to]
}

// newHeatmap returns the heatmap of the n × n matrix m; nil for n = 0.
func newHeatmap(m *matrix.Matrix, n int) *Heatmap {
	n = max(n, m.Size())
	if n == 0 {
		return nil
	}
	per := (n + maxBins - 1) / maxBins
	bins := (n + per - 1) / per
	h := &Heatmap{Ranks: n, RanksPerBin: per, Bytes: make([][]uint64, bins)}
	for i := range h.Bytes {
		h.Bytes[i] = make([]uint64, bins)
	}
	for p, v := range m.Fold(func(rank int) int { return rank / per }).All() {
		h.Bytes[p.From][p.To] = v.Bytes
	}
	return h
}
