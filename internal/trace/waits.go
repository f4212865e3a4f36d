package trace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Pattern is a wait state as Scalasca defines them.
//
// https://apps.fz-juelich.de/scalasca/releases/scalasca/2.6/help/scalasca_patterns.html
type Pattern uint8

const (
	NoPattern Pattern = iota
	// LateSender: a receive waits for a send that starts later.
	LateSender
	// LateReceiver: a send waits for its receive to be posted.
	LateReceiver
	// WaitAtBarrier: a rank waits for the last one to reach a barrier.
	WaitAtBarrier
	// WaitAtNxN: a rank waits for the last one to reach an all-to-all
	// operation.
	WaitAtNxN
	// EarlyReduce: the root waits for the last rank to reach a reduction or
	// gather.
	EarlyReduce
	// LateBroadcast: a rank waits for the root of a broadcast or scatter.
	LateBroadcast
	// EarlyScan: a rank waits for lower ranks in a scan.
	EarlyScan
	// LateNeighbor: a rank waits for the last of its incoming neighbours to
	// reach a neighbourhood collective.
	LateNeighbor
	// WaitAtCommCreate: a rank waits for the last one to reach a communicator
	// constructor.
	WaitAtCommCreate
	// WaitAtWinCreate: a rank waits for the last one to reach a window
	// constructor.
	WaitAtWinCreate
	// WaitAtWinFree: a rank waits for the last one to reach Win_free.
	WaitAtWinFree
	// WaitAtFence: a rank waits for the last one to reach a fence.
	WaitAtFence
	// LatePost: an origin waits for a target to post the window.
	LatePost
	// LateComplete: a target waits for the last origin to complete its access.
	LateComplete
	// LockContention: an origin waits for another one to unlock.
	LockContention
	// WaitForProgress: an origin waits for a target that is outside of MPI.
	WaitForProgress
	// Undecided: a call may have waited for another rank, but the events do not
	// prove it.
	Undecided
	numPatterns
)

var patternNames = [numPatterns]string{"none", "late-sender", "late-receiver", "wait-at-barrier", "wait-at-nxn", "early-reduce", "late-broadcast", "early-scan",
	"late-neighbor", "wait-at-comm-create", "wait-at-win-create", "wait-at-win-free", "wait-at-fence",
	"late-post", "late-complete", "lock-contention", "wait-for-progress", "undecided"}

func (p Pattern) String() string {
	if p < numPatterns {
		return patternNames[p]
	}
	return "unknown"
}

// MarshalText returns the pattern's name.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText. An unknown name is NoPattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	*p = Pattern(max(slices.Index(patternNames[:], string(text)), 0))
	return nil
}

// mayPass reports whether calls of this pattern need not wait for the last
// rank: a fence that ends no epoch, and constructors, some of which an MPI can
// execute locally.
func (p Pattern) mayPass() bool { return p >= LateNeighbor && p <= WaitAtFence }

// collectivePattern returns how ranks may wait in a call that is collective, or
// nearly so; NoPattern of others.
func collectivePattern(k *profile.EventKind) Pattern {
	t := profile.TraitsOf(k.Call)
	switch {
	case t.Any(profile.TraitMakesComm):
		return WaitAtCommCreate
	case t.Any(profile.TraitMakesWindow):
		return WaitAtWinCreate
	case t.Any(profile.TraitFreesWindow):
		return WaitAtWinFree
	case t.Any(profile.TraitFence):
		return WaitAtFence
	case t.Any(profile.TraitBarrier):
		return WaitAtBarrier
	case t.Any(profile.TraitScan):
		return EarlyScan
	case t.Any(profile.TraitNeighbor):
		return LateNeighbor
	}
	switch k.Class {
	case profile.AllToAll:
		return WaitAtNxN
	case profile.AllToOne:
		return EarlyReduce
	case profile.OneToAll:
		return LateBroadcast
	}
	return NoPattern
}

// of returns the pattern of the root, or of another member.
func (p Pattern) of(root bool) Pattern {
	if p == EarlyReduce && !root || p == LateBroadcast && root {
		return NoPattern
	}
	return p
}

// waitSums adds up waits by a key.
type waitSums[K comparable] map[K]*waitSum

// waits adds up waits by place and peer.
type waits = waitSums[waitKey]

type waitKey struct {
	pattern    Pattern
	rank, peer int32
	call       int32 // index of the name
	site, comm int32
	peerSite   int32 // call site of the peer's call
}

type waitSum struct {
	count    uint64
	sum, max int64 // ns
}

func (w waitSums[K]) add(key K, ns int64) { w.merge(key, &waitSum{1, ns, ns}) }

func (w waitSums[K]) merge(key K, o *waitSum) {
	s := w[key]
	if s == nil {
		s = new(waitSum)
		w[key] = s
	}
	s.merge(o)
}

func (s *waitSum) merge(o *waitSum) {
	s.count += o.count
	s.sum += o.sum
	s.max = max(s.max, o.max)
}

// add adds a wait to the sums and to the list.
func (r *replay) add(key waitKey, listed profile.Wait, long int64) {
	r.waits.add(key, long)
	if r.o.Wait != nil {
		r.o.Wait(listed)
	}
}

// undecidedWaits are waits whose pattern depends on V, and is known only after the
// whole run: their sums and, if waits are listed, each of them.
type undecidedWaits[V comparable] struct {
	sums   waitSums[undecidedKey[V]]
	listed []undecidedWait[V]
}

type undecidedKey[V comparable] struct {
	waitKey
	on V
}

type undecidedWait[V comparable] struct {
	profile.Wait
	key undecidedKey[V]
}

func (u *undecidedWaits[V]) add(r *replay, key waitKey, on V, listed profile.Wait, long int64) {
	k := undecidedKey[V]{key, on}
	u.sums.add(k, long)
	if r.o.Wait != nil {
		u.listed = append(u.listed, undecidedWait[V]{listed, k})
	}
}

// settle adds the waits to those of the replay. pattern returns NoPattern for what
// was none.
func (u *undecidedWaits[V]) settle(r *replay, pattern func(undecidedKey[V]) Pattern) {
	for key, sum := range u.sums {
		if key.pattern = pattern(key); key.pattern != NoPattern {
			r.waits.merge(key.waitKey, sum)
		}
	}
	for i := range u.listed {
		w := &u.listed[i]
		if p := pattern(w.key); p != NoPattern {
			w.Pattern = p.String()
			r.o.Wait(w.Wait)
		}
	}
}

// WaitState is the sum of all waits of one rank for another, of one pattern, at
// one call site.
type WaitState struct {
	Pattern Pattern `json:"pattern"`
	Rank    int     `json:"rank"` // the rank that waited
	Peer    int     `json:"peer"` // the rank that it waited for, or may have waited for; for collectives the last to arrive
	Call    string  `json:"call"` // the function that waited, without MPI_
	// Callsite is the call site that waited: "function file:line".
	Callsite string `json:"callsite"`
	// PeerCallsite is the call site of the peer: the send, the call that posted
	// the receive, or the peer's call of the collective.
	PeerCallsite string  `json:"peer_callsite"`
	Communicator string  `json:"communicator"`
	Count        uint64  `json:"count"` // number of waits
	Time         float64 `json:"time_s"`
	Max          float64 `json:"max_s"` // the longest wait
	Share        float64 `json:"share"` // as in PatternTotal
}

// PatternTotal is the sum of all waits of one pattern.
type PatternTotal struct {
	Pattern Pattern `json:"pattern"`
	Count   uint64  `json:"count"`
	Time    float64 `json:"time_s"` // summed over ranks and threads
	Share   float64 `json:"share"`  // of ranks × runtime; Time of several threads counts as in profile.Times
}

// own returns the part of the rank's own time that its waits took, in ns.
func (r *replay) own(key waitKey, s *waitSum) int64 { return r.byRank[key.rank].own(s.sum) }

// waitStates returns the waits, the longest first. all is ranks × runtime.
func (r *replay) waitStates(all float64) []WaitState {
	list := make([]WaitState, 0, len(r.waits))
	for key, s := range r.waits {
		list = append(list, WaitState{key.pattern, int(key.rank), int(key.peer), r.names.list[key.call], r.names.list[key.site], r.names.list[key.peerSite], r.comms[key.comm].label,
			s.count, seconds(s.sum), seconds(s.max), ratio(seconds(r.own(key, s)), all)})
	}
	slices.SortFunc(list, func(a, b WaitState) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Pattern, b.Pattern), a.Rank-b.Rank, a.Peer-b.Peer,
			strings.Compare(a.Call, b.Call), strings.Compare(a.Callsite, b.Callsite), strings.Compare(a.PeerCallsite, b.PeerCallsite), strings.Compare(a.Communicator, b.Communicator))
	})
	return list
}

// CommunicatorTotal is the sum of all waits in one communicator.
type CommunicatorTotal struct {
	Communicator string         `json:"communicator"`
	Count        uint64         `json:"count"`
	Time         float64        `json:"time_s"` // summed over ranks and threads
	Share        float64        `json:"share"`  // as in PatternTotal
	Patterns     []PatternTotal `json:"patterns"`
}

// communicatorTotals returns the sums of the communicators in which ranks
// waited, the longest first. Communicators with the same label are added up.
func (r *replay) communicatorTotals(all float64) []CommunicatorTotal {
	of := map[string]waits{}
	for key, s := range r.waits {
		label := r.comms[key.comm].label
		if of[label] == nil {
			of[label] = waits{}
		}
		of[label].merge(key, s)
	}
	list := []CommunicatorTotal{}
	for label, w := range of {
		out := CommunicatorTotal{Communicator: label, Patterns: r.patternTotals(w, all)}
		var ns, own int64
		for key, s := range w {
			out.Count += s.count
			ns += s.sum
			own += r.own(key, s)
		}
		out.Time, out.Share = seconds(ns), ratio(seconds(own), all)
		list = append(list, out)
	}
	slices.SortFunc(list, func(a, b CommunicatorTotal) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Communicator, b.Communicator))
	})
	return list
}

// patternTotals returns the sums of the patterns that occurred, the longest
// first.
func (r *replay) patternTotals(w waits, all float64) []PatternTotal {
	var sums [numPatterns]waitSum
	var own [numPatterns]int64
	for key, s := range w {
		sums[key.pattern].merge(s)
		own[key.pattern] += r.own(key, s)
	}
	list := []PatternTotal{}
	for p, s := range sums {
		if s.count > 0 {
			list = append(list, PatternTotal{Pattern(p), s.count, seconds(s.sum), ratio(seconds(own[p]), all)})
		}
	}
	slices.SortStableFunc(list, func(a, b PatternTotal) int { return cmp.Compare(b.Time, a.Time) })
	return list
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
