package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/report"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// job is a command that is run and recorded.
type job struct {
	launch.RecordedCommand
	formats []run.Format
}

// run starts the command, waits for it, collects and merges the recordings, and
// shows the summary. Its error carries the command's exit status.
func (j *job) run(s launch.Streams) error {
	j.OnNotEnding = j.showUnfinished
	if err := j.Prepare(); err != nil {
		if noSpool := (*launch.NoSpoolError)(nil); errors.As(err, &noSpool) {
			return usage(err)
		}
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
		fmt.Fprintln(j.Log, "mpitrace:", err)
	}
	if opened != nil {
		j.show(opened, nil)
	}
}

// merge reads the recordings and writes the merged files. If only the writing
// fails, it returns both the run and the error.
func (j *job) merge() (*run.Run, error) {
	opened, err := j.Dir.Open(run.Whole, j.Log)
	if err != nil {
		return nil, err
	}
	sayDamage(j.Log, opened.Damaged)
	nameSites(j.Log, opened, j.Dir.Known())
	return opened, j.Dir.Merge(opened, j.formats, j.Info, trace.EstimateClocks)
}

// show prints the summaries of the jobs, and reports whether their recordings
// are complete.
func (j *job) show(opened *run.Run, missing []string) (complete bool, err error) {
	complete = len(opened.Jobs) > 0 && len(opened.Damaged) == 0 && len(opened.Traced.Damaged) == 0
	now := time.Now()
	var jobs []*aggregate.Summary
	for _, src := range opened.Jobs {
		job, err := aggregate.Of(run.LiveSource{Of: src, Read: now}, aggregate.Options{MustAgree: settingsThatAgree()})
		if err != nil {
			return false, err
		}
		s := job.Summary()
		complete = complete && len(s.Problems) == 0
		jobs = append(jobs, s)
	}
	if j.Settings.Of("no-report").On() {
		return complete, nil
	}
	o := textOptionsFor(j.Log)
	o.Top = topSites
	report.Jobs(j.Log, jobs, o)
	for i, s := range jobs {
		if i == len(jobs)-1 {
			o.Missing = missing
		}
		report.Summary(j.Log, s, o)
		fmt.Fprintln(j.Log)
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
	unrecorded, wrongMPI := j.unrecorded(opened), j.Dir.WrongMPI()
	if len(opened.Jobs) == 0 {
		why := j.WhyNothingRecorded(status)
		if len(wrongMPI) > 0 {
			why = "no process called MPI_Init of " + j.MPI.String()
		}
		if unrecorded != "" && status.Code == 0 {
			why, unrecorded = unrecorded, ""
		}
		if known := whereabouts(j.Dir, j.Info); known != "" {
			fmt.Fprintf(j.Log, "mpitrace: nothing can be shown: %s\n", text.Lines(known))
		} else {
			fmt.Fprintf(j.Log, "mpitrace: nothing was recorded: %s\n", text.Lines(why))
		}
	} else {
		sayLost(j.Log, j.Dir, j.Info)
	}
	complete, err := j.show(opened, missingText(wrongMPI, unrecorded))
	if err != nil {
		return err
	}
	if len(opened.Jobs) == 0 || j.Settings.Of("no-report").On() { // otherwise they are at the end of the last summary
		sayWrongMPI(j.Log, wrongMPI)
		if unrecorded != "" {
			fmt.Fprintf(j.Log, "mpitrace: incomplete: %s\n", text.Line(unrecorded))
		}
	}
	if len(opened.Jobs) > 0 && notMerged == nil && status.Interrupted.IsZero() {
		if err := j.noteCvars(); err != nil {
			fmt.Fprintln(j.Log, "mpitrace:", err)
		}
	}
	for _, dir := range launch.NestedRuns(j.Dir.Recordings()) {
		fmt.Fprintf(j.Log, "mpitrace: another `mpitrace run` in the command recorded into %s\n", text.Line(dir))
	}
	left := j.Dir.Uncollected()
	sayLeft(j.Log, j.Dir, left)
	if notMerged != nil {
		fmt.Fprintf(j.Log, "mpitrace: %v; when that is mended: mpitrace collect %s\n", notMerged, shellQuote(string(j.Dir)))
	}
	sayTraced(j.Log, &opened.Traced)
	sayWhatTracesAreFor(j.Log, j.Dir, &opened.Traced)
	fmt.Fprintf(j.Log, "mpitrace: the files are in %s\n", j.Dir)
	switch {
	case status.Code != 0:
		return &exit{code: status.Code}
	case j.Settings.Of("strict").On() && (!complete || unrecorded != "" || len(wrongMPI) > 0 || len(left) > 0 || len(j.Info.Lost) > 0 || notMerged != nil):
		return &exit{exitIncomplete, fmt.Errorf("the record in %s is missing or incomplete (--strict)", j.Dir)}
	}
	return nil
}
