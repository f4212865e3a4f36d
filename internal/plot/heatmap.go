// Package plot draws communication matrices, as heatmaps on a logarithmic scale,
// and timelines, as PNG and as SVG.
//
// PNG is drawn with gonum's vg and not with gonum's plot, which parses twelve
// fonts when a program starts, whether it draws or not (4.6 MB of memory where
// this package takes 1.5), and which chooses the pixels of a heatmap's cells.
package plot

import (
	"bufio"
	"fmt"
	"image/png"
	"io"
	"math"
)

// MaxSide is how many cells a side a heatmap may have: more than a screen
// shows. Bins chooses fewer.
const MaxSide = 2000

// Unit is what a cell's value counts: how it is written.
type Unit int

const (
	Count Unit = iota // 12,  3,400,  1.2 M
	Bytes             // 12 B,  3.32 KiB,  1.14 MiB
)

// Heatmap is a matrix to draw.
type Heatmap struct {
	Title    string
	Quantity string // what the colours show: "bytes", "messages", "bytes per message"
	Unit     Unit   // of the quantity
	Mean     bool   // a binned cell is an average and not a sum

	N      int // lines of the matrix: ranks, nodes or blocks
	PerBin int // lines per row of cells, 1 where each has its own; the last row may have fewer

	// Cells holds, row by row, what each bin sent: [from][to], one row and
	// one column per bin. 0 is nothing and drawn as background.
	Cells [][]float64

	AxisName string   // what a line is: "rank", "node", "block of 8 ranks"
	Labels   []string // the names of all N lines; nil where they go by number

	// Note says more about a pair of bins in the tooltip that SVG has:
	// "12 messages". May be nil.
	Note func(from, to int) string
}

// Bins says how to bin n lines so that a picture stays readable: each bin but
// the last has perBin lines. Where a size divides n, so that all bins are
// alike, and leaves at least 500 of them, that is taken.
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

// ceilDiv does not overflow where a+b-1 would.
func ceilDiv(a, b int) int {
	if a%b != 0 {
		return a/b + 1
	}
	return a / b
}

// WritePNG draws the heatmap, each cell a square of whole pixels.
func (h *Heatmap) WritePNG(w io.Writer) error {
	if err := h.check(); err != nil {
		return fmt.Errorf("draw heatmap: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := png.Encode(out, h.raster()); err != nil {
		return fmt.Errorf("write heatmap as PNG: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write heatmap as PNG: %w", err)
	}
	return nil
}

// WriteSVG draws the heatmap with text as text. Up to 100 cells a side each is
// an element with a tooltip; more are an embedded image.
func (h *Heatmap) WriteSVG(w io.Writer) error {
	if err := h.check(); err != nil {
		return fmt.Errorf("draw heatmap: %w", err)
	}
	doc, err := h.vector()
	if err != nil {
		return fmt.Errorf("draw heatmap as SVG: %w", err)
	}
	if _, err := w.Write(doc); err != nil {
		return fmt.Errorf("write heatmap as SVG: %w", err)
	}
	return nil
}

// check refuses what cannot be drawn truly.
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
			if !(v >= 0) || math.IsInf(v, 0) { // NaN, too
				return fmt.Errorf("cell %d, %d is %g", i, j, v)
			}
		}
	}
	return nil
}

// used counts the cells that are not empty.
func (h *Heatmap) used() int {
	n := 0
	for _, row := range h.Cells {
		for _, v := range row {
			if v > 0 {
				n++
			}
		}
	}
	return n
}
