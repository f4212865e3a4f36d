package calls

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// row is one subject's line of the table.
type row struct {
	subject
	median, minimum costs // ns
	instructions    costs // only those that the tool adds
}

// costs is one statistic in three forms. A form that was not measured is NaN.
type costs struct {
	value float64 // per call
	added float64 // value minus that without a tool
	times float64 // added, as a multiple of what limit adds; NaN if limit adds nothing
}

// rows computes the table, grouped by MPI and call, with the tools in the order
// of the setups.
func (s *samples) rows() []row {
	var rows []row
	for _, of := range s.grouped() {
		rows = append(rows, row{of, s.medians(of), s.minima(of), s.counts(of)})
	}
	return rows
}

// medians returns medians over rounds. added is the median of the differences
// within each round, in which all tools were measured within the same seconds.
func (s *samples) medians(of subject) costs {
	added := func(of subject) float64 {
		base := s.times[subject{of.mpi, of.call, baseline}]
		differences := slices.Clone(s.times[of])
		if len(differences) == 0 || len(differences) != len(base) {
			return math.NaN()
		}
		for i := range differences {
			differences[i] -= base[i]
		}
		return measure.Median(differences)
	}
	if len(s.times[of]) == 0 {
		return compare(of, math.NaN(), added)
	}
	return compare(of, measure.Median(s.times[of]), added)
}

// minima returns minima over rounds. added is the difference of the minima.
func (s *samples) minima(of subject) costs {
	minimum := func(of subject) float64 {
		if len(s.times[of]) == 0 {
			return math.NaN()
		}
		return slices.Min(s.times[of])
	}
	return compare(of, minimum(of), func(of subject) float64 {
		return minimum(of) - minimum(subject{of.mpi, of.call, baseline})
	})
}

func (s *samples) counts(of subject) costs {
	return compare(of, math.NaN(), func(of subject) float64 {
		if count, counted := s.instructions[of]; counted {
			return count
		}
		return math.NaN()
	})
}

// compare computes added and times from value.
func compare(of subject, value float64, added func(subject) float64) costs {
	if of.tool == baseline {
		return costs{value, math.NaN(), math.NaN()}
	}
	c := costs{value, added(of), math.NaN()}
	if least := added(subject{of.mpi, of.call, limit}); least > 0 {
		c.times = c.added / least
	}
	return c
}

// grouped returns the subjects sorted by MPI and call, otherwise in the order
// in which they were measured.
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

// writeTable writes the rows as a Markdown table, without columns that were not
// measured.
func (s *samples) writeTable(w io.Writer) error {
	columns := []string{"MPI", "call", "tool"}
	if len(s.times) > 0 {
		columns = append(columns, "median ns", "added", "× limit", "minimum ns", "added", "× limit")
	}
	if len(s.instructions) > 0 {
		columns = append(columns, "added instructions", "× limit")
	}
	lines := [][]string{columns}
	for _, r := range s.rows() {
		line := []string{r.mpi, r.call, r.tool}
		if len(s.times) > 0 {
			line = append(append(line, r.median.cells()...), r.minimum.cells()...)
		}
		if len(s.instructions) > 0 {
			line = append(line, r.instructions.cells()[1:]...)
		}
		lines = append(lines, line)
	}
	return measure.WriteTable(w, lines, 3)
}

// cells returns the three figures as text, with a dash for NaN.
func (c costs) cells() []string {
	return []string{number("%.1f", c.value, 1), number("%+.1f", c.added, 1), number("%.2f", c.times, 2)}
}

// number rounds x to a number of decimals, and never returns a negative zero.
func number(format string, x float64, decimals int) string {
	if math.IsNaN(x) {
		return "–"
	}
	scale := math.Pow10(decimals)
	return fmt.Sprintf(format, math.Round(x*scale)/scale+0)
}
