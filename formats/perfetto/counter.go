package perfetto

import (
	"container/heap"
	"strconv"
)

// delta is a change of the counters of a rank and of its job.
type delta struct {
	at    int64
	rank  *rankTrack
	bytes int64
}

// deltas is a heap ordered by time.
type deltas []delta

func (h deltas) Len() int           { return len(h) }
func (h deltas) Less(i, j int) bool { return h[i].at < h[j].at }
func (h deltas) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deltas) Push(x any)        { *h = append(*h, x.(delta)) }
func (h *deltas) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	*h = (*h)[:last]
	return d
}

// counter is a number that changes over time.
type counter struct {
	pid      int
	name     string
	interval int64 // smallest time between two samples, ns
	at       int64 // time of the last change
	changed  bool  // whether it changed since the last sample
	bytes    int64
}

// sooner reports whether a change is too close to the last sample to be
// written.
func (c *counter) sooner(at int64) bool {
	if c.interval == 0 {
		return at == c.at
	}
	return at/c.interval == c.at/c.interval
}

// count adds a change of the counters, which takes effect at its time.
func (t *timeline) count(at int64, rank *rankTrack, bytes int64) {
	if bytes != 0 {
		heap.Push(&t.changes, delta{at, rank, bytes})
	}
}

// countUntil applies the changes before floor, a time before which no later event starts.
func (t *timeline) countUntil(floor int64) {
	for len(t.changes) > 0 && t.changes[0].at < floor {
		d := heap.Pop(&t.changes).(delta)
		t.change(&d.rank.job.inFlight, d)
		if t.rankEvery >= 0 {
			t.change(&d.rank.unreceived, d)
		}
	}
}

// change writes the counter's value before the change, unless a value at the
// same time was written.
func (t *timeline) change(c *counter, d delta) {
	if c.changed && !c.sooner(d.at) && d.at > t.from {
		t.sample(c)
	}
	c.at, c.bytes, c.changed = d.at, c.bytes+d.bytes, true
}

func (t *timeline) sample(c *counter) {
	c.changed = false
	if c.at > t.to {
		return
	}
	b := t.out.begin('C', c.pid, c.pid)
	b = append(b, `"ts":`...)
	b = appendMicroseconds(b, max(c.at, t.from)-t.trace.start)
	b = append(b, `,"name":"`...)
	b = append(b, c.name...)
	b = append(b, `","args":{"bytes":`...)
	b = strconv.AppendInt(b, c.bytes, 10)
	t.out.end(append(b, '}'))
	t.samples++
}
