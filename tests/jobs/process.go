package jobs

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Process is the trace of a process, which a test builds event by event.
// Communicator 0 is the world.
type Process struct {
	Kinds  []profile.EventKind
	Events profile.Events
	Batch  int   // number of events per batch; 0 for a single batch
	Err    error // returned by Each at the end
	trace  profile.Trace
}

// NewProcess returns a trace without events, of one rank with one thread.
func NewProcess(run string, rank, size int) *Process {
	return ProcessOf(profile.Trace{Run: run, Rank: rank, Size: size, Host: "node", Threads: 1,
		Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD", ID: "c0ffee00c0ffee00c0ffee00c0ffee00", Size: size, Rank: rank}}})
}

// ProcessOf returns a trace with this metadata and without events.
func ProcessOf(t profile.Trace) *Process { return &Process{trace: t} }

// Sources returns the traces of processes as a job, by rank.
func Sources[P profile.EventSource](ps ...P) []profile.EventSource {
	sources := make([]profile.EventSource, len(ps))
	for i, p := range ps {
		sources[i] = p
	}
	return sources
}

// Trace implements profile.EventSource. Tests may change the result.
func (p *Process) Trace() *profile.Trace { return &p.trace }

// Each implements profile.EventSource. Events are in the order in which they
// were added. As when a file is read, batches share memory, and each kind comes
// with the first batch that uses it.
func (p *Process) Each(f func(*profile.Events, []profile.EventKind) error) error {
	e, step := &p.Events, p.Batch
	if step == 0 {
		step = max(e.Len(), 1)
	}
	var b profile.Events
	kinds := 0
	for from := 0; from < e.Len(); from += step {
		to := min(from+step, e.Len())
		b.Reset()
		b.Start, b.Duration = append(b.Start, e.Start[from:to]...), append(b.Duration, e.Duration[from:to]...)
		b.Bytes, b.Kind = append(b.Bytes, e.Bytes[from:to]...), append(b.Kind, e.Kind[from:to]...)
		b.Tag, b.Link = append(b.Tag, e.Tag[from:to]...), append(b.Link, e.Link[from:to]...)
		b.Seq = append(b.Seq, e.Seq[from:to]...)
		kinds = max(kinds, int(slices.Max(b.Kind))+1)
		if err := f(&b, p.Kinds[:kinds]); err != nil {
			return err
		}
	}
	return p.Err
}

// Event is an event and its kind.
type Event struct {
	profile.EventKind
	Start, Duration int64
	Bytes           uint64
	Tag             int32
	Link            int32
	Seq             uint32
}

// Add appends events, which must be in the order in which they ended.
func (p *Process) Add(events ...Event) {
	for _, e := range events {
		k := slices.Index(p.Kinds, e.EventKind)
		if k < 0 {
			k = len(p.Kinds)
			p.Kinds = append(p.Kinds, e.EventKind)
		}
		p.AddOfKind(uint32(k), e.Start, e.Duration, e.Bytes, e.Tag, e.Link, e.Seq)
	}
}

// AddOfKind appends an event whose kind has this index in Kinds.
func (p *Process) AddOfKind(kind uint32, start, duration int64, bytes uint64, tag, link int32, seq uint32) {
	e := &p.Events
	e.Start, e.Duration = append(e.Start, start), append(e.Duration, duration)
	e.Bytes, e.Kind = append(e.Bytes, bytes), append(e.Kind, kind)
	e.Tag, e.Link, e.Seq = append(e.Tag, tag), append(e.Link, link), append(e.Seq, seq)
	p.trace.Events++
}

// Call returns a call that moved nothing, from start to end.
func Call(name string, start, end int64) Event {
	return Event{EventKind: profile.EventKind{Call: name, Class: profile.Other, Comm: -1, Peer: profile.PeerNone,
		Callsite: "main app.c:1", Slice: "run"}, Start: start, Duration: end - start, Tag: profile.NoTag}
}

// Send returns the event of a call that sends a message with tag 7 to a rank of MPI_COMM_WORLD.
func Send(name string, start, end int64, to int32, bytes uint64, seq uint32) Event {
	e := Call(name, start, end)
	e.Class, e.Direction, e.Comm, e.Peer = profile.P2P, profile.Send, 0, to
	e.Tag, e.Bytes, e.Seq = 7, bytes, seq
	return e
}

// Recv returns the receive of a message that Send sends.
func Recv(name string, start, end int64, from int32, bytes uint64, seq uint32) Event {
	e := Send(name, start, end, from, bytes, seq)
	e.Direction = profile.Recv
	return e
}

// Moved returns the event as a message that another call completed.
func (e Event) Moved() Event {
	e.Action, e.Start, e.Duration = profile.Moved, e.Start+e.Duration, 0
	return e
}
