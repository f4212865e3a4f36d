package aggregate

import "github.com/mpitrace/mpitrace/aggregate/matrix"

// maxBins is how many rows and columns a heatmap has at most.
const maxBins = 32

// Heatmap is a size matrix made small: each entry adds up a block of
// RanksPerBin × RanksPerBin pairs.
type Heatmap struct {
	Ranks       int        `json:"ranks"`
	RanksPerBin int        `json:"ranks_per_bin"`
	Bytes       [][]uint64 `json:"bytes"` // [from][to]
}

// NewHeatmap bins the n × n matrix m; nil for n = 0.
func NewHeatmap(m *matrix.Matrix, n int) *Heatmap {
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
