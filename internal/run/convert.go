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

// Traced is the result of converting the events of a run.
type Traced struct {
	Processes int
	Events    uint64
	Dropped   uint64               // number of events that were lost
	NoRoom    uint64               // of Dropped: events of processes that ran out of space
	Clocks    []*profile.JobClocks // of each job that has several clocks
	Damaged   []error              // events that cannot be read
	// Left maps recordings whose event files were kept to the number of events
	// that were converted. Their processes may still be running, or some events
	// are damaged.
	Left map[string]uint64

	converted map[string]bool // file names of recordings whose events are all in traces
}

// noRoom is the reason for events that are missing in a trace.
const noRoom = "had no room (a full disk, --trace-limit, --trace-buffer or --keep)"

// Text reports how many events were written, and how clocks were corrected.
func (t *Traced) Text() (lines []string) {
	for _, err := range t.Damaged {
		lines = append(lines, err.Error())
	}
	if t.Processes == 0 {
		if t.Dropped > 0 {
			lines = append(lines, text.CountOf(t.Dropped, "event")+" "+noRoom)
		}
		return lines
	}
	dropped := ""
	if t.Dropped > 0 {
		dropped = fmt.Sprintf("; %s %s", text.CountOf(t.Dropped, "other"), noRoom)
	}
	if t.Events == 0 && t.Dropped == 0 && len(t.Damaged) == 0 {
		dropped = ": --trace-slices and --trace-classes left out all calls"
	}
	lines = append(lines, fmt.Sprintf("%s of %s in trace.*.arrow%s", text.CountOf(t.Events, "event"), text.CountOf(t.Processes, "process"), dropped))
	for _, c := range t.Clocks {
		for _, line := range c.Lines() {
			lines = append(lines, text.Line(line))
		}
	}
	return lines
}

// ClockEstimator estimates the differences between the clocks of a job's hosts
// from events. It is always trace.EstimateClocks; it is a parameter so that
// programs that merge nothing do not link package trace.
type ClockEstimator func([]profile.EventSource) (*profile.JobClocks, error)

// writeTraces writes a trace file for each traced process, several at a time.
// It removes the event files of processes that have ended. With a scratch, it
// writes the traces there, and changes nothing in the run directory.
func (d Dir) writeTraces(run *Run, estimate ClockEstimator, scratch *traceScratch) error {
	traced := d.traced()
	if len(traced) == 0 {
		return nil
	}
	clocks := run.Traced.clocksOf(traced)
	bar := text.StartProgress(run.log, "writing events", len(traced))
	defer bar.Done()
	for n, j := range run.Jobs {
		w := traceWriter{dir: d, job: n, clocks: clocks, estimate: estimate, run: run, bar: bar, scratch: scratch}
		if err := w.write(j); err != nil {
			return err
		}
	}
	if scratch == nil {
		d.packConverted(run.Traced.converted)
		run.Traced.leaveRest(traced)
	}
	return nil
}

// traceWriter writes the trace files of one job.
type traceWriter struct {
	dir      Dir
	job      int // index of the job in Run.Jobs
	clocks   nodeClocks
	hosts    *profile.JobClocks // differences between the clocks; nil if there is only one
	estimate ClockEstimator
	run      *Run
	bar      *text.Progress
	scratch  *traceScratch
	said     sync.Mutex
}

func (w *traceWriter) write(j *Job) error {
	if len(w.clocks.byID) > 1 {
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

// each calls f with the traced processes. It leaves out those whose recordings
// are not collected yet, because some of their events may be missing.
func (w *traceWriter) each(j *Job, f func(*profile.Profile) error) error {
	return j.Each(func(p *profile.Profile) error {
		home := filepath.Dir(recording.FileOf(p.Source)) == w.dir.Recordings()
		if p.Rank < 0 || !home || len(recording.EventFiles(p.Source)) == 0 {
			return nil
		}
		return f(p)
	})
}

// compareClocks estimates the differences between the hosts' clocks from the
// job's messages and collectives.
func (w *traceWriter) compareClocks(j *Job) error {
	var sources []profile.EventSource
	err := w.each(j, func(p *profile.Profile) error {
		slim := *p // events do not need the rows
		slim.Rows, slim.Vectors = nil, nil
		if events, err := recording.OpenEvents(&slim, w.clocks.of(p.Source)); err == nil { // writeTrace reports the error
			sources = append(sources, events)
		}
		return nil
	})
	if err != nil {
		return err
	}
	clocks, err := w.estimate(sources)
	if err == nil && len(clocks.Hosts) > 1 {
		w.hosts = clocks
		w.run.Traced.Clocks = append(w.run.Traced.Clocks, clocks)
	}
	return err
}

// writeTrace writes the trace file of a process. If the events cannot be read,
// it adds the error to Damaged and returns nil.
func (w *traceWriter) writeTrace(p *profile.Profile) error {
	events, err := recording.OpenEvents(p, w.clocks.of(p.Source))
	if err != nil {
		w.said.Lock()
		defer w.said.Unlock()
		w.run.Traced.Damaged = append(w.run.Traced.Damaged, err)
		return nil
	}
	src := profile.EventSource(events)
	if w.hosts != nil {
		src = profile.CorrectClock(src, w.hosts.Of(events.Trace()))
		if p.Rank == w.hosts.Hosts[0].Rank {
			events.Trace().Clocks = w.hosts
		}
	}
	write := func(out io.Writer) error { return tracefile.Write(out, src) }
	if w.scratch == nil {
		err = atomicfile.Write(w.dir.traceFile(w.job, p.Rank), write)
	} else {
		err = w.scratch.write(traceKey{w.job, p.Rank}, write)
	}
	done := err == nil && ended(p) && len(events.Problems) == 0 // keep damaged event files: they may be repairable
	if done && w.scratch == nil {
		err = recording.RemoveEvents(p.Source)
	}
	w.said.Lock()
	defer w.said.Unlock()
	w.bar.Step()
	if err == nil {
		w.run.Traced.add(events.Trace())
		w.run.Traced.finish(filepath.Base(p.Source), events.Trace().Events, done)
	} else {
		w.run.Traced.drop(events.Trace()) // these are lost, whether or not the others can be written later
	}
	for _, problem := range events.Problems {
		w.run.Traced.Damaged = append(w.run.Traced.Damaged, errors.New(text.Line(problem)))
	}
	return err
}

func (t *Traced) add(of *profile.Trace) {
	t.Processes++
	t.Events += of.Events
	t.drop(of)
}

func (t *Traced) drop(of *profile.Trace) {
	t.Dropped += of.Dropped
	if of.NoRoom {
		t.NoRoom += of.Dropped
	}
}

// leaveRest adds to Left the event files that belong to no job or cannot be
// read. They have been reported, and are not converted again until they have
// more events.
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

// finish notes whether all events of a recording are in a trace.
func (t *Traced) finish(name string, events uint64, done bool) {
	if !done {
		t.leave(name, events)
		return
	}
	if t.converted == nil {
		t.converted = map[string]bool{}
	}
	t.converted[name] = true
}

func (t *Traced) leave(name string, events uint64) {
	if t.Left == nil {
		t.Left = map[string]uint64{}
	}
	t.Left[name] = events
}

// traced returns the recordings in the run directory that have events, in files
// or in containers.
func (d Dir) traced() []string {
	files, _ := filepath.Glob(filepath.Join(escape(d.Recordings()), "*.events")) // the pattern is well formed
	for i, file := range files {
		files[i] = strings.TrimSuffix(file, ".events") + recordingSuffix
	}
	for _, container := range d.Containers() {
		_ = recording.WithContainer(container, func(c *recording.Container) error { // RecordingFiles reports the error
			for _, name := range c.Traced() {
				files = append(files, filepath.Join(container, name))
			}
			return nil
		})
	}
	return files
}

// nodeClocks has one clock for all processes that count the same ticks.
type nodeClocks struct {
	byID map[string]recording.Clock
	id   map[string]string // by the file name of a recording
}

func (n *nodeClocks) of(path string) recording.Clock { return n.byID[n.id[filepath.Base(path)]] }

// clocksOf returns the clocks of the recordings.
func (t *Traced) clocksOf(files []string) nodeClocks {
	clocks := nodeClocks{map[string]recording.Clock{}, map[string]string{}}
	for _, file := range files {
		id, clock, err := recording.ReadClock(file)
		if err != nil {
			t.Damaged = append(t.Damaged, fmt.Errorf("convert events: %w", err))
			continue
		}
		clocks.id[filepath.Base(file)] = id
		clocks.byID[id] = clocks.byID[id].Better(clock)
	}
	return clocks
}

// ended reports whether the process of a recording has ended.
func ended(p *profile.Profile) bool {
	return p.State == profile.Finalized || p.Exit.At != 0 || p.Exit.Gone
}

// Untraced reports whether there are events that were not converted yet. It
// compares numbers of events, because writing to a mapped file does not change
// its modification time.
func (d Dir) Untraced() bool {
	info, err := d.ReadInfo()
	if err != nil && exists(d.Info()) {
		return false // a run with a damaged run.json is not merged
	}
	return slices.ContainsFunc(d.traced(), func(file string) bool {
		before, written := uint64(0), false
		if err == nil {
			before, written = info.UnfinishedTraces[filepath.Base(file)]
		}
		now, _ := recording.CountEvents(file) // 0 if they cannot be read, which was reported before
		return !written || now != before
	})
}
