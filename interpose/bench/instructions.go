package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Each loop runs warmCalls times, fewCalls times and manyCalls times. The difference between the
// last two is free of what comes once per loop, the first of what comes once per process.
const (
	warmCalls = 100
	fewCalls  = 1000
	manyCalls = 11000
)

// countInstructions counts, with callgrind, the instructions that each call executes under each tool.
func countInstructions(ctx context.Context, _ options, setups []setup, raw, log io.Writer) (*samples, error) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return nil, errors.New("-instructions needs valgrind, which is not installed (Debian: apt-get install valgrind)")
	}
	found := newSamples("instructions")
	for i := range setups {
		fmt.Fprintf(log, "count instructions under %s\n", setups[i].mpi)
		if err := countTools(ctx, &setups[i], found, raw); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func countTools(ctx context.Context, s *setup, found *samples, raw io.Writer) error {
	if _, err := fmt.Fprintf(raw, "mpi: %s\n", s.mpi); err != nil {
		return err
	}
	for _, t := range s.tools {
		calls, err := s.count(ctx, t)
		if err != nil {
			return err
		}
		for _, c := range calls {
			found.add(subject{s.mpi, c.call, t.name}, c.instructions)
			_, err := fmt.Fprintf(raw, "Benchmark%s/tool=%s-1\t%d\t%.2f instructions/call\n",
				c.call, t.name, manyCalls-fewCalls, c.instructions)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// count returns what one call of each loop executes. It runs the driver under callgrind, which writes a profile after each loop.
func (s *setup) count(ctx context.Context, t tool) ([]loop, error) {
	dir, err := os.MkdirTemp("", "mpitrace-bench-callgrind-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	profile := filepath.Join(dir, "callgrind.out")
	valgrind := []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=" + profile, "--dump-after=loop_*"}
	calls := []string{"count", strconv.Itoa(warmCalls), strconv.Itoa(fewCalls), strconv.Itoa(manyCalls)}
	if _, err := s.run(ctx, t, valgrind, calls...); err != nil {
		return nil, err
	}
	loops, err := readLoops(profile)
	if err != nil {
		return nil, err
	}
	return perCall(loops)
}

// A loop is what one run of one loop executed, and what the process did since the loop before.
type loop struct {
	call         string
	instructions float64
}

// readLoops reads the profiles written after each loop, in the order in which the loops ran.
func readLoops(profile string) ([]loop, error) {
	var loops []loop
	for part := 1; ; part++ {
		file, err := os.Open(fmt.Sprintf("%s.%d", profile, part))
		if errors.Is(err, os.ErrNotExist) {
			return loops, nil
		}
		if err != nil {
			return nil, err
		}
		l, err := parsePart(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file.Name(), err)
		}
		loops = append(loops, l)
	}
}

// parsePart reads from one profile of callgrind's which loop's end triggered it, and the instructions
// since the profile before (https://valgrind.org/docs/manual/cl-format.html).
func parsePart(r io.Reader) (l loop, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "desc: Trigger: --dump-after=loop_"); found {
			l.call = name
		}
		if total, found := strings.CutPrefix(lines.Text(), "summary: "); found && l.call != "" {
			l.instructions, err = strconv.ParseFloat(strings.TrimSpace(total), 64)
			return l, err
		}
	}
	return l, errors.Join(lines.Err(), errors.New("no loop's end and summary in it"))
}

// perCall turns the three runs of each loop into what one call of it executes.
func perCall(loops []loop) ([]loop, error) {
	if len(loops) == 0 || len(loops)%3 != 0 {
		return nil, fmt.Errorf("callgrind saw %d loops, not three for each call", len(loops))
	}
	var calls []loop
	for i := 0; i < len(loops); i += 3 {
		few, many := loops[i+1], loops[i+2]
		if few.call != many.call {
			return nil, fmt.Errorf("loop %s follows %s", many.call, few.call)
		}
		calls = append(calls, loop{many.call, (many.instructions - few.instructions) / (manyCalls - fewCalls)})
	}
	return calls, nil
}
