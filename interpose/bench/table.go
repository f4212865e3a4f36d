package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A row is one subject's line of the table.
type row struct {
	subject
	median, minimum costs
}

// costs are one statistic (the median over rounds, or the minimum) seen three ways.
type costs struct {
	value float64 // per call
	added float64 // over no tool: the difference of the two statistics
	times float64 // added, as a multiple of what limit adds; 0 where limit adds nothing
}

// rows computes the table, grouped by MPI and call, tools in the order of the setups.
func (s *samples) rows() []row {
	var rows []row
	for _, of := range s.grouped() {
		rows = append(rows, row{of, s.costs(of, median), s.costs(of, slices.Min[[]float64])})
	}
	return rows
}

func (s *samples) costs(of subject, statistic func([]float64) float64) costs {
	value := func(tool string) float64 {
		return statistic(s.values[subject{of.mpi, of.call, tool}])
	}
	c := costs{value: value(of.tool), added: value(of.tool) - value(baseline)}
	if least := value(limit) - value(baseline); least > 0 {
		c.times = c.added / least
	}
	return c
}

// grouped returns the subjects with those of one MPI together, and within it those of one call;
// otherwise in the order in which they were first measured.
func (s *samples) grouped() []subject {
	place := map[string]int{}
	for _, of := range s.order {
		for _, name := range []string{of.mpi, of.call, of.tool} {
			if _, known := place[name]; !known {
				place[name] = len(place)
			}
		}
	}
	subjects := slices.Clone(s.order)
	slices.SortStableFunc(subjects, func(a, b subject) int {
		if a.mpi != b.mpi {
			return place[a.mpi] - place[b.mpi]
		}
		return place[a.call] - place[b.call]
	})
	return subjects
}

// writeTable writes the rows as a Markdown table. Minima are left out where there is one sample.
func (s *samples) writeTable(w io.Writer) error {
	columns := []string{"MPI", "call", "tool", s.unit, "added", "× limit"}
	rounds := len(s.values[s.order[0]])
	if rounds > 1 {
		columns = []string{"MPI", "call", "tool", "median " + s.unit, "added", "× limit", "minimum " + s.unit, "added", "× limit"}
	}
	lines := [][]string{columns}
	for _, r := range s.rows() {
		line := append([]string{r.mpi, r.call, r.tool}, r.median.cells(r.tool)...)
		if rounds > 1 {
			line = append(line, r.minimum.cells(r.tool)...)
		}
		lines = append(lines, line)
	}
	return writeMarkdown(w, lines, 3)
}

// cells are the three figures as text; a dash where there is nothing to compare.
func (c costs) cells(tool string) []string {
	cells := []string{fmt.Sprintf("%.1f", c.value), "–", "–"}
	if tool != baseline {
		cells[1] = fmt.Sprintf("%+.1f", rounded(c.added, 1))
	}
	if tool != baseline && c.times != 0 {
		cells[2] = fmt.Sprintf("%.2f", rounded(c.times, 2))
	}
	return cells
}

// rounded rounds to a number of decimals, and never to a negative zero.
func rounded(x float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(x*scale)/scale + 0
}

// writeMarkdown writes a header and lines as an aligned table; the first `texts` columns hold text,
// the others numbers.
func writeMarkdown(w io.Writer, lines [][]string, texts int) error {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var text strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			width := widths[i]
			if i < texts {
				width = -width
			}
			fmt.Fprintf(&text, "| %*s ", width, cell)
		}
		text.WriteString("|\n")
		if n == 0 {
			writeRule(&text, widths, texts)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writeRule(w *strings.Builder, widths []int, texts int) {
	for i, width := range widths {
		end := ":"
		if i < texts {
			end = "-"
		}
		w.WriteString("|" + strings.Repeat("-", width+1) + end)
	}
	w.WriteString("|\n")
}
