package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// noRoom is the reason for events that are missing in a trace.
const noRoom = "had no room (a full disk, --trace-limit, --trace-buffer or --keep)"

// sayEvents reports how many events a merge wrote. If nothing was merged, it
// only reports how many events the existing traces lack.
func sayEvents(w io.Writer, dir run.Dir, t *run.Traced) {
	if t.Processes > 0 || t.Dropped > 0 || len(t.Damaged) > 0 {
		sayTraced(w, t)
	} else if e := dir.TracedEvents(); e != nil && e.Dropped > 0 {
		fmt.Fprintf(w, "mpitrace: %s of %s in trace.*.arrow; %s %s\n", text.CountOf(e.Written, "event"),
			text.CountOf(e.Processes, "process"), text.CountOf(e.Dropped, "other"), noRoom)
	}
}

// sayTraced reports how many events were written, and how clocks were
// corrected.
func sayTraced(w io.Writer, t *run.Traced) {
	sayDamage(w, t.Damaged)
	if t.Processes == 0 {
		if t.Dropped > 0 {
			fmt.Fprintf(w, "mpitrace: %s %s\n", text.CountOf(t.Dropped, "event"), noRoom)
		}
		return
	}
	dropped := ""
	if t.Dropped > 0 {
		dropped = fmt.Sprintf("; %s %s", text.CountOf(t.Dropped, "other"), noRoom)
	}
	if t.Events == 0 && t.Dropped == 0 && len(t.Damaged) == 0 {
		dropped += ": no call was of what is traced (--trace-slices, --trace-classes)"
	}
	fmt.Fprintf(w, "mpitrace: %s of %s in trace.*.arrow%s\n", text.CountOf(t.Events, "event"), text.CountOf(t.Processes, "process"), dropped)
	for _, c := range t.Clocks {
		sayClocks(w, c)
	}
}

// sayWhatTracesAreFor names the commands that read traces.
func sayWhatTracesAreFor(w io.Writer, d run.Dir, t *run.Traced) {
	if t.Events > 0 {
		fmt.Fprintf(w, "mpitrace: to look at them: mpitrace timeline %s; what they tell: mpitrace analyze %[1]s\n", shellQuote(string(d)))
	}
}

func sayClocks(w io.Writer, c *profile.JobClocks) {
	var largest, unsure float64
	for _, h := range c.Hosts {
		largest = max(largest, math.Abs(h.Correction.Offset))
		unsure = max(unsure, h.ErrorNs)
		if h.Evidence == profile.ClockReference && h.Rank != c.Hosts[0].Rank {
			fmt.Fprintf(w, "mpitrace: no messages tell how the clock of %s differs from others'\n", text.Line(h.Host))
		}
	}
	fmt.Fprintf(w, "mpitrace: clocks of %d hosts were moved by up to %v, by %s; they agree within %v\n", len(c.Hosts),
		time.Duration(largest).Round(time.Microsecond), text.CountOf(c.Messages, "message"), time.Duration(unsure).Round(10*time.Nanosecond))
	if c.Backwards > 0 {
		fmt.Fprintf(w, "mpitrace: %s sent after having arrived, by up to %v\n", text.CountOf(c.Backwards, "message"), time.Duration(c.WorstNs))
	}
}

// openTraces opens the traces of a run. If there are recorded events that are
// not in trace.*.arrow yet, for example of ranks that recorded themselves, it
// merges the run first.
func openTraces(log io.Writer, dir run.Dir) ([]profile.EventSource, error) {
	if _, err := os.ReadDir(string(dir)); err != nil {
		if info, missing := os.Stat(string(dir)); missing == nil && !info.IsDir() {
			err = fmt.Errorf("%s is a file: give the directory of the run", dir)
		}
		return nil, usage(err)
	}
	if dir.Untraced() {
		if err := mergeTraces(log, dir); err != nil {
			return nil, err
		}
	}
	traces, err := dir.Traces()
	switch {
	case err != nil && (len(dir.TraceFiles()) > 0 || dir.Untraced()):
		return nil, err
	case err != nil && !dir.Used():
		return nil, usage(nothingIn(string(dir)))
	}
	return traces, usage(err)
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
	if err != nil && (!older || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS)) {
		return err
	}
	if err != nil {
		fmt.Fprintf(log, "mpitrace: not merged: %v\n", err)
	}
	sayTraced(log, &opened.Traced)
	return nil
}

// firstJob returns the traces of the first job, and warns if there are others.
// It is for output in which the rank alone identifies a process.
func firstJob(w io.Writer, traces []profile.EventSource) []profile.EventSource {
	jobs := trace.Jobs(traces)
	if len(jobs) > 1 {
		fmt.Fprintf(w, "mpitrace: there are traces of %d jobs: this is the first that started\n", len(jobs))
	}
	return jobs[0]
}
