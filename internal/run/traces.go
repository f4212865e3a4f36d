package run

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
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

// LostEventsText says how many events are missing in processes that ran out of space; "" if
// none. Events that a setting left out in these processes are counted too: recordings do not
// tell them apart. t is the result of the latest merge.
func (d Dir) LostEventsText(t *Traced) string {
	lost := t.NoRoom
	if e := d.TracedEvents(); lost == 0 && e != nil {
		lost = e.NoRoom
	}
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf("the trace lacks %s; for some or all of them, there was no room", text.CountOf(lost, "event"))
}

// Traces returns the events of the run's processes, ordered by job and rank. It
// returns an error if a file is damaged, and an InputError if there are none.
// Damaged events are reported when they are read.
func (d Dir) Traces() ([]profile.EventSource, error) { return d.traces(nil) }

// traces returns the events of the run's processes: those in made, and for the
// other processes those in the run directory.
func (d Dir) traces(made map[traceKey]*tracefile.File) ([]profile.EventSource, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, &InputError{err}
	} else if !info.IsDir() {
		return nil, inputErrorf("%s is a file: give the directory of the run", d)
	}
	found := maps.Clone(made)
	if found == nil {
		found = map[traceKey]*tracefile.File{}
	}
	for _, file := range d.TraceFiles() {
		job, rank, _ := d.ofTrace(file)
		key := traceKey{job, rank}
		if found[key] != nil {
			continue
		}
		trace, err := tracefile.Open(file)
		if err != nil {
			return nil, err
		}
		if trace.Trace().Rank != rank {
			return nil, fmt.Errorf("read trace %s: it belongs to rank %d", file, trace.Trace().Rank)
		}
		found[key] = trace
	}
	if len(found) == 0 {
		return nil, d.whyUntraced()
	}
	var traces []profile.EventSource
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b traceKey) int { return cmp.Or(a.job-b.job, a.rank-b.rank) }) {
		traces = append(traces, found[key])
	}
	return traces, nil
}

// whyUntraced returns an error that explains why a run has no trace.
func (d Dir) whyUntraced() error {
	switch {
	case !d.Used():
		return d.whyEmpty()
	case len(d.traced()) > 0:
		return fmt.Errorf("%s has no trace: its events could not be written or read; mpitrace report shows the reason", d)
	case slices.ContainsFunc(d.spooled(), func(file string) bool { return len(recording.EventFiles(file)) > 0 }):
		return inputErrorf("%s has no trace yet: it is written when the run ends; if mpitrace run was killed, run mpitrace collect", d)
	}
	info, _ := d.ReadInfo() // empty if it cannot be read
	if slices.ContainsFunc(info.Settings, func(s Setting) bool { return s.Name == "trace" }) {
		return inputErrorf("%s has no trace although --trace was set; mpitrace report shows the reason", d)
	}
	return inputErrorf("%s has no trace: no process was traced; use mpitrace run --trace", d)
}

// traceKey is a process with a trace: the index of its job, and its rank.
type traceKey struct{ job, rank int }

// traceScratch holds traces that cannot be written into the run directory. They
// are in temporary files without names, one for each goroutine that writes, each
// trace behind the others. So they take few file descriptors, and are gone when
// the command ends.
type traceScratch struct {
	mutex sync.Mutex
	idle  []*scratchFile
	made  map[traceKey]*tracefile.File
}

type scratchFile struct {
	file *os.File
	end  int64
}

// ReadTraces returns the events of a run as Merge would write them, for a run
// directory that this user cannot or must not write to. It leaves the directory
// unchanged: the traces are in temporary files of this process.
func (d Dir) ReadTraces(run *Run, estimate ClockEstimator) ([]profile.EventSource, error) {
	scratch := &traceScratch{made: map[traceKey]*tracefile.File{}}
	if err := d.writeTraces(run, estimate, scratch); err != nil {
		return nil, fmt.Errorf("convert the events of %s into a temporary file (TMPDIR says where): %w", d, err)
	}
	if len(scratch.made) == 0 && len(run.Traced.Damaged) > 0 && len(d.TraceFiles()) == 0 {
		return nil, errors.Join(run.Traced.Damaged...)
	}
	return d.traces(scratch.made)
}

// write adds a trace.
func (s *traceScratch) write(key traceKey, write func(io.Writer) error) error {
	f, err := s.take()
	if err != nil {
		return err
	}
	start := f.end
	place := io.NewOffsetWriter(f.file, start)
	out := bufio.NewWriterSize(place, 64<<10)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	size, _ := place.Seek(0, io.SeekCurrent) // it only tells the position
	f.end += size
	var made *tracefile.File
	if err == nil {
		made, err = tracefile.OpenAt(io.NewSectionReader(f.file, start, size), size)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.idle = append(s.idle, f)
	if err == nil {
		s.made[key] = made
	}
	return atomicfile.Nameless(err)
}

// take returns a file that no other goroutine writes to.
func (s *traceScratch) take() (*scratchFile, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if last := len(s.idle) - 1; last >= 0 {
		f := s.idle[last]
		s.idle = s.idle[:last]
		return f, nil
	}
	file, err := atomicfile.Unnamed("")
	return &scratchFile{file: file}, err
}
