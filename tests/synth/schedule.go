package synth

import (
	"fmt"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// Schedule is a traced job whose ranks compute and call MPI as a list says. Its times follow from
// the list: a call takes scheduledCall, or until what it needs is there and then scheduledCall. A
// message is there when its send starts.
type Schedule struct {
	name  string
	ranks []*Plan
	at    time.Duration // from Init to Finalize
}

// scheduledCall is how long a call takes beside waiting, ns.
const scheduledCall = 1000

// scheduledEager is the size, in bytes, up to which a send waits for no receiver.
const scheduledEager = 65536

// Plan is what a rank does.
type Plan struct {
	Rank, Ranks int
	steps       []planned
	requests    int

	// State of the simulation.
	next     int
	now      int64 // ns since Init
	entered  bool  // whether what others wait for, in the next step, has been announced
	began    map[int]receiveBegun
	open     map[int]int // index of the event that began a request
	events   []event
	kinds    []profile.EventKind
	kindOf   map[profile.EventKind]uint32
	sent     map[int]uint32 // number of messages, by peer
	received map[int]uint32
	gathered int // number of collectives
}

type receiveBegun struct {
	from   int
	number uint32
}

// planned is a step of a plan: computing if call is empty.
type planned struct {
	call     string
	line     int
	long     int64 // of computing, ns
	peer     int   // or root, -1 if there is none
	bytes    uint64
	request  int
	requests []int
}

// NewSchedule returns the job of a number of ranks, each of which fills its plan.
func NewSchedule(name string, ranks int, plan func(*Plan)) *Schedule {
	s := &Schedule{name: name}
	for rank := range ranks {
		p := &Plan{Rank: rank, Ranks: ranks, began: map[int]receiveBegun{}, open: map[int]int{}, kindOf: map[profile.EventKind]uint32{},
			sent: map[int]uint32{}, received: map[int]uint32{}}
		plan(p)
		s.ranks = append(s.ranks, p)
	}
	s.run()
	return s
}

// Work adds computing.
func (p *Plan) Work(d time.Duration) { p.steps = append(p.steps, planned{long: int64(d)}) }

// Send and Recv add blocking calls.
func (p *Plan) Send(line, to int, bytes uint64) {
	p.steps = append(p.steps, planned{call: "Send", line: line, peer: to, bytes: bytes})
}

func (p *Plan) Recv(line, from int) {
	p.steps = append(p.steps, planned{call: "Recv", line: line, peer: from})
}

// Isend and Irecv add calls that return at once, and return the request.
func (p *Plan) Isend(line, to int, bytes uint64) int {
	return p.begin(planned{call: "Isend", line: line, peer: to, bytes: bytes})
}

func (p *Plan) Irecv(line, from int) int {
	return p.begin(planned{call: "Irecv", line: line, peer: from})
}

func (p *Plan) begin(step planned) int {
	p.requests++
	step.request = p.requests
	p.steps = append(p.steps, step)
	return p.requests
}

// Waitall adds a call that waits for requests.
func (p *Plan) Waitall(line int, requests ...int) {
	p.steps = append(p.steps, planned{call: "Waitall", line: line, requests: requests})
}

// All adds a collective in which all wait for all, and Bcast one in which all wait for the root.
func (p *Plan) All(call string, line int) {
	p.steps = append(p.steps, planned{call: call, line: line, peer: -1})
}

func (p *Plan) Bcast(line, root int) {
	p.steps = append(p.steps, planned{call: "Bcast", line: line, peer: root})
}

// Local adds a call that waits for nobody.
func (p *Plan) Local(line int) { p.steps = append(p.steps, planned{call: "Iprobe", line: line}) }

// Runtime returns the time from Init, which ends at the same time on all ranks, to the last
// Finalize.
func (s *Schedule) Runtime() time.Duration { return s.at }

// Sources implements Traced.
func (s *Schedule) Sources() []profile.EventSource {
	var sources []profile.EventSource
	for _, p := range s.ranks {
		trace := func() *profile.Trace {
			t := newTrace(s.name, p.Rank, len(s.ranks), len(s.ranks))
			t.InitEnd, t.FinalizeStart = initDone, initDone+p.now
			t.End, t.Events = t.FinalizeStart+finalizing, uint64(2+len(p.events))
			t.EagerLimits = []profile.EagerLimit{{Path: profile.InNode, Bytes: scheduledEager, Variable: "eager_limit"}}
			return t
		}
		sources = append(sources, newRank(trace, func() []profile.EventKind { return p.kinds }, func(b *batch) error {
			for _, e := range p.events {
				e.start += initDone
				b.add(e)
				if err := b.flush(batchEvents); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return sources
}

// Events implements Traced.
func (s *Schedule) Events() uint64 {
	n := uint64(0)
	for _, p := range s.ranks {
		n += uint64(2 + len(p.events))
	}
	return n
}

// Volume implements Traced.
func (s *Schedule) Volume() Volume {
	var v Volume
	for _, p := range s.ranks {
		for _, step := range p.steps {
			if step.call == "Send" || step.call == "Isend" {
				v.add(Volume{step.bytes, 1})
			}
		}
	}
	return v
}

// Collectives implements Traced.
func (s *Schedule) Collectives() uint64 { return uint64(s.ranks[0].gathered) }

// message is the number of a message from one rank to another.
type scheduledMessage struct {
	from, to int
	number   uint32
}

// simulation is what ranks have announced to others: when they sent, posted receives, and came to
// collectives.
type simulation struct {
	sent, posted map[scheduledMessage]int64
	bytes        map[scheduledMessage]uint64
	came         map[int][]int64 // by number of the collective and rank; -1 if it has not come
}

// run plays all plans until none can go on.
func (s *Schedule) run() {
	all := simulation{map[scheduledMessage]int64{}, map[scheduledMessage]int64{}, map[scheduledMessage]uint64{}, map[int][]int64{}}
	for goes := true; goes; {
		goes = false
		for _, p := range s.ranks {
			for p.next < len(p.steps) && p.play(&all) {
				goes = true
			}
		}
	}
	for _, p := range s.ranks {
		if p.next < len(p.steps) {
			panic(fmt.Sprintf("rank %d of schedule %s waits for ever in %+v", p.Rank, s.name, p.steps[p.next]))
		}
		s.at = max(s.at, time.Duration(p.now))
	}
}

// play does the next step of a rank if what it needs is known, and announces what others need.
func (p *Plan) play(all *simulation) bool {
	step := &p.steps[p.next]
	if step.call == "" {
		p.now += step.long
		p.next++
		return true
	}
	if !p.entered {
		p.announce(all, step)
		p.entered = true
	}
	until, known := p.needs(all, step)
	if !known {
		return false
	}
	p.record(all, step, max(p.now, until)+scheduledCall)
	p.entered = false
	p.next++
	return true
}

// announce says when the rank came to a call.
func (p *Plan) announce(all *simulation, step *planned) {
	switch step.call {
	case "Send", "Isend":
		p.sent[step.peer]++
		m := scheduledMessage{p.Rank, step.peer, p.sent[step.peer]}
		all.sent[m], all.bytes[m] = p.now, step.bytes
	case "Recv", "Irecv":
		p.received[step.peer]++
		m := scheduledMessage{step.peer, p.Rank, p.received[step.peer]}
		all.posted[m] = p.now
		p.began[step.request] = receiveBegun{step.peer, m.number}
	case "Waitall", "Iprobe":
	default:
		if all.came[p.gathered] == nil {
			all.came[p.gathered] = make([]int64, p.Ranks)
			for i := range p.Ranks {
				all.came[p.gathered][i] = -1
			}
		}
		all.came[p.gathered][p.Rank] = p.now
		p.gathered++
	}
}

// needs returns when all that a call waits for is there.
func (p *Plan) needs(all *simulation, step *planned) (until int64, known bool) {
	known = true
	need := func(at int64, ok bool) {
		known = known && ok
		until = max(until, at)
	}
	switch step.call {
	case "Send":
		if step.bytes > scheduledEager {
			at, ok := all.posted[scheduledMessage{p.Rank, step.peer, p.sent[step.peer]}]
			need(at, ok)
		}
	case "Recv":
		at, ok := all.sent[scheduledMessage{step.peer, p.Rank, p.received[step.peer]}]
		need(at, ok)
	case "Waitall":
		for _, q := range step.requests {
			if b, receives := p.began[q]; receives {
				at, ok := all.sent[scheduledMessage{b.from, p.Rank, b.number}]
				need(at, ok)
			}
		}
	case "Isend", "Irecv", "Iprobe":
	default:
		for rank, at := range all.came[p.gathered-1] {
			if step.peer < 0 || rank == step.peer {
				need(at, at >= 0)
			}
		}
	}
	return until, known
}

// record adds the events of a call.
func (p *Plan) record(all *simulation, todo *planned, end int64) {
	e := event{start: p.now, duration: end - p.now, bytes: todo.bytes, tag: profile.NoTag}
	p.now = end
	site := step(todo.line)
	switch todo.call {
	case "Send", "Isend":
		e.tag, e.seq = 0, p.sent[todo.peer]
		p.add(e, call(todo.call, profile.Called, profile.P2P, profile.Send, 0, int32(todo.peer), site))
	case "Recv":
		e.tag, e.seq = 0, p.received[todo.peer]
		e.bytes = all.bytes[scheduledMessage{todo.peer, p.Rank, e.seq}]
		p.add(e, call("Recv", profile.Called, profile.P2P, profile.Recv, 0, int32(todo.peer), site))
	case "Irecv":
		e.tag = 0
		p.add(e, call("Irecv", profile.Called, profile.P2P, profile.None, 0, int32(todo.peer), site))
	case "Waitall":
		p.add(e, call("Waitall", profile.Called, profile.P2P, profile.None, -1, profile.PeerNone, site))
		for _, q := range todo.requests {
			p.complete(all, q)
		}
	case "Iprobe":
		p.add(e, call("Iprobe", profile.Called, profile.P2P, profile.None, 0, profile.PeerAnySource, site))
	case "Bcast":
		p.add(e, call("Bcast", profile.Called, profile.OneToAll, profile.Send, 0, int32(todo.peer), site))
	default:
		p.add(e, call(todo.call, profile.Called, profile.AllToAll, profile.Send, 0, profile.PeerNone, site))
	}
	if todo.request > 0 {
		p.open[todo.request] = len(p.events) - 1
	}
}

// complete adds the event that ends a request.
func (p *Plan) complete(all *simulation, request int) {
	begun := p.open[request]
	kind := p.kinds[p.events[begun].kind-kindFirst]
	e := event{start: p.now, tag: profile.NoTag, link: int32(begun - len(p.events))}
	p.events[begun].link = -e.link
	kind.Action, kind.Direction = profile.Completed, profile.None
	if b, receives := p.began[request]; receives {
		kind.Action, kind.Direction = profile.Moved, profile.Recv
		e.tag, e.seq, e.bytes = 0, b.number, all.bytes[scheduledMessage{b.from, p.Rank, b.number}]
	}
	p.add(e, kind)
}

func (p *Plan) add(e event, k profile.EventKind) {
	n, ok := p.kindOf[k]
	if !ok {
		n = kindFirst + uint32(len(p.kinds))
		p.kindOf[k] = n
		p.kinds = append(p.kinds, k)
	}
	e.kind = n
	p.events = append(p.events, e)
}
