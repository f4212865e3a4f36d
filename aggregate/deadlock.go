package aggregate

import (
	"maps"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// settled is how long calls must have been open, in ns, to be compared with
// each other: recordings are read one after the other, and messages take some
// time.
const settled = int64(time.Second)

// deadlocks returns the cycles of ranks in which each rank waits for the next
// in a blocking send or receive and can never continue. Each cycle starts with
// its lowest rank. Uncertain cases are left out: a message that was sent and
// not received may be the one that is waited for.
func (j *Job) deadlocks() [][]int {
	waiting := j.waiting()
	next := map[int]int{}
	for rank, e := range waiting {
		peer := e.Calls[0].WorldPeer
		if on := waiting[peer]; on != nil && j.blocked(e, on) {
			next[rank] = peer
		}
	}
	out := [][]int{}
	done := map[int]bool{}
	for _, first := range slices.Sorted(maps.Keys(next)) {
		var path []int
		rank := first
		for onward := true; onward && !done[rank]; _, onward = next[rank] {
			done[rank] = true
			path = append(path, rank)
			rank = next[rank]
		}
		if at := slices.Index(path, rank); at >= 0 {
			out = append(out, lowestFirst(path[at:]))
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// waiting returns, by rank, the processes that wait for exactly one known peer.
func (j *Job) waiting() map[int]*ending {
	twice, now := j.Ranks.Duplicated(), j.ends.now()
	out := map[int]*ending{}
	for i := range j.ends.list {
		e := &j.ends.list[i]
		if _, unsure := slices.BinarySearch(twice, e.Rank); !unsure && e.Rank >= 0 && e.stuck(now) {
			out[e.Rank] = e
		}
	}
	return out
}

// stuck reports whether the process does nothing but wait for one peer, and has
// done so for a while. A stopped process may be about to continue. If it is
// unknown when a process ended, the duration is not required: a process that
// ended in a receive had received nothing.
func (e *ending) stuck(now int64) bool {
	if e.threads != 1 || !e.complete || e.State == profile.EndStopped || len(e.Calls) != 1 || e.Calls[0].WorldPeer < 0 {
		return false
	}
	c, start, until := &e.Calls[0], e.starts[0], e.until(now)
	if start == 0 || until == 0 {
		return c.awaitsMessage() && e.State != profile.EndRunning && e.State != profile.EndUnknown
	}
	return (c.awaitsMessage() || c.awaitsReceiver()) && until-start >= settled
}

func (c *UnfinishedCall) awaitsMessage() bool {
	t := profile.TraitsOf(c.Call)
	return t.Any(profile.TraitBlocks) && t.Any(profile.TraitReceives|profile.TraitProbes) &&
		!t.Any(profile.TraitSends|profile.TraitMatched)
}

func (c *UnfinishedCall) awaitsReceiver() bool {
	t := profile.TraitsOf(c.Call)
	return t.All(profile.TraitSends|profile.TraitBlocks) && !t.Any(profile.TraitReceives|profile.TraitReady)
}

// blocked reports whether e's peer cannot do what e waits for while it is in
// its own call.
func (j *Job) blocked(e, on *ending) bool {
	theirs := &on.Calls[0]
	if e.Calls[0].awaitsMessage() {
		sent, received := j.Matrices()[matrix.External].At(on.Rank, e.Rank), j.exchange.received.At(on.Rank, e.Rank)
		return sent.Messages == received.Messages && !(theirs.awaitsReceiver() && theirs.WorldPeer == e.Rank)
	}
	return !(theirs.awaitsMessage() && theirs.WorldPeer == e.Rank) &&
		!slices.ContainsFunc(on.OpenReceives, func(r OpenReceive) bool { return r.WorldPeer < 0 || r.WorldPeer == e.Rank })
}

func lowestFirst(ring []int) []int {
	at := slices.Index(ring, slices.Min(ring))
	return slices.Concat(ring[at:], ring[:at])
}
