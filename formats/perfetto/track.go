package perfetto

import (
	"slices"
	"strconv"
)

// track is the state of one thread's track.
type track struct {
	pid, tid int
	call     host   // last call
	written  []span // last slices; none starts before the end of the one before it
	run      shortCalls
}

// host is a call in which messages are sent or received.
type host struct {
	span
	shown bool
}

// maxWritten is how many slices of a track are remembered. Nesting is lost for
// a call from whose callback more calls than this are made.
const maxWritten = 32

// fit adjusts a slice so that slices nest. Calls of a thread follow each other,
// or, in a callback, lie inside a call that returns later. But clocks are
// rounded, and the duration of an outer call does not include the calls in it.
// So fit lets a call start when the one before it has ended, and end no earlier
// than the calls in it.
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

// shortCalls is a series of short calls that is shown as one slice.
type shortCalls struct {
	span
	window int64
	time   int64 // ns in calls
	names  []string
	counts []int
	alone  []byte // JSON that is used if the series has one call, from its name on
}

// calls returns the number of calls.
func (r *shortCalls) calls() (n int) {
	for _, c := range r.counts {
		n += c
	}
	return n
}

// add adds a call. alone appends the JSON that is used if the call stays the only one of the
// series.
func (r *shortCalls) add(s span, name string, alone func([]byte) []byte) {
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

func (r *shortCalls) reset() {
	r.names, r.counts, r.time = r.names[:0], r.counts[:0], 0
}

// name returns the name of the calls if all have the same, or a general one.
func (r *shortCalls) name() string {
	if len(r.names) == 1 {
		return r.names[0]
	}
	return "short calls"
}

// appendTo appends the part of the slice's JSON that describes the calls.
func (r *shortCalls) appendTo(b []byte) []byte {
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
