package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A subject is what a figure is about.
type subject struct{ mpi, call, tool string }

// samples holds one value per subject and round. Figures are nanoseconds or instructions per call.
type samples struct {
	unit   string // "ns", "instructions"
	order  []subject
	values map[subject][]float64
}

func newSamples(unit string) *samples {
	return &samples{unit: unit, values: map[subject][]float64{}}
}

func (s *samples) add(of subject, value float64) {
	if _, known := s.values[of]; !known {
		s.order = append(s.order, of)
	}
	s.values[of] = append(s.values[of], value)
}

// timeRounds times every call under every tool, once per round.
func timeRounds(ctx context.Context, o options, setups []setup, raw, log io.Writer) (*samples, error) {
	found := newSamples("ns")
	for round := range o.rounds {
		fmt.Fprintf(log, "round %d of %d\n", round+1, o.rounds)
		for i := range setups {
			if err := timeTools(ctx, o, &setups[i], round, found, raw); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// timeTools times the calls of one MPI under each tool. Each round starts at another tool, so that
// none is always measured after the same other.
func timeTools(ctx context.Context, o options, s *setup, round int, found *samples, raw io.Writer) error {
	if _, err := fmt.Fprintf(raw, "mpi: %s\n", s.mpi); err != nil {
		return err
	}
	milliseconds := strconv.FormatFloat(o.measure.Seconds()*1e3, 'f', 3, 64)
	for i := range s.tools {
		t := s.tools[(i+round)%len(s.tools)]
		output, err := s.run(ctx, t, nil, "time", t.name, milliseconds, strconv.Itoa(o.repeats))
		if err != nil {
			return err
		}
		lines := benchmarkLines(output)
		if _, err := raw.Write(lines); err != nil {
			return err
		}
		if err := found.addLines(s.mpi, lines); err != nil {
			return err
		}
	}
	return nil
}

// benchmarkLines returns the lines of output that hold results.
func benchmarkLines(output []byte) []byte {
	var lines []byte
	for line := range bytes.Lines(output) {
		if bytes.HasPrefix(line, []byte("Benchmark")) {
			lines = append(lines, line...)
		}
	}
	return lines
}

func (s *samples) addLines(mpi string, lines []byte) error {
	for line := range strings.Lines(string(lines)) {
		call, tool, value, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return err
		}
		s.add(subject{mpi, call, tool}, value)
	}
	return nil
}

// parseLine takes "BenchmarkCALL/tool=TOOL-1 <iterations> <value> ns/call" apart; the format is
// https://go.dev/design/14313-benchmark-format.
func parseLine(line string) (call, tool string, value float64, err error) {
	malformed := fmt.Errorf("%q is not a benchmark line of the measuring program", line)
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[3] != "ns/call" {
		return "", "", 0, malformed
	}
	name, isBenchmark := strings.CutPrefix(fields[0], "Benchmark")
	name, hasProcs := strings.CutSuffix(name, "-1")
	call, tool, hasTool := strings.Cut(name, "/tool=")
	value, err = strconv.ParseFloat(fields[2], 64)
	if !isBenchmark || !hasProcs || !hasTool || err != nil || math.IsNaN(value) || value <= 0 {
		return "", "", 0, malformed
	}
	return call, tool, value, nil
}

// median returns the middle value, or the mean of the middle two; values is not empty.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// busy tells whether other work slowed the baseline down in half of the rounds or more, for any
// call: its median is then far from its minimum, and differences of medians mean little.
func (s *samples) busy() bool {
	for of, values := range s.values {
		if of.tool == baseline && median(values) > 1.08*slices.Min(values) {
			return true
		}
	}
	return false
}
