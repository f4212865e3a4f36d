package calls

import (
	"fmt"
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/bench/measure"
)

// subject is what a figure is about.
type subject struct{ mpi, call, tool string }

// samples hold the measurements: for each subject the ns that a call takes, one
// value per round, and the instructions that the tool adds to a call.
type samples struct {
	order        []subject
	times        map[subject][]float64
	instructions map[subject]float64
}

func newSamples() *samples {
	return &samples{times: map[subject][]float64{}, instructions: map[subject]float64{}}
}

func (s *samples) meet(of subject) {
	_, timed := s.times[of]
	_, counted := s.instructions[of]
	if !timed && !counted {
		s.order = append(s.order, of)
	}
}

// addTime adds a round's value, and writes it as a line of the Go benchmark
// format (https://go.dev/design/14313-benchmark-format).
func (s *samples) addTime(of subject, calls int, nanoseconds float64, raw io.Writer) error {
	s.meet(of)
	s.times[of] = append(s.times[of], nanoseconds)
	return writeLine(raw, of, calls, nanoseconds, "ns/call")
}

func (s *samples) addInstructions(of subject, calls int, added float64, raw io.Writer) error {
	s.meet(of)
	s.instructions[of] = added
	return writeLine(raw, of, calls, added, "added-instructions/call")
}

// forget removes the measurements of a subject that failed later.
func (s *samples) forget(of subject) {
	delete(s.times, of)
	delete(s.instructions, of)
	s.order = slices.DeleteFunc(s.order, func(other subject) bool { return other == of })
}

func writeLine(raw io.Writer, of subject, calls int, value float64, unit string) error {
	_, err := fmt.Fprintf(raw, "Benchmark%s/tool=%s-1\t%d\t%.2f %s\n", of.call, of.tool, calls, value, unit)
	return err
}

// busy reports whether other work slowed down the baseline of any call in at
// least half of the rounds: its median is then far from its minimum.
func (s *samples) busy() bool {
	for of, values := range s.times {
		if of.tool == baseline && measure.Median(values) > 1.08*slices.Min(values) {
			return true
		}
	}
	return false
}
