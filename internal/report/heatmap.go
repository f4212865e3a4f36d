package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
)

// extremes returns the smallest and the largest entry that is not 0.
func extremes(h *aggregate.BinnedMatrix) (low, high uint64) {
	for _, row := range h.Bytes {
		for _, v := range row {
			if v > 0 && (low == 0 || v < low) {
				low = v
			}
			high = max(high, v)
		}
	}
	return low, high
}

// shade returns the index of the shade for a value, of n shades on a
// logarithmic scale up to high, or -1 for 0. The scale begins at low or below,
// so that each shade spans at least a factor of 2 and nearly equal values look
// alike.
func shade(v, low, high uint64, n int) int {
	if v == 0 {
		return -1
	}
	bottom := min(float64(low), math.Ldexp(float64(high), -n))
	at := math.Log2(float64(v)/bottom) / math.Log2(float64(high)/bottom)
	return min(max(int(at*float64(n)), 0), n-1)
}

// heatmapLines draws a heatmap with two characters per entry, a line per
// sending rank or block of ranks, and a legend of the shades.
func (o *printer) heatmapLines(h *aggregate.BinnedMatrix) []string {
	low, high := extremes(h)
	shades := o.shades()
	width := len(fmt.Sprint(h.Ranks - 1))
	out := []string{fmt.Sprintf("%*s   %s", width, "", columnLabels(h))}
	for i, row := range h.Bytes {
		var line strings.Builder
		for _, v := range row {
			c := " "
			if k := shade(v, low, high, len(shades)); k >= 0 {
				c = shades[k]
			}
			line.WriteString(c + c)
		}
		out = append(out, fmt.Sprintf("%*d |%s|", width+1, i*h.RanksPerBin, &line))
	}
	return append(out, legend(low, high, shades))
}

// legend returns the shades of the smallest and the largest entry with their
// values.
func legend(low, high uint64, shades []string) string {
	first, last := shades[shade(low, low, high, len(shades))], shades[len(shades)-1]
	from, to := text.Bytes(low), text.Bytes(high)
	switch {
	case from == to:
		return last + " " + to
	case first == last:
		return fmt.Sprintf("%s %s ... %s", last, from, to)
	}
	return fmt.Sprintf("%s %s ... %s %s, log scale", first, from, last, to)
}

// columnLabels returns the first rank of each column, or of every second,
// fourth, … column if there is not enough room. A label begins above the left
// edge of its column.
func columnLabels(h *aggregate.BinnedMatrix) string {
	step := 1
	for 2*step <= len(fmt.Sprint(h.Ranks-1)) {
		step *= 2
	}
	var b strings.Builder
	for i := 0; i < len(h.Bytes); i += step {
		fmt.Fprintf(&b, "%-*d", 2*step, i*h.RanksPerBin)
	}
	return strings.TrimRight(b.String(), " ")
}

func (o *printer) shades() []string {
	if o.ASCII {
		return []string{".", "-", "+", "#", "@"}
	}
	return []string{"░", "▒", "▓", "█"}
}
