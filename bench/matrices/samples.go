package matrices

import (
	"fmt"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// subject is what a figure refers to: a tool's run on an input.
type subject struct{ input, tool string }

// samples holds the cost of each run by subject, in the order of the subjects'
// first runs.
type samples struct {
	order  []subject
	values map[subject][]cost
}

func (s *samples) add(of subject, c cost) {
	if s.values == nil {
		s.values = map[subject][]cost{}
	}
	if _, known := s.values[of]; !known {
		s.order = append(s.order, of)
	}
	s.values[of] = append(s.values[of], c)
}

func (c cost) time() float64      { return c.seconds }
func (c cost) processor() float64 { return c.cpu }
func (c cost) resident() float64  { return c.memory }

// sorted returns one figure of all runs of a subject in ascending order.
func (s *samples) sorted(of subject, figure func(cost) float64) []float64 {
	var all []float64
	for _, c := range s.values[of] {
		all = append(all, figure(c))
	}
	slices.Sort(all)
	return all
}

func (s *samples) least(of subject, figure func(cost) float64) float64 {
	return s.sorted(of, figure)[0]
}

// median returns the median of one figure.
func (s *samples) median(of subject, figure func(cost) float64) float64 {
	return measure.Median(s.sorted(of, figure))
}

// most returns the largest value. It is used for memory, which must suffice for
// every run.
func (s *samples) most(of subject, figure func(cost) float64) float64 {
	all := s.sorted(of, figure)
	return all[len(all)-1]
}

// writePeers writes a table of what each tool takes. The last columns give the peer's figures as
// multiples of ours. Multiples of time compare minima, because other work on the machine affects
// these least.
func (s *samples) writePeers(w io.Writer, peer string) error {
	lines := [][]string{{"input", "tool", "median s", "minimum s", "CPU s", "MiB", "× time", "× CPU", "× memory"}}
	for _, of := range s.order {
		line := []string{of.input, of.tool,
			seconds(s.median(of, cost.time)), seconds(s.least(of, cost.time)), seconds(s.least(of, cost.processor)),
			fmt.Sprintf("%.1f", s.most(of, cost.resident)), "", "", ""}
		other := subject{of.input, peer}
		if _, has := s.values[other]; has && of.tool == ours {
			line[6] = times(s.least(other, cost.time), s.least(of, cost.time))
			line[7] = times(s.least(other, cost.processor), s.least(of, cost.processor))
			line[8] = times(s.most(other, cost.resident), s.most(of, cost.resident))
		}
		lines = append(lines, line)
	}
	return measure.WriteTable(w, lines, 2)
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

func times(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", a/b)
}
