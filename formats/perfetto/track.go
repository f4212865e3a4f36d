package perfetto

import (
	"slices"
	"strconv"
)

// track is what is shown of a thread.
type track struct {
	pid, tid int
	call     host   // the last call
	written  []span // slices, the last ones: none begins before the end of one before it
	run      run
}

// host is a call that messages are sent or received in.
type host struct {
	span
	shown bool
}

// maxWritten is how many slices of a track are remembered: a call from which a
// callback makes more of them is one too many.
const maxWritten = 32

// fit makes slices nest. Calls of a thread follow each other or, in callbacks, lie
// in one that returns later; but the clock is rounded, and the time of calls that
// hold others is told without those. So a call begins when the one before it has
// ended, and ends no earlier than those in it.
func (t *track) fit(s span) span {
	for n := len(t.written); n > 0; n-- {
		last := t.written[n-1]
		if last.start < s.start {
			s.start = max(s.start, last.end)
			s.end = max(s.start, s.end)
			break
		}
		if last.start < s.end {
			s.end = max(s.end, last.end)
		}
		t.written = t.written[:n-1]
	}
	if len(t.written) == maxWritten {
		t.written = slices.Delete(t.written, 0, maxWritten/2)
	}
	t.written = append(t.written, s)
	return s
}

// run is short calls that are shown as one slice.
type run struct {
	span
	window int64
	time   int64 // ns in calls
	names  []string
	counts []int
	alone  []byte // how the first would be shown alone, from its name on
}

// calls is how many there are.
func (r *run) calls() (n int) {
	for _, c := range r.counts {
		n += c
	}
	return n
}

// add takes one more call; alone appends how it would be shown if there are no others.
func (r *run) add(s span, name string, alone func([]byte) []byte) {
	if len(r.names) == 0 {
		r.span, r.alone = s, alone(r.alone[:0])
	}
	r.span = r.span.with(s)
	r.time += s.end - s.start
	i := slices.Index(r.names, name)
	if i < 0 {
		i = len(r.names)
		r.names, r.counts = append(r.names, name), append(r.counts, 0)
	}
	r.counts[i]++
}

func (r *run) reset() {
	r.names, r.counts, r.time = r.names[:0], r.counts[:0], 0
}

// name is the call that all are.
func (r *run) name() string {
	if len(r.names) == 1 {
		return r.names[0]
	}
	return "short calls"
}

// appendTo writes the run's part of a slice that says what it is.
func (r *run) appendTo(b []byte) []byte {
	if r.calls() == 1 {
		return append(b, r.alone...)
	}
	b = append(b, `"name":`...)
	b = appendText(b, r.name())
	b = append(b, `,"cat":"short calls","args":{"count":`...)
	b = strconv.AppendInt(b, int64(r.calls()), 10)
	b = append(b, `,"time_us":`...)
	b = appendMicroseconds(b, r.time)
	if len(r.names) > 1 {
		for i, name := range r.names {
			b = append(b, ',')
			b = appendText(b, name)
			b = append(b, ':')
			b = strconv.AppendInt(b, int64(r.counts[i]), 10)
		}
	}
	return append(b, '}')
}
