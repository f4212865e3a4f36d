package terminal

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

// besideWidth is the largest width, in characters, at which two matrices are
// printed side by side if the width of lines is not limited.
const besideWidth = 100

// heatmaps draws matrices, side by side if there is room.
func (o *writer) heatmaps(d *views.Drawing) {
	list := d.Heatmaps
	o.line("%s", d.Title)
	var titles []string
	var blocks [][]string
	for i := range list {
		titles, blocks = append(titles, list[i].Title), append(blocks, o.heatmapLines(&list[i]))
	}
	if len(blocks) == 2 {
		if both := beside(titles, blocks); widest(both) <= cmp.Or(o.Width, besideWidth) {
			titles, blocks = []string{""}, [][]string{both}
		}
	}
	for i, block := range blocks {
		if titles[i] != "" {
			o.line("%s", titles[i])
		}
		for _, line := range block {
			fmt.Fprintln(&o.w, line)
		}
	}
	if per := list[0].RanksPerBin; per > 1 {
		o.line("each cell adds up %d x %d ranks", per, per)
	}
}

// beside returns two blocks of lines side by side, under their titles.
func beside(titles []string, blocks [][]string) []string {
	left, right := append([]string{titles[0]}, blocks[0]...), append([]string{titles[1]}, blocks[1]...)
	width := widest(left) + 4
	out := make([]string, len(left))
	for i := range left {
		out[i] = left[i] + strings.Repeat(" ", width-utf8.RuneCountInString(left[i])) + right[i]
	}
	return out
}

// widest returns the width of the widest line, in characters.
func widest(lines []string) int {
	n := 0
	for _, line := range lines {
		n = max(n, utf8.RuneCountInString(line))
	}
	return n
}

// extremes returns the smallest and the largest entry that is not 0.
func extremes(h *views.SmallMatrix) (low, high uint64) {
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
func (o *writer) heatmapLines(h *views.SmallMatrix) []string {
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
func columnLabels(h *views.SmallMatrix) string {
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

func (o *writer) shades() []string {
	if o.ASCII {
		return []string{".", "-", "+", "#", "@"}
	}
	return []string{"░", "▒", "▓", "█"}
}
