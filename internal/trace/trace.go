// Package trace tells what a trace is for: which receive got which message, why
// ranks waited, how well the job used its processors, and which part of it the
// whole run had to wait for.
//
// The events of all ranks are replayed in rounds: each rank goes on to a time,
// then each to the next. A rank that got what another has not yet given, by the
// events seen so far, is parked until that has come. So memory is what is in
// flight, not what the trace has.
package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Options say what of a trace is wanted.
type Options struct {
	// Interval is how long the frames of the time-resolved matrix are; none are
	// made if it is 0.
	Interval time.Duration
	// Wait is told each wait, in no order that means anything; it may be nil.
	Wait func(profile.Wait)
	// Progress is told now and then how many events have been replayed; it may be nil.
	Progress func(events uint64)
}

// Analyze analyses the traces of one job, one source a rank, in any order. The
// clocks of its hosts are corrected first, unless some are by then. The sources
// are read two to four times, all at the same time. It is an error if there is
// no source, if two are of the same rank, and if one cannot be read.
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
	out.Clocks = clocks
	return out, nil
}

// onOneClock corrects the sources; the clocks are nil if there is only one, or if
// that has been done before.
func onOneClock(sources []profile.EventSource) ([]profile.EventSource, *profile.JobClocks, error) {
	if slices.ContainsFunc(sources, func(src profile.EventSource) bool { return src.Trace().Clock != nil }) {
		return sources, nil, nil
	}
	clocks, err := EstimateClocks(sources)
	if err != nil || len(clocks.Hosts) <= 1 {
		return sources, nil, err
	}
	return clocks.Correct(sources), clocks, nil
}

// Jobs tells the jobs apart that sources are of, the first to start first.
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

// started is when the first of the processes did.
func started(sources []profile.EventSource) int64 {
	first := sources[0].Trace().Start
	for _, src := range sources {
		first = min(first, src.Trace().Start)
	}
	return first
}

// ranked gives sources in the order of rank.
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
