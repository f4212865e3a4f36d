// Package plot draws communication matrices as heatmaps on a logarithmic scale, and timelines, both
// as PNG, SVG and PDF.
// PNG is drawn with gonum's package vg. Gonum's package plot is not used: it parses twelve fonts
// when a program starts, even if it draws nothing (4.6 MB of memory; this package takes 1.5 MB),
// and it chooses the size of a heatmap's cells in pixels itself.
package plot

import (
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/internal/text"
)

// MaxSide is the largest number of cells on a side of a heatmap. A screen shows
// fewer. Bins returns a number of bins below it.
const MaxSide = 2000

// Unit is the unit of a cell's value. It decides how the value is written.
type Unit int

const (
	Count Unit = iota // 12,  3,400,  1.2 M
	Bytes             // 12 B,  3.32 KiB,  1.14 MiB
)

func (u Unit) prefixes() *text.Prefixes {
	if u == Bytes {
		return text.Binary
	}
	return text.Decimal
}

// Heatmap is a matrix to draw. Each cell is a square of whole pixels. In SVG, a
// matrix of up to 100 cells on a side has one element with a tooltip for each
// cell; a larger one is an embedded image.
type Heatmap struct {
	Title    string
	Quantity string // what the colours show: "bytes", "messages", "bytes per message"
	Unit     Unit   // unit of Quantity
	Mean     bool   // whether a cell of several lines holds their average instead of their sum

	N      int // number of lines of the matrix: ranks, nodes or blocks
	PerBin int // lines of the matrix per row of cells; the last row may have fewer

	// Cells[from][to] is what one bin of lines sent to another. It has one row
	// and one column for each bin. A cell of 0 is drawn as background.
	Cells [][]float64

	Ends *Scale // ends of the colour scale; nil for the extremes of the cells

	AxisName string   // the name of one line: "rank", "node", "block of 8 ranks"
	Labels   []string // names of all N lines; nil if lines are named by their number

	// Borders are the lines at which a group of lines begins, such as the ranks of the next node.
	Borders []int

	// Note returns text that the SVG tooltip of a cell adds to the value, such
	// as "12 messages". It may be nil.
	Note func(from, to int) string
}

// Bins returns how many bins n lines are drawn in, at most 800, and how many lines each bin but the
// last has. It prefers a perBin that divides n, so that all bins have the same size, if that leaves
// at least 500 bins.
func Bins(n int) (perBin, bins int) {
	const most, enough = 800, 500
	if n <= most {
		return 1, max(n, 0)
	}
	least := ceilDiv(n, most)
	for perBin = least; ceilDiv(n, perBin) >= enough; perBin++ {
		if n%perBin == 0 {
			return perBin, n / perBin
		}
	}
	return least, ceilDiv(n, least)
}

// ceilDiv returns a/b, rounded up. Unlike (a+b-1)/b it cannot overflow.
func ceilDiv(a, b int) int {
	if a%b != 0 {
		return a/b + 1
	}
	return a / b
}

func (h *Heatmap) kind() string { return "heatmap" }

// check returns an error if the sizes do not agree or a value is negative,
// infinite or NaN.
func (h *Heatmap) check() error {
	if h.N < 0 || h.PerBin < 1 {
		return fmt.Errorf("%d lines in bins of %d", h.N, h.PerBin)
	}
	bins := ceilDiv(h.N, h.PerBin)
	switch {
	case bins > MaxSide:
		return fmt.Errorf("%d cells a side, %d at most", bins, MaxSide)
	case len(h.Cells) != bins:
		return fmt.Errorf("%d rows of cells where %d lines in bins of %d make %d", len(h.Cells), h.N, h.PerBin, bins)
	case h.Labels != nil && len(h.Labels) != h.N:
		return fmt.Errorf("%d labels of %d lines", len(h.Labels), h.N)
	}
	for i, row := range h.Cells {
		if len(row) != bins {
			return fmt.Errorf("row %d has %d cells of %d", i, len(row), bins)
		}
		for j, v := range row {
			if !(v >= 0) || math.IsInf(v, 0) { // also true for NaN
				return fmt.Errorf("cell %d, %d is %g", i, j, v)
			}
		}
	}
	return nil
}
