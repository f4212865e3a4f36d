package timeline

import (
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

// process is a trace in memory that ends with its last event.
type process struct{ *jobs.Process }

func newProcess(rank, size int) *process { return &process{jobs.NewProcess("job", rank, size)} }

// add appends an event.
func (p *process) add(kind profile.EventKind, start, duration int64, bytes uint64, tag int32, seq uint32) {
	p.Add(jobs.Event{EventKind: kind, Start: start, Duration: duration, Bytes: bytes, Tag: tag, Seq: seq})
	p.Trace().End = max(p.Trace().End, start+duration)
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
