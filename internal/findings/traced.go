package findings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// waitGroup holds the waits that one finding is about.
type waitGroup struct {
	seconds float64 // summed over ranks and threads
	share   float64 // of the time of all ranks
	count   uint64
	longest *trace.WaitState
	ranks   map[int]bool
	peers   map[int]float64 // seconds by the rank that was waited for
}

// longestWaits groups the waits of some patterns by a key, and returns the group with
// the longest time; nil if there are none.
func longestWaits[K comparable](j *facts, is func(trace.Pattern) bool, key func(*trace.WaitState) K) *waitGroup {
	groups := map[K]*waitGroup{}
	var found *waitGroup
	for i := range j.trace.WaitStates { // the longest first
		w := &j.trace.WaitStates[i]
		if !is(w.Pattern) {
			continue
		}
		g := groups[key(w)]
		if g == nil {
			g = &waitGroup{longest: w, ranks: map[int]bool{}, peers: map[int]float64{}}
			groups[key(w)] = g
		}
		g.seconds += w.Time
		g.share += w.Share
		g.count += w.Count
		g.ranks[w.Rank] = true
		g.peers[w.Peer] += w.Time
		if found == nil || g.seconds > found.seconds {
			found = g
		}
	}
	return found
}

// wait returns which ranks wait, as the start of a sentence.
func (g *waitGroup) wait() string {
	verb := "wait"
	if len(g.ranks) == 1 {
		verb = "waits"
	}
	return sentence(profile.RankSetOf(slices.Sorted(maps.Keys(g.ranks))...)) + " " + verb
}

// peer returns the rank that was waited for longest.
func (g *waitGroup) peer() int {
	best := -1
	for _, rank := range slices.Sorted(maps.Keys(g.peers)) {
		if best < 0 || g.peers[rank] > g.peers[best] {
			best = rank
		}
	}
	return best
}

// of returns a finding about waits.
func (g *waitGroup) of(j *facts) *Finding {
	w := g.longest
	return &Finding{Share: g.share, Call: w.Call, Callsite: w.Callsite, SavesS: g.share * j.trace.Runtime}
}

// collectiveWaits holds if ranks wait long, at one call site of a collective, for the last rank to
// enter, and it is not known why that rank is late.
func collectiveWaits(j *facts) *Finding {
	if j.trace == nil {
		return nil // without a trace it is not known who comes last: see timeInMPI
	}
	type where struct{ call, site, comm string }
	g := longestWaits(j, func(p trace.Pattern) bool {
		return p >= trace.WaitAtBarrier && p <= trace.LateNeighbor
	}, func(w *trace.WaitState) where { return where{w.Call, w.Callsite, w.Communicator} })
	if g == nil || g.share < collectiveLeast || j.explainedWaits(g.longest) >= mostlyKnown*g.seconds {
		return nil
	}
	f, last := g.of(j), g.peer()
	site := place(f.Call, f.Callsite)
	f.Text = fmt.Sprintf("Ranks wait %s in %s on %s", seconds(g.seconds), site, g.longest.Communicator)
	if g.peers[last] <= g.seconds/2 {
		f.Text += fmt.Sprintf(" for %s, which come last in turn.", text.CountOf(len(g.peers), "rank"))
		f.Cause = "for ranks that come last in turn, in " + site
		f.Try = "See what differs from step to step before this call, or make the call less often."
		return f
	}
	f.Ranks = profile.RankSetOf(last)
	f.Text += fmt.Sprintf(", mostly for rank %d, which comes last.", last)
	f.Cause = fmt.Sprintf("mostly for rank %d, in %s", last, site)
	f.Try = tryCollective(f.Call, last)
	return f
}

const (
	// a message of up to so many times the limit may become eager by raising the limit
	nearLimit   = 4
	mostlyUnder = 0.8 // of the messages
)

// raisable returns the eager limit that most messages of a call site exceed by little, and the mean
// size of these messages in bytes. The limit is nil if there is none, or if several paths have limits.
func raisable(j *facts, callsite string) (limit *trace.ObservedEagerLimit, mean uint64) {
	if len(j.trace.EagerLimits) != 1 || j.trace.EagerLimits[0].Variable == "" {
		return nil, 0
	}
	limit = &j.trace.EagerLimits[0]
	i := slices.IndexFunc(j.CallSites, func(c aggregate.CallSite) bool {
		return c.Sent.Messages > 0 && c.String() == callsite
	})
	if i < 0 {
		return nil, 0
	}
	under, above := uint64(0), false
	for _, n := range j.CallSites[i].Sizes {
		above = above || n.Messages > 0 && n.Most > limit.Bytes
		if n.Most <= nearLimit*limit.Bytes {
			under += n.Messages
		}
	}
	if !above || float64(under) < mostlyUnder*float64(j.CallSites[i].Sent.Messages) {
		return nil, 0
	}
	return limit, j.CallSites[i].Sent.Bytes / j.CallSites[i].Sent.Messages
}

// explainedWaits returns the time of waits in a call, s, of which the cause is known.
func (j *facts) explainedWaits(w *trace.WaitState) (s float64) {
	for i := range j.trace.Causes {
		c := &j.trace.Causes[i]
		for _, seen := range c.Seen {
			if c.Class != causes.Unknown && seen.Call == w.Call && seen.Callsite == w.Callsite {
				s += float64(seen.CostNs) / 1e9
			}
		}
	}
	return s
}

// collectiveLeast is the least share of waits in collectives.
const collectiveLeast = 0.05

// tryCollective returns what to try if ranks wait in a collective for a rank.
func tryCollective(call string, last int) string {
	try := fmt.Sprintf("See what rank %d does before this call, and let it do less or do it later.", last)
	if profile.TraitsOf(call).Any(profile.TraitBarrier) {
		try += " Leave out the barrier if nothing depends on it and no later call waits for the same rank."
	}
	return try
}
