package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
)

// job is a recorded command from its start to the summary.
type job struct {
	options *runOptions
	formats []rundir.Format
	command *launch.Command
	mpi     *launch.MPI
	library string
	dir     rundir.Dir
	log     io.Writer
}

// run launches the command, waits, brings the recordings home, merges them and
// shows the summary. Its error carries the command's exit status.
func (j *job) run(s launch.Streams) error {
	spool, err := launch.NewSpool(j.options.spool)
	if err != nil {
		return usage(err)
	}
	r := j.options.recorder(j.library, j.mpi.Flavour, j.dir)
	if spool != nil {
		r.Spool = spool.Dir
	}
	argv, env, err := j.prepare(r)
	if err != nil {
		return err
	}
	info := j.info(argv, r.Spool)
	if err := j.dir.WriteInfo(info); err != nil { // so that `report` finds the spool at any time
		return err
	}
	status, err := launch.Run(argv, env, s)
	info.WallNs = time.Since(info.Start).Nanoseconds()
	info.ExitStatus = &status.Code
	if spool != nil {
		if _, err := spool.Collect(j.dir.Recordings()); err != nil {
			fmt.Fprintln(j.log, "mpitrace:", err)
		}
	}
	if err != nil {
		return usage(err)
	}
	launch.PackAll(j.dir.Recordings())
	return j.finish(info, status)
}

// prepare puts the recorder in front of each program of the command, or into
// its environment where the programs are not seen.
func (j *job) prepare(r *launch.Recorder) (argv, env []string, err error) {
	if len(j.command.Programs) == 0 {
		fmt.Fprintf(j.log, "mpitrace: %s: the environment (LD_PRELOAD) is set, so that what it starts is recorded where the environment reaches\n", j.command.Reason)
		return j.command.Argv, r.Environ(os.Environ()), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	words := []string{self, "rank", "--lib", r.Library, "--mpi", string(r.Flavour), "--dir", r.Dir}
	if r.Spool != "" {
		words = append(words, "--spool", r.Spool)
	}
	if r.Interval != 0 {
		words = append(words, "--interval", r.Interval.String())
	}
	if r.Stack > 0 {
		words = append(words, "--stack", strconv.Itoa(r.Stack))
	}
	if r.Timing != "" {
		words = append(words, "--timing", r.Timing)
	}
	if r.Receives != "" {
		words = append(words, "--receives", r.Receives)
	}
	return j.command.Rewrite(words), os.Environ(), nil
}

func (j *job) info(argv []string, spool string) *rundir.Info {
	wd, _ := os.Getwd()
	host, _ := os.Hostname()
	return &rundir.Info{Version: versionString(), Command: j.command.Argv, Launched: argv, Directory: wd, Host: host,
		MPI: j.mpi, Library: j.library, Spool: spool, Start: time.Now()}
}

// finish turns the recordings into files and a summary, and decides the exit
// status.
func (j *job) finish(info *rundir.Info, status launch.Status) error {
	run, err := j.dir.Open(rundir.Whole, j.log)
	if err != nil {
		return err
	}
	sayDamage(j.log, run.Damaged)
	nameSites(j.log, run, j.dir.Known())
	if err := j.dir.Merge(run, j.formats, info); err != nil {
		return err
	}
	unrecorded := j.unrecorded(run)
	if len(run.Jobs) == 0 {
		why := j.why(status)
		if unrecorded != "" && status.Code == 0 {
			why, unrecorded = unrecorded, ""
		}
		fmt.Fprintf(j.log, "mpitrace: nothing was recorded: %s\n", why)
	}
	complete := len(run.Jobs) > 0 && len(run.Damaged) == 0 && unrecorded == ""
	for _, src := range run.Jobs {
		job, err := aggregate.Of(src, nil)
		if err != nil {
			return err
		}
		s := job.Summary()
		complete = complete && len(s.Problems) == 0
		if !j.options.noReport {
			o := textOptions()
			o.Sites = topSites
			s.Text(j.log, o)
			fmt.Fprintln(j.log)
		}
	}
	if unrecorded != "" {
		fmt.Fprintf(j.log, "mpitrace: incomplete: %s\n", unrecorded)
	}
	fmt.Fprintf(j.log, "mpitrace: the files are in %s\n", j.dir)
	switch {
	case status.Code != 0:
		return &exit{code: status.Code}
	case j.options.strict && !complete:
		return &exit{exitIncomplete, fmt.Errorf("the record in %s is missing or incomplete (--strict)", j.dir)}
	}
	return nil
}

// why tells the likely reason for a run without a recording.
func (j *job) why(status launch.Status) string {
	switch {
	case status.Code != 0:
		return fmt.Sprintf("the command ended (%s) before any process called MPI_Init", status)
	case j.command.Reason != "":
		return j.command.Reason + ", and nothing that it started on this node called MPI_Init with the environment it was given. " +
			"Put `mpitrace run --` in front of the launcher (mpirun, srun) itself"
	case j.mpi.Library != "":
		return fmt.Sprintf("no process called MPI_Init of %s (%s). If the program uses another MPI, name it with --mpi", j.mpi, j.mpi.Library)
	}
	return "no process called MPI_Init"
}
