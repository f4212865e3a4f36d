package trace

import "github.com/mpitrace/mpitrace/profile"

// EstimateClocks computes from the messages between hosts how their clocks
// differ. A message that is sent at s by the sender's clock and received at r
// by the receiver's was not received before it was sent. So what is added to
// the receiver's clock at r is at least s - r. Messages in both directions give
// an upper and a lower limit. The correction is assumed to change linearly with
// time:
//
//	added(t) = Offset + Drift (t - At)
//
// Of all such lines between the limits, EstimateClocks uses the one that stays
// furthest from them (see corridor.line). Hosts are corrected to one another
// along a spanning tree of the pairs with the smallest error.
//
// It reads all sources once, concurrently, and a second time if messages that
// go backwards are left. Memory is a few points for each pair of hosts that
// exchange messages, and the messages under way. If there is only one host it
// reads nothing. It returns errors of reading only.
func EstimateClocks(sources []profile.EventSource) (*profile.JobClocks, error) {
	hosts, hostOf := clockHosts(sources)
	c := &profile.JobClocks{Hosts: hosts}
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
	_, _, err = flights.each(countBackwards(c, base))
	return c, err
}

// clockHosts returns the hosts, and the index of each source's host.
func clockHosts(sources []profile.EventSource) ([]profile.HostClock, []int32) {
	lowest := make(map[string]int)
	for _, src := range sources {
		t := src.Trace()
		if rank, known := lowest[t.Host]; !known || t.Rank < rank {
			lowest[t.Host] = t.Rank
		}
	}
	hosts := make([]profile.HostClock, 0, len(lowest))
	for host, rank := range lowest {
		hosts = append(hosts, profile.HostClock{Host: host, Rank: rank, Evidence: profile.ClockReference, Reference: host})
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

// countBackwards returns a function that counts the messages which go backwards
// after the correction, in whole ns, as readers of the corrected events see
// them.
func countBackwards(c *profile.JobClocks, base int64) func(flight) {
	return func(f flight) {
		sent := c.Hosts[f.from].Correction.Time(base + f.sent)
		got := c.Hosts[f.to].Correction.Time(base + f.received)
		if got < sent {
			c.Backwards++
			c.WorstNs = max(c.WorstNs, sent-got)
		}
	}
}
