package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Numbers of turns of each loop. The difference between the last two does not
// include what happens once per loop; the first one includes what happens once
// per process.
var (
	aloneTurns    = [3]int{200, 400, 1600}
	pairedTurns   = [3]int{5, 10, 60}
	gatheredTurns = [3]int{1, 2, 12} // for ranks that wait for each other, and for a processor
)

// counts reports whether a tool is measured in a program. Programs of many ranks take long to
// start, so only those tools are measured in them whose cost might grow with the number of ranks.
func (p program) counts(t tool) bool {
	if p.crowded() {
		return slices.Contains([]string{limit, "monitoring1", "monitoring2", "ours"}, t.name)
	}
	return t.name != baseline
}

func turnsOf(p program) [3]int {
	switch {
	case p.crowded():
		return gatheredTurns
	case p.ranks > 1:
		return pairedTurns
	}
	return aloneTurns
}

// countInstructions counts, with callgrind, the instructions that each tool
// adds to each call.
func countInstructions(ctx context.Context, o options, setups []setup, found *samples, raw, log io.Writer) error {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return errors.New("counting instructions needs valgrind (Debian: apt-get install valgrind); -instructions=false does without")
	}
	for i := range setups {
		fmt.Fprintf(log, "count instructions under %s\n", setups[i].mpi)
		if err := setups[i].countAll(ctx, o, found, raw, log); err != nil {
			return err
		}
	}
	return nil
}

func (s *setup) countAll(ctx context.Context, o options, found *samples, raw, log io.Writer) error {
	if _, err := fmt.Fprintf(raw, "mpi: %s\n", s.mpi); err != nil {
		return err
	}
	for _, p := range selected(o.pattern) {
		if !p.counted || !s.runs(p) {
			continue
		}
		counts, err := s.countProgram(ctx, p, s.tools, log)
		if err != nil {
			return err
		}
		turns := turnsOf(p)
		for _, operation := range p.operations {
			for _, t := range s.tools {
				of := subject{s.mpi, operation.name + p.variant, t.name}
				if added, counted := counts[of]; counted {
					err = errors.Join(err, found.addInstructions(of, (turns[2]-turns[1])*operation.count, added, raw))
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countProgram counts under several tools, as many at once as there are
// processors: the number of instructions does not depend on the load.
func (s *setup) countProgram(ctx context.Context, p program, tools []tool, log io.Writer) (map[subject]float64, error) {
	results := make([]map[string]float64, len(tools))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	if p.crowded() {
		group.SetLimit(1)
	}
	for i, t := range tools {
		if !p.counts(t) {
			continue
		}
		group.Go(func() (err error) {
			results[i], err = s.count(ctx, p, t)
			if err != nil && t.peer && ctx.Err() == nil {
				fmt.Fprintf(log, "%s%s: no instructions: %v\n", s.mpi, p.variant, err)
				err = nil
			}
			return err
		})
	}
	err := group.Wait()
	all := map[subject]float64{}
	for i, t := range tools {
		for name, added := range results[i] {
			all[subject{s.mpi, name + p.variant, t.name}] = added
		}
	}
	return all, err
}

// count returns what a tool adds to one call of each operation. It runs rank 0
// of the program under callgrind, which writes a profile after each loop.
func (s *setup) count(ctx context.Context, p program, t tool) (map[string]float64, error) {
	dir, err := runDirectory(0)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	profile := filepath.Join(dir, "callgrind.out")
	x, err := s.open(ctx, p, t, callgrind(profile), countPatience)
	if err != nil {
		return nil, err
	}
	var counted []operation
	for _, o := range p.operations {
		if !t.measures(o) {
			continue
		}
		for _, turns := range turnsOf(p) {
			if _, err := x.run(o.name, 0, turns); err != nil {
				return nil, err
			}
		}
		counted = append(counted, o)
	}
	if err := x.close(); err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for i, o := range counted {
		if all[o.name], err = addedPerCall(profile, i, o, layerOf(t, o), turnsOf(p)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addedPerCall returns what a layer executes in one call of the i-th operation,
// from its three profiles.
func addedPerCall(profile string, i int, o operation, l layer, turns [3]int) (float64, error) {
	few, err := readAdded(fmt.Sprintf("%s.%d", profile, 3*i+2), o, l)
	if err != nil {
		return 0, err
	}
	many, err := readAdded(fmt.Sprintf("%s.%d", profile, 3*i+3), o, l)
	if err != nil {
		return 0, err
	}
	return float64(many-few) / float64((turns[2]-turns[1])*o.count), nil
}
