// Package programs measures what recording costs whole programs: LAMMPS (the
// Lennard-Jones melt) and NetPIPE (ping-pong, with Open MPI and with MPICH), or
// those that --program names.
//
//	go run ./bench programs
//	go run ./bench programs --ranks 4 --program 'cg=bin/cg.A.x' --program 'hpcg=bin/xhpcg --nx=32'
//
// Wall times are measured in pairs: one run alone and one under `mpitrace run`,
// in alternating order. The time is that of the whole command and includes what
// mpitrace does before and after the job.
//
// Instructions are counted by callgrind on rank 0, in one run with the library.
// What waits and polls is never the same twice, so two parts of that run are
// compared: the instructions that the library adds (its own, and those of the
// functions that it calls, but for the MPI call that it passes on), and those of
// the program: its executable and the libraries that this names, without libc
// and without the MPI. The share is therefore an upper bound of that of the
// whole process.
//
// The command prints Go benchmark lines, and then the tables.
package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/spf13/cobra"
)

type options struct {
	pairs        int
	only         string
	mpitrace     string
	given        []string // NAME=COMMAND
	launcher     string   // of the given programs
	ranks        int
	times        bool
	instructions bool
}

// Command returns the command "bench programs".
func Command() *cobra.Command {
	var o options
	c := measure.Command("programs", "Measure whole programs with and without mpitrace", o.check, o.run)
	flags := c.Flags()
	flags.IntVar(&o.pairs, "pairs", 15, "`number` of runs with and without mpitrace, each")
	flags.StringVar(&o.only, "only", "", "only programs whose name contains `text` (default: all)")
	flags.StringVar(&o.mpitrace, "mpitrace", "", "`path` of mpitrace (default: built from this source)")
	flags.StringArrayVar(&o.given, "program", nil, "a program to measure, as `NAME=COMMAND`; repeatable (default: LAMMPS and NetPIPE)")
	flags.StringVar(&o.launcher, "launcher", "mpirun.openmpi --oversubscribe", "`command` that starts the programs given by --program")
	flags.IntVar(&o.ranks, "ranks", 4, "`number` of ranks of the programs given by --program")
	flags.BoolVar(&o.times, "times", true, "measure wall times")
	flags.BoolVar(&o.instructions, "instructions", true, "count instructions, with valgrind")
	return c
}

func (o *options) check() error {
	if o.pairs < 1 || o.ranks < 1 || o.launcher == "" {
		return errors.New("--pairs and --ranks must be positive, and --launcher must not be empty")
	}
	_, err := o.programs()
	return err
}

// programs returns the programs given by --program, or the default ones, that
// --only selects.
func (o *options) programs() (all []program, err error) {
	if len(o.given) == 0 {
		all = slices.Clone(installed)
	}
	for _, text := range o.given {
		p, err := parseProgram(text, strings.Fields(o.launcher), o.ranks)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return slices.DeleteFunc(all, func(p program) bool { return !strings.Contains(p.name, o.only) }), nil
}

func (o *options) run(ctx context.Context, dir string, out, log io.Writer) (err error) {
	if o.mpitrace, err = measure.Mpitrace(ctx, o.mpitrace, dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "in.melt"), []byte(melt), 0o666); err != nil {
		return err
	}
	programs, err := o.programs()
	if err != nil {
		return err
	}
	var times []pairs
	var found []counts
	for _, p := range programs {
		if missing := p.missing(); missing != "" {
			fmt.Fprintf(log, "no %s: %s is left out\n", missing, p.name)
			continue
		}
		if o.instructions {
			c, err := p.count(ctx, dir, log)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "BenchmarkProgram/program=%s 1 %d instructions %d added-instructions\n", p.name, c.own, c.added)
			found = append(found, c)
		}
		if o.times {
			t, err := p.measure(ctx, *o, dir, out, log)
			if err != nil {
				return err
			}
			times = append(times, t)
		}
	}
	return errors.Join(writeTimes(out, times), writeCounts(out, found))
}
