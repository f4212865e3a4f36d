package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

type runOptions struct {
	choice
	dir      string
	formats  []string
	spool    string
	interval time.Duration
	stack    int
	timing   string
	receives string
	strict   bool
	noReport bool
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS...]",
		Short: "Run an MPI program, or a whole job, and record it",
		Long: `Run COMMAND and record what its MPI processes communicate. COMMAND is a launcher
with its arguments (mpirun, mpiexec, srun, flux run), a script that starts jobs,
or a program. Afterwards the summary is shown, and the run directory holds
profile.arrow, comms.arrow and ranks.arrow.

Under a launcher (srun mpitrace run -- ./app) each process records itself, and
` + "`mpitrace report DIR`" + ` shows the result afterwards.

The exit status is that of COMMAND; 2 if the command line is wrong.`,
		Example: `  mpitrace run -- mpirun -n 4 ./app
  mpitrace run -o halo --format prof,arrow -- mpiexec -n 16 ./halo 100
  srun -n 64 mpitrace run -o halo -- ./halo 100`,
		Args: asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, argv []string) error { return o.run(cmd, argv) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	o.choice.register(f)
	f.StringVarP(&o.dir, "output", "o", "", "the run directory (default: mpitrace-PROGRAM- and the batch job's id or the time)")
	f.StringSliceVar(&o.formats, "format", nil, "write a file for each rank as well: `prof`, arrow")
	f.StringVar(&o.spool, "spool", "auto", "where the processes of this node map their recordings until they end: auto, shm (/dev/shm), run (the run directory) or a `DIR`")
	f.DurationVar(&o.interval, "interval", 0, "begin a new slice at each multiple of this `TIME` since MPI_Init: 100ms, 2s, at least 1ms (default: $MPITRACE_INTERVAL)")
	f.IntVar(&o.stack, "stack", 0, fmt.Sprintf("tell call sites apart by who called, up to `N` callers deep (2 to %d); costs some microseconds a call", layout.MaxStackDepth))
	f.StringVar(&o.timing, "timing", "", "which calls to time: `exact` (each), sampled (of frequent ones some: times are estimates, with their error), off (none: counts and bytes only) (default: $"+launch.EnvTiming+", or exact)")
	f.StringVar(&o.receives, "receives", "", "follow nonblocking receives to their completion: `on`, or off, which leaves what they received unknown (default: $"+launch.EnvReceives+", or on)")
	f.BoolVar(&o.strict, "strict", false, "exit with status 3 if the command succeeds but its record is missing or incomplete")
	f.BoolVar(&o.noReport, "no-report", false, "do not show the summary")
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, argv []string) error {
	formats, err := rundir.ParseFormats(o.formats)
	if err != nil {
		return usage(err)
	}
	if err := o.checkInterval(cmd.Flags().Changed("interval")); err != nil {
		return usage(err)
	}
	if o.stack < 0 || o.stack > layout.MaxStackDepth {
		return usage(fmt.Errorf("--stack %d: from 0 to %d callers", o.stack, layout.MaxStackDepth))
	}
	if err := o.checkSettings(cmd.Flags().Changed); err != nil {
		return usage(err)
	}
	mark, under := launch.UnderLauncher()
	if under && !launch.IsLauncher(argv) {
		return o.rank(cmd, argv, mark)
	}
	command, err := launch.Parse(argv)
	if err != nil {
		return usage(err)
	}
	mpi, lib, err := detectLibrary(cmd.Context(), command, o.choice, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	dir, err := o.directory(command.Name())
	if err != nil {
		return err
	}
	j := &job{options: o, formats: formats, command: command, mpi: mpi, library: lib, dir: dir, log: cmd.ErrOrStderr()}
	return j.run(launch.Streams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr()})
}

// checkInterval takes the interval from the environment, unless it is given.
func (o *runOptions) checkInterval(given bool) error {
	text := os.Getenv(launch.EnvInterval)
	if !given && text == "" {
		return nil
	}
	if !given {
		var err error
		if o.interval, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%s: %w", launch.EnvInterval, err)
		}
	}
	if o.interval < time.Millisecond || o.interval%time.Millisecond != 0 {
		return fmt.Errorf("interval %v: give whole milliseconds, at least one", o.interval)
	}
	return nil
}

// checkSettings takes from the environment what is not given: a launcher may not
// pass it on to other nodes.
func (o *runOptions) checkSettings(given func(flag string) bool) error {
	for _, s := range []struct {
		flag, env string
		value     *string
		words     []string
	}{
		{"timing", launch.EnvTiming, &o.timing, []string{"exact", "sampled", "off"}},
		{"receives", launch.EnvReceives, &o.receives, []string{profile.ReceivesOn, profile.ReceivesOff}},
	} {
		name := "--" + s.flag
		if !given(s.flag) {
			name = s.env
			if *s.value = os.Getenv(s.env); *s.value == "" {
				continue
			}
		}
		if !slices.Contains(s.words, *s.value) {
			return fmt.Errorf("%s %q: it can be %s", name, *s.value, strings.Join(s.words, ", "))
		}
	}
	return nil
}

// recorder is what is put in front of the processes.
func (o *runOptions) recorder(library string, flavour launch.Flavour, dir rundir.Dir) *launch.Recorder {
	return &launch.Recorder{Library: library, Flavour: flavour, Dir: string(dir), Interval: o.interval, Stack: o.stack,
		Timing: o.timing, Receives: o.receives}
}

// directory makes the run directory of a job.
func (o *runOptions) directory(program string) (rundir.Dir, error) {
	if o.dir != "" {
		d, err := rundir.CreateAt(o.dir)
		if _, holds := err.(*rundir.ExistsError); holds {
			return "", usage(err)
		}
		return d, err
	}
	return rundir.Create(rundir.Name(program, launch.JobID(), time.Now()))
}

// rank is `run` under a launcher: this process is one of many, which becomes
// the program. The run directory is shared, and nobody waits to collect.
func (o *runOptions) rank(cmd *cobra.Command, argv []string, mark string) error {
	lib, flavour, err := rankLibrary(argv, o.choice)
	if err != nil {
		return usage(err)
	}
	if err := launch.CheckLibraryPath(lib); err != nil {
		return usage(err)
	}
	name := o.dir
	if name == "" {
		name = rundir.Name(filepath.Base(argv[0]), launch.LaunchID(), time.Time{})
	}
	dir, err := rundir.Share(name)
	if err != nil {
		return err
	}
	if os.Getenv(mark) == "0" {
		fmt.Fprintf(cmd.ErrOrStderr(), "mpitrace: recording into %s; afterwards: mpitrace report %s\n", dir, name)
	}
	if err := o.recorder(lib, flavour, dir).Exec(argv, "", cmd.ErrOrStderr()); err != nil {
		return &exit{exitNotFound, err}
	}
	return nil
}
