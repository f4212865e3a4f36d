// Package trace analyses traces: it matches messages and collectives, finds out which rank waited
// for which and why, and computes POP efficiencies and the critical path.
// It replays the events of all ranks in rounds. In a round, each rank is replayed up to the same
// time. A rank that received a message whose send has not been replayed yet is parked until the
// send is replayed. So memory is proportional to what is in flight, not to the size of the trace.
package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Options selects what to compute.
type Options struct {
	// Interval is the length of a frame of the time-resolved matrix. 0 makes
	// none.
	Interval time.Duration
	// Wait is called with each wait, in no particular order. It may be nil.
	Wait func(profile.Wait)
	// Progress is called from time to time with the number of events that have
	// been replayed. It may be nil.
	Progress func(events uint64)
	// memory limits what finding causes needs; nil for the usual limits.
	memory *causesMemory
}

// limits returns the limits of memory.
func (o *Options) limits() causesMemory {
	if o.memory != nil {
		return *o.memory
	}
	return usualMemory
}

// Analyze analyses the traces of one job, one source per rank, in any order. It
// first corrects the clocks of the hosts, unless the traces contain
// corrections. It reads the sources three to six times, all at the same time. It
// returns an error if there are no sources, if two have the same rank, or if
// one cannot be read.
func Analyze(sources []profile.EventSource, o Options) (*Result, error) {
	sources, err := ranked(sources)
	if err != nil {
		return nil, err
	}
	sources, clocks, err := onOneClock(sources)
	if err != nil {
		return nil, err
	}
	r := newReplay(sources, o)
	r.logged = newWaitLog(len(sources), o.limits().waits)
	defer r.logged.overflow.Close()
	if err := r.all(); err != nil {
		return nil, err
	}
	var path *CriticalPath
	if !r.cut() {
		if path, err = r.criticalPath(); err != nil {
			return nil, err
		}
	}
	out := r.result(path)
	if clocks != nil {
		out.Clocks, out.ClockNotes = clocks, clocks.Lines()
	}
	if err := r.findCauses(out, o.limits().bytes); err != nil {
		return nil, err
	}
	if err := r.savings(out.Causes); err != nil {
		return nil, err
	}
	return out, nil
}

// onOneClock returns the sources with corrected clocks, and how the clocks were
// compared: nil if there is only one clock. Traces of a run directory were
// corrected when they were written. Then the trace of the lowest rank has the
// comparison.
func onOneClock(sources []profile.EventSource) ([]profile.EventSource, *profile.JobClocks, error) {
	for _, src := range sources {
		if t := src.Trace(); t.Clocks != nil {
			return sources, t.Clocks, nil
		}
	}
	if slices.ContainsFunc(sources, func(src profile.EventSource) bool { return src.Trace().Clock != nil }) {
		return sources, nil, nil
	}
	clocks, err := EstimateClocks(sources)
	if err != nil || len(clocks.Hosts) <= 1 {
		return sources, nil, err
	}
	return clocks.Correct(sources), clocks, nil
}

// Jobs groups the sources by job. The job that started first comes first.
func Jobs(sources []profile.EventSource) [][]profile.EventSource {
	at := map[string]int{}
	var jobs [][]profile.EventSource
	for _, src := range sources {
		run := src.Trace().Run
		i, ok := at[run]
		if !ok {
			i = len(jobs)
			at[run] = i
			jobs = append(jobs, nil)
		}
		jobs[i] = append(jobs[i], src)
	}
	slices.SortStableFunc(jobs, func(a, b []profile.EventSource) int {
		return int(min(max(started(a)-started(b), -1), 1))
	})
	return jobs
}

// started returns when the first of the processes started, in Unix ns.
func started(sources []profile.EventSource) int64 {
	first := sources[0].Trace().Start
	for _, src := range sources {
		first = min(first, src.Trace().Start)
	}
	return first
}

// ranked returns the sources sorted by rank.
func ranked(sources []profile.EventSource) ([]profile.EventSource, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("no rank has a trace")
	}
	list := slices.Clone(sources)
	slices.SortStableFunc(list, func(a, b profile.EventSource) int { return a.Trace().Rank - b.Trace().Rank })
	for i, src := range list[1:] {
		if rank := src.Trace().Rank; list[i].Trace().Rank == rank {
			return nil, fmt.Errorf("two traces are of rank %d: they are of different jobs", rank)
		}
	}
	return list, nil
}
