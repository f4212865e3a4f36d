package synth

import (
	"fmt"
	"sync"

	"github.com/mpitrace/mpitrace/profile"
)

// Traced is a synthetic job that has left events. Its totals come from
// formulas.
type Traced interface {
	// Sources returns the events of each rank, in the order of rank. Events are
	// made while they are read and are the same each time. Sources may be read
	// concurrently.
	Sources() []profile.EventSource
	Events() uint64      // number of events of all ranks
	Volume() Volume      // point-to-point volume; each message is sent and received
	Collectives() uint64 // number of collective operations, each with all ranks
}

// TraceShapes lists the names that NamedTrace accepts.
var TraceShapes = []string{"halo", "workers"}

// NamedTrace returns the job of a shape, with the shape's default parameters.
// It has at least the given number of events, rounded up to whole steps or
// results of all ranks.
func NamedTrace(shape string, ranks, perNode int, events uint64) (Traced, error) {
	if ranks < 1 || perNode < 1 {
		return nil, fmt.Errorf("make synthetic trace: %d ranks, %d on a node", ranks, perNode)
	}
	switch shape {
	case "halo":
		h := NewHalo(ranks, 1)
		h.PerNode = perNode
		h.Steps = stepsFor(events, uint64(2*ranks), h.Events()-uint64(2*ranks))
		return h, nil
	case "workers":
		w := NewWorkers(ranks, 1)
		w.PerNode = perNode
		w.Results = stepsFor(events, uint64(2*ranks), 3*uint64(max(ranks-1, 1)))
		return w, nil
	}
	return nil, fmt.Errorf("make synthetic trace: unknown shape %q: the shapes are %v", shape, TraceShapes)
}

// stepsFor returns how many steps of `each` events are needed in addition to
// `fixed` events.
func stepsFor(events, fixed, each uint64) int {
	if events <= fixed {
		return 0
	}
	return int((events - fixed + each - 1) / each)
}

// Times of each trace, ns.
const (
	startSpread = 1_000_000 // the largest difference between the starts of two ranks
	initDone    = epoch + startSpread + initTime
)

// batchEvents is about how many events a synthetic source passes to its reader
// at a time.
const batchEvents = 4096

// newTrace returns the metadata of a rank that initialized and finalized MPI
// and used only MPI_COMM_WORLD.
func newTrace(name string, rank, ranks, perNode int) *profile.Trace {
	perNode = max(perNode, 1)
	return &profile.Trace{Run: fmt.Sprintf("synth-%s-%d", name, ranks), Rank: rank, Size: ranks,
		Host: fmt.Sprintf("node%04d", rank/perNode), Pid: 10_000 + rank%perNode, State: profile.Finalized,
		Start: epoch + int64(mix(uint64(rank), 1)%startSpread), Threads: 1,
		Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD", ID: idOf(World, 0), Size: ranks, Rank: rank}}}
}

// rankEvents makes the events of a rank: Init, its work, Finalize.
type rankEvents struct {
	trace func() *profile.Trace
	kinds func() []profile.EventKind // kinds of its work, from kindFirst on
	does  func(*batch) error
}

// newRank returns the events of a rank. It calls trace on first use only, since
// that may have to simulate the whole job.
func newRank(trace func() *profile.Trace, kinds func() []profile.EventKind, does func(*batch) error) profile.EventSource {
	return &rankEvents{sync.OnceValue(trace), kinds, does}
}

// Trace implements profile.EventSource.
func (r *rankEvents) Trace() *profile.Trace { return r.trace() }

// Each implements profile.EventSource.
func (r *rankEvents) Each(f func(*profile.Events, []profile.EventKind) error) error {
	t := r.trace()
	b := &batch{f: f, kinds: append(setUpKinds(), r.kinds()...)}
	b.outside(kindInit, t.Start, t.InitEnd)
	if err := b.flush(1); err != nil {
		return err
	}
	if err := r.does(b); err != nil {
		return err
	}
	b.outside(kindFinalize, t.FinalizeStart, t.End)
	return b.flush(1)
}

// event is one row of the event columns.
type event struct {
	start, duration int64
	bytes           uint64
	kind            uint32
	tag, link       int32
	seq             uint32
}

// newColumns returns n events that are all zero.
func newColumns(n int) *profile.Events {
	return &profile.Events{Start: make([]int64, n), Duration: make([]int64, n), Bytes: make([]uint64, n),
		Kind: make([]uint32, n), Tag: make([]int32, n), Link: make([]int32, n), Seq: make([]uint32, n)}
}

// batch collects events and passes them on when there are enough.
type batch struct {
	profile.Events
	kinds []profile.EventKind
	f     func(*profile.Events, []profile.EventKind) error
}

// room allocates an empty batch at its full size: growing it would take longer
// than filling it.
func (b *batch) room() {
	b.Events = *newColumns(2 * batchEvents)
	b.Reset()
}

func (b *batch) add(e event) {
	b.Start, b.Duration, b.Bytes = append(b.Start, e.start), append(b.Duration, e.duration), append(b.Bytes, e.bytes)
	b.Kind, b.Tag = append(b.Kind, e.kind), append(b.Tag, e.tag)
	b.Link, b.Seq = append(b.Link, e.link), append(b.Seq, e.seq)
}

// flush passes the events on if there are at least `least`.
func (b *batch) flush(least int) error {
	if b.Len() < least {
		return nil
	}
	err := b.f(&b.Events, b.kinds)
	b.Reset()
	return err
}

// outside adds a call without a communicator: Init or Finalize.
func (b *batch) outside(kind uint32, start, end int64) {
	b.add(event{start: start, duration: end - start, kind: kind, tag: profile.NoTag})
}

// call returns the kind of an event of an MPI function, in slice "run".
func call(name string, action profile.Action, class profile.Class, way profile.Direction, comm, peer int32, site string) profile.EventKind {
	return profile.EventKind{Action: action, Call: name, Class: class, Direction: way, Comm: comm, Peer: peer, Callsite: site, Slice: "run"}
}

// setUpKinds returns the kinds of Init and Finalize, which are the first kinds
// of every trace.
func setUpKinds() []profile.EventKind {
	return []profile.EventKind{
		call("Init", profile.Called, profile.Other, profile.None, -1, profile.PeerNone, "main app.c:10"),
		call("Finalize", profile.Called, profile.Other, profile.None, -1, profile.PeerNone, "main app.c:90"),
	}
}

// Indices of the kinds that setUpKinds returns.
const (
	kindInit uint32 = iota
	kindFinalize
	kindFirst // first kind of the job's own events
)
