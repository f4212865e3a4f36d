package perfetto

import (
	"math"
	"math/bits"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/profile"
)

// span is the time start <= t < end, in Unix ns.
type span struct{ start, end int64 }

var (
	whole = span{math.MinInt64, math.MaxInt64}
	never = span{math.MaxInt64, math.MinInt64}
)

// touches reports whether two spans overlap or touch.
func (s span) touches(o span) bool { return s.start <= o.end && s.end >= o.start }

// with returns the shortest span that contains both.
func (s span) with(o span) span { return span{min(s.start, o.start), max(s.end, o.end)} }

// survey is what must be known about a trace before its first event is written.
type survey struct {
	trace span // from the first start to the last end of all events; never if there are none
	// threads[process][thread] is from the thread's first start to its last
	// end.
	threads  [][]span
	calls    durations
	received durations // of messages: the duration of the call in which each arrived
}

// tracks returns the number of threads that made calls.
func (s *survey) tracks() (n int) {
	for _, threads := range s.threads {
		n += len(threads)
	}
	return n
}

// surveyOf reads the sources, several at a time. Only calls in the shown time
// are counted in durations.
func surveyOf(srcs []profile.EventSource, shown span) (*survey, error) {
	parts := make([]surveyor, len(srcs))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, src := range srcs {
		g.Go(func() error {
			parts[i] = surveyor{trace: never, shown: shown}
			return src.Each(parts[i].batch)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	s := &survey{trace: never, threads: make([][]span, len(srcs))}
	for i := range parts {
		s.trace = s.trace.with(parts[i].trace)
		s.threads[i] = parts[i].threads
		s.calls.add(&parts[i].calls)
		s.received.add(&parts[i].received)
	}
	return s, nil
}

// surveyor surveys one process.
type surveyor struct {
	trace, shown    span
	threads         []span
	call            []span // last call of each thread
	calls, received durations
}

func (s *surveyor) batch(e *profile.Events, kinds []profile.EventKind) error {
	for i := range e.Start {
		k := &kinds[e.Kind[i]]
		at := span{e.Start[i], e.Start[i] + e.Duration[i]}
		s.trace = s.trace.with(at)
		thread := threadOf(k)
		for len(s.threads) <= thread {
			s.threads = append(s.threads, never)
			s.call = append(s.call, never)
		}
		s.threads[thread] = s.threads[thread].with(at)
		if k.Action == profile.Called {
			s.call[thread] = at
		}
		if at.touches(s.shown) {
			s.count(e, i, k, s.call[thread])
		}
	}
	return nil
}

func (s *surveyor) count(e *profile.Events, i int, k *profile.EventKind, call span) {
	if k.Action == profile.Called {
		s.calls.count(call.end - call.start)
	}
	if e.Seq[i] == 0 || !hasPeer(k) || k.Direction != profile.Recv {
		return
	}
	if k.Action == profile.Moved {
		call = hostSpan(e, i, call)
	}
	s.received.count(call.end - call.start)
}

// hostSpan returns the span of the call that a message event belongs to: the
// last call of its thread, or the Sendrecv event after it. If that event is in
// the next batch, its duration is unknown and taken as 0.
func hostSpan(e *profile.Events, i int, last span) span {
	at := e.Start[i]
	if last.end == at {
		return last
	}
	if j := i + int(e.Link[i]); e.Link[i] > 0 && j < e.Len() && e.Start[j]+e.Duration[j] == at {
		return span{e.Start[j], at}
	}
	return span{at - 1, at}
}

func threadOf(k *profile.EventKind) int { return int(max(k.Thread, 0)) }

// hasPeer reports whether an event is a message with a known peer.
func hasPeer(k *profile.EventKind) bool { return k.Class == profile.P2P && k.Peer >= 0 }

// durations counts calls by their duration: exactly below 32 ns, within a
// sixteenth above.
type durations struct {
	n  uint64
	by [1024]uint64
}

func (d *durations) count(ns int64) {
	d.n++
	d.by[bucket(uint64(max(ns, 0)))]++
}

func (d *durations) add(o *durations) {
	d.n += o.n
	for i, n := range o.by {
		d.by[i] += n
	}
}

// threshold returns a duration that at most n calls reach or exceed.
func (d *durations) threshold(n uint64) int64 {
	var longer uint64
	for i := len(d.by) - 1; i >= 0; i-- {
		if longer += d.by[i]; longer > n {
			return shortestOf(i + 1)
		}
	}
	return 0
}

// bucket returns the index of the bucket for a duration, which depends on its
// five highest bits.
func bucket(ns uint64) int {
	shift := max(bits.Len64(ns)-5, 0)
	return shift<<4 + int(ns>>shift)
}

// shortestOf returns the shortest duration in a bucket.
func shortestOf(bucket int) int64 {
	if bucket < 32 {
		return int64(bucket)
	}
	shift := bucket>>4 - 1
	if shift > 58 {
		return math.MaxInt64
	}
	return int64(min(uint64(bucket-shift<<4)<<shift, math.MaxInt64))
}
