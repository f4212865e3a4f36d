// Package timeline draws the traces of a job as a picture: what each rank did
// over time.
//
// It reads the events once to draw them. Where a source does not know when its
// first event starts and its last one ends, it reads the events once before,
// for the ends of the time axis. Memory is that of the picture and of some ten
// thousand messages, whatever the number of events.
package timeline

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Options selects what is drawn.
type Options struct {
	Title         string
	Width, Height int // in pixels, see plot.Timeline

	// From and To are relative to the first event of all ranks; To 0 is the end
	// of the trace. If From is 0 and IncludeInit is not set, the picture starts at
	// the end of MPI_Init, which takes most of a short run.
	From, To    time.Duration
	IncludeInit bool
	Ranks       profile.RankSet // nil means all
	Messages    bool            // whether to draw messages as lines

	Log io.Writer // where to show progress if it is a terminal; may be nil
}

// Check returns an error if the options are invalid for any trace.
func (o *Options) Check() error {
	switch {
	case o.From < 0 || o.To < 0:
		return fmt.Errorf("from %v to %v: times count from the first event, and are not negative", o.From, o.To)
	case o.To > 0 && o.To <= o.From:
		return fmt.Errorf("from %v is not before to %v", o.From, o.To)
	}
	return plot.CheckTimelineSize(o.Width, o.Height)
}

// seekable is implemented by sources that know their span and can skip events:
// the trace files of a run.
type seekable interface {
	// Span returns the start of the first event and the end of the last, in
	// Unix ns.
	Span() (from, to int64, ok bool)
	// Kinds returns the kinds of all events.
	Kinds() []profile.EventKind
	// EachBetween is like Each, but may skip events that do not overlap the
	// time between from and to, in Unix ns.
	EachBetween(from, to int64, f func(*profile.Events, []profile.EventKind) error) error
}

// Draw returns the picture of one job. The sources are in the order of ranks.
// It returns an error if there are no events in the requested ranks and times.
func Draw(sources []profile.EventSource, o Options) (*plot.Timeline, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	seen, err := survey(sources, &o)
	if err != nil {
		return nil, err
	}
	p, err := newPicture(sources, seen, &o)
	if err != nil {
		return nil, err
	}
	if err := p.fill(o.Log); err != nil {
		return nil, err
	}
	if p.inside.Load() == 0 {
		return nil, p.nearest()
	}
	p.finish()
	return p.Timeline, nil
}

// eachOf calls f for 0 to n-1, on as many goroutines as there are processors.
func eachOf(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// span is the time from the start of the first event to the end of the last, Unix
// ns; noTime if there is none.
type span struct{ first, last int64 }

var noTime = span{1, 0}

func (s *span) add(o span) {
	switch {
	case o.last < o.first:
	case s.last < s.first:
		*s = o
	default:
		*s = span{min(s.first, o.first), max(s.last, o.last)}
	}
}

// firstPass is what the first pass over a process's events found.
type firstPass struct {
	span
	threads []bool
}

// survey makes the first pass. It includes the ranks that are not drawn, so
// that time 0 is the same in every picture of a job.
func survey(sources []profile.EventSource, o *Options) ([]firstPass, error) {
	all := make([]firstPass, len(sources))
	var unknown []int
	total := uint64(0)
	for i, src := range sources {
		all[i] = firstPass{span: noTime, threads: make([]bool, max(src.Trace().Threads, 1))}
		if in, is := src.(seekable); is {
			all[i].of(in)
		} else {
			unknown = append(unknown, i)
			total += src.Trace().Events
		}
	}
	bar := text.StartProgress(o.Log, "looking through traces", int(total))
	defer bar.Done()
	err := eachOf(len(unknown), func(n int) error {
		i := unknown[n]
		err := sources[i].Each(func(e *profile.Events, kinds []profile.EventKind) error {
			all[i].add(e, kinds)
			bar.Add(e.Len())
			return nil
		})
		return ofRank(sources[i], err)
	})
	return all, err
}

// ofRank adds the rank to an error.
func ofRank(src profile.EventSource, err error) error {
	if err != nil {
		return fmt.Errorf("rank %d: %w", src.Trace().Rank, err)
	}
	return nil
}

func (s *firstPass) of(in seekable) {
	if from, to, ok := in.Span(); ok {
		s.first, s.last = from, to
	}
	kinds := in.Kinds()
	for i := range kinds {
		s.threads[s.thread(&kinds[i])] = true
	}
}

func (s *firstPass) add(e *profile.Events, kinds []profile.EventKind) {
	for i, start := range e.Start {
		s.span.add(span{start, start + e.Duration[i]})
		s.threads[s.thread(&kinds[e.Kind[i]])] = true
	}
}

// thread returns the index of an event's thread. In a damaged file it may be
// any number.
func (s *firstPass) thread(kind *profile.EventKind) int {
	return min(max(int(kind.Thread), 0), len(s.threads)-1)
}
