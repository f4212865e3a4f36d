package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// hostPair is two hosts, the one with the lower rank first.
type hostPair struct{ first, second int32 }

// corridors holds, for each pair of hosts that exchanged messages, the limits
// of the correction that converts the second host's clock to the first's. A
// message to the second, sent at s and received at r, shows that the correction
// at r is at least s - r. A message from the second shows that it is at most r
// - s at s.
type corridors struct {
	of    map[hostPair]*corridor
	pairs []hostPair // sorted, once everything is added
}

func newCorridors() *corridors { return &corridors{of: make(map[hostPair]*corridor)} }

func sortHosts(hosts []profile.HostClock) {
	slices.SortFunc(hosts, func(a, b profile.HostClock) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Host, b.Host))
	})
}

func (c *corridors) add(f flight) {
	pair := hostPair{min(f.from, f.to), max(f.from, f.to)}
	between := c.of[pair]
	if between == nil {
		between = &corridor{}
		c.of[pair] = between
	}
	apart := float64(f.sent - f.received)
	if f.to == pair.second {
		between.floor.add(clockPoint{float64(f.received), apart})
	} else {
		between.ceiling.add(clockPoint{float64(f.sent), apart})
	}
}

// clockEdge is a pair of hosts and the correction between them.
type clockEdge struct {
	hostPair
	line   clockLine
	margin float64
	ways   int    // number of directions with messages, 1 or 2
	n      uint64 // number of messages
}

// edges returns all pairs, those with the smallest error first, and those with
// messages in only one direction last.
func (c *corridors) edges() []clockEdge {
	var edges []clockEdge
	for pair, between := range c.of {
		line, margin := between.line()
		e := clockEdge{pair, line, math.Abs(margin), 2, between.floor.n + between.ceiling.n}
		if between.floor.n == 0 || between.ceiling.n == 0 {
			e.ways = 1
		}
		edges = append(edges, e)
		c.pairs = append(c.pairs, pair)
	}
	slices.SortFunc(edges, func(a, b clockEdge) int {
		return cmp.Or(cmp.Compare(b.ways, a.ways), cmp.Compare(a.margin, b.margin), comparePairs(a.hostPair, b.hostPair))
	})
	slices.SortFunc(c.pairs, comparePairs)
	return edges
}

func comparePairs(a, b hostPair) int {
	return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
}

// solve corrects each host to the lowest one that messages connect it with,
// over the pairs with the smallest error (Kruskal's spanning tree), and sets
// the evidence. Errors add up along the tree, so messages between hosts that
// are not adjacent in the tree may still go backwards; then settle moves hosts.
func (c *corridors) solve(hosts []profile.HostClock) []clockLine {
	next := make([][]clockEdge, len(hosts)) // edges of the tree, by host
	group := make([]int32, len(hosts))
	for i := range group {
		group[i] = int32(i)
	}
	for _, e := range c.edges() {
		first, second := groupOf(group, e.first), groupOf(group, e.second)
		if first != second {
			group[max(first, second)] = min(first, second)
			next[e.first] = append(next[e.first], e)
			next[e.second] = append(next[e.second], e)
		}
	}
	lines := make([]clockLine, len(hosts))
	for i := range hosts {
		if groupOf(group, int32(i)) == int32(i) {
			correctFrom(int32(i), hosts, next, lines)
		}
	}
	c.settle(hosts, lines)
	return lines
}

// groupOf returns the lowest of the hosts that are connected with this one so
// far.
func groupOf(group []int32, host int32) int32 {
	for group[host] != host {
		group[host] = group[group[host]]
		host = group[host]
	}
	return host
}

// correctFrom computes the corrections along the tree, starting at a reference.
func correctFrom(reference int32, hosts []profile.HostClock, next [][]clockEdge, lines []clockLine) {
	reached := []int32{reference}
	for i := 0; i < len(reached); i++ {
		via := reached[i]
		for _, e := range next[via] {
			host, line := e.second, e.line
			if host == via {
				host, line = e.first, e.line.back()
			}
			h := &hosts[host]
			if host == reference || h.Via != "" {
				continue
			}
			lines[host] = line.then(lines[via])
			h.Via, h.Messages, h.Reference = hosts[via].Host, e.n, hosts[reference].Host
			h.Evidence, h.ErrorNs = profile.ClockBothWays, hosts[via].ErrorNs+e.margin
			if e.ways == 1 || hosts[via].Evidence == profile.ClockOneWay {
				h.Evidence, h.ErrorNs = profile.ClockOneWay, 0
			}
			reached = append(reached, host)
		}
	}
}

// settle moves one host after the other to the middle of the limits that the
// others leave it, until no message goes backwards. If clocks run at varying
// rates this may be impossible: after some rounds it keeps the best result.
func (c *corridors) settle(hosts []profile.HostClock, lines []clockLine) {
	const most = 100
	best, worst := slices.Clone(lines), c.worst(lines)
	for range most {
		if worst >= 0 {
			break
		}
		for i := range hosts {
			if hosts[i].Evidence != profile.ClockReference {
				lines[i] = c.between(int32(i), lines)
			}
		}
		if now := c.worst(lines); now > worst {
			best, worst = slices.Clone(lines), now
		}
	}
	copy(lines, best)
}

// between returns the best line of a host if all others stay as they are. It
// converts the limits of pairs to limits of the host in the others' corrected
// time. The conversion maps lines to lines, so corners stay corners.
func (c *corridors) between(host int32, lines []clockLine) clockLine {
	var all corridor
	for _, pair := range c.pairs {
		toSecond, toFirst := c.of[pair].floor.points, c.of[pair].ceiling.points
		switch host {
		case pair.second: // it receives the first host's messages at x, sent at x + y
			l := lines[pair.first]
			for _, p := range toSecond {
				all.floor.add(clockPoint{p.x, p.y + l.at(p.x+p.y)})
			}
			for _, p := range toFirst { // it sends messages at x, which arrive at x - y
				all.ceiling.add(clockPoint{p.x, p.y - l.at(p.x-p.y)})
			}
		case pair.first: // the same, from the other side
			l := lines[pair.second]
			for _, p := range toSecond {
				all.ceiling.add(clockPoint{p.x + p.y, p.y - l.at(p.x)})
			}
			for _, p := range toFirst {
				all.floor.add(clockPoint{p.x - p.y, p.y + l.at(p.x)})
			}
		}
	}
	line, _ := all.line()
	return line
}

// worst returns the shortest time that a message takes by the corrected clocks,
// in ns. It is negative if a message goes backwards. The minimum is at a
// corner, because the time is linear in x and y.
func (c *corridors) worst(lines []clockLine) float64 {
	worst := math.Inf(1)
	for pair, between := range c.of {
		first, second := lines[pair.first], lines[pair.second]
		for _, p := range between.floor.points { // sent at x + y, received at x
			worst = min(worst, second.at(p.x)-p.y-first.at(p.x+p.y))
		}
		for _, p := range between.ceiling.points { // sent at x, received at x - y
			worst = min(worst, -p.y+first.at(p.x-p.y)-second.at(p.x))
		}
	}
	return worst
}
