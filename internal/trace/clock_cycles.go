package trace

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// arc is the messages from a host to another. The receiver's clock can be set
// back by slack, compared with the sender's, before one of them goes backwards.
// slack is negative if one does.
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

// freedom returns how much earlier or later each host's clock can be set, while
// that of its reference stays, before a message goes backwards. It is infinity
// if nothing limits that. A path of arcs from the reference to a host limits how
// much earlier, a path back how much later: the limits of hosts on the way add up.
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

// shorten reduces distances, except those of references, until none is longer
// than that to another host and the arc from there (Bellman and Ford). If that
// never ends, because clocks contradict each other in a cycle, it stops after as
// many rounds as there are hosts.
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
