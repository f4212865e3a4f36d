package trace

import (
	"container/heap"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/profile"
)

// flight is a message between hosts: when it was sent, and when it was seen to
// be there, each ns after the base by the clock of the host.
type flight struct {
	from, to       int32 // index of the host
	sent, received int64
}

// flights are the messages between hosts. Each source is read by a goroutine
// that leaves its halves of such messages; they are put together going on with
// the source that is furthest behind, by the time since it left MPI_Init. So of
// clocks however wrong, few halves wait for the other.
type flights struct {
	sources []profile.EventSource
	host    []int32 // by source
	base    int64   // Unix ns
	keeps   int     // how many halves wait for the other before the oldest ones are given up
}

// half is a message as one side saw it.
type half struct {
	flightKey
	seen
}

// seen is when, ns after the base by the clock of its host.
type seen struct {
	time     int64
	received bool
}

// flightKey is what the halves of a message have in common.
type flightKey struct {
	comm     int32 // index of the label
	from, to int32 // source
	tag      int32
	seq      uint32
}

const (
	halvesAtOnce = 1024    // are passed on
	halvesKept   = 1 << 22 // some 300 MB
)

// each calls f with each message between hosts, and tells how many there were,
// and how many halves stayed alone.
func (fs *flights) each(f func(flight)) (paired, alone uint64, err error) {
	group, ctx := errgroup.WithContext(context.Background())
	labels, sourceOf := fs.labels(), fs.ranks()
	var behind spotters
	for i, src := range fs.sources {
		s := &spotter{fs: fs, source: int32(i), labels: labels, sourceOf: sourceOf, since: departure(src.Trace()) - fs.base,
			full: make(chan []half, 1), empty: make(chan []half, 2), done: ctx.Done()}
		group.Go(s.read)
		behind = append(behind, s)
	}
	p := pairing{flights: fs, f: f, newer: map[flightKey]seen{}}
	p.all(behind)
	return p.paired, p.alone + uint64(len(p.newer)+len(p.older)), group.Wait()
}

// departure is when a process left MPI_Init, or the first that is known of it.
func departure(t *profile.Trace) int64 {
	if t.InitEnd != 0 {
		return t.InitEnd
	}
	return t.Start
}

// labels numbers the labels of all communicators.
func (fs *flights) labels() map[string]int32 {
	labels := make(map[string]int32)
	for _, src := range fs.sources {
		for _, c := range src.Trace().Comms {
			if _, known := labels[c.Label]; !known {
				labels[c.Label] = int32(len(labels))
			}
		}
	}
	return labels
}

// ranks is which source each world rank is.
func (fs *flights) ranks() map[int32]int32 {
	of := make(map[int32]int32, len(fs.sources))
	for i, src := range fs.sources {
		of[int32(src.Trace().Rank)] = int32(i)
	}
	return of
}

// pairing joins halves by their keys. Those that wait are in two generations:
// when the newer one is full, the older one is given up.
type pairing struct {
	*flights
	f            func(flight)
	newer, older map[flightKey]seen
	paired       uint64
	alone        uint64
}

// all goes on with who is furthest behind until nobody has anything left.
func (p *pairing) all(behind spotters) {
	behind = slices.DeleteFunc(behind, func(s *spotter) bool { return !s.more() })
	heap.Init(&behind)
	for len(behind) > 0 {
		for _, h := range behind[0].batch {
			p.join(h)
		}
		if behind[0].more() {
			heap.Fix(&behind, 0)
		} else {
			heap.Pop(&behind)
		}
	}
}

func (p *pairing) join(h half) {
	other, waits := p.newer[h.flightKey]
	in := p.newer
	if !waits {
		if other, waits = p.older[h.flightKey]; waits {
			in = p.older
		}
	}
	switch {
	case !waits:
		p.keep(h)
	case other.received == h.received:
		p.alone++ // numbered alike: nothing can be said of them
	default:
		delete(in, h.flightKey)
		sent, received := h.time, other.time
		if h.received {
			sent, received = received, sent
		}
		p.paired++
		p.f(flight{p.host[h.from], p.host[h.to], sent, received})
	}
}

func (p *pairing) keep(h half) {
	if len(p.newer) >= p.keeps/2 {
		p.alone += uint64(len(p.older))
		p.older, p.newer = p.newer, make(map[flightKey]seen)
	}
	p.newer[h.flightKey] = h.seen
}

// spotters is a heap, who is furthest behind on top.
type spotters []*spotter

func (s spotters) Len() int           { return len(s) }
func (s spotters) Less(i, j int) bool { return s[i].reached < s[j].reached }
func (s spotters) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *spotters) Push(x any)        { *s = append(*s, x.(*spotter)) }
func (s *spotters) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// spotter finds the halves of messages between hosts in the events of a source.
type spotter struct {
	fs       *flights
	source   int32
	labels   map[string]int32
	sourceOf map[int32]int32
	since    int64 // when it left MPI_Init, ns after the base
	full     chan []half
	empty    chan []half
	done     <-chan struct{}

	batch   []half // what was last taken from full
	reached int64  // the time of the last of them, since it left MPI_Init

	// Of the goroutine that reads.
	halves  []half
	kinds   []spotted
	startAt map[int32]int64 // by thread: the start of the last Startall
}

// spotted is what a kind of event tells of messages between hosts.
type spotted struct {
	role   spottedRole
	comm   int32
	peer   int32 // source
	thread int32
}

type spottedRole uint8

const (
	spotNothing  spottedRole = iota
	spotSend                 // sent when the call started
	spotSent                 // sent in the Startall before it
	spotReceive              // there when the call ended
	spotStartall             // sends messages that come behind it
)

// more gets the next batch and says whether there is one.
func (s *spotter) more() bool {
	if s.batch != nil {
		s.empty <- s.batch[:0]
	}
	s.batch = <-s.full
	if s.batch == nil {
		return false
	}
	s.reached = s.batch[len(s.batch)-1].time - s.since
	return true
}

// read goes through the source.
func (s *spotter) read() error {
	defer close(s.full)
	s.halves, s.startAt = make([]half, 0, halvesAtOnce), make(map[int32]int64)
	s.empty <- nil // a second one, to fill while the first is read
	if err := s.fs.sources[s.source].Each(s.spot); err != nil {
		return err
	}
	return s.pass()
}

// pass hands over what was found, and takes an empty batch for it.
func (s *spotter) pass() error {
	if len(s.halves) == 0 {
		return nil
	}
	select {
	case s.full <- s.halves:
	case <-s.done:
		return context.Canceled
	}
	select {
	case s.halves = <-s.empty:
		return nil
	case <-s.done:
		return context.Canceled
	}
}

// spot looks at a batch of events.
func (s *spotter) spot(e *profile.Events, kinds []profile.EventKind) error {
	for i := len(s.kinds); i < len(kinds); i++ {
		s.kinds = append(s.kinds, s.kind(&kinds[i]))
	}
	for i, kind := range e.Kind {
		k := &s.kinds[kind]
		if k.role == spotNothing {
			continue
		}
		start := e.Start[i] - s.fs.base
		if k.role == spotStartall {
			s.startAt[k.thread] = start
			continue
		}
		if e.Seq[i] == 0 {
			continue
		}
		if s.halves = append(s.halves, s.half(k, start, e, i)); len(s.halves) >= halvesAtOnce {
			if err := s.pass(); err != nil {
				return err
			}
		}
	}
	return nil
}

// half is what event i tells, which started at `start`.
func (s *spotter) half(k *spotted, start int64, e *profile.Events, i int) half {
	h := half{flightKey{k.comm, s.source, k.peer, e.Tag[i], e.Seq[i]}, seen{start, false}}
	switch k.role {
	case spotSent:
		h.time = s.startAt[k.thread]
	case spotReceive:
		h.from, h.to = h.to, h.from
		h.seen = seen{start + e.Duration[i], true}
	}
	return h
}

// kind says what events of a kind tell. The time of a message that a Startall
// sent is when that call returned: it may have gone before, so the call's start
// counts.
func (s *spotter) kind(k *profile.EventKind) spotted {
	if k.Action == profile.Called && k.Call == "Startall" {
		return spotted{role: spotStartall, thread: k.Thread}
	}
	comms := s.fs.sources[s.source].Trace().Comms
	peer, traced := s.sourceOf[k.Peer]
	if k.Class != profile.P2P || !traced || s.fs.host[peer] == s.fs.host[s.source] || k.Comm < 0 || int(k.Comm) >= len(comms) {
		return spotted{}
	}
	found := spotted{comm: s.labels[comms[k.Comm].Label], peer: peer, thread: k.Thread}
	switch {
	case k.Direction == profile.Send && k.Action == profile.Called:
		found.role = spotSend
	case k.Direction == profile.Send && k.Action == profile.Moved:
		found.role = spotSent
	case k.Direction == profile.Recv && (k.Action == profile.Called || k.Action == profile.Moved):
		found.role = spotReceive
	}
	return found
}
