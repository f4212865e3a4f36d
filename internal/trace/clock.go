package trace

import (
	"math"
	"sync"

	"github.com/mpitrace/mpitrace/profile"
)

// Clocks is how the clocks of a job's hosts differ, by its messages. Processes
// of one host have one clock.
type Clocks struct {
	// Hosts are in the order of their lowest ranks.
	Hosts []HostClock `json:"hosts"`
	// Messages between hosts that were seen sent and received. If there is one
	// host only, its messages are not looked at.
	Messages uint64 `json:"messages"`
	// Unpaired are those of which one half was seen, or whose halves are too far
	// apart: nothing was learnt of them.
	Unpaired uint64 `json:"unpaired"`
	// Backwards counts messages that arrive before they were sent, also after
	// correction, and WorstNs is by how much the worst of them does. There are
	// none if the clocks run evenly, however wrong they are.
	Backwards uint64 `json:"backwards"`
	WorstNs   int64  `json:"worst_ns"`
}

// Evidence is what a clock's correction rests on.
type Evidence string

const (
	Reference Evidence = "reference" // it is the clock that others are corrected to
	BothWays  Evidence = "both ways" // messages both ways: the error is known
	// OneWay is messages one way only, on the way to the reference at least
	// once: the fastest of them is taken to take no time, as nothing tells how
	// much it took.
	OneWay Evidence = "one way"
)

// HostClock is the clock of a host.
type HostClock struct {
	Host     string   `json:"host"`
	Rank     int      `json:"rank"` // the lowest of the host
	Evidence Evidence `json:"evidence"`
	// Reference is the host to whose clock this one is corrected: that of rank 0,
	// or the lowest rank that there is. Where no messages lead there it is the
	// host of the lowest rank that messages lead to, at last the host itself.
	Reference string `json:"reference"`
	// Via is the host by whose messages with this one it was corrected, and
	// Messages how many of them there are. Empty and 0 for a reference.
	Via      string `json:"via,omitempty"`
	Messages uint64 `json:"messages"`
	// Correction makes the clock that of the reference; zero for a reference.
	Correction profile.ClockCorrection `json:"correction"`
	// ErrorNs is how far the offset may be off: half the margin that the messages
	// leave, on each way from host to host up to the reference. The fastest
	// messages of two hosts that take equally long both ways have none. It is 0
	// where Evidence is not BothWays.
	ErrorNs float64 `json:"error_ns"`
}

// EstimateClocks finds out from the messages between hosts how their clocks
// differ. A message that is sent at s by the sender's clock and received at r by
// the receiver's is not received before it was sent, so whatever is added to
// the receiver's clock at r is at least s - r; with messages both ways it lies
// between two limits. That is taken to change evenly with time:
//
//	added(t) = Offset + Drift (t - At)
//
// and of all such lines between the limits it is the one that stays furthest
// from them (see corridor.line). Hosts are corrected to one another along a
// spanning tree of the pairs with the least error.
//
// All sources are read once, at the same time, and once more if messages are
// left that go backwards. Memory is a few points for each pair of hosts that
// exchange messages, and what messages are under way. If there is one host only,
// nothing is read. An error is one of reading.
func EstimateClocks(sources []profile.EventSource) (*Clocks, error) {
	hosts, hostOf := clockHosts(sources)
	c := &Clocks{Hosts: hosts}
	if len(hosts) <= 1 {
		return c, nil
	}
	base := sources[0].Trace().Start
	corridors := newCorridors()
	flights := &flights{sources, hostOf, base, halvesKept}
	var err error
	if c.Messages, c.Unpaired, err = flights.each(corridors.add); err != nil {
		return nil, err
	}
	lines := corridors.solve(hosts)
	for i := range hosts {
		hosts[i].Correction = lines[i].correction(base)
	}
	if corridors.worst(lines) >= 0 {
		return c, nil
	}
	_, _, err = flights.each(c.count(base))
	return c, err
}

// clockHosts is the hosts, and for each source which of them it is of.
func clockHosts(sources []profile.EventSource) ([]HostClock, []int32) {
	lowest := make(map[string]int)
	for _, src := range sources {
		t := src.Trace()
		if rank, known := lowest[t.Host]; !known || t.Rank < rank {
			lowest[t.Host] = t.Rank
		}
	}
	hosts := make([]HostClock, 0, len(lowest))
	for host, rank := range lowest {
		hosts = append(hosts, HostClock{Host: host, Rank: rank, Evidence: Reference, Reference: host})
	}
	sortHosts(hosts)
	index := make(map[string]int32, len(hosts))
	for i, h := range hosts {
		index[h.Host] = int32(i)
	}
	hostOf := make([]int32, len(sources))
	for i, src := range sources {
		hostOf[i] = index[src.Trace().Host]
	}
	return hosts, hostOf
}

// count takes messages and counts those that go backwards after correction, in
// whole ns, as whoever reads the corrected events sees them.
func (c *Clocks) count(base int64) func(flight) {
	return func(f flight) {
		sent := correctedTime(&c.Hosts[f.from].Correction, base+f.sent)
		got := correctedTime(&c.Hosts[f.to].Correction, base+f.received)
		if got < sent {
			c.Backwards++
			c.WorstNs = max(c.WorstNs, sent-got)
		}
	}
}

// Of is what corrects the clock of a host, nil if that is nothing.
func (c *Clocks) Of(host string) *profile.ClockCorrection {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Host == host && h.Evidence != Reference {
			return &h.Correction
		}
	}
	return nil
}

// Correct is the sources with their clocks corrected.
func (c *Clocks) Correct(sources []profile.EventSource) []profile.EventSource {
	of := make(map[string]*profile.ClockCorrection, len(c.Hosts))
	for _, h := range c.Hosts {
		of[h.Host] = c.Of(h.Host)
	}
	corrected := make([]profile.EventSource, len(sources))
	for i, src := range sources {
		corrected[i] = Correct(src, of[src.Trace().Host])
	}
	return corrected
}

// Correct is the events of a source by the corrected clock: starts and ends are
// moved, each to the ns that it then falls into, and durations are what is
// between them. It is the source itself if there is nothing to correct.
func Correct(src profile.EventSource, c *profile.ClockCorrection) profile.EventSource {
	if c == nil {
		return src
	}
	return &correctedSource{src: src, by: *c, trace: sync.OnceValue(func() *profile.Trace { return correctedTrace(src.Trace(), c) })}
}

type correctedSource struct {
	src   profile.EventSource
	by    profile.ClockCorrection
	trace func() *profile.Trace
}

// Trace implements profile.EventSource.
func (s *correctedSource) Trace() *profile.Trace { return s.trace() }

// Each implements profile.EventSource.
func (s *correctedSource) Each(f func(*profile.Events, []profile.EventKind) error) error {
	var start, duration []int64
	return s.src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		start, duration = start[:0], duration[:0]
		for i, t := range e.Start {
			began := correctedTime(&s.by, t)
			start = append(start, began)
			duration = append(duration, correctedTime(&s.by, t+e.Duration[i])-began)
		}
		corrected := *e
		corrected.Start, corrected.Duration = start, duration
		return f(&corrected, kinds)
	})
}

// correctedTrace has the times corrected that were reached.
func correctedTrace(t *profile.Trace, c *profile.ClockCorrection) *profile.Trace {
	corrected := *t
	for _, at := range []*int64{&corrected.Start, &corrected.InitEnd, &corrected.FinalizeStart, &corrected.End} {
		if *at != 0 {
			*at = correctedTime(c, *at)
		}
	}
	by := *c
	if t.Clock != nil {
		by = corrections(t.Clock, c)
	}
	corrected.Clock = &by
	return &corrected
}

// correctedTime rounds in a way that keeps the order of times, also of those of
// two clocks: what is to be added is rounded up from the half on, so that whole
// ns more give whole ns more.
func correctedTime(c *profile.ClockCorrection, t int64) int64 {
	return t + int64(math.Floor(c.Offset+c.Drift*float64(t-c.At)+0.5))
}

// corrections is two of them, one after the other: the second one is by the
// clock that the first one makes.
func corrections(first, second *profile.ClockCorrection) profile.ClockCorrection {
	between := clockLine{first.Offset, first.Drift}
	then := clockLine{second.Offset + second.Drift*float64(first.At-second.At), second.Drift}
	return between.then(then).correction(first.At)
}
