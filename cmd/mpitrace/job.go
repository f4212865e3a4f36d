package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// job is a command that is run and recorded.
type job struct {
	options settings.Values
	formats []run.Format
	command *launch.Command
	mpi     *launch.MPI
	library string
	dir     run.Dir
	made    bool // the run directory did not exist before
	log     io.Writer

	spool *run.Spool // nil if there is none
	watch *run.Watch
	info  *run.Info
}

// run starts the command, waits for it, collects and merges the recordings, and
// shows the summary. Its error carries the command's exit status.
func (j *job) run(s launch.Streams) (err error) {
	if j.spool, err = run.NewSpool(j.options.Of("spool").Text); err != nil {
		j.dir.Discard(j.made)
		return usage(err)
	}
	r := &launch.Recorder{Library: j.library, Flavour: j.mpi.Flavour, Dir: string(j.dir), Settings: j.options}
	if j.spool != nil {
		r.Spool = j.spool.Dir
	}
	argv, env, err := j.prepare(r)
	if err == nil {
		launch.NoteNested(string(j.dir))
		j.info = j.describe(argv, r.Spool)
		err = j.dir.WriteInfo(j.info) // written first, so that `report` finds the spool at any time
	}
	if err != nil {
		if j.spool != nil {
			os.Remove(j.spool.Dir)
		}
		j.dir.Discard(j.made)
		return err
	}
	j.watch = run.NewWatch(j.places()...)
	launch.OutlivePipe()
	status, err := launch.Run(argv, env, s, j.late)
	j.info.WallNs = time.Since(j.info.Start).Nanoseconds()
	j.info.ExitStatus = &status.Code
	j.bringHome(status)
	if err != nil {
		j.dir.Discard(j.made)
		return &exit{exitNotFound, err}
	}
	if why := j.notStarted(status); why != nil && j.dir.Discard(j.made) {
		return &exit{status.Code, fmt.Errorf("nothing was recorded: %w", why)}
	}
	return j.finish(status)
}

// notStarted returns the reason if the command failed because none of its
// programs exists on this node, else nil.
func (j *job) notStarted(status launch.Status) error {
	if status.Code == 0 || len(j.command.Programs) == 0 {
		return nil
	}
	return j.command.Missing()
}

// places returns the directories in which the processes of this node record.
func (j *job) places() []string {
	places := []string{j.dir.Recordings()}
	if j.spool != nil {
		places = append(places, j.spool.Dir)
	}
	return places
}

// bringHome collects the recordings of this node after the command has ended.
func (j *job) bringHome(status launch.Status) {
	wait := run.OrphanWait
	if !status.Interrupted.IsZero() {
		wait -= time.Since(status.Interrupted)
	}
	var left []string
	if j.spool != nil {
		var err error
		if left, err = j.spool.Collect(j.dir.Recordings(), wait); err != nil {
			fmt.Fprintln(j.log, "mpitrace:", err)
		}
	}
	if _, err := j.dir.CollectNotes(j.info.Host); err != nil {
		fmt.Fprintln(j.log, "mpitrace:", err)
	}
	run.PackAll(j.dir.Recordings())
	j.watch.Close()
	j.note(left)
}

// late collects and shows the recordings of a job that has not ended after a
// signal. The sender of the signal may soon kill all processes.
func (j *job) late() {
	fmt.Fprintf(j.log, "mpitrace: the job has not ended %v after the signal. What is recorded until now:\n", launch.Grace)
	var left []string
	if j.spool != nil {
		var err error
		if left, err = j.spool.Copy(j.dir.Recordings()); err != nil {
			fmt.Fprintln(j.log, "mpitrace:", err)
		}
	}
	j.info.WallNs = time.Since(j.info.Start).Nanoseconds()
	j.note(left)
	opened, err := j.merge()
	if err != nil {
		fmt.Fprintln(j.log, "mpitrace:", err)
	}
	if opened != nil {
		j.show(opened, nil)
	}
	fmt.Fprintln(j.log, "mpitrace: waiting for the job to end; further signals are passed on to it")
}

// note writes into run.json which recordings are not collected yet, and how
// processes ended.
func (j *job) note(left []string) {
	j.dir.SetUncollected(j.info, left)
	j.info.Processes = nil
	ended := j.watch.Ended()
	seen := make([]string, len(ended))
	for i, p := range ended {
		seen[i] = p.Recording
	}
	j.dir.SetLost(j.info, seen)
	for _, p := range ended {
		if succeeded := p.Exit.State() == profile.EndExited && p.Exit.Status == 0; !succeeded || !p.Finalized {
			p.Host = j.info.Host
			j.info.Processes = append(j.info.Processes, p)
		}
	}
	if err := j.dir.WriteInfo(j.info); err != nil {
		fmt.Fprintln(j.log, "mpitrace:", err)
	}
}

// prepare returns the command line with the recorder in front of each program.
// If no program was found, it puts the recorder into the environment instead.
func (j *job) prepare(r *launch.Recorder) (argv, env []string, err error) {
	if len(j.command.Programs) == 0 {
		fmt.Fprintf(j.log, "mpitrace: %s: the environment (LD_PRELOAD) is set, so that what it starts is recorded where the environment reaches\n", j.command.Reason)
		if said := r.Overridden(os.Environ()); said != "" {
			fmt.Fprintln(j.log, "mpitrace:", text.Line(said))
		}
		return j.command.Argv, r.Environ(os.Environ()), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	return j.command.Rewrite(append([]string{self, "rank"}, r.Words()...)), os.Environ(), nil
}

// describe returns the content of run.json at the start of the run. The spool
// is listed as not collected yet.
func (j *job) describe(argv []string, spool string) *run.Info {
	wd, _ := os.Getwd()
	host, _ := os.Hostname()
	info := &run.Info{Version: versionString(), Command: j.command.Argv, Launched: argv, WorkingDirectory: wd, Host: host,
		MPI: j.mpi, Library: j.library, Spool: spool, Settings: madeSettings(j.options), Start: time.Now()}
	if spool != "" {
		info.Uncollected = []string{run.Left{Host: host, Path: spool}.String()}
	}
	return info
}

// merge reads the recordings and writes the merged files. If only the writing
// fails, it returns both the run and the error.
func (j *job) merge() (*run.Run, error) {
	opened, err := j.dir.Open(run.Whole, j.log)
	if err != nil {
		return nil, err
	}
	sayDamage(j.log, opened.Damaged)
	nameSites(j.log, opened, j.dir.Known())
	return opened, j.dir.Merge(opened, j.formats, j.info, trace.EstimateClocks)
}

// show prints the summaries of the jobs, and reports whether their recordings
// are complete.
func (j *job) show(opened *run.Run, missing []string) (complete bool, err error) {
	complete = len(opened.Jobs) > 0 && len(opened.Damaged) == 0 && len(opened.Traced.Damaged) == 0
	now := time.Now()
	var jobs []*aggregate.Summary
	for _, src := range opened.Jobs {
		job, err := aggregate.Of(run.Source{Of: src, Read: now}, aggregate.Options{MustAgree: settingsThatAgree()})
		if err != nil {
			return false, err
		}
		s := job.Summary()
		complete = complete && len(s.Problems) == 0
		jobs = append(jobs, s)
	}
	if j.options.Of("no-report").On() {
		return complete, nil
	}
	o := textOptionsFor(j.log)
	o.Top = topSites
	report.Jobs(j.log, jobs, o)
	for i, s := range jobs {
		if i == len(jobs)-1 {
			o.Missing = missing
		}
		report.Summary(j.log, s, o)
		fmt.Fprintln(j.log)
	}
	return complete, nil
}

// finish merges the recordings, prints the summary and all warnings, and
// returns the exit status as an error.
func (j *job) finish(status launch.Status) error {
	opened, notMerged := j.merge()
	if opened == nil {
		return notMerged
	}
	unrecorded, wrongMPI := j.unrecorded(opened), j.dir.WrongMPI()
	if len(opened.Jobs) == 0 {
		why := j.why(status)
		if len(wrongMPI) > 0 {
			why = "no process called MPI_Init of " + j.mpi.String()
		}
		if unrecorded != "" && status.Code == 0 {
			why, unrecorded = unrecorded, ""
		}
		if known := whereabouts(j.dir, j.info); known != "" {
			fmt.Fprintf(j.log, "mpitrace: nothing can be shown: %s\n", text.Lines(known))
		} else {
			fmt.Fprintf(j.log, "mpitrace: nothing was recorded: %s\n", text.Lines(why))
		}
	} else {
		sayLost(j.log, j.dir, j.info)
	}
	complete, err := j.show(opened, missingText(wrongMPI, unrecorded))
	if err != nil {
		return err
	}
	if len(opened.Jobs) == 0 || j.options.Of("no-report").On() { // otherwise they are at the end of the last summary
		sayWrongMPI(j.log, wrongMPI)
		if unrecorded != "" {
			fmt.Fprintf(j.log, "mpitrace: incomplete: %s\n", text.Line(unrecorded))
		}
	}
	if len(opened.Jobs) > 0 && notMerged == nil && status.Interrupted.IsZero() {
		if err := j.noteCvars(); err != nil {
			fmt.Fprintln(j.log, "mpitrace:", err)
		}
	}
	for _, dir := range launch.NestedRuns(j.dir.Recordings()) {
		fmt.Fprintf(j.log, "mpitrace: another `mpitrace run` in the command recorded into %s\n", text.Line(dir))
	}
	left := j.dir.Uncollected()
	sayLeft(j.log, j.dir, left)
	if notMerged != nil {
		fmt.Fprintf(j.log, "mpitrace: %v; when that is mended: mpitrace collect %s\n", notMerged, shellQuote(string(j.dir)))
	}
	sayTraced(j.log, &opened.Traced)
	sayWhatTracesAreFor(j.log, j.dir, &opened.Traced)
	fmt.Fprintf(j.log, "mpitrace: the files are in %s\n", j.dir)
	switch {
	case status.Code != 0:
		return &exit{code: status.Code}
	case j.options.Of("strict").On() && (!complete || unrecorded != "" || len(wrongMPI) > 0 || len(left) > 0 || len(j.info.Lost) > 0 || notMerged != nil):
		return &exit{exitIncomplete, fmt.Errorf("the record in %s is missing or incomplete (--strict)", j.dir)}
	}
	return nil
}

// why returns the probable reason for a run without a recording.
func (j *job) why(status launch.Status) string {
	switch {
	case len(launch.NestedRuns(j.dir.Recordings())) > 0:
		return "each MPI program was recorded by another `mpitrace run` in the command"
	case status.Code != 0:
		return fmt.Sprintf("the command ended (%s) before any process called MPI_Init", status)
	case j.command.Reason != "":
		return j.command.Reason + ", and nothing that it started on this node called MPI_Init with the environment it was given. " +
			"Put `mpitrace run --` in front of the launcher (mpirun, srun) itself"
	case j.mpi.Library != "":
		return fmt.Sprintf("no process that had mpitrace's library in it called MPI_Init of %s (%s). If the program uses another MPI, name it with --mpi; "+
			"if something in the command sets LD_PRELOAD, put `mpitrace run --` behind it", j.mpi, j.mpi.Library)
	}
	return "no process called MPI_Init"
}
