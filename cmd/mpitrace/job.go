package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/interpose"
)

// job is a command that is run and recorded.
type job struct {
	launch.RecordedCommand
	formats []export.RankFormat
	merged  bool // the job ended without an interruption, and its recordings were read
}

// run starts the command, waits for it, collects and merges the recordings, and
// shows the summary. Its error carries the command's exit status.
func (j *job) run(s launch.Streams) error {
	j.OnNotEnding = j.showUnfinished
	if err := j.Prepare(); err != nil {
		return err
	}
	status, err := j.Run(s)
	if err != nil {
		j.Discard()
		return &exit{exitNotFound, err}
	}
	if why := j.NotStarted(status); why != nil && j.Discard() {
		return &exit{status.Code, fmt.Errorf("nothing was recorded: %w", why)}
	}
	return j.finish(status)
}

// showUnfinished shows the recordings of a job that has not ended after a
// signal.
func (j *job) showUnfinished() {
	opened, err := j.merge()
	if err != nil {
		warn(j.Log, err)
	}
	if opened != nil {
		j.show(opened, nil)
	}
}

// merge reads the recordings and writes the merged files. If only the writing
// fails, it returns both the run and the error.
func (j *job) merge() (*source.Run, error) {
	opened, err := source.Open([]string{string(j.Dir)}, source.Options{Depth: source.Whole, Log: j.Log, RunOnly: true})
	if err != nil {
		return nil, err
	}
	warnRead(j.Log, opened)
	return opened, export.Merge(j.Dir, opened, j.formats, j.Info, trace.EstimateClocks)
}

// show prints the summaries of the jobs, and reports whether their recordings
// are complete.
func (j *job) show(opened *source.Run, missing []string) (complete bool, err error) {
	found, err := summarize(opened, scratchFor(opened), time.Now(), false)
	if err != nil {
		return false, err
	}
	lacks := found.lacks(j.Dir, j.Info.Command)
	missing = append(missing, lacks...)
	complete = found.complete() && len(lacks)+len(opened.Damage()) == 0 && len(opened.Traced.Damaged) == 0
	if len(found.jobs) == 0 || j.Settings.Of("no-report").On() {
		warnIncomplete(j.Log, missing...) // otherwise they are at the end of the last summary
		return complete, nil
	}
	o := views.Options{Missing: missing, Unanalyzed: !j.analyze(&found, opened), Info: j.Info, Path: fromHere(j.Dir)}
	_ = found.writeShort(j.Log, o) // a closed terminal does not change the exit status
	fmt.Fprintln(j.Log)
	return complete, nil
}

// mostAnalyzed is the number of events up to which the traces of a job are analysed when it ends,
// which takes some seconds. Those of larger jobs are analysed by the first report.
const mostAnalyzed = 20_000_000

// analyze analyses the traces, so that the summary says nothing that they contradict. It reports
// whether there are none that were not analysed.
func (j *job) analyze(found *summaries, opened *source.Run) bool {
	if n := opened.Traced.Events; n == 0 || n > mostAnalyzed {
		return n == 0
	}
	traced, err := analysisOf(j.Log, j.Dir, false, false)
	if err != nil {
		warn(j.Log, fmt.Errorf("the traces are not analysed: %w", err))
		return false
	}
	found.useTraced(traced)
	return len(traced.results) > 0
}

// fromHere returns the path of a run, relative to the current directory if it is in there.
func fromHere(dir rundir.Dir) string {
	if here, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(here, string(dir)); err == nil && filepath.IsLocal(path) {
			return path
		}
	}
	return string(dir)
}

// finish merges the recordings, prints the summary and all warnings, and
// returns the exit status as an error.
func (j *job) finish(status launch.Status) error {
	opened, notMerged := j.merge()
	if opened == nil {
		return notMerged
	}
	j.merged = status.Interrupted.IsZero()
	missing := j.missing(opened, status)
	complete, err := j.show(opened, missing)
	if err != nil {
		return err
	}
	if len(opened.Jobs) > 0 && notMerged == nil && status.Interrupted.IsZero() {
		if err := j.noteCvars(); err != nil {
			warn(j.Log, err)
		}
	}
	left := j.Dir.Uncollected()
	if len(opened.Jobs) > 0 || !j.DiscardEmpty(status) {
		j.printFiles(opened, left, notMerged)
	}
	complete = complete && len(missing)+len(left)+len(j.Info.Lost) == 0 && notMerged == nil
	switch {
	case status.Code != 0:
		return &exit{code: status.Code}
	case j.Settings.Of("strict").On() && !complete:
		return &exit{exitIncomplete, fmt.Errorf("the record in %s is missing or incomplete (--strict)", j.Dir)}
	}
	return nil
}

// missing returns what was not recorded in addition to the jobs' own problems. If
// there is no job, it prints the reason.
func (j *job) missing(opened *source.Run, status launch.Status) []string {
	unrecorded, wrongMPI := j.unrecorded(opened), j.Dir.WrongMPI()
	if len(opened.Jobs) > 0 {
		warnIncomplete(j.Log, j.Dir.LostText(j.Info))
		warnIncomplete(j.Log, unrecorded) // in full, since mpitrace report cannot find it
		return missingText(wrongMPI, unrecorded, export.LostEventsText(j.Dir, &opened.Traced))
	}
	why := j.WhyNothingRecorded(status)
	switch {
	case len(wrongMPI) > 0 && wrongMPI[0].Reason != "":
		why = "no call of MPI reached mpitrace's library"
	case len(wrongMPI) > 0 && interpose.IsDispatcher(j.Library):
		why = "no process called MPI_Init of an MPI for which mpitrace has a library"
	case len(wrongMPI) > 0:
		why = "no process called MPI_Init of " + j.MPI.String()
	}
	if unrecorded != "" && status.Code == 0 {
		why, unrecorded = unrecorded, ""
	}
	if elsewhere := j.Dir.ElsewhereText(j.Info); elsewhere != "" {
		warn(j.Log, "nothing can be shown: "+elsewhere)
	} else {
		warn(j.Log, "nothing was recorded: "+why)
	}
	return missingText(wrongMPI, unrecorded)
}

// printFiles prints where the recordings and the merged files are.
func (j *job) printFiles(opened *source.Run, left []rundir.Left, notMerged error) {
	for _, dir := range j.Dir.NestedRuns() {
		warn(j.Log, "another `mpitrace run` in the command recorded into "+dir)
	}
	warn(j.Log, j.Dir.LeftText(left)...)
	if notMerged != nil {
		warn(j.Log, fmt.Errorf("not merged: %w; afterwards: mpitrace collect %s", notMerged, text.ShellQuote(string(j.Dir))))
	}
	warn(j.Log, opened.Traced.Text()...)
	if j.Settings.Of("no-report").On() { // otherwise the report names the commands
		suggestTraceCommands(j.Log, j.Dir, &opened.Traced)
	}
	warn(j.Log, fmt.Sprintf("the files are in %s", j.Dir))
}

// unrecorded returns a text with the MPI functions that the programs of the
// command import and the library does not intercept. It is empty if there are
// none.
func (j *job) unrecorded(opened *source.Run) string {
	programs, library := j.Command.Files(), cmp.Or(j.Dispatcher, j.Library)
	loaded := [][]string{programs}
	if len(opened.Jobs) > 0 {
		loaded = nil
	}
	for _, job := range opened.Jobs {
		// the libraries that a program loaded may call MPI too
		loaded = append(loaded, slices.Concat(programs, job.Loaded()))
	}
	var names []string
	for _, files := range loaded {
		more, err := interpose.Unrecorded(library, files)
		if err != nil {
			return ""
		}
		names = append(names, more...)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	missing := "the program can also make calls that are not recorded: " + firstFew(slices.Compact(names), 6)
	if interpose.IsDispatcher(library) {
		missing += ". To record functions of mpi_f08 that are newer than MPI 3.1, name the program's MPI with --mpi"
	}
	return missing
}

// firstFew lists the first names, and the number of the others.
func firstFew(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// missingText returns what is missing from a run in addition to its jobs' own problems. others are
// texts, some of which may be empty.
func missingText(programs []rundir.WrongMPI, others ...string) []string {
	var missing []string
	for _, p := range programs {
		missing = append(missing, p.Advice())
	}
	for _, text := range others {
		if text != "" {
			missing = append(missing, text)
		}
	}
	return missing
}
