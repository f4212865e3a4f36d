package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// openRun opens a run directory and warns of damage in it.
func openRun(log io.Writer, dir run.Dir) (*run.Run, error) {
	opened, err := dir.OpenJobs(run.Whole, log)
	if err == nil {
		warn(log, opened.Damaged...)
	}
	return opened, err
}

// mergeIfStale merges a run again if there are recordings newer than the merged
// files, or if files in other formats are to be written.
func mergeIfStale(dir run.Dir, opened *run.Run, formats []run.Format) error {
	if !dir.Stale() && len(formats) == 0 {
		return nil
	}
	info, err := dir.ReadInfo()
	if err != nil {
		return err
	}
	info.Version = versionString()
	return dir.Merge(opened, formats, info, trace.EstimateClocks)
}

// openTraces opens the traces of a run. If there are recorded events that are
// not in trace.*.arrow yet, for example of ranks that recorded themselves, it
// merges the run first.
func openTraces(log io.Writer, dir run.Dir) ([]profile.EventSource, error) {
	if dir.Untraced() {
		if err := mergeTraces(log, dir); err != nil {
			return nil, err
		}
	}
	return dir.Traces()
}

// mergeTraces merges a run. If the directory is not writable, for example
// because it belongs to another user, it warns and leaves older traces in
// place. Without older traces this is an error.
func mergeTraces(log io.Writer, dir run.Dir) error {
	opened, err := openRun(log, dir)
	if err != nil {
		return err
	}
	older := len(dir.TraceFiles()) > 0
	err = mergeIfStale(dir, opened, nil)
	if err != nil && (!older || !isReadOnly(err)) {
		return err
	}
	if err != nil {
		warn(log, fmt.Errorf("not merged: %w", err))
	}
	warn(log, opened.Traced.Text()...)
	return nil
}

// isReadOnly reports whether a file was not written because this user may not.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// suggestTraceCommands names the commands that read traces.
func suggestTraceCommands(w io.Writer, d run.Dir, t *run.Traced) {
	if t.Events > 0 {
		dir := text.ShellQuote(string(d))
		warn(w, fmt.Sprintf("to see the events: mpitrace timeline %s; why ranks waited: mpitrace analyze %[1]s", dir))
	}
}

// firstJob returns the traces of the first job, and warns if there are others.
// It is for output in which the rank alone identifies a process.
func firstJob(w io.Writer, traces []profile.EventSource) []profile.EventSource {
	jobs := trace.Jobs(traces)
	if len(jobs) > 1 {
		warn(w, fmt.Sprintf("the run has traces of %d jobs: only the first is used", len(jobs)))
	}
	return jobs[0]
}
