package trace

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// EstimateClocks computes from the messages and collectives between hosts how
// their clocks differ. A message that is sent at s by the sender's clock and
// received at r by the receiver's was not received before it was sent. So what
// is added to the receiver's clock at r, less what is added to the sender's at s,
// is at least s - r. A collective limits clocks in the same way.
//
// If no message goes backwards, all clocks are left as they are. Otherwise a
// correction that changes linearly with time is added to a clock:
//
//	added(t) = Offset + Drift (t - At)
//
// Messages in both directions give an upper and a lower limit of it. Of all such
// lines between the limits, EstimateClocks uses the one that stays furthest from
// them (see corridor.line). Hosts are corrected to one another along a spanning
// tree of the pairs with the smallest error. Where there is only one limit, a
// clock gets no drift, and is moved no more than necessary.
//
// Processes with the same Trace.ClockID have one clock. EstimateClocks reads all
// sources once, concurrently, and a second time if messages that go backwards
// are left. Memory is a few points for each pair of hosts that exchange messages,
// and the messages under way. If there is only one clock it reads nothing. It
// returns errors of reading only.
func EstimateClocks(sources []profile.EventSource) (*profile.JobClocks, error) {
	hosts, hostOf := clockHosts(sources)
	c := &profile.JobClocks{Hosts: hosts}
	if len(hosts) <= 1 {
		return c, nil
	}
	base := sources[0].Trace().Start
	corridors := newCorridors()
	flights := &flights{sources, hostOf, base, halvesKept}
	found, err := flights.each(corridors.add)
	if err != nil {
		return nil, err
	}
	c.Messages, c.Collectives, c.Unpaired = found.messages, found.collectives, found.alone
	lines := corridors.solve(hosts)
	for i := range hosts {
		hosts[i].Correction = lines[i].correction(base)
	}
	if corridors.worst(lines) >= 0 {
		return c, nil
	}
	_, err = flights.each(countBackwards(c, base))
	return c, err
}

// clockHosts returns the clocks, and the index of each source's clock. A clock
// is named by the host of its lowest rank.
func clockHosts(sources []profile.EventSource) ([]profile.HostClock, []int32) {
	byRank := slices.Clone(sources)
	slices.SortStableFunc(byRank, func(a, b profile.EventSource) int { return a.Trace().Rank - b.Trace().Rank })
	var hosts []profile.HostClock
	index := make(map[string]int32)
	for _, src := range byRank {
		t := src.Trace()
		i, known := index[clockKey(t)]
		if !known {
			i = int32(len(hosts))
			index[clockKey(t)] = i
			hosts = append(hosts, profile.HostClock{Host: t.Host, ClockID: t.ClockID, Rank: t.Rank, Evidence: profile.ClockReference, Reference: t.Host})
		}
		if h := &hosts[i]; t.Host != h.Host && !slices.Contains(h.SharedBy, t.Host) {
			h.SharedBy = append(h.SharedBy, t.Host)
		}
	}
	hostOf := make([]int32, len(sources))
	for i, src := range sources {
		hostOf[i] = index[clockKey(src.Trace())]
	}
	return hosts, hostOf
}

// clockKey identifies the clock of a process.
func clockKey(t *profile.Trace) string {
	if t.ClockID != "" {
		return "clock " + t.ClockID
	}
	return "host " + t.Host
}

// countBackwards returns a function that counts messages and collectives that go backwards after
// the correction, in whole ns, as readers of the corrected events see them.
func countBackwards(c *profile.JobClocks, base int64) func(flight) {
	return func(f flight) {
		sent := c.Hosts[f.from].Correction.Time(base + f.sent)
		got := c.Hosts[f.to].Correction.Time(base + f.received)
		switch {
		case got >= sent:
			return
		case f.collective:
			c.LeftEarly++
		default:
			c.Backwards++
		}
		c.WorstNs = max(c.WorstNs, sent-got)
	}
}
