package recording

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// eventLinks holds what can be found only by looking at all events of a process.
type eventLinks struct {
	kind []uint32
	tag  []int32
	link []int32
	seq  []uint32

	start []uint64 // set only if there are several threads
	open  *requests
}

// link reads all events once: it finds their kinds and the events of each
// request, and numbers the messages.
func (r *eventReading) link() error {
	n := r.count()
	if n > math.MaxInt32 {
		return fmt.Errorf("%s: %d events, more than are read of one process: %d", r.names[0], n, math.MaxInt32)
	}
	r.links = eventLinks{kind: make([]uint32, n), tag: make([]int32, n), link: make([]int32, n), seq: make([]uint32, n), open: newRequests()}
	if len(r.streams) > 1 {
		r.links.start = make([]uint64, n)
	}
	err := r.eachRun(func(first int, thread uint32, run []byte) error {
		for i := first; len(run) > 0; i, run = i+1, run[eventSize:] {
			e := decodeEvent(run, thread)
			r.enter(int32(i), &e)
		}
		return nil
	})
	r.links.open = nil
	if err == nil && !r.trace.Gaps && r.holes == 0 { // with gaps, numbers would match the wrong messages
		r.links.count(r.rows.roles, r.whole)
	}
	r.links.start = nil
	return err
}

func (r *eventReading) enter(i int32, e *decodedEvent) {
	l := &r.links
	kind := r.kindOf(e)
	l.kind[i], l.tag[i] = kind, r.rows.roles[kind].tagOf(e.tag)
	if l.start != nil {
		l.start[i] = e.start
	}
	if e.request != 0 {
		l.join(e.request, i, r.rows.roles)
	}
}

// kindOf returns the kind of an event. If its row is missing, the call is
// unknown.
func (r *eventReading) kindOf(e *decodedEvent) uint32 {
	if e.row == layout.EventCompleted {
		if posted, open := r.links.open.get(e.request); open {
			return r.rows.completed(r.links.kind[posted], e.thread)
		}
		return r.rows.unknown(e)
	}
	kind, err := r.rows.kind(e.row, e.thread)
	if err == nil {
		if r.rows.roles[kind].window && r.rows.told && e.tag >= 0 {
			kind = r.rows.window(kind, e.row, e.tag)
		}
		return kind
	}
	if e.row != 0 && len(r.Problems) < maxProblems { // row 0 stands for calls that had no room for a row
		r.Problems = append(r.Problems, fmt.Sprintf("%s: row %d: %v", r.names[0], e.row, err))
	}
	return r.rows.unknown(e)
}

// completed returns the kind of an operation's completion: that of the event
// which started it, if the trace contains it.
func (r *rows) completed(posted, thread uint32) uint32 {
	if o := &r.roles[posted]; o.ended != 0 && o.endedBy == thread {
		return o.ended - 1
	}
	k := r.all[posted]
	k.Action, k.Direction, k.Thread = profile.Completed, profile.None, int32(thread)
	kind := r.index(k)
	r.roles[posted].ended, r.roles[posted].endedBy = kind+1, thread
	return kind
}

func (r *rows) unknown(e *decodedEvent) uint32 {
	k := profile.EventKind{Call: "unknown", Class: profile.Other, Thread: int32(e.thread), Comm: -1, Peer: profile.PeerLost,
		Callsite: profile.SiteLabel(nil), Slice: r.slice(0)}
	if e.row == layout.EventCompleted {
		k.Action = profile.Completed
	}
	return r.index(k)
}

// join links an event to the previous event with the same request.
func (l *eventLinks) join(request uint32, i int32, roles []role) {
	o := &roles[l.kind[i]]
	before, open := l.open.get(request)
	joined := open && o.continues(&roles[l.kind[before]])
	if joined {
		l.link[before], l.link[i] = i-before, before-i
	}
	if o.ends || joined && (!o.goesOn || roles[l.kind[before]].receives) {
		l.open.delete(request)
	} else {
		l.open.put(request, i)
	}
}

// count numbers the messages of each channel: sends in the order in which they
// started, receives in the order in which they were posted, which is how the
// Standard matches them. If whole is not 0, messages that started at that time
// or later get no number, because earlier ones may be missing from the trace.
func (l *eventLinks) count(roles []role, whole uint64) {
	c := counters{of: map[channel]*uint32{}}
	if l.start == nil {
		for i := range l.kind {
			l.number(int32(i), &c, roles)
		}
		return
	}
	for _, m := range l.begun(roles, whole > 0) {
		if whole > 0 && m.start >= whole {
			return
		}
		if o := &roles[l.kind[m.event]]; whole > 0 && o.posts && l.link[m.event] == 0 {
			c.lose(o, l.tag[m.event])
			continue
		}
		l.number(m.event, &c, roles)
	}
}

// number numbers what an event sends, and the completion of a receive that it
// posts.
func (l *eventLinks) number(i int32, c *counters, roles []role) {
	o := &roles[l.kind[i]]
	if o.sends || o.gave && l.tag[i] >= 0 {
		l.seq[i] = c.next(l.kind[i], l.tag[i], o)
	}
	if l.link[i] < 0 && !o.receives { // the completion was recorded with the event that posted it
		return
	}
	end := l.last(i)
	switch last := &roles[l.kind[end]]; {
	case last.took:
		l.tag[end] = max(l.tag[end], l.tag[i]) // the requested tag; the received one is unknown
		i, o = end, last
	case last.receives:
		i, o = end, last
	}
	if (o.receives || o.took && l.tag[i] >= 0) && l.seq[i] == 0 {
		l.seq[i] = c.next(l.kind[i], l.tag[i], o)
	}
}

// last returns the last event of the request that event i belongs to. A request
// has at most four events.
func (l *eventLinks) last(i int32) int32 {
	for l.link[i] > 0 {
		i += l.link[i]
	}
	return i
}

// beginning is an event that sends a message or posts a receive.
type beginning struct {
	start uint64
	event int32
}

// begun returns these events in the order in which they started. With posts it
// includes receives whose completion is not in the trace.
func (l *eventLinks) begun(roles []role, posts bool) []beginning {
	begins := func(i int) bool {
		o := &roles[l.kind[i]]
		return posts && o.posts || o.sends || o.receives || o.took || o.gave || l.link[i] > 0
	}
	n := 0
	for i := range l.kind {
		if begins(i) {
			n++
		}
	}
	out := make([]beginning, 0, n)
	for i := range l.kind {
		if begins(i) {
			out = append(out, beginning{l.start[i], int32(i)})
		}
	}
	slices.SortFunc(out, func(a, b beginning) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.event, b.event))
	})
	return out
}

// channel identifies messages that cannot overtake each other: same
// communicator, peer and tag.
type channel struct {
	comm, peer, tag int32
	sent            bool
}

// counters count the messages of each channel. They remember the channel of
// each kind and tag of events.
type counters struct {
	of   map[channel]*uint32
	near [256]nearCounter
	// Channels of receives whose completion is not in the trace. Later receives
	// of these channels have no number. A receive from any source affects its
	// whole communicator.
	lost    map[channel]bool
	lostAny map[int32]bool
}

// lose stops the numbering of the receives that this receive may have preceded.
func (c *counters) lose(o *role, tag int32) {
	if c.lost == nil {
		c.lost, c.lostAny = map[channel]bool{}, map[int32]bool{}
	}
	if o.peer < 0 || tag < 0 {
		c.lostAny[o.comm] = true
	} else {
		c.lost[channel{o.comm, o.peer, tag, false}] = true
	}
}

type nearCounter struct {
	kind  uint32
	tag   int32
	count *uint32 // nil if the event has no channel
}

// next returns the number of a message, or 0 if its peer is unknown.
func (c *counters) next(kind uint32, tag int32, o *role) uint32 {
	if o.comm < 0 || o.peer < 0 {
		return 0
	}
	if c.lost != nil && !o.sends && !o.gave && (c.lostAny[o.comm] || c.lost[channel{o.comm, o.peer, tag, false}]) {
		return 0
	}
	n := &c.near[(kind*31+uint32(tag))%uint32(len(c.near))]
	if n.count == nil || n.kind != kind || n.tag != tag {
		*n = nearCounter{kind, tag, c.find(channel{o.comm, o.peer, tag, o.sends || o.gave})}
	}
	*n.count++
	return *n.count
}

func (c *counters) find(ch channel) *uint32 {
	if c.of[ch] == nil {
		c.of[ch] = new(uint32)
	}
	return c.of[ch]
}
