package profile

import (
	"math"
	"sync"
)

// JobClocks is how the clocks of a job's hosts differ, by its messages. Processes
// of one host have one clock.
type JobClocks struct {
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

// ClockEvidence is what a clock's correction rests on.
type ClockEvidence string

const (
	ClockReference ClockEvidence = "reference" // it is the clock that others are corrected to
	ClockBothWays  ClockEvidence = "both ways" // messages both ways: the error is known
	// ClockOneWay is messages one way only, on the way to the reference at least
	// once: the fastest of them is taken to take no time, as nothing tells how
	// much it took.
	ClockOneWay ClockEvidence = "one way"
)

// HostClock is the clock of a host.
type HostClock struct {
	Host     string        `json:"host"`
	Rank     int           `json:"rank"` // the lowest of the host
	Evidence ClockEvidence `json:"evidence"`
	// Reference is the host to whose clock this one is corrected: that of rank 0,
	// or the lowest rank that there is. Where no messages lead there it is the
	// host of the lowest rank that messages lead to, at last the host itself.
	Reference string `json:"reference"`
	// Via is the host by whose messages with this one it was corrected, and
	// Messages how many of them there are. Empty and 0 for a reference.
	Via      string `json:"via,omitempty"`
	Messages uint64 `json:"messages"`
	// Correction makes the clock that of the reference; zero for a reference.
	Correction ClockCorrection `json:"correction"`
	// ErrorNs is how far the offset may be off: half the margin that the messages
	// leave, on each way from host to host up to the reference. The fastest
	// messages of two hosts that take equally long both ways have none. It is 0
	// where Evidence is not ClockBothWays.
	ErrorNs float64 `json:"error_ns"`
}

// Of is what corrects the clock of a host, nil if that is nothing.
func (c *JobClocks) Of(host string) *ClockCorrection {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Host == host && h.Evidence != ClockReference {
			return &h.Correction
		}
	}
	return nil
}

// Correct is the sources with their clocks corrected.
func (c *JobClocks) Correct(sources []EventSource) []EventSource {
	of := make(map[string]*ClockCorrection, len(c.Hosts))
	for _, h := range c.Hosts {
		of[h.Host] = c.Of(h.Host)
	}
	corrected := make([]EventSource, len(sources))
	for i, src := range sources {
		corrected[i] = CorrectClock(src, of[src.Trace().Host])
	}
	return corrected
}

// CorrectClock returns the events of a source by the corrected clock: starts and ends are
// moved, each to the ns that it then falls into, and durations are what is
// between them. It is the source itself if there is nothing to correct.
func CorrectClock(src EventSource, c *ClockCorrection) EventSource {
	if c == nil {
		return src
	}
	return &correctedSource{src: src, by: *c, trace: sync.OnceValue(func() *Trace { return correctedTrace(src.Trace(), c) })}
}

type correctedSource struct {
	src   EventSource
	by    ClockCorrection
	trace func() *Trace
}

// Trace implements EventSource.
func (s *correctedSource) Trace() *Trace { return s.trace() }

// Each implements EventSource.
func (s *correctedSource) Each(f func(*Events, []EventKind) error) error {
	var start, duration []int64
	return s.src.Each(func(e *Events, kinds []EventKind) error {
		start, duration = start[:0], duration[:0]
		for i, t := range e.Start {
			began := s.by.Time(t)
			start = append(start, began)
			duration = append(duration, s.by.Time(t+e.Duration[i])-began)
		}
		corrected := *e
		corrected.Start, corrected.Duration = start, duration
		return f(&corrected, kinds)
	})
}

// correctedTrace has the times corrected that were reached.
func correctedTrace(t *Trace, c *ClockCorrection) *Trace {
	corrected := *t
	for _, at := range []*int64{&corrected.Start, &corrected.InitEnd, &corrected.FinalizeStart, &corrected.End} {
		if *at != 0 {
			*at = c.Time(*at)
		}
	}
	by := *c
	if t.Clock != nil {
		by = t.Clock.Then(c)
	}
	corrected.Clock = &by
	return &corrected
}

// Time returns the corrected time, rounded so that the order of times stays the
// same, also between two clocks: the amount to add is rounded up from the half
// on, so that times that differ by whole ns still do.
func (c *ClockCorrection) Time(t int64) int64 {
	return t + int64(math.Floor(c.Offset+c.Drift*float64(t-c.At)+0.5))
}

// Then returns the correction that applies c and then second, which is by the
// clock that c makes.
func (c *ClockCorrection) Then(second *ClockCorrection) ClockCorrection {
	offset := second.Offset + second.Drift*float64(c.At-second.At)
	return ClockCorrection{At: c.At, Offset: c.Offset + (offset + second.Drift*c.Offset), Drift: c.Drift + second.Drift + second.Drift*c.Drift}
}
