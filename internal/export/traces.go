package export

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// countTraced counts the events in all traces. It leaves out traces that cannot
// be read: readers of the events report the error.
func countTraced(d rundir.Dir) *rundir.TracedEvents {
	var sum *rundir.TracedEvents
	for _, file := range d.TraceFiles() {
		f, err := tracefile.Open(file)
		if err != nil {
			continue
		}
		if sum == nil {
			sum = new(rundir.TracedEvents)
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
func TracedEvents(d rundir.Dir) *rundir.TracedEvents {
	if info, err := d.ReadInfo(); err == nil && info.TracedEvents != nil {
		return info.TracedEvents
	}
	return countTraced(d)
}

// MergedText returns t.Text of the latest merge. If nothing was merged, it
// returns the number of events that are missing from the existing traces, if
// any are.
func MergedText(d rundir.Dir, t *source.Traced) []string {
	if t.Processes > 0 || t.Dropped > 0 || len(t.Damaged) > 0 {
		return t.Text()
	}
	if e := TracedEvents(d); e != nil && e.Dropped > 0 {
		return []string{fmt.Sprintf("%s of %s in trace.*.arrow; %s %s", text.CountOf(e.Written, "event"),
			text.CountOf(e.Processes, "process"), text.CountOf(e.Dropped, "other"), source.NoRoom)}
	}
	return nil
}

// LostEventsText says how many events are missing in processes that ran out of space; "" if
// none. Events that a setting left out in these processes are counted too: recordings do not
// tell them apart. t is the result of the latest merge.
func LostEventsText(d rundir.Dir, t *source.Traced) string {
	lost := t.NoRoom
	if e := TracedEvents(d); lost == 0 && e != nil {
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
func Traces(d rundir.Dir) ([]profile.EventSource, error) { return traces(d, nil) }

// traces returns the events of the run's processes: those in made, and for the
// other processes those in the run directory.
func traces(d rundir.Dir, made map[traceKey]*tracefile.File) ([]profile.EventSource, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, rundir.InputErrorf("%w", err)
	} else if !info.IsDir() {
		return nil, rundir.InputErrorf("%s is a file: give the directory of the run", d)
	}
	found := maps.Clone(made)
	if found == nil {
		found = map[traceKey]*tracefile.File{}
	}
	for _, file := range d.TraceFiles() {
		job, rank, _ := d.OfTrace(file)
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
		return nil, d.WhyUntraced()
	}
	var traces []profile.EventSource
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b traceKey) int { return cmp.Or(a.job-b.job, a.rank-b.rank) }) {
		traces = append(traces, found[key])
	}
	return traces, nil
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
func ReadTraces(d rundir.Dir, run *source.Run, estimate ClockEstimator) ([]profile.EventSource, error) {
	scratch := &traceScratch{made: map[traceKey]*tracefile.File{}}
	if err := writeTraces(d, run, estimate, scratch); err != nil {
		return nil, fmt.Errorf("convert the events of %s into a temporary file (TMPDIR says where): %w", d, err)
	}
	if len(scratch.made) == 0 && len(run.Traced.Damaged) > 0 && len(d.TraceFiles()) == 0 {
		return nil, errors.Join(run.Traced.Damaged...)
	}
	return traces(d, scratch.made)
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
