package profile

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

// JobClocks says how much the clocks of a job's hosts differ, as its messages
// and collectives show.
type JobClocks struct {
	// Hosts has one element for each clock, sorted by the lowest rank.
	Hosts []HostClock `json:"hosts"`
	// Messages counts the messages between clocks that were seen sent and
	// received. It is 0 if there is only one clock.
	Messages uint64 `json:"messages"`
	// Collectives counts the collectives between clocks that were used.
	Collectives uint64 `json:"collectives"`
	// Unpaired counts messages of which only one half was seen, or whose halves
	// are too far apart. They are not used.
	Unpaired uint64 `json:"unpaired"`
	// Backwards counts messages that arrive before they were sent even after the correction.
	// LeftEarly counts pairs of hosts in collectives: the first still leaves before the second
	// enters. WorstNs is the largest such difference. All three are 0 if all clocks run at constant
	// rates, whatever their errors.
	Backwards uint64 `json:"backwards"`
	LeftEarly uint64 `json:"left_early"`
	WorstNs   int64  `json:"worst_ns"`
}

// ClockEvidence is the basis of a clock's correction.
type ClockEvidence string

const (
	ClockReference ClockEvidence = "reference" // other clocks are compared with this one
	// ClockBothWays is messages and collectives that limit the clock in both
	// directions, directly or by way of other hosts: the error is known.
	ClockBothWays ClockEvidence = "both ways"
	// ClockOneWay is a limit in only one direction: the error is not known.
	ClockOneWay ClockEvidence = "one way"
)

// HostClock is the clock of a host.
type HostClock struct {
	Host string `json:"host"` // the host of the lowest rank, if several share the clock
	// ClockID is Trace.ClockID, and SharedBy the other hosts that share the
	// clock.
	ClockID  string        `json:"clock_id,omitempty"`
	SharedBy []string      `json:"shared_by,omitempty"`
	Rank     int           `json:"rank"` // lowest rank that uses the clock
	Evidence ClockEvidence `json:"evidence"`
	// Reference is the host with whose clock this one is compared: the host of
	// the lowest rank of those that messages and collectives connect with this
	// host, usually of rank 0.
	Reference string `json:"reference"`
	// Via is the next host on the way to the reference, and Messages the number
	// of messages between the two hosts: 0 if only collectives connect them. They
	// are empty and 0 for a reference.
	Via      string `json:"via,omitempty"`
	Messages uint64 `json:"messages"`
	// Correction converts this clock to that of the reference. It is zero for a
	// reference, and for a clock with which no message goes backwards.
	Correction ClockCorrection `json:"correction"`
	// ErrorNs is the largest possible error of the corrected clock: how far it
	// can be moved before a message goes backwards. It is 0 if Evidence is not
	// ClockBothWays.
	ErrorNs float64 `json:"error_ns"`
}

// Of returns the correction of a process's clock, or nil if there is none.
func (c *JobClocks) Of(t *Trace) *ClockCorrection {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.ClockID == t.ClockID && (h.ClockID != "" || h.Host == t.Host) {
			if h.Correction.Offset == 0 && h.Correction.Drift == 0 {
				return nil
			}
			return &h.Correction
		}
	}
	return nil
}

// maxHostsNamed is how many hosts a sentence of Lines names.
const maxHostsNamed = 3

// Lines says how far clocks were moved, and how well they agree.
func (c *JobClocks) Lines() []string {
	var largest, uncertainty float64
	var moved, known int
	var oneWay, apart []string
	for _, h := range c.Hosts {
		if h.Correction.Offset != 0 || h.Correction.Drift != 0 {
			moved++
			largest = max(largest, math.Abs(h.Correction.Offset))
		}
		switch {
		case h.Evidence == ClockBothWays:
			known++
			uncertainty = max(uncertainty, h.ErrorNs)
		case h.Evidence == ClockOneWay:
			oneWay = append(oneWay, h.Host)
		case h.Rank != c.Hosts[0].Rank:
			apart = append(apart, h.Host)
		}
	}
	line := fmt.Sprintf("clocks of %d hosts were not moved: no message arrives before it was sent", len(c.Hosts))
	switch {
	case moved > 0:
		line = fmt.Sprintf("clocks of %d of %d hosts were moved by up to %v", moved, len(c.Hosts), time.Duration(largest).Round(time.Microsecond))
	case known+len(oneWay) == 0:
		return []string{fmt.Sprintf("clocks of %d hosts were not compared: no message or collective connects them", len(c.Hosts))}
	}
	if known > 0 {
		line += fmt.Sprintf("; they agree within %v", roundedError(uncertainty))
	}
	lines := []string{line}
	if len(oneWay) > 0 {
		lines = append(lines, fmt.Sprintf("how well the clock of %s agrees with the others is not known: messages go one way only", someOf(oneWay)))
	}
	if len(apart) > 0 {
		lines = append(lines, fmt.Sprintf("the clock of %s was not compared with that of %s: no message or collective connects them", someOf(apart), c.Hosts[0].Host))
	}
	if c.Backwards+c.LeftEarly > 0 {
		lines = append(lines, fmt.Sprintf("clocks contradict each other by up to %v: messages that arrive before they were sent: %d; hosts that leave a collective before another enters: %d",
			time.Duration(c.WorstNs), c.Backwards, c.LeftEarly))
	}
	return lines
}

// roundedError returns an error with the digits that matter.
func roundedError(ns float64) time.Duration {
	if d := time.Duration(ns); d < time.Millisecond {
		return d.Round(10 * time.Nanosecond)
	}
	return time.Duration(ns).Round(10 * time.Microsecond)
}

// someOf names the first of some hosts.
func someOf(hosts []string) string {
	if n := len(hosts) - maxHostsNamed; n > 1 {
		return fmt.Sprintf("%s and %d others", strings.Join(hosts[:maxHostsNamed], ", "), n)
	}
	return strings.Join(hosts, ", ")
}

// Correct returns the sources with corrected clocks.
func (c *JobClocks) Correct(sources []EventSource) []EventSource {
	corrected := make([]EventSource, len(sources))
	for i, src := range sources {
		corrected[i] = CorrectClock(src, c.Of(src.Trace()))
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

// Time returns the corrected time. The correction is rounded half up to whole ns. So the order of
// times is kept, also between two clocks, and times that differ by whole ns still do.
func (c *ClockCorrection) Time(t int64) int64 {
	return t + int64(math.Floor(c.Offset+c.Drift*float64(t-c.At)+0.5))
}

// Then combines two corrections into one. second applies to the clock that c
// gives.
func (c *ClockCorrection) Then(second *ClockCorrection) ClockCorrection {
	offset := second.Offset + second.Drift*float64(c.At-second.At)
	return ClockCorrection{At: c.At, Offset: c.Offset + (offset + second.Drift*c.Offset), Drift: c.Drift + second.Drift + second.Drift*c.Drift}
}
