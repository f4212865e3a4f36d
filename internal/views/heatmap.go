package views

import "github.com/mpitrace/mpitrace/aggregate"

// Heatmap is a small matrix of bytes that a terminal shows.
type Heatmap struct {
	Title string
	*aggregate.BinnedMatrix
}

// Largest returns the largest entry.
func (h *Heatmap) Largest() (most uint64) {
	for _, row := range h.Bytes {
		for _, v := range row {
			most = max(most, v)
		}
	}
	return most
}
