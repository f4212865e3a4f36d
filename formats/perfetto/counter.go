package perfetto

import (
	"container/heap"
	"strconv"
)

// delta is a change of a rank's counter, and its job's.
type delta struct {
	at    int64
	rank  *process
	bytes int64
}

// deltas is a heap by time.
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

// counter is a number over time.
type counter struct {
	pid      int
	name     string
	interval int64 // at least so far apart are samples, ns
	at       int64 // of the last change
	changed  bool  // since the last sample
	bytes    int64
}

// sooner tells whether a change falls together with the last one.
func (c *counter) sooner(at int64) bool {
	if c.interval == 0 {
		return at == c.at
	}
	return at/c.interval == c.at/c.interval
}

// count has the counters change once it is their time.
func (t *timeline) count(at int64, rank *process, bytes int64) {
	if bytes != 0 {
		heap.Push(&t.changes, delta{at, rank, bytes})
	}
}

// countUntil makes the changes before a time: none that is still to come is earlier.
func (t *timeline) countUntil(floor int64) {
	for len(t.changes) > 0 && t.changes[0].at < floor {
		d := heap.Pop(&t.changes).(delta)
		t.change(&d.rank.job.inFlight, d)
		if t.rankEvery >= 0 {
			t.change(&d.rank.unreceived, d)
		}
	}
}

// change writes the counter as it was, unless that was at the same time.
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
