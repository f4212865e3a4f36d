package calls

import (
	"fmt"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// writeSummaries writes the tables of docs/cost.md for each MPI: what each tool
// adds to a call, with a line for each call and a column for each tool.
func (s *samples) writeSummaries(w io.Writer) error {
	var mpis []string
	for _, of := range s.order {
		if !slices.Contains(mpis, of.mpi) {
			mpis = append(mpis, of.mpi)
		}
	}
	for _, mpi := range mpis {
		if len(s.times) > 0 {
			if err := s.writeSummary(w, mpi, "ns, minimum of the rounds", s.minima); err != nil {
				return err
			}
		}
		if len(s.instructions) > 0 {
			if err := s.writeSummary(w, mpi, "instructions", s.counts); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSummary writes one table of a statistic. The figure without a tool is absolute; the figures
// of tools are what each adds to it. The figure of our library is also given as a multiple of what
// limit adds.
func (s *samples) writeSummary(w io.Writer, mpi, unit string, statistic func(subject) costs) error {
	var calls, tools []string
	for _, of := range s.grouped() {
		if of.mpi != mpi {
			continue
		}
		if !slices.Contains(calls, of.call) {
			calls = append(calls, of.call)
		}
		if !slices.Contains(tools, of.tool) {
			tools = append(tools, of.tool)
		}
	}
	header := []string{"call"}
	for _, tool := range tools {
		header = append(header, tool)
		if tool == "ours" {
			header = append(header, "× limit")
		}
	}
	lines := [][]string{header}
	for _, call := range calls {
		line := []string{call}
		for _, tool := range tools {
			cells := statistic(subject{mpi, call, tool}).cells()
			if tool == baseline {
				line = append(line, cells[0])
				continue
			}
			line = append(line, cells[1])
			if tool == "ours" {
				line = append(line, cells[2])
			}
		}
		lines = append(lines, line)
	}
	fmt.Fprintf(w, "\n%s, %s:\n\n", mpi, unit)
	return measure.WriteTable(w, lines, 1)
}
