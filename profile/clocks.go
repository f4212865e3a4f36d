package profile

import (
	"math"
	"sync"
)

// JobClocks says how much the clocks of a job's hosts differ, as its messages
// show. The processes of one host share one clock.
type JobClocks struct {
	// Hosts are sorted by their lowest rank.
	Hosts []HostClock `json:"hosts"`
	// Messages counts the messages between hosts that were seen sent and
	// received. It is 0 if there is only one host.
	Messages uint64 `json:"messages"`
	// Unpaired counts messages of which only one half was seen, or whose halves
	// are too far apart. They are not used.
	Unpaired uint64 `json:"unpaired"`
	// Backwards counts messages that arrive before they were sent even after
	// the correction. WorstNs is the largest such difference. There are none if
	// all clocks run at constant rates, whatever their errors.
	Backwards uint64 `json:"backwards"`
	WorstNs   int64  `json:"worst_ns"`
}

// ClockEvidence is the basis of a clock's correction.
type ClockEvidence string

const (
	ClockReference ClockEvidence = "reference" // other clocks are corrected to this one
	ClockBothWays  ClockEvidence = "both ways" // messages in both directions: the error is known
	// ClockOneWay is messages in only one direction on at least one step to the
	// reference. The fastest of them is assumed to take no time, because its
	// duration cannot be known.
	ClockOneWay ClockEvidence = "one way"
)

// HostClock is the clock of a host.
type HostClock struct {
	Host     string        `json:"host"`
	Rank     int           `json:"rank"` // lowest rank on the host
	Evidence ClockEvidence `json:"evidence"`
	// Reference is the host to whose clock this one is corrected: the host of
	// the lowest rank of those that messages connect with this host, usually of
	// rank 0.
	Reference string `json:"reference"`
	// Via is the host whose messages with this one gave the correction, and
	// Messages their number. They are empty and 0 for a reference.
	Via      string `json:"via,omitempty"`
	Messages uint64 `json:"messages"`
	// Correction converts this clock to that of the reference; it is zero for a
	// reference.
	Correction ClockCorrection `json:"correction"`
	// ErrorNs is the largest possible error of the offset: half the margin that
	// the messages leave, summed over the steps to the reference. It approaches
	// 0 if the fastest messages take equally long in both directions. It is 0
	// if Evidence is not ClockBothWays.
	ErrorNs float64 `json:"error_ns"`
}

// Of returns the correction of a host's clock, or nil if there is none.
func (c *JobClocks) Of(host string) *ClockCorrection {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Host == host && h.Evidence != ClockReference {
			return &h.Correction
		}
	}
	return nil
}

// Correct returns the sources with corrected clocks.
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

// CorrectClock returns a source whose events have corrected times. Starts and
// ends are corrected and rounded to ns; durations are their differences. It
// returns src itself if there is nothing to correct.
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

// correctedTrace returns t with corrected times. Times that are 0 (not reached)
// stay 0.
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

// Time returns the corrected time. It rounds so that the order of times is
// kept, also between two clocks: the correction is rounded half up, so that
// times that differ by whole ns still do.
func (c *ClockCorrection) Time(t int64) int64 {
	return t + int64(math.Floor(c.Offset+c.Drift*float64(t-c.At)+0.5))
}

// Then combines two corrections into one. second applies to the clock that c
// gives.
func (c *ClockCorrection) Then(second *ClockCorrection) ClockCorrection {
	offset := second.Offset + second.Drift*float64(c.At-second.At)
	return ClockCorrection{At: c.At, Offset: c.Offset + (offset + second.Drift*c.Offset), Drift: c.Drift + second.Drift + second.Drift*c.Drift}
}
