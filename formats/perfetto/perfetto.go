// Package perfetto writes traces in the Trace Event Format (JSON in gzip),
// which Perfetto (ui.perfetto.dev) and Chrome show as a timeline.
//
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// A rank is a process of the format, a thread is a track, and a call is a
// slice. Events for messages and requests that a call completed (Moved,
// Completed) have no time of their own and are no slices. A message is an arrow
// from the call that sent it to the call in which it arrived. Counters show the
// bytes that were sent and not yet received.
//
// The format's document does not say what Perfetto does with unusual input.
// This is known from its importer (src/trace_processor/importers/json and
// importers/common/slice_tracker.cc):
//
//   - Slices of a track that overlap without nesting are dropped.
//   - The end of an arrow belongs to the last slice on its track that starts before it.
//   - An arrow that ends before it starts is an error.
//   - If a receive starts before its send, the arrow is stored as starting at the receive.
//   - Thread 0 is ignored, and thread numbers are unique over all processes.
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

// Extension is the file name extension.
const Extension = ".json.gz"

// Options selects what is written.
type Options struct {
	// From and To limit the time, relative to the first event. Calls that are
	// partly inside are written whole. To 0 is the end of the trace.
	From, To time.Duration
	// MaxEvents is the largest number of events in the file, apart from one
	// slice for each thread; 0 means no limit. With a limit, consecutive short
	// calls become one slice, only the slowest messages become arrows, and
	// counters are sampled.
	MaxEvents int
}

// Passes returns how often Write reads each source at most.
func (o *Options) Passes() int {
	if o.MaxEvents > 0 && (o.From > 0 || o.To > 0) {
		return 3
	}
	return 2
}

// Write writes the traces of processes. Each process is given once. A message
// is shown if its sender and its receiver are among them. Write reads each
// source two or three times, the last time all at once: memory is one batch of
// each source, and the messages that are under way.
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
	// The default level makes the file a fifth smaller, but takes half as much
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

// shownEvents says which events are shown.
type shownEvents struct {
	*survey
	from, to int64 // Unix ns
	// Calls shorter than shortest (ns) are shown together. Arrows that end in
	// calls shorter than arrows (ns) are not shown.
	shortest, arrows int64
	// Smallest time in ns between slices of short calls, and between samples of
	// the counters of jobs and of ranks. 0 shows all; a negative value shows
	// none.
	runEvery, jobEvery, rankEvery int64
}

var errNoEvents = errors.New("there are no events")

func planOf(srcs []profile.EventSource, o Options) (*shownEvents, error) {
	s, err := surveyOf(srcs, whole)
	if err != nil {
		return nil, err
	}
	if s.trace == never {
		return nil, errNoEvents
	}
	p := &shownEvents{survey: s, from: s.trace.start + int64(o.From), to: s.trace.end}
	if o.To > 0 {
		p.to = min(p.to, s.trace.start+int64(o.To))
	}
	if p.from > p.to {
		length := time.Duration(s.trace.end - s.trace.start)
		return nil, fmt.Errorf("no events between %v and %v: the trace is %v long", o.From, cmp.Or(o.To, length), length)
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

// thin divides n events into four equal parts: long calls with the slices of
// short calls between them; slices of short calls that end because they last
// too long; the two ends of arrows; samples of counters.
func (p *shownEvents) thin(n, ranks uint64) {
	if p.total() <= n {
		return
	}
	length := p.to - p.from + 1
	p.shortest = p.calls.threshold(n / 8)
	p.arrows = p.received.threshold(n / 8)
	p.runEvery = each(length, n/4/uint64(max(p.tracks(), 1)))
	p.jobEvery = each(length, n/8)
	p.rankEvery = each(length, n/8/max(ranks, 1))
	const few = 8 // fewer samples than this show nothing useful
	if n/8/max(ranks, 1) < few {
		p.rankEvery = -1
	}
}

// total returns the number of events of the whole trace. A message has the two
// ends of an arrow, and changes two counters twice.
func (p *shownEvents) total() uint64 { return p.calls.n + 6*p.received.n }

// each returns the interval that divides a length into at most n parts.
func each(length int64, n uint64) int64 {
	n = max(n, 1)
	return (length + int64(n) - 1) / int64(n)
}
