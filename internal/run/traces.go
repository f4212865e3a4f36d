package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// TraceFile is the file of the events of a rank, of the first job.
func (d Dir) TraceFile(rank int) string { return d.traceFile(0, rank) }

// traceFile is that of a rank of the job of this number.
func (d Dir) traceFile(job, rank int) string {
	name := fmt.Sprintf("trace.%d.arrow", rank)
	if job > 0 {
		name = fmt.Sprintf("trace.job%d.%d.arrow", job+1, rank)
	}
	return filepath.Join(string(d), name)
}

// TraceFiles lists those that there are, in the order of jobs and ranks.
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

// ofTrace is the job and the rank that a file is of, if it is traceFile of one.
func (d Dir) ofTrace(file string) (job, rank int, ok bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "trace."), ".arrow")
	if number, rest, later := strings.Cut(name, "."); later {
		job, _ = strconv.Atoi(strings.TrimPrefix(number, "job"))
		job, name = job-1, rest
	}
	rank, err := strconv.Atoi(name)
	return job, rank, err == nil && filepath.Base(file) == filepath.Base(d.traceFile(job, rank))
}

// countTraced adds up what the traces hold. One that cannot be read is left out:
// whoever reads its events reports that.
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
	}
	return sum
}

// TracedEvents is what run.json says of the traces, or else they themselves; nil if
// there are none.
func (d Dir) TracedEvents() *TracedEvents {
	if info, err := d.ReadInfo(); err == nil && info.TracedEvents != nil {
		return info.TracedEvents
	}
	return d.countTraced()
}

// Traces are the events of the run's processes, in the order of jobs and ranks. It is an
// error if there are none, or if a file is damaged; damage of the events is found
// out when they are read.
func (d Dir) Traces() ([]profile.EventSource, error) {
	var traces []profile.EventSource
	for _, file := range d.TraceFiles() {
		trace, err := tracefile.Open(file)
		if err != nil {
			return nil, err
		}
		_, rank, _ := d.ofTrace(file)
		if trace.Trace().Rank != rank {
			return nil, fmt.Errorf("read trace %s: it is of rank %d", file, trace.Trace().Rank)
		}
		traces = append(traces, trace)
	}
	if len(traces) == 0 && slices.ContainsFunc(d.spooled(), func(file string) bool { return len(recording.EventFiles(file)) > 0 }) {
		return nil, fmt.Errorf("%s has no trace yet: it is written when the run has ended, or else by mpitrace collect", text.Line(string(d)))
	}
	if len(traces) == 0 && len(d.traced()) > 0 {
		return nil, fmt.Errorf("%s has no trace: its events could not be written or read (mpitrace report tells why)", text.Line(string(d)))
	}
	if len(traces) == 0 {
		return nil, fmt.Errorf("%s has no trace, as no process was traced: mpitrace run --trace does it", text.Line(string(d)))
	}
	return traces, nil
}
