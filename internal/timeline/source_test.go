package timeline

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// process is a trace in memory. As in a file, each kind comes with the first
// batch that needs it.
type process struct {
	trace  profile.Trace
	events profile.Events
	kinds  []profile.EventKind
	batch  int // number of events in a batch; 0 for all
}

func newProcess(rank, size int) *process {
	return &process{trace: profile.Trace{Run: "job", Rank: rank, Size: size, Threads: 1,
		Comms: []profile.TraceComm{{Label: "MPI_COMM_WORLD", Size: size, Rank: rank}}}}
}

func (p *process) Trace() *profile.Trace { return &p.trace }

func (p *process) Each(f func(*profile.Events, []profile.EventKind) error) error {
	e, step := &p.events, p.batch
	if step == 0 {
		step = max(e.Len(), 1)
	}
	for i := 0; i < e.Len(); i += step {
		end := min(i+step, e.Len())
		part := &profile.Events{Start: e.Start[i:end], Duration: e.Duration[i:end], Bytes: e.Bytes[i:end],
			Kind: e.Kind[i:end], Tag: e.Tag[i:end], Link: e.Link[i:end], Seq: e.Seq[i:end]}
		if err := f(part, p.kinds[:slices.Max(e.Kind[:end])+1]); err != nil {
			return err
		}
	}
	return nil
}

// add appends an event.
func (p *process) add(kind profile.EventKind, start, duration int64, bytes uint64, tag int32, seq uint32) {
	k := slices.Index(p.kinds, kind)
	if k < 0 {
		k = len(p.kinds)
		p.kinds = append(p.kinds, kind)
	}
	e := &p.events
	e.Start, e.Duration, e.Bytes = append(e.Start, start), append(e.Duration, duration), append(e.Bytes, bytes)
	e.Kind, e.Tag, e.Link, e.Seq = append(e.Kind, uint32(k)), append(e.Tag, tag), append(e.Link, 0), append(e.Seq, seq)
	p.trace.Events++
	p.trace.End = max(p.trace.End, start+duration)
}

// call appends a call without a message.
func (p *process) call(name string, class profile.Class, start, duration int64) {
	p.add(profile.EventKind{Call: name, Class: class, Peer: profile.PeerNone}, start, duration, 0, profile.NoTag, 0)
}

// send appends a call that sends a message to a rank.
func (p *process) send(call string, to int, start, duration int64, bytes uint64, tag int32, seq uint32) {
	p.add(profile.EventKind{Call: call, Direction: profile.Send, Peer: int32(to)}, start, duration, bytes, tag, seq)
}

// receive appends a call that receives a message or, if duration is 0, a
// message that another call completed.
func (p *process) receive(call string, from int, start, duration int64, bytes uint64, tag int32, seq uint32) {
	action := profile.Called
	if duration == 0 {
		action = profile.Moved
	}
	p.add(profile.EventKind{Action: action, Call: call, Direction: profile.Recv, Peer: int32(from)}, start, duration, bytes, tag, seq)
}
