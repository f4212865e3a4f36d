package page

import "github.com/mpitrace/mpitrace/internal/history"

// NewHistory returns the page of many runs.
func NewHistory(made Made, h *history.History) *Page {
	p := newPage("history", made, nil, nil)
	p.History = h
	return p
}
