package run

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Traced is what became of the events of a run.
type Traced struct {
	Processes int
	Events    uint64
	Dropped   uint64               // events that had no room
	Clocks    []*profile.JobClocks // of the jobs that ran on several hosts
	Damaged   []error              // what of the events cannot be read
	// Left is how many events were written of recordings beside which they still are:
	// their processes may go on, or some of them are damaged.
	Left map[string]uint64
}

// ClockEstimator finds out from events how the clocks of a job's hosts differ. It is
// trace.EstimateClocks; as an argument, it lets programs that merge nothing do
// without package trace.
type ClockEstimator func([]profile.EventSource) (*profile.JobClocks, error)

// writeTraces writes the events of each process that was traced, several
// processes at a time, and removes what they were recorded in once nobody writes
// to it any more.
func (d Dir) writeTraces(run *Run, estimate ClockEstimator) error {
	traced := d.traced()
	if len(traced) == 0 {
		return nil
	}
	clocks := run.Traced.clocksOf(traced)
	bar := text.StartProgress(run.log, "writing events", len(traced))
	defer bar.Done()
	for n, j := range run.Jobs {
		w := traceWriter{dir: d, job: n, clocks: clocks, estimate: estimate, run: run, bar: bar}
		if err := w.write(j); err != nil {
			return err
		}
	}
	run.Traced.leaveRest(traced)
	return nil
}

// traceWriter writes the events of one job.
type traceWriter struct {
	dir      Dir
	job      int // its number
	clocks   map[string]recording.Clock
	hosts    *profile.JobClocks // how they differ; nil if there is one
	estimate ClockEstimator
	run      *Run
	bar      *text.Progress
	said     sync.Mutex
}

func (w *traceWriter) write(j *Job) error {
	if len(w.clocks) > 1 {
		if err := w.compareClocks(j); err != nil {
			return err
		}
	}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	err := w.each(j, func(p *profile.Profile) error {
		work.Go(func() error { return w.writeTrace(p) })
		return nil
	})
	return errors.Join(err, work.Wait())
}

// each gives the processes that were traced; of those whose recordings are not home
// yet, the rest of the events may be.
func (w *traceWriter) each(j *Job, f func(*profile.Profile) error) error {
	return j.Each(func(p *profile.Profile) error {
		home := filepath.Dir(p.Source) == w.dir.Recordings()
		if p.Rank < 0 || !home || len(recording.EventFiles(p.Source)) == 0 {
			return nil
		}
		return f(p)
	})
}

// compareClocks finds out from the job's messages how the clocks of hosts differ.
func (w *traceWriter) compareClocks(j *Job) error {
	var sources []profile.EventSource
	err := w.each(j, func(p *profile.Profile) error {
		slim := *p // events need none of the rows
		slim.Rows, slim.Vectors = nil, nil
		if events, err := recording.OpenEvents(&slim, w.clocks[p.Host]); err == nil { // else it is said below
			sources = append(sources, events)
		}
		return nil
	})
	if err == nil {
		w.hosts, err = w.estimate(sources)
	}
	if err == nil && len(w.hosts.Hosts) > 1 {
		w.run.Traced.Clocks = append(w.run.Traced.Clocks, w.hosts)
	}
	return err
}

// writeTrace writes the events of a process. That they cannot be read is damage of
// this one.
func (w *traceWriter) writeTrace(p *profile.Profile) error {
	events, err := recording.OpenEvents(p, w.clocks[p.Host])
	if err != nil {
		w.said.Lock()
		defer w.said.Unlock()
		w.run.Traced.Damaged = append(w.run.Traced.Damaged, err)
		return nil
	}
	src := profile.EventSource(events)
	if w.hosts != nil {
		src = profile.CorrectClock(src, w.hosts.Of(p.Host))
	}
	err = atomicfile.Write(w.dir.traceFile(w.job, p.Rank), func(out io.Writer) error { return tracefile.Write(out, src) })
	done := err == nil && ended(p) && len(events.Problems) == 0 // somebody may want to mend what is damaged
	if done {
		err = recording.RemoveEvents(p.Source)
	}
	w.said.Lock()
	defer w.said.Unlock()
	w.bar.Step()
	if err == nil {
		w.run.Traced.add(events.Trace())
		if !done {
			w.run.Traced.leave(filepath.Base(p.Source), events.Trace().Events)
		}
	} else {
		w.run.Traced.Dropped += events.Trace().Dropped // they are lost wherever the others will be written
	}
	for _, problem := range events.Problems {
		w.run.Traced.Damaged = append(w.run.Traced.Damaged, errors.New(text.Line(problem)))
	}
	return err
}

func (t *Traced) add(of *profile.Trace) {
	t.Processes++
	t.Events += of.Events
	t.Dropped += of.Dropped
}

// leaveRest notes what is still there of events that belong to no job, or that cannot
// be read: that was said, and is not tried again until there are more.
func (t *Traced) leaveRest(files []string) {
	for _, file := range files {
		name := filepath.Base(file)
		if _, known := t.Left[name]; known || len(recording.EventFiles(file)) == 0 {
			continue
		}
		events, _ := recording.CountEvents(file)
		t.leave(name, events)
	}
}

func (t *Traced) leave(name string, events uint64) {
	if t.Left == nil {
		t.Left = map[string]uint64{}
	}
	t.Left[name] = events
}

// traced are the recordings here beside which there are events.
func (d Dir) traced() []string {
	files, _ := filepath.Glob(filepath.Join(escape(d.Recordings()), "*.events")) // the pattern is well formed
	for i, file := range files {
		files[i] = strings.TrimSuffix(file, ".events") + ".rec"
	}
	return files
}

// clocksOf finds the clock of each node: processes of one count the same ticks.
func (t *Traced) clocksOf(files []string) map[string]recording.Clock {
	clocks := map[string]recording.Clock{}
	for _, file := range files {
		host, clock, err := recording.ReadClock(file)
		if err != nil {
			t.Damaged = append(t.Damaged, fmt.Errorf("the events beside it are not written: %w", err))
			continue
		}
		clocks[host] = clocks[host].Better(clock)
	}
	return clocks
}

// ended tells whether nobody writes to a recording any more.
func ended(p *profile.Profile) bool {
	return p.State == profile.Finalized || p.Exit.At != 0 || p.Exit.Gone
}

// Untraced tells whether there are events that were not written yet, or more of
// them since. A file that a process has mapped does not tell by its time.
func (d Dir) Untraced() bool {
	info, err := d.ReadInfo()
	if err != nil && exists(d.Info()) {
		return false // nothing is merged then
	}
	return slices.ContainsFunc(d.traced(), func(file string) bool {
		before, written := uint64(0), false
		if err == nil {
			before, written = info.UnfinishedTraces[filepath.Base(file)]
		}
		now, _ := recording.CountEvents(file) // 0 if they cannot be read, which was said then
		return !written || now != before
	})
}
