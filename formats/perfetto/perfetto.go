// Package perfetto writes traces in the Trace Event Format, JSON in gzip, which
// Perfetto (ui.perfetto.dev) and Chrome show as a timeline.
//
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// A rank is a process of it, a thread a track. Each call is a slice: messages and
// requests that a call completed (Moved, Completed) are none, as they have no
// time of their own. A message is an arrow from the call that sent it to the one
// that it arrived in. Counters are the bytes that were sent and not received yet.
//
// What Perfetto requires, and does with the rest, is known from its importer
// (src/trace_processor/importers/json and importers/common/slice_tracker.cc):
// slices of a track that overlap without one holding the other are dropped; an
// arrow's end belongs to the slice that began last on its track before it; an
// arrow's end before its start is an error; where a receive began before its send
// did, the arrow is kept as one from the receive. Thread 0 is none, and threads
// are told apart by number over all processes.
package perfetto

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/mpitrace/mpitrace/profile"
)

// Extension is that of the files.
const Extension = ".json.gz"

// Options say what is written of a trace.
type Options struct {
	// From and To bound what is shown, counted from the first event: a call that
	// lies in between in part is shown whole. To 0 is the end of the trace.
	From, To time.Duration
	// MaxEvents is how many events the file has at most, but for one slice for each
	// thread; 0 is all. Short calls that follow each other are shown as one slice
	// then, arrows only to the receives that took longest, and counters at intervals.
	MaxEvents int
}

// Passes is how often Write goes over each source, at most.
func (o *Options) Passes() int {
	if o.MaxEvents > 0 && (o.From > 0 || o.To > 0) {
		return 3
	}
	return 2
}

// Write writes the traces of processes, each of which is given once. A message
// is shown if both who sent and who received it are among them. It goes over each
// source two or three times, the last time over all at once: its memory is that of
// a batch of each, and of the messages that are under way.
func Write(w io.Writer, srcs []profile.EventSource, o Options) error {
	if err := write(w, srcs, o); err != nil {
		return fmt.Errorf("write perfetto trace: %w", err)
	}
	return nil
}

func write(w io.Writer, srcs []profile.EventSource, o Options) error {
	p, err := planOf(srcs, o)
	if err != nil {
		return err
	}
	// The fastest level: the default one saves a fifth of the size, for half as much
	// time again (BenchmarkWrite).
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := newTimeline(zip, srcs, p)
	if err := t.write(); err != nil {
		return err
	}
	return zip.Close()
}

// plan is what is shown, and how.
type plan struct {
	*survey
	from, to int64 // Unix ns
	// Calls below the first of these durations (ns) are shown together, arrows that
	// end in calls below the second not at all.
	shortest, arrows int64
	// So far apart (ns) are slices of short calls at least, and samples of the
	// counters of jobs and of ranks; 0 is all of them, and less than 0 none.
	runEvery, jobEvery, rankEvery int64
}

var errNoEvents = errors.New("there are no events")

func planOf(srcs []profile.EventSource, o Options) (*plan, error) {
	s, err := surveyOf(srcs, whole)
	if err != nil {
		return nil, err
	}
	if s.trace == never {
		return nil, errNoEvents
	}
	p := &plan{survey: s, from: s.trace.start + int64(o.From), to: s.trace.end}
	if o.To > 0 {
		p.to = min(p.to, s.trace.start+int64(o.To))
	}
	if p.from > p.to {
		length := time.Duration(s.trace.end - s.trace.start)
		return nil, fmt.Errorf("nothing is between %v and %v: the trace is %v long", o.From, cmp.Or(o.To, length), length)
	}
	if o.MaxEvents == 0 {
		return p, nil
	}
	if p.from > s.trace.start || p.to < s.trace.end {
		part, err := surveyOf(srcs, span{p.from, p.to})
		if err != nil {
			return nil, err
		}
		p.calls, p.received = part.calls, part.received
	}
	p.thin(uint64(o.MaxEvents), uint64(len(srcs)))
	return p, nil
}

// thin makes four equal parts of n events: long calls with the runs of short ones
// between them, runs that end because they last too long, the two ends of arrows,
// and samples of counters.
func (p *plan) thin(n, ranks uint64) {
	if p.total() <= n {
		return
	}
	length := p.to - p.from + 1
	p.shortest = p.calls.threshold(n / 8)
	p.arrows = p.received.threshold(n / 8)
	p.runEvery = each(length, n/4/uint64(max(p.tracks(), 1)))
	p.jobEvery = each(length, n/8)
	p.rankEvery = each(length, n/8/max(ranks, 1))
	const few = 8 // samples that show nothing
	if n/8/max(ranks, 1) < few {
		p.rankEvery = -1
	}
}

// total is how many events all of the trace would be: a message has two ends of
// an arrow, and changes two counters twice.
func (p *plan) total() uint64 { return p.calls.n + 6*p.received.n }

// each is the interval that a length has n of, at most.
func each(length int64, n uint64) int64 {
	n = max(n, 1)
	return (length + int64(n) - 1) / int64(n)
}
