package trace

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/profile"
)

// flight is a message between hosts: when it was sent, and when it was known to
// have arrived, in ns since the base, each by the clock of its own host. In a
// collective, it is when a host entered, and when another left that waits for
// the first.
type flight struct {
	from, to       int32 // indices of the hosts
	sent, received int64
	collective     bool
}

// flights finds the messages and collectives between hosts. A goroutine for
// each source reads the halves of messages, and what the process saw of
// collectives. All sources are read together. The source that is furthest behind,
// in time since its process left MPI_Init, is read next. So few halves wait for their
// other half, even if clocks are far apart.
type flights struct {
	sources []profile.EventSource
	host    []int32 // by source
	base    int64   // Unix ns
	keeps   int     // number of halves that wait for the other before the oldest are dropped
}

// half is a message as one side saw it, or what a process saw of a collective.
// Then from is the process, to the number of halves that each process has, tag
// the number of the call, and seq the number of the collective.
type half struct {
	flightKey
	seen
}

// seen is when a half was seen, in ns since the base by the clock of its host, and its role.
type seen struct {
	time int64
	role halfRole
}

type halfRole uint8

const (
	halfSent     halfRole = iota
	halfReceived          // known to have arrived
	halfEntered           // entered a collective, for whom others wait
	halfLeft              // left it, having waited for others
)

// flightKey identifies a message; it is the same for both halves.
type flightKey struct {
	comm     int32 // index of the communicator's label
	from, to int32 // indices of the sources
	tag      int32
	seq      uint32
}

const (
	halvesAtOnce = 1024    // number of halves in a batch
	halvesKept   = 1 << 22 // takes about 300 MB
)

// paired is how many messages and collectives between hosts were found.
type paired struct {
	messages, collectives uint64
	alone                 uint64 // halves of messages without the other half
}

// each calls f with each message between hosts, and with the pairs of hosts of
// each collective.
func (fs *flights) each(f func(flight)) (paired, error) {
	group, ctx := errgroup.WithContext(context.Background())
	labels, sourceOf := fs.labels(), fs.ranks()
	spans := fs.spans(labels)
	var behind spotters
	for i, src := range fs.sources {
		s := &spotter{fs: fs, source: int32(i), labels: labels, spans: spans, sourceOf: sourceOf, since: departure(src.Trace()) - fs.base,
			full: make(chan []half, 1), empty: make(chan []half, 2), done: ctx.Done()}
		group.Go(s.read)
		behind = append(behind, s)
	}
	p := pairing{flights: fs, f: f, newer: map[flightKey]seen{}, spans: spans, open: map[collectiveKey]*collectiveTimes{}}
	p.all(behind)
	p.useOpen()
	p.alone += uint64(len(p.newer) + len(p.older))
	return p.paired, group.Wait()
}

// departure returns when a process left MPI_Init, or its first known time.
func departure(t *profile.Trace) int64 { return cmp.Or(t.InitEnd, t.Start) }

// labels returns a number for each label of a communicator.
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

// ranks returns the source of each world rank.
func (fs *flights) ranks() map[int32]int32 {
	of := make(map[int32]int32, len(fs.sources))
	for i, src := range fs.sources {
		of[int32(src.Trace().Rank)] = int32(i)
	}
	return of
}

// pairing joins halves by their keys. Halves that wait are in two generations.
// When the newer one is full, the older one is dropped.
type pairing struct {
	*flights
	f            func(flight)
	newer, older map[flightKey]seen
	spans        []hostSpan // by the index of a communicator's label
	open         map[collectiveKey]*collectiveTimes
	freeTimes    freeList[collectiveTimes]
	paired
}

// all processes the halves of the source that is furthest behind until none are
// left.
func (p *pairing) all(behind spotters) {
	behind = slices.DeleteFunc(behind, func(s *spotter) bool { return !s.more() })
	heap.Init(&behind)
	for len(behind) > 0 {
		for _, h := range behind[0].batch {
			if h.role >= halfEntered {
				p.gather(h)
			} else {
				p.join(h)
			}
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
	case other.role == h.role:
		p.alone++ // two halves have the same key: neither is used
	default:
		delete(in, h.flightKey)
		sent, received := h.time, other.time
		if h.role == halfReceived {
			sent, received = received, sent
		}
		p.messages++
		p.f(flight{p.host[h.from], p.host[h.to], sent, received, false})
	}
}

func (p *pairing) keep(h half) {
	if len(p.newer) >= p.keeps/2 {
		p.alone += uint64(len(p.older))
		p.older, p.newer = p.newer, make(map[flightKey]seen)
	}
	p.newer[h.flightKey] = h.seen
}

// spotters is a heap with the source that is furthest behind on top.
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

// spotter finds the halves of messages and collectives between hosts in the
// events of a source.
type spotter struct {
	fs       *flights
	source   int32
	labels   map[string]int32
	spans    []hostSpan
	sourceOf map[int32]int32
	since    int64 // when the process left MPI_Init, ns since the base
	full     chan []half
	empty    chan []half
	done     <-chan struct{}

	batch   []half // the batch last taken from full
	reached int64  // time of its last half, ns since the process left MPI_Init

	// Used only by the goroutine that reads.
	halves  []half
	kinds   []spotted
	startAt map[int32]int64 // start of the last Startall, by thread
	called  map[calledOn]uint32
}

// calledOn is a call on a communicator; the index of its label.
type calledOn struct{ comm, call int32 }

// spotted says what a kind of event shows about messages between hosts.
type spotted struct {
	role   spottedRole
	comm   int32
	peer   int32 // index of the source
	thread int32

	call          int32 // number of the call, of a collective
	entered, left bool  // whether others wait for the process, and it for others
	empty         bool  // whether that is so although it moves no data
}

type spottedRole uint8

const (
	spotNothing    spottedRole = iota
	spotSend                   // sent when the call started
	spotSent                   // sent by the Startall before it
	spotReceive                // arrived when the call ended
	spotStartall               // sends the messages of the following events
	spotCollective             // took part in a collective
)

// more gets the next batch, and reports whether there is one.
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

// read reads the source.
func (s *spotter) read() error {
	defer close(s.full)
	s.halves, s.startAt, s.called = make([]half, 0, halvesAtOnce), make(map[int32]int64), make(map[calledOn]uint32)
	s.empty <- nil // a second batch, to be filled while the first is processed
	if err := s.fs.sources[s.source].Each(s.spot); err != nil {
		return err
	}
	return s.pass()
}

// pass sends the batch, and takes an empty one in exchange.
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

// spot processes a batch of events.
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
		switch {
		case k.role == spotCollective:
			s.takePart(k, start, e, i)
		case e.Seq[i] > 0:
			s.halves = append(s.halves, s.half(k, start, e, i))
		}
		if len(s.halves) >= halvesAtOnce {
			if err := s.pass(); err != nil {
				return err
			}
		}
	}
	return nil
}

// half returns the half that event i shows. start is its start.
func (s *spotter) half(k *spotted, start int64, e *profile.Events, i int) half {
	h := half{flightKey{k.comm, s.source, k.peer, e.Tag[i], e.Seq[i]}, seen{start, halfSent}}
	switch k.role {
	case spotSent:
		h.time = s.startAt[k.thread]
	case spotReceive:
		h.from, h.to = h.to, h.from
		h.seen = seen{start + e.Duration[i], halfReceived}
	}
	return h
}

// kind returns what events of a kind show. The time of a message event of a
// Startall is when that call returned. The message may have been sent earlier,
// so the start of the call is used.
func (s *spotter) kind(k *profile.EventKind) spotted {
	if k.Action == profile.Called && profile.TraitsOf(k.Call).All(profile.TraitStarts|profile.TraitArray) {
		return spotted{role: spotStartall, thread: k.Thread}
	}
	comms := s.fs.sources[s.source].Trace().Comms
	if k.Class.Collective() {
		return s.collectiveKind(k, comms)
	}
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
