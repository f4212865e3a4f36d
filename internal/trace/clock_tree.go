package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// hostPair is two hosts, the one with the lower rank first.
type hostPair struct{ first, second int32 }

// corridors holds, for each pair of hosts that exchanged messages or took part
// in a collective, the limits of the correction that converts the second host's
// clock to the first's. A message to the second, sent at s and received at r,
// shows that the correction at r is at least s - r. A message from the second
// shows that it is at most r - s at s.
type corridors struct {
	of    map[hostPair]*corridor
	pairs []hostPair // sorted, once everything is added
}

func newCorridors() *corridors { return &corridors{of: make(map[hostPair]*corridor)} }

func (c *corridors) add(f flight) {
	pair := hostPair{min(f.from, f.to), max(f.from, f.to)}
	between := c.of[pair]
	if between == nil {
		between = &corridor{}
		c.of[pair] = between
	}
	if !f.collective {
		between.messages++
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
	line     clockLine // if there are both limits
	wrong    float64   // its largest error
	ways     int       // number of directions that are limited, 1 or 2
	messages uint64    // number of messages
}

// edges returns all pairs, those with the smallest error first, and those with
// only one limit last.
func (c *corridors) edges() []clockEdge {
	var edges []clockEdge
	for pair, between := range c.of {
		e := clockEdge{hostPair: pair, ways: 1, messages: between.messages}
		if between.floor.n > 0 && between.ceiling.n > 0 {
			e.ways = 2
			e.line, e.wrong = between.correction()
		}
		edges = append(edges, e)
		c.pairs = append(c.pairs, pair)
	}
	slices.SortFunc(edges, func(a, b clockEdge) int {
		return cmp.Or(cmp.Compare(b.ways, a.ways), cmp.Compare(a.wrong, b.wrong), comparePairs(a.hostPair, b.hostPair))
	})
	slices.SortFunc(c.pairs, comparePairs)
	return edges
}

func comparePairs(a, b hostPair) int {
	return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
}

// solve returns the corrections, and sets the evidence. It compares each host with the lowest host
// to which limits connect it, over the pairs with the smallest error (Kruskal's spanning tree). If
// a message goes backwards, it corrects the hosts along the tree, as far as there are limits in
// both directions. Hosts that are connected in this way are a block; place moves the blocks. Errors
// add up along the tree, so messages between hosts that are not adjacent in the tree may still go
// backwards; then settle moves hosts.
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
	own, lines, block := make([]clockLine, len(hosts)), make([]clockLine, len(hosts)), make([]int32, len(hosts))
	for i := range hosts {
		if groupOf(group, int32(i)) == int32(i) {
			correctFrom(int32(i), hosts, next, lines, block)
		}
	}
	if c.worst(own) >= 0 {
		lines = own
	} else {
		c.place(hosts, block, lines)
		c.settle(hosts, lines)
	}
	c.rate(hosts, lines)
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
// A host that is reached over a pair with one limit begins a block, and keeps its
// own clock.
func correctFrom(reference int32, hosts []profile.HostClock, next [][]clockEdge, lines []clockLine, block []int32) {
	reached := []int32{reference}
	block[reference] = reference
	for i := 0; i < len(reached); i++ {
		via := reached[i]
		for _, e := range next[via] {
			host, line := e.second, e.line
			if host == via {
				host, line = e.first, e.line.back()
			}
			h := &hosts[host]
			if host == reference || h.Evidence != profile.ClockReference { // reached before
				continue
			}
			block[host] = host
			if e.ways == 2 {
				block[host], lines[host] = block[via], line.then(lines[via])
			}
			h.Via, h.Messages, h.Reference, h.Evidence = hosts[via].Host, e.messages, hosts[reference].Host, profile.ClockOneWay
			reached = append(reached, host)
		}
	}
}

// place moves blocks so that no message between blocks goes backwards. A cycle
// of messages over several blocks limits them in both directions.
func (c *corridors) place(hosts []profile.HostClock, block []int32, lines []clockLine) {
	arcs := c.arcs(lines)
	for i := range arcs {
		arcs[i].from, arcs[i].to = block[arcs[i].from], block[arcs[i].to]
	}
	arcs = slices.DeleteFunc(arcs, func(a arc) bool { return a.from == a.to })
	earlier, later := freedom(hosts, arcs)
	moved := make([]float64, len(hosts)) // how much earlier a block becomes
	for i := range hosts {
		moved[i] = -aim(-earlier[i], later[i])
	}
	shorten(moved, arcs, hosts)
	for i := range hosts {
		lines[i] = lines[i].then(clockLine{-moved[block[i]], 0})
	}
}

// rate sets the error of each host. It is known if cycles of messages limit the
// host's clock in both directions.
func (c *corridors) rate(hosts []profile.HostClock, lines []clockLine) {
	arcs := c.arcs(lines)
	for i := range arcs {
		arcs[i].slack = math.Abs(arcs[i].slack)
	}
	earlier, later := freedom(hosts, arcs)
	for i := range hosts {
		wrong := max(earlier[i], later[i])
		if h := &hosts[i]; h.Evidence == profile.ClockOneWay && !math.IsInf(wrong, 1) {
			h.Evidence, h.ErrorNs = profile.ClockBothWays, wrong
		}
	}
}

// settle moves the hosts whose messages go backwards, one after the other, to
// the middle of the limits that the others leave them, until no message goes
// backwards. If clocks run at varying rates this may be impossible: after some
// rounds it keeps the best result.
func (c *corridors) settle(hosts []profile.HostClock, lines []clockLine) {
	const most = 100
	best, worst := slices.Clone(lines), c.worst(lines)
	for range most {
		if worst >= 0 {
			break
		}
		for i := range hosts {
			if hosts[i].Evidence != profile.ClockReference && c.worstOf(int32(i), lines) < 0 {
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
		case pair.second: // the host receives the first host's messages at x, sent at x + y
			l := lines[pair.first]
			for _, p := range toSecond {
				all.floor.add(clockPoint{p.x, p.y + l.at(p.x+p.y)})
			}
			for _, p := range toFirst { // the host sends messages at x, which arrive at x - y
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
	if all.floor.n == 0 || all.ceiling.n == 0 {
		return all.nudged(lines[host])
	}
	line, _ := all.line()
	return line
}

// worst returns the shortest time that a message takes by the corrected clocks,
// in ns. It is negative if a message goes backwards.
func (c *corridors) worst(lines []clockLine) float64 {
	worst := math.Inf(1)
	for pair, between := range c.of {
		toSecond, toFirst := between.fastest(lines[pair.first], lines[pair.second])
		worst = min(worst, toSecond, toFirst)
	}
	return worst
}

// worstOf is worst for the messages of one host.
func (c *corridors) worstOf(host int32, lines []clockLine) float64 {
	worst := math.Inf(1)
	for _, pair := range c.pairs {
		if pair.first == host || pair.second == host {
			toSecond, toFirst := c.of[pair].fastest(lines[pair.first], lines[pair.second])
			worst = min(worst, toSecond, toFirst)
		}
	}
	return worst
}

// fastest returns the shortest time that a message takes by the corrected
// clocks, to either host, in ns; infinity if there is none. The minimum is at a
// corner, because the time is linear in x and y.
func (c *corridor) fastest(first, second clockLine) (toSecond, toFirst float64) {
	toSecond, toFirst = math.Inf(1), math.Inf(1)
	for _, p := range c.floor.points { // sent at x + y, received at x
		toSecond = min(toSecond, second.at(p.x)-p.y-first.at(p.x+p.y))
	}
	for _, p := range c.ceiling.points { // sent at x, received at x - y
		toFirst = min(toFirst, -p.y+first.at(p.x-p.y)-second.at(p.x))
	}
	return toSecond, toFirst
}

// arc is the messages from one host to another. slack is by how much the receiver's clock can be
// set back, compared with the sender's, before one of the messages goes backwards. It is negative
// if one goes backwards already.
type arc struct {
	from, to int32
	slack    float64 // ns
}

// arcs returns the arcs of all pairs, with these corrections.
func (c *corridors) arcs(lines []clockLine) []arc {
	var arcs []arc
	for _, pair := range c.pairs {
		toSecond, toFirst := c.of[pair].fastest(lines[pair.first], lines[pair.second])
		for _, a := range []arc{{pair.first, pair.second, toSecond}, {pair.second, pair.first, toFirst}} {
			if !math.IsInf(a.slack, 1) {
				arcs = append(arcs, a)
			}
		}
	}
	return arcs
}

// freedom returns how much earlier or later each host's clock can be set before a message goes
// backwards, while the clock of its reference stays. A result is infinite if there is no limit. A
// path of arcs from the reference to a host limits how much earlier, and a path back limits how
// much later: the limits along the path add up.
func freedom(hosts []profile.HostClock, arcs []arc) (earlier, later []float64) {
	earlier, later = make([]float64, len(hosts)), make([]float64, len(hosts))
	for i, h := range hosts {
		if h.Evidence != profile.ClockReference {
			earlier[i], later[i] = math.Inf(1), math.Inf(1)
		}
	}
	back := make([]arc, len(arcs))
	for i, a := range arcs {
		back[i] = arc{a.to, a.from, a.slack}
	}
	shorten(earlier, arcs, hosts)
	shorten(later, back, hosts)
	return earlier, later
}

// shorten reduces distances, except those of references, until no distance is longer than the
// distance to another host plus the arc from there (Bellman and Ford). If clocks contradict each
// other in a cycle, this would never end, so it stops after as many rounds as there are hosts.
func shorten(distance []float64, arcs []arc, hosts []profile.HostClock) {
	for range distance {
		changed := false
		for _, a := range arcs {
			if d := distance[a.from] + a.slack; d < distance[a.to] && hosts[a.to].Evidence != profile.ClockReference {
				distance[a.to], changed = d, true
			}
		}
		if !changed {
			return
		}
	}
}
