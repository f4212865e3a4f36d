// Package timeline makes pictures of the traces of a job: what each rank did,
// over time.
//
// Events are read to draw them and, where a source does not know them without,
// once before for the ends of the time axis; none is kept. Memory is that of the
// picture and of some ten thousand messages, however many events there are.
package timeline

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/progress"
	"github.com/mpitrace/mpitrace/profile"
)

// Options say what is drawn.
type Options struct {
	Title         string
	Width, Height int // pixels, see plot.Timeline

	// From and To are since the first event of all ranks; To is 0 for the end. If
	// From is 0, MPI_Init is left out, which takes most of a short run, unless All
	// is set.
	From, To time.Duration
	All      bool
	Ranks    aggregate.Spans // nil is all
	Messages bool            // are drawn as lines

	Log io.Writer // where progress is shown if it is a terminal; may be nil
}

// Check refuses what cannot be drawn of any trace.
func (o *Options) Check() error {
	switch {
	case o.From < 0 || o.To < 0:
		return fmt.Errorf("from %v to %v: times count from the first event, and are not negative", o.From, o.To)
	case o.To > 0 && o.To <= o.From:
		return fmt.Errorf("from %v is not before to %v", o.From, o.To)
	}
	return plot.CheckTimelineSize(o.Width, o.Height)
}

// indexed are sources that know more than profile.EventSource has to: the files
// of a run.
type indexed interface {
	// Span is when the first event began and the last ended, in Unix ns.
	Span() (from, to int64, ok bool)
	// Kinds are those of all events.
	Kinds() []profile.EventKind
	// EachBetween leaves out events that were not under way between two moments,
	// as far as that saves reading them.
	EachBetween(from, to int64, f func(*profile.Events, []profile.EventKind) error) error
}

// Draw makes the picture of one job's traces, which are in the order of ranks.
// It is an error if there is nothing of the ranks and times that are wanted.
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
	if p.empty() {
		return nil, p.nearest()
	}
	p.finish()
	return p.Timeline, nil
}

// eachOf calls f for 0 to n-1, as many at a time as there are processors.
func eachOf(n int, f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

// seen is what a first look at a process's events tells.
type seen struct {
	first, last int64 // Unix ns, of any event; last < first if there is none
	threads     []bool
}

// survey looks at all events: also of ranks that are not wanted, so that a time
// means the same in each picture of a job.
func survey(sources []profile.EventSource, o *Options) ([]seen, error) {
	all := make([]seen, len(sources))
	var unknown []int
	total := uint64(0)
	for i, src := range sources {
		all[i] = seen{first: 1, last: 0, threads: make([]bool, max(src.Trace().Threads, 1))}
		if in, is := src.(indexed); is {
			all[i].of(in)
		} else {
			unknown = append(unknown, i)
			total += src.Trace().Events
		}
	}
	bar := progress.Start(o.Log, "looking through traces", int(total))
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

// ofRank says whose trace could not be read.
func ofRank(src profile.EventSource, err error) error {
	if err != nil {
		return fmt.Errorf("rank %d: %w", src.Trace().Rank, err)
	}
	return nil
}

func (s *seen) of(in indexed) {
	if from, to, ok := in.Span(); ok {
		s.first, s.last = from, to
	}
	kinds := in.Kinds()
	for i := range kinds {
		s.threads[s.thread(&kinds[i])] = true
	}
}

func (s *seen) add(e *profile.Events, kinds []profile.EventKind) {
	for i, start := range e.Start {
		end := start + e.Duration[i]
		if s.last < s.first {
			s.first, s.last = start, end
		}
		s.first, s.last = min(s.first, start), max(s.last, end)
		s.threads[s.thread(&kinds[e.Kind[i]])] = true
	}
}

// thread is the number of an event's, which damage may have made any.
func (s *seen) thread(kind *profile.EventKind) int {
	return min(max(int(kind.Thread), 0), len(s.threads)-1)
}
