package launch

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/collect"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
)

// RecordedCommand is a command that is run and recorded. Call Prepare, then
// Run.
type RecordedCommand struct {
	Version    string // of mpitrace
	Settings   settings.Values
	Command    *Command
	MPI        *MPI
	Library    string // the library to preload
	Dispatcher string // the library for all MPIs, for programs that are linked to none; empty if only this MPI is recorded
	Dir        rundir.Dir
	NewDir     bool // the run directory did not exist before
	Log        io.Writer
	// OnNotEnding is called if the job has not ended after a signal, once the
	// recordings made so far are in the run directory.
	OnNotEnding func()

	Info *rundir.Info // content of run.json, set by Prepare

	spool     *rundir.Spool // nil if there is none
	watch     *collect.Watch
	argv, env []string
}

// Prepare makes the spool and writes run.json. After an error it removes what
// it made.
func (c *RecordedCommand) Prepare() (err error) {
	if c.spool, err = rundir.NewSpool(c.Settings.Of("spool").Text); err != nil {
		c.Discard()
		return &UsageError{err}
	}
	r := &Recorder{Library: c.Library, Flavour: c.MPI.Flavour, Dir: string(c.Dir), Settings: c.Settings, Dispatcher: c.Dispatcher}
	if interpose.IsDispatcher(c.Library) {
		r.Flavour = "" // for all
	}
	if c.spool != nil {
		r.Spool = c.spool.Dir
	}
	c.argv, c.env, err = c.rewrite(r)
	if err == nil {
		NoteNested(c.Dir)
		c.Info = c.describe(r.Spool)
		err = c.Dir.WriteInfo(c.Info) // written first, so that `report` finds the spool at any time
	}
	if err != nil {
		if c.spool != nil {
			os.Remove(c.spool.Dir)
		}
		c.Discard()
	}
	return err
}

// Run starts the command, waits for its end and collects the recordings. The
// error says why the command cannot be run.
func (c *RecordedCommand) Run(s Streams) (Status, error) {
	places := []string{c.Dir.Recordings()} // in which the processes of this node record
	if c.spool != nil {
		places = append(places, c.spool.Dir)
	}
	c.watch = collect.NewWatch(places...)
	OutlivePipe()
	status, err := Run(c.argv, c.env, s, c.notEnding)
	c.Info.WallNs = time.Since(c.Info.Start).Nanoseconds()
	c.Info.ExitStatus = &status.Code
	c.collect(status)
	return status, err
}

// Discard removes the run directory if nothing was recorded into it, and
// reports whether it did.
func (c *RecordedCommand) Discard() bool { return c.Dir.Discard(c.NewDir) }

// DiscardEmpty removes the run directory after a command that recorded nothing,
// so that the corrected command can use its name, and reports whether it did.
// The directory stays if the command succeeded and passed the library on by the
// environment: what it started, such as a batch job, may be recorded later.
func (c *RecordedCommand) DiscardEmpty(status Status) bool {
	later := status.Code == 0 && c.Command.Reason != ""
	return !later && len(c.Info.Lost) == 0 && c.Discard()
}

// NotStarted returns the reason if the command failed because none of its
// programs exists on this node, else nil.
func (c *RecordedCommand) NotStarted(status Status) error {
	if status.Code == 0 || len(c.Command.Programs) == 0 {
		return nil
	}
	return c.Command.Missing()
}

// collect collects the recordings of this node after the command has ended.
func (c *RecordedCommand) collect(status Status) {
	wait := collect.OrphanWait
	if !status.Interrupted.IsZero() {
		wait -= time.Since(status.Interrupted)
	}
	var left []string
	if c.spool != nil {
		var err error
		left, err = collect.Spool(c.spool, c.Dir.Recordings(), wait)
		c.warn(err)
	}
	_, err := collect.Notes(c.Dir, c.Info.Host)
	c.warn(err)
	collect.PackAll(c.Dir.Recordings())
	c.watch.Close()
	c.writeInfo(left)
}

// notEnding collects the recordings of a job that has not ended after a signal.
// The sender of the signal may soon kill all processes.
func (c *RecordedCommand) notEnding() {
	fmt.Fprintf(c.Log, "mpitrace: the job has not ended %v after the signal. Recorded so far:\n", Grace)
	var left []string
	if c.spool != nil {
		var err error
		left, err = collect.CopySpool(c.spool, c.Dir.Recordings())
		c.warn(err)
	}
	c.Info.WallNs = time.Since(c.Info.Start).Nanoseconds()
	c.writeInfo(left)
	c.OnNotEnding()
	fmt.Fprintln(c.Log, "mpitrace: waiting for the job to end; further signals are passed on to it")
}

// writeInfo writes into run.json which recordings are not collected yet, and
// how processes ended.
func (c *RecordedCommand) writeInfo(left []string) {
	c.Dir.SetUncollected(c.Info, left)
	c.Info.Processes = nil
	ended := c.watch.Ended()
	seen := make([]string, len(ended))
	for i, p := range ended {
		seen[i] = p.Recording
		if succeeded := p.Exit.State() == profile.EndExited && p.Exit.Status == 0; !succeeded || !p.Finalized {
			p.Host = c.Info.Host
			c.Info.Processes = append(c.Info.Processes, p)
		}
	}
	c.Dir.SetLost(c.Info, seen)
	c.warn(c.Dir.WriteInfo(c.Info))
}

func (c *RecordedCommand) warn(err error) {
	if err != nil {
		fmt.Fprintln(c.Log, "mpitrace:", err)
	}
}

// rewrite returns the command line with the recorder in front of each program.
// If no program was found, or the recorder cannot be put there, it puts the
// recorder into the environment instead.
func (c *RecordedCommand) rewrite(r *Recorder) (argv, env []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	copyPath := c.Dir.ConfigFile()
	argv, config, err := c.Command.Rewrite(append([]string{self, "rank"}, r.Words()...), copyPath)
	if err != nil {
		c.Command.giveUp(err.Error())
	}
	if len(c.Command.Programs) == 0 {
		c.preloadByEnvironment(r)
		return c.Command.Argv, r.Environ(os.Environ()), nil
	}
	if config != "" {
		err = atomicfile.WriteContent(copyPath, []byte(config), 0o644)
	}
	return argv, os.Environ(), err
}

// preloadByEnvironment tells the user that the environment carries the recorder.
func (c *RecordedCommand) preloadByEnvironment(r *Recorder) {
	fmt.Fprintf(c.Log, "mpitrace: %s: LD_PRELOAD is set, and the programs that inherit it are recorded\n", c.Command.Reason)
	if warning := r.Overridden(os.Environ()); warning != "" {
		fmt.Fprintln(c.Log, "mpitrace:", text.Line(warning))
	}
}

// describe returns the content of run.json at the start of the run. The spool
// is listed as not collected yet.
func (c *RecordedCommand) describe(spool string) *rundir.Info {
	wd, _ := os.Getwd()
	host, _ := os.Hostname()
	info := &rundir.Info{Version: c.Version, Command: c.Command.Argv, Launched: c.argv, WorkingDirectory: wd, Host: host,
		Batch: Batch(), MPI: c.MPI, Library: c.Library, Spool: spool, Settings: c.settings(), Start: time.Now()}
	if spool != "" {
		info.Uncollected = []string{rundir.Left{Host: host, Path: spool}.String()}
	}
	return info
}

// settings returns the settings whose values differ from the defaults, for run.json.
func (c *RecordedCommand) settings() []rundir.ChangedSetting {
	var out []rundir.ChangedSetting
	for _, v := range c.Settings {
		if v.Source != settings.Default {
			out = append(out, rundir.ChangedSetting{Name: v.Name, Value: v.Text, Source: v.Source.String(), SetBy: v.SetBy})
		}
	}
	return out
}

// WhyNothingRecorded returns the probable reason for a run without a recording.
func (c *RecordedCommand) WhyNothingRecorded(status Status) string {
	switch {
	case len(c.Dir.NestedRuns()) > 0:
		return "each MPI program was recorded by another `mpitrace run` in the command"
	case status.Code != 0:
		return fmt.Sprintf("the command ended (%s) before any process called MPI_Init", status)
	case c.Command.Reason != "":
		return c.Command.Reason + ", and nothing that it started on this node called MPI_Init with the environment it was given. " +
			"Put `mpitrace run --` in front of the launcher (mpirun, srun) itself"
	case c.MPI.Library != "":
		return fmt.Sprintf("no process that had mpitrace's library in it called MPI_Init of %s (%s). If the program uses another MPI, name it with --mpi; "+
			"if something in the command sets LD_PRELOAD, put `mpitrace run --` behind it", c.MPI, c.MPI.Library)
	}
	return "no process called MPI_Init"
}
