package perfetto

import (
	"cmp"
	"container/heap"
	"errors"
	"iter"

	"github.com/mpitrace/mpitrace/profile"
)

// stream reads the events of one process one by one.
type stream struct {
	index int // index of the source
	src   profile.EventSource
	next  func() (eventBatch, bool)
	stop  func()
	err   error
	eventBatch
	i int // index of the event in the batch
	// floor is a time before which no later event starts.
	floor   int64
	threads []span
	seen    []int64 // end of each thread's last event so far; initially the thread's first start
}

type eventBatch struct {
	e     *profile.Events
	kinds []profile.EventKind
}

var errStopped = errors.New("stopped")

func newStream(index int, src profile.EventSource, threads []span) *stream {
	s := &stream{index: index, src: src, threads: threads}
	for _, t := range threads {
		s.seen = append(s.seen, t.start)
	}
	s.next, s.stop = iter.Pull(s.batches)
	return s
}

func (s *stream) batches(yield func(eventBatch) bool) {
	err := s.src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		if e.Len() > 0 && !yield(eventBatch{e, kinds}) {
			return errStopped
		}
		return nil
	})
	if err != errStopped {
		s.err = err
	}
}

// fetch reads the next batch if the last one is used up. It reports whether
// there is an event.
func (s *stream) fetch() (ok bool) {
	if s.e == nil || s.i == s.e.Len() {
		if s.eventBatch, ok = s.next(); !ok {
			return false
		}
		s.i = 0
	}
	s.settle()
	return true
}

// settle computes floor. The events of one thread are in order of their start,
// apart from calls in callbacks. Between threads only the end of each one's
// last event is known.
func (s *stream) settle() {
	s.floor = s.e.Start[s.i]
	if len(s.threads) == 1 {
		return
	}
	for thread, whole := range s.threads {
		if s.seen[thread] < whole.end {
			s.floor = min(s.floor, s.seen[thread])
		}
	}
}

// done advances to the next event.
func (s *stream) done() {
	thread := threadOf(&s.kinds[s.e.Kind[s.i]])
	s.seen[thread] = max(s.seen[thread], s.e.Start[s.i]+s.e.Duration[s.i])
	s.i++
}

// streams is a heap ordered by floor.
type streams []*stream

func (h streams) Len() int { return len(h) }
func (h streams) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].floor, h[j].floor), cmp.Compare(h[i].index, h[j].index)) < 0
}
func (h streams) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *streams) Push(x any)   { *h = append(*h, x.(*stream)) }
func (h *streams) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = (*h)[:last]
	return s
}

// merge calls each for the events of all sources in the order of their start.
func merge(srcs []profile.EventSource, threads [][]span, each func(s *stream)) error {
	all := make([]*stream, len(srcs))
	var h streams
	var err error
	for i, src := range srcs {
		all[i] = newStream(i, src, threads[i])
		defer all[i].stop()
		if all[i].fetch() {
			h = append(h, all[i])
		}
		err = cmp.Or(err, all[i].err)
	}
	heap.Init(&h)
	for len(h) > 0 && err == nil {
		s := h[0]
		each(s)
		if s.done(); s.fetch() {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
			err = s.err
		}
	}
	return err
}
