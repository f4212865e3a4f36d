// Package programs measures what recording costs whole programs: LAMMPS (the
// Lennard-Jones melt) and NetPIPE (ping-pong, with Open MPI and with MPICH), on
// two ranks.
//
//	go run ./bench programs --pairs 10
//
// Each pair is one run alone and one under `mpitrace run`, in alternating
// order. The wall time is that of the whole command and includes what mpitrace
// does before and after the job. The command prints Go benchmark lines, and
// then a table with the median and the minimum of the pairs' ratios, and the
// ratio of the minimum times.
package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/spf13/cobra"
)

type options struct {
	pairs    int
	only     string
	mpitrace string
}

// A program is a command to measure.
type program struct {
	name string
	line []string
}

// melt is LAMMPS's benchmark input. It runs for about ten seconds.
const melt = `units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 20 0 20 0 20
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 1.44 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    every 20 delay 0 check no
fix             1 all nve
thermo          50
run             700
`

// programs lists the commands. NetPIPE has a fixed number of repetitions (-n;
// for each size, seven times that): by default, it repeats for a given time.
var programs = []program{
	{"lammps-melt", []string{"mpirun.openmpi", "--oversubscribe", "-n", "2", "lmp", "-in", "in.melt", "-log", "none"}},
	{"netpipe-openmpi", []string{"mpirun.openmpi", "--oversubscribe", "-n", "2", "NPopenmpi", "-n", "600", "-u", "1048576", "-o", "np.out"}},
	{"netpipe-mpich", []string{"mpiexec.mpich", "-n", "2", "NPmpich2", "-n", "200", "-u", "1048576", "-o", "np.out"}},
}

// Command returns the command "bench programs".
func Command() *cobra.Command {
	var o options
	c := measure.Command("programs", "Measure LAMMPS and NetPIPE with and without mpitrace", o.check, o.run)
	c.Flags().IntVar(&o.pairs, "pairs", 10, "`number` of runs with and without mpitrace, each")
	c.Flags().StringVar(&o.only, "only", "", "only programs whose name contains `text` (default: all)")
	c.Flags().StringVar(&o.mpitrace, "mpitrace", "", "`path` of mpitrace (default: built from this source)")
	return c
}

func (o *options) check() error {
	if o.pairs < 1 {
		return errors.New("--pairs must be positive")
	}
	return nil
}

func (o *options) run(ctx context.Context, dir string, out, log io.Writer) (err error) {
	if o.mpitrace, err = measure.Mpitrace(ctx, o.mpitrace, dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "in.melt"), []byte(melt), 0o666); err != nil {
		return err
	}
	var found []pairs
	for _, p := range programs {
		if !strings.Contains(p.name, o.only) {
			continue
		}
		if missing := p.missing(); missing != "" {
			fmt.Fprintf(log, "no %s: %s is left out\n", missing, p.name)
			continue
		}
		t, err := p.measure(ctx, *o, dir, out, log)
		if err != nil {
			return err
		}
		found = append(found, t)
	}
	writeTable(out, found)
	return nil
}

// missing returns the first of the program's commands that is not installed, or
// "".
func (p program) missing() string {
	for _, word := range p.line {
		if word == p.line[0] || strings.HasPrefix(word, "NP") || word == "lmp" {
			if _, err := exec.LookPath(word); err != nil {
				return word
			}
		}
	}
	return ""
}

// pairs holds the wall times of a program in seconds, by pair.
type pairs struct {
	program     string
	alone, with []float64
}

func (p program) measure(ctx context.Context, o options, dir string, out, log io.Writer) (pairs, error) {
	found := pairs{program: p.name}
	record := filepath.Join(dir, "run")
	recorded := slices.Concat([]string{o.mpitrace, "run", "--no-report", "--strict", "-o", record, "--"}, p.line)
	// Pair -1 is not counted: it builds the library and fills the file cache.
	for number := -1; number < o.pairs; number++ {
		var took [2]float64
		for i := range 2 {
			which := (i + number + 2) % 2
			if err := os.RemoveAll(record); err != nil {
				return found, err
			}
			var err error
			if took[which], err = wall(ctx, dir, [][]string{p.line, recorded}[which]...); err != nil {
				return found, err
			}
		}
		if number < 0 {
			continue
		}
		fmt.Fprintf(log, "%s: pair %d of %d: %.2f s alone, %.2f s recorded\n", p.name, number+1, o.pairs, took[0], took[1])
		fmt.Fprintf(out, "BenchmarkProgram/program=%s/tool=none 1 %.0f ns/op\nBenchmarkProgram/program=%s/tool=ours 1 %.0f ns/op\n",
			p.name, took[0]*1e9, p.name, took[1]*1e9)
		found.alone, found.with = append(found.alone, took[0]), append(found.with, took[1])
	}
	return found, nil
}

// runLimit is the time after which a run counts as hung and is killed.
const runLimit = 10 * time.Minute

// wall runs a command in dir and returns its wall time in seconds.
func wall(ctx context.Context, dir string, line ...string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	began := time.Now()
	_, err := measure.Output(ctx, dir, nil, line...)
	return time.Since(began).Seconds(), err
}

// ratios returns the wall time recorded divided by that alone, for each pair.
func (p *pairs) ratios() []float64 {
	r := make([]float64, len(p.alone))
	for i := range r {
		r[i] = p.with[i] / p.alone[i]
	}
	return r
}

func writeTable(out io.Writer, all []pairs) {
	fmt.Fprint(out, "\nWall time recorded, as a multiple of the wall time alone:\n\n"+
		"| program | pairs | alone, median s | median ratio | least ratio | ratio of the least times |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range all {
		r := p.ratios()
		fmt.Fprintf(out, "| %s | %d | %.2f | %.3f | %.3f | %.3f |\n", p.program, len(r), measure.Median(p.alone), measure.Median(r), slices.Min(r),
			slices.Min(p.with)/slices.Min(p.alone))
	}
}
