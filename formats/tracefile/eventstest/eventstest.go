// Package eventstest makes traces in memory for tests.
package eventstest

import "github.com/mpitrace/mpitrace/profile"

// Process is a trace that a test builds event by event. Communicator 0 is the
// world.
type Process struct {
	trace  profile.Trace
	kinds  []profile.EventKind
	events profile.Events
	Batch  int   // number of events per batch; 0 for a single batch
	Err    error // returned by Each at the end
}

// New returns an empty trace of one rank with one thread.
func New(run string, rank, size int) *Process {
	return &Process{trace: profile.Trace{Run: run, Rank: rank, Size: size, Host: "node", Threads: 1,
		Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD", ID: "c0ffee00c0ffee00c0ffee00c0ffee00", Size: size, Rank: rank}}}}
}

// Trace implements profile.EventSource. Tests may change the result.
func (p *Process) Trace() *profile.Trace { return &p.trace }

// Each implements profile.EventSource. Events are in the order in which they
// were added.
func (p *Process) Each(f func(*profile.Events, []profile.EventKind) error) error {
	step := p.Batch
	if step == 0 {
		step = max(p.events.Len(), 1)
	}
	for from := 0; from < p.events.Len(); from += step {
		to, e := min(from+step, p.events.Len()), &p.events
		part := profile.Events{Start: e.Start[from:to], Duration: e.Duration[from:to], Bytes: e.Bytes[from:to],
			Kind: e.Kind[from:to], Tag: e.Tag[from:to], Link: e.Link[from:to], Seq: e.Seq[from:to]}
		if err := f(&part, p.kinds); err != nil {
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
		out := &p.events
		out.Start, out.Duration = append(out.Start, e.Start), append(out.Duration, e.Duration)
		out.Bytes, out.Kind = append(out.Bytes, e.Bytes), append(out.Kind, p.kind(e.EventKind))
		out.Tag, out.Link, out.Seq = append(out.Tag, e.Tag), append(out.Link, e.Link), append(out.Seq, e.Seq)
		p.trace.Events++
	}
}

func (p *Process) kind(k profile.EventKind) uint32 {
	for i := range p.kinds {
		if p.kinds[i] == k {
			return uint32(i)
		}
	}
	p.kinds = append(p.kinds, k)
	return uint32(len(p.kinds) - 1)
}

// Call returns a call that moved nothing, from start to end.
func Call(name string, start, end int64) Event {
	return Event{EventKind: profile.EventKind{Call: name, Class: profile.Other, Comm: -1, Peer: profile.PeerNone,
		Callsite: "main app.c:1", Slice: "run"}, Start: start, Duration: end - start, Tag: profile.NoTag}
}

// Send returns a message to a rank of the world, with tag 7.
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
