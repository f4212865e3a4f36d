package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// TraceFile returns the path of the trace of a rank in the first job.
func (d Dir) TraceFile(rank int) string { return d.traceFile(0, rank) }

// traceFile returns the path of the trace of a rank in the job with this index.
func (d Dir) traceFile(job, rank int) string {
	name := fmt.Sprintf("trace.%d.arrow", rank)
	if job > 0 {
		name = fmt.Sprintf("trace.job%d.%d.arrow", job+1, rank)
	}
	return filepath.Join(string(d), name)
}

// TraceFiles returns the paths of all traces, ordered by job and rank.
func (d Dir) TraceFiles() []string {
	files, _ := filepath.Glob(filepath.Join(escape(string(d)), "trace.*.arrow")) // the pattern is well formed
	files = slices.DeleteFunc(files, func(file string) bool {
		_, _, ok := d.ofTrace(file)
		return !ok
	})
	slices.SortFunc(files, func(a, b string) int {
		i, m, _ := d.ofTrace(a)
		j, n, _ := d.ofTrace(b)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(m, n))
	})
	return files
}

// ofTrace returns the job and rank of a trace file, and false if file is not
// the name of one.
func (d Dir) ofTrace(file string) (job, rank int, ok bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "trace."), ".arrow")
	if number, rest, later := strings.Cut(name, "."); later {
		job, _ = strconv.Atoi(strings.TrimPrefix(number, "job"))
		job, name = job-1, rest
	}
	rank, err := strconv.Atoi(name)
	return job, rank, err == nil && filepath.Base(file) == filepath.Base(d.traceFile(job, rank))
}

// countTraced counts the events in all traces. It leaves out traces that cannot
// be read: readers of the events report the error.
func (d Dir) countTraced() *TracedEvents {
	var sum *TracedEvents
	for _, file := range d.TraceFiles() {
		f, err := tracefile.Open(file)
		if err != nil {
			continue
		}
		if sum == nil {
			sum = new(TracedEvents)
		}
		sum.Processes++
		sum.Written += f.Trace().Events
		sum.Dropped += f.Trace().Dropped
		if f.Trace().NoRoom {
			sum.NoRoom += f.Trace().Dropped
		}
	}
	return sum
}

// TracedEvents returns the number of events from run.json or, if it has none,
// from the traces. It returns nil if there are no traces.
func (d Dir) TracedEvents() *TracedEvents {
	if info, err := d.ReadInfo(); err == nil && info.TracedEvents != nil {
		return info.TracedEvents
	}
	return d.countTraced()
}

// MergedText returns t.Text of the latest merge. If nothing was merged, it
// returns the number of events that are missing from the existing traces, if
// any are.
func (d Dir) MergedText(t *Traced) []string {
	if t.Processes > 0 || t.Dropped > 0 || len(t.Damaged) > 0 {
		return t.Text()
	}
	if e := d.TracedEvents(); e != nil && e.Dropped > 0 {
		return []string{fmt.Sprintf("%s of %s in trace.*.arrow; %s %s", text.CountOf(e.Written, "event"),
			text.CountOf(e.Processes, "process"), text.CountOf(e.Dropped, "other"), noRoom)}
	}
	return nil
}

// LostEventsText says how many events had no room although no setting limits them; ""
// if none. t is the result of the latest merge.
func (d Dir) LostEventsText(t *Traced) string {
	lost := t.NoRoom
	if e := d.TracedEvents(); lost == 0 && e != nil {
		lost = e.NoRoom
	}
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf("the trace lacks %s: there was no room for more", text.CountOf(lost, "event"))
}

// Traces returns the events of the run's processes, ordered by job and rank. It
// returns an error if a file is damaged, and an InputError if there are none.
// Damaged events are reported when they are read.
func (d Dir) Traces() ([]profile.EventSource, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, &InputError{err}
	} else if !info.IsDir() {
		return nil, inputErrorf("%s is a file: give the directory of the run", d)
	}
	var traces []profile.EventSource
	for _, file := range d.TraceFiles() {
		trace, err := tracefile.Open(file)
		if err != nil {
			return nil, err
		}
		_, rank, _ := d.ofTrace(file)
		if trace.Trace().Rank != rank {
			return nil, fmt.Errorf("read trace %s: it belongs to rank %d", file, trace.Trace().Rank)
		}
		traces = append(traces, trace)
	}
	switch {
	case len(traces) > 0:
		return traces, nil
	case !d.Used():
		return nil, d.whyEmpty()
	case len(d.traced()) > 0:
		return nil, fmt.Errorf("%s has no trace: its events could not be written or read; mpitrace report shows the reason", d)
	case slices.ContainsFunc(d.spooled(), func(file string) bool { return len(recording.EventFiles(file)) > 0 }):
		return nil, inputErrorf("%s has no trace yet: it is written when the run ends; if mpitrace run was killed, run mpitrace collect", d)
	}
	info, _ := d.ReadInfo() // empty if it cannot be read
	if slices.ContainsFunc(info.Settings, func(s Setting) bool { return s.Name == "trace" }) {
		return nil, inputErrorf("%s has no trace although --trace was set; mpitrace report shows the reason", d)
	}
	return nil, inputErrorf("%s has no trace: no process was traced; use mpitrace run --trace", d)
}
