package findings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
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

// place is a call with its call site.
func place(call, site string) string {
	if site == "" {
		return call
	}
	return call + " at " + site
}

// collectiveWaits holds if ranks wait long, at one call site of a collective, for the last rank to
// enter.
func collectiveWaits(j *facts) *Finding {
	if j.trace == nil {
		return nil // without a trace it is not known who comes last: see timeInMPI
	}
	type where struct{ call, site, comm string }
	g := longestWaits(j, func(p trace.Pattern) bool {
		return p >= trace.WaitAtBarrier && p <= trace.LateNeighbor
	}, func(w *trace.WaitState) where { return where{w.Call, w.Callsite, w.Communicator} })
	if g == nil || g.share < collectiveLeast {
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

// lateLeast is the least share of waits for late senders or receivers.
const lateLeast = 0.02

// sitePeer is a call site that waits, the reason, and the rank that it waits for.
type sitePeer struct {
	pattern    trace.Pattern
	call, site string
	peer       int
}

func bySitePeer(w *trace.WaitState) sitePeer { return sitePeer{w.Pattern, w.Call, w.Callsite, w.Peer} }

// lateAt returns the longest waits of some patterns at one place for one rank, and a finding
// about that rank; nil if they are too short.
func lateAt(j *facts, patterns ...trace.Pattern) (*waitGroup, *Finding) {
	if j.trace == nil {
		return nil, nil
	}
	g := longestWaits(j, func(p trace.Pattern) bool { return slices.Contains(patterns, p) }, bySitePeer)
	if g == nil || g.share < lateLeast {
		return nil, nil
	}
	f := g.of(j)
	f.Ranks = profile.RankSetOf(g.longest.Peer)
	return g, f
}

// lateSender holds if ranks wait long at one place for messages of one rank.
func lateSender(j *facts) *Finding {
	g, f := lateAt(j, trace.LateSender)
	if f == nil {
		return nil
	}
	w := g.longest
	f.Text = fmt.Sprintf("%s %s in %s for messages that rank %d sends later%s.", g.wait(), seconds(g.seconds), place(f.Call, f.Callsite), w.Peer, in(w.PeerCallsite))
	f.Cause = fmt.Sprintf("for messages of rank %d, in %s", w.Peer, place(f.Call, f.Callsite))
	f.Try = fmt.Sprintf("Send earlier on rank %d, or let the receivers compute before they wait.", w.Peer)
	return f
}

// lateReceiver holds if senders or origins wait long for the receiver or the target.
func lateReceiver(j *facts) *Finding {
	g, f := lateAt(j, trace.LateReceiver, trace.LatePost, trace.WaitForProgress)
	if f == nil {
		return nil
	}
	w := g.longest
	until := map[trace.Pattern]string{trace.LateReceiver: "posts the receive", trace.LatePost: "exposes its window", trace.WaitForProgress: "calls MPI"}[w.Pattern]
	f.Text = fmt.Sprintf("%s %s in %s until rank %d %s%s.", g.wait(), seconds(g.seconds), place(f.Call, f.Callsite), w.Peer, until, in(w.PeerCallsite))
	f.Cause = fmt.Sprintf("until rank %d %s, in %s", w.Peer, until, place(f.Call, f.Callsite))
	f.Try = fmt.Sprintf("Post the receive earlier on rank %d.", w.Peer)
	if w.Pattern != trace.LateReceiver {
		f.Try = fmt.Sprintf("Call MPI more often on rank %d, or let MPI make progress in a thread.", w.Peer)
	} else if limit := raisable(j, w); limit != nil {
		f.Try += fmt.Sprintf(" Or raise the eager limit (%s, now %s): then such sends do not wait.", limit.Variable, text.Bytes(limit.Bytes))
	}
	return f
}

// in returns the call site of a peer for the end of a sentence; empty if it is not
// known.
func in(site string) string {
	if site == "" {
		return ""
	}
	return ", in " + site
}

const (
	// a message of up to so many times the limit may become eager by raising the limit
	nearLimit   = 4
	mostlyUnder = 0.8 // of the messages
)

// raisable returns the eager limit that most messages of a call site exceed by little. It returns
// nil if there is no such limit, or if several paths have limits.
func raisable(j *facts, w *trace.WaitState) *trace.ObservedEagerLimit {
	if len(j.trace.EagerLimits) != 1 || j.trace.EagerLimits[0].Variable == "" {
		return nil
	}
	limit := &j.trace.EagerLimits[0]
	i := slices.IndexFunc(j.CallSites, func(c aggregate.CallSite) bool {
		return c.Sent.Messages > 0 && c.String() == w.Callsite
	})
	if i < 0 {
		return nil
	}
	under, above := uint64(0), false
	for _, n := range j.CallSites[i].Sizes {
		above = above || n.Messages > 0 && n.Most > limit.Bytes
		if n.Most <= nearLimit*limit.Bytes {
			under += n.Messages
		}
	}
	if !above || float64(under) < mostlyUnder*float64(j.CallSites[i].Sent.Messages) {
		return nil
	}
	return limit
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

const (
	serialBelow    = 0.8 // serialisation
	serialBalanced = 0.8 // load balance
	// chainJumps is the least number of times that the critical path of a chain changes ranks. If
	// the path changes less often, a late sender or a collective is the cause.
	chainJumps = 8
)

// serialChain holds if ranks compute one after the other. The share is the time that even an ideal
// network could not save.
func serialChain(j *facts) *Finding {
	if j.trace == nil || j.trace.POP == nil || j.trace.CriticalPath == nil {
		return nil
	}
	p, path := j.trace.POP, j.trace.CriticalPath
	if p.Serialisation >= serialBelow || p.LoadBalance < serialBalanced || path.Jumps < chainJumps || p.Runtime == 0 {
		return nil
	}
	lost := p.IdealRuntime - p.UsefulMax
	var on []int
	for _, r := range path.Ranks {
		if r.Time < path.Ranks[0].Time/2 {
			break
		}
		on = append(on, r.Rank)
	}
	f := &Finding{Share: lost / p.Runtime, SavesS: lost, Ranks: profile.RankSetOf(on...)}
	f.Text = fmt.Sprintf("No rank computes longer than %s, but they wait for each other in turn: it would take %s on a network without delay.", seconds(p.UsefulMax), seconds(p.IdealRuntime))
	f.Text += fmt.Sprintf(" The critical path is mostly on %s and changes ranks %s", f.Ranks, text.CountOf(path.Jumps, "time"))
	for _, c := range path.Callsites {
		if !profile.SetsUp(c.Call) {
			f.Call, f.Callsite = c.Call, c.Callsite
			f.Text += ", most in " + place(f.Call, f.Callsite)
			break
		}
	}
	f.Text += "."
	f.Cause = "in turn, a chain over " + f.Ranks.String()
	f.Try = "Split the data into blocks, and send each block as soon as it is computed."
	return f
}

func seconds(s float64) string { return duration(1e9 * s) }
