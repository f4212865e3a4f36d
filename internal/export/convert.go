package export

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/collect"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// ClockEstimator estimates the differences between the clocks of a job's hosts
// from events. It is always trace.EstimateClocks; it is a parameter so that
// programs that merge nothing do not link package trace.
type ClockEstimator func([]profile.EventSource) (*profile.JobClocks, error)

// writeTraces writes a trace file for each traced process, several at a time.
// It removes the event files of processes that have ended. With a scratch, it
// writes the traces there, and changes nothing in the run directory.
func writeTraces(d rundir.Dir, run *source.Run, estimate ClockEstimator, scratch *traceScratch) error {
	traced := d.TracedRecordings()
	if len(traced) == 0 {
		return nil
	}
	clocks := clocksOf(&run.Traced, traced)
	bar := text.StartProgress(run.Log, "writing events", len(traced))
	defer bar.Done()
	for n, j := range run.Jobs {
		w := traceWriter{dir: d, job: n, clocks: clocks, estimate: estimate, run: run, bar: bar, scratch: scratch}
		if err := w.write(j); err != nil {
			return err
		}
	}
	if scratch == nil {
		collect.PackConverted(d, run.Traced.Converted, run.Symbols)
		run.Traced.LeaveRest(traced)
	}
	return nil
}

// traceWriter writes the trace files of one job.
type traceWriter struct {
	dir    rundir.Dir
	job    int // index of the job in Run.Jobs
	clocks nodeClocks
	// differences between the hosts' clocks; nil if there is only one clock
	hosts    *profile.JobClocks
	estimate ClockEstimator
	run      *source.Run
	bar      *text.Progress
	scratch  *traceScratch
	said     sync.Mutex
}

func (w *traceWriter) write(j *source.Job) error {
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
func (w *traceWriter) each(j *source.Job, f func(*profile.Profile) error) error {
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
func (w *traceWriter) compareClocks(j *source.Job) error {
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
		err = atomicfile.Write(w.dir.JobTraceFile(w.job, p.Rank), write)
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
		w.run.Traced.Add(events.Trace())
		w.run.Traced.Finish(filepath.Base(p.Source), events.Trace().Events, done)
	} else {
		// these events are lost, whether or not the other events can be written later
		w.run.Traced.Drop(events.Trace())
	}
	for _, problem := range events.Problems {
		w.run.Traced.Damaged = append(w.run.Traced.Damaged, errors.New(text.Line(problem)))
	}
	return err
}

// nodeClocks has one clock for all processes that count the same ticks.
type nodeClocks struct {
	byID map[string]recording.Clock
	id   map[string]string // by the file name of a recording
}

func (n *nodeClocks) of(path string) recording.Clock { return n.byID[n.id[filepath.Base(path)]] }

// clocksOf returns the clocks of the recordings.
func clocksOf(t *source.Traced, files []string) nodeClocks {
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
