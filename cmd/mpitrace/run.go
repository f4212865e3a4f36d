package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
)

type runOptions struct {
	dir  string
	view bool
	settings.Values
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGS...]",
		Short: "Run an MPI program, or a whole job, and record it",
		Long: `Run COMMAND and record the communication of its MPI processes. COMMAND is a launcher
with its arguments (mpirun, mpiexec, srun, flux run), a script that starts jobs,
or a program. Afterwards mpitrace prints the summary, and the run directory holds
profile.arrow, comms.arrow and ranks.arrow.

Under a launcher (srun mpitrace run -- ./app) each process records itself, and
` + "`mpitrace report DIR`" + ` shows the result afterwards.

Settings without a flag come from the environment and from files: see
` + "`mpitrace config`" + `.

With --view, a browser can watch the run at the address that mpitrace prints on
standard error. Whoever can read the address, or the output file of a batch job with
it, can see the run. When COMMAND has ended, mpitrace serves the report until Ctrl-C
or until nobody has looked for an hour; if nobody ever looked, or after a signal, it
ends at once.

The exit status is that of COMMAND; 127 if COMMAND cannot be run, 2 if the command
line is wrong.`,
		Example: `  mpitrace run -- mpirun -n 4 ./app
  mpitrace run -o halo --format prof,arrow -- mpiexec -n 16 ./halo 100
  srun -n 64 mpitrace run -o halo -- ./halo 100`,
		Args: asUsage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, argv []string) error { return o.run(cmd, argv) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	registerSettings(cmd)
	f.StringVarP(&o.dir, "output", "o", "", "record into `DIR`, which must not contain a run; %j, %x and %a are the batch job's id, name and array index (default: mpitrace-PROGRAM- and the batch job's id or the time)")
	f.BoolVar(&o.view, "view", false, "serve the page of the run while it goes on, as mpitrace view does, and print its address")
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, argv []string) error {
	argv, err := unnest(cmd, argv)
	if err != nil {
		return usage(err)
	}
	if o.Values, err = findSettings(cmd.Flags()); err != nil {
		return usage(err)
	}
	if v := o.Of("pvar-interval"); v.Source == settings.CommandLine && v.Text != "0" && len(o.Of("pvar").Elements()) == 0 {
		return usage(errors.New("--pvar-interval needs --pvar"))
	}
	if err := o.checkTrace(); err != nil {
		return usage(err)
	}
	if o.dir != "" {
		if o.dir, err = launch.ExpandName(o.dir); err != nil {
			return usage(err)
		}
		o.dir += launch.Restart() // beside what the job recorded before it was started again
	}
	mark, under := launch.UnderLauncher()
	if under && !launch.IsLauncher(argv) {
		if o.view {
			return usage(errors.New("--view is for whole jobs: put mpitrace run --view in front of the launcher, or use mpitrace view DIR"))
		}
		return o.rank(cmd, argv, mark)
	}
	j, err := o.newJob(cmd, argv)
	if err != nil {
		return err
	}
	finish := func(_ *job, err error) error { return err }
	if o.view {
		v, err := startView(j.Dir, j.Log)
		if err != nil {
			j.Discard()
			return err
		}
		finish = v.finish
	}
	return finish(j, j.run(launch.Streams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr()}))
}

// newJob returns the command with everything that recording it needs. After an
// error, no run directory remains.
func (o *runOptions) newJob(cmd *cobra.Command, argv []string) (*job, error) {
	if err := launch.CheckAddressSpace(); err != nil {
		return nil, usage(err)
	}
	command, err := launch.Parse(argv)
	if err != nil {
		return nil, notFound(err)
	}
	formats, err := export.ParseFormats(o.Of("format").Elements())
	if err != nil {
		return nil, usage(err)
	}
	j := &job{RecordedCommand: launch.RecordedCommand{Version: versionString(), Command: command, Log: cmd.ErrOrStderr()}, formats: formats}
	if err := o.setUp(cmd.Context(), j); err != nil {
		if j.Dir != "" {
			j.Discard()
		}
		return nil, err
	}
	j.Settings = o.Values
	return j, nil
}

// setUp makes the run directory, and finds the MPI and its library. The directory comes
// first, so that one that cannot be made is noticed before a library is built.
func (o *runOptions) setUp(ctx context.Context, j *job) (err error) {
	if err := o.makeDirectory(j); err != nil {
		return err
	}
	libraryInRun := func() (string, error) { return j.Dir.PrepareLibrary() }
	j.MPI, j.Library, err = launch.DetectLibrary(ctx, j.Command, launch.Chosen(o.Values), libraryInRun, j.Log)
	if err == nil {
		j.Dispatcher = launch.DispatcherForUnlinked(ctx, j.Command, launch.Chosen(o.Values), j.MPI, libraryInRun, j.Log)
	}
	if err == nil {
		err = o.allowPhysical(j.MPI.Flavour, j.Log)
	}
	if err == nil {
		err = checkCvars(ctx, o.Of("cvar").Elements(), j.MPI, j.Log)
	}
	if err == nil {
		err = o.preparePhysical(j.Dir)
	}
	return err
}

// checkTrace returns an error if other settings do not fit --trace.
func (o *runOptions) checkTrace() error {
	for _, name := range []string{"trace-buffer", "trace-limit", "keep", "ranks", "trace-slices", "trace-classes"} {
		if o.Of(name).Source == settings.CommandLine && !o.Of("trace").On() {
			return fmt.Errorf("--%s needs --trace", name)
		}
	}
	if !o.Of("trace").On() {
		return nil
	}
	if v := o.Of("timing"); v.Text != "exact" {
		return fmt.Errorf("--trace needs --timing exact, not %s", v.Text)
	}
	if o.Of("receives").Text != "on" {
		return errors.New("--trace needs --receives on")
	}
	return nil
}

// allowPhysical returns an error if --physical is given and the MPI does not
// support it. If physical comes from the environment or a file, which apply to
// all runs, it only warns, and the run continues without it.
func (o *runOptions) allowPhysical(f rundir.Flavour, log io.Writer) error {
	v := o.Of("physical")
	if !v.On() {
		return nil
	}
	err := launch.CheckPhysical(f)
	if err == nil {
		return nil
	}
	if v.Source == settings.CommandLine {
		return usage(err)
	}
	warn(log, fmt.Errorf("%w; continuing without it (set by %s)", err, v.SetBy))
	o.Values = o.Without("physical")
	return nil
}

// preparePhysical makes the directory for the files that the MPI library
// writes.
func (o *runOptions) preparePhysical(dir rundir.Dir) error {
	if !o.Of("physical").On() {
		return nil
	}
	return dir.PreparePhysical()
}

// makeDirectory makes the run directory.
func (o *runOptions) makeDirectory(j *job) (err error) {
	if o.dir == "" {
		j.NewDir = true
		j.Dir, err = rundir.Create(rundir.Name(j.Command.Name(), launch.JobID(), time.Now()))
	} else {
		_, missing := os.Lstat(o.dir)
		j.NewDir = missing != nil
		j.Dir, err = rundir.CreateAt(o.dir)
	}
	switch {
	case errors.As(err, new(*rundir.ExistsError)):
		return usage(err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: name a directory that you may write with -o", err)
	}
	return err
}

// rank is `mpitrace run` under a launcher: this process is one of many and replaces itself by the
// program. All of these processes share the run directory. No process remains that could collect
// the recordings.
func (o *runOptions) rank(cmd *cobra.Command, argv []string, mark string) error {
	if err := launch.CheckCommand(argv); err != nil {
		return notFound(err)
	}
	r, err := launch.RankRecorder(argv, launch.Chosen(o.Values))
	if err != nil {
		return usage(err)
	}
	if err := interpose.CheckLibrary(r.Library); err != nil {
		return usage(err)
	}
	if err := o.allowPhysical(r.Flavour, cmd.ErrOrStderr()); err != nil {
		return err
	}
	name := o.dir
	if name == "" {
		name = rundir.Name(filepath.Base(profile.ProgramName(argv[0], argv)), launch.LaunchID(), time.Time{})
	}
	dir, err := rundir.Share(name)
	if err == nil {
		err = o.preparePhysical(dir)
	}
	if err != nil {
		return err
	}
	if os.Getenv(mark) == "0" {
		fmt.Fprintf(cmd.ErrOrStderr(), "mpitrace: recording into %s; afterwards: mpitrace report %s\n", dir, name)
	}
	launch.NoteNested(dir)
	r.Dir, r.Settings = string(dir), o.Values
	if err := r.Exec(argv, "", cmd.ErrOrStderr()); err != nil {
		return &exit{exitNotFound, err}
	}
	return nil
}
