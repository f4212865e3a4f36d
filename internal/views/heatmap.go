package views

import "github.com/mpitrace/mpitrace/aggregate"

// SmallMatrix is a small matrix of bytes that a terminal shows.
type SmallMatrix struct {
	Title string
	*aggregate.BinnedMatrix
}

// Largest returns the largest entry.
func (h *SmallMatrix) Largest() (most uint64) {
	for _, row := range h.Bytes {
		for _, v := range row {
			most = max(most, v)
		}
	}
	return most
}
