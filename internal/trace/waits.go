package trace

import (
	"cmp"
	"slices"
	"strings"
)

// Pattern is a way to wait for others, as Scalasca defines them.
//
// https://apps.fz-juelich.de/scalasca/releases/scalasca/2.6/help/scalasca_patterns.html
type Pattern uint8

const (
	NoPattern Pattern = iota
	// LateSender: a receive waits for a send that starts later.
	LateSender
	// LateReceiver: a send waits for its receive to be posted.
	LateReceiver
	// WaitAtBarrier: for the last to come to a barrier.
	WaitAtBarrier
	// WaitAtNxN: for the last to come to an operation of all with all.
	WaitAtNxN
	// EarlyReduce: the root waits for the last to come to a reduction or gather.
	EarlyReduce
	// LateBroadcast: the others wait for the root of a broadcast or scatter.
	LateBroadcast
	// EarlyScan: a rank waits for those below it in a scan.
	EarlyScan
	// LateNeighbor: for the last of the incoming neighbours to come to a collective of
	// neighbours.
	LateNeighbor
	// WaitAtCommCreate: for the last to come to the making of a communicator.
	WaitAtCommCreate
	// WaitAtWinCreate: for the last to come to the making of a window.
	WaitAtWinCreate
	// WaitAtWinFree: for the last to come to the freeing of a window.
	WaitAtWinFree
	// WaitAtFence: for the last to come to a fence.
	WaitAtFence
	// LatePost: an origin waits for a target to post the window.
	LatePost
	// LateComplete: a target waits for the last origin to complete its access.
	LateComplete
	// LockContention: an origin waits for another to unlock.
	LockContention
	// WaitForProgress: an origin waits for a target that is outside of MPI.
	WaitForProgress
	// Undecided: a call may have waited for another rank, but the events do not
	// prove that it did.
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

// MarshalText gives the pattern's name.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse; a name that is not known is no pattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	*p = Pattern(max(slices.Index(patternNames[:], string(text)), 0))
	return nil
}

// otherPatterns are those of calls that are collective, or nearly so, and of another class.
var otherPatterns = map[string]Pattern{
	"Comm_dup": WaitAtCommCreate, "Comm_dup_with_info": WaitAtCommCreate, "Comm_idup": WaitAtCommCreate,
	"Comm_idup_with_info": WaitAtCommCreate, "Comm_create": WaitAtCommCreate, "Comm_create_group": WaitAtCommCreate,
	"Comm_split": WaitAtCommCreate, "Comm_split_type": WaitAtCommCreate, "Intercomm_create": WaitAtCommCreate,
	"Intercomm_merge": WaitAtCommCreate, "Cart_create": WaitAtCommCreate, "Cart_sub": WaitAtCommCreate,
	"Graph_create": WaitAtCommCreate, "Dist_graph_create": WaitAtCommCreate, "Dist_graph_create_adjacent": WaitAtCommCreate,
	"Comm_create_from_group": WaitAtCommCreate, "Intercomm_create_from_groups": WaitAtCommCreate,
	"Win_create": WaitAtWinCreate, "Win_allocate": WaitAtWinCreate, "Win_allocate_shared": WaitAtWinCreate,
	"Win_create_dynamic": WaitAtWinCreate, "Win_free": WaitAtWinFree, "Win_fence": WaitAtFence,
}

// mayPass tells patterns of calls which need not wait for the last of the others: a
// fence that ends no epoch, and constructors, some of which an MPI can do alone.
func (p Pattern) mayPass() bool { return p >= LateNeighbor && p <= WaitAtFence }

// collectivePattern is how ranks may wait in a collective.
func collectivePattern(call string) Pattern {
	if p, ok := otherPatterns[call]; ok {
		return p
	}
	name := strings.ToLower(strings.TrimSuffix(call, "_init"))
	if call != "" && call[0] == 'I' {
		name = name[1:]
	}
	switch name {
	case "barrier":
		return WaitAtBarrier
	case "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block":
		return WaitAtNxN
	case "reduce", "gather", "gatherv":
		return EarlyReduce
	case "bcast", "scatter", "scatterv":
		return LateBroadcast
	case "scan", "exscan":
		return EarlyScan
	}
	if strings.HasPrefix(name, "neighbor_") {
		return LateNeighbor
	}
	return NoPattern
}

// of is how the root waits, or another member.
func (p Pattern) of(root bool) Pattern {
	if p == EarlyReduce && !root || p == LateBroadcast && root {
		return NoPattern
	}
	return p
}

// waits adds waits up by where they were, and for whom.
type waits map[waitKey]*waitSum

type waitKey struct {
	pattern    Pattern
	rank, peer int32
	call       int32 // name
	site, comm int32
	peerSite   int32 // of the peer's call
}

type waitSum struct {
	count    uint64
	sum, max int64 // ns
}

func (w waits) add(key waitKey, ns int64) { w.merge(key, &waitSum{1, ns, ns}) }

func (w waits) merge(key waitKey, o *waitSum) {
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

// WaitState is all waits of a rank for another in one way at one place.
type WaitState struct {
	Pattern Pattern `json:"pattern"`
	Rank    int     `json:"rank"` // that waited
	Peer    int     `json:"peer"` // that it waited for; of collectives, the last to come; if undecided, that it may have waited for
	Call    string  `json:"call"` // that waited, without MPI_
	// Callsite is that of the call that waited: "function file:line".
	Callsite string `json:"callsite"`
	// PeerCallsite is that of the peer's call that the rank waited for: the send,
	// the call that posted the receive, the peer's call of the collective.
	PeerCallsite string  `json:"peer_callsite"`
	Communicator string  `json:"communicator"`
	Count        uint64  `json:"count"` // of waits
	Time         float64 `json:"time_s"`
	Max          float64 `json:"max_s"` // the longest
}

// PatternTotal is all waits of one pattern.
type PatternTotal struct {
	Pattern Pattern `json:"pattern"`
	Count   uint64  `json:"count"`
	Time    float64 `json:"time_s"` // summed over ranks
	Share   float64 `json:"share"`  // of the time of all ranks
}

// waitStates lists the waits, the longest first.
func (r *replay) waitStates() []WaitState {
	list := make([]WaitState, 0, len(r.waits))
	for key, s := range r.waits {
		list = append(list, WaitState{key.pattern, int(key.rank), int(key.peer), r.names.list[key.call], r.names.list[key.site], r.names.list[key.peerSite], r.comms[key.comm].label,
			s.count, seconds(s.sum), seconds(s.max)})
	}
	slices.SortFunc(list, func(a, b WaitState) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Pattern, b.Pattern), a.Rank-b.Rank, a.Peer-b.Peer,
			strings.Compare(a.Call, b.Call), strings.Compare(a.Callsite, b.Callsite), strings.Compare(a.PeerCallsite, b.PeerCallsite), strings.Compare(a.Communicator, b.Communicator))
	})
	return list
}

// CommunicatorTotal is all waits in one communicator.
type CommunicatorTotal struct {
	Communicator string         `json:"communicator"`
	Count        uint64         `json:"count"`
	Time         float64        `json:"time_s"` // summed over ranks
	Share        float64        `json:"share"`  // of the time of all ranks
	Patterns     []PatternTotal `json:"patterns"`
}

// communicatorTotals are those of the communicators in which ranks waited, the
// longest first. All communicators of one label are one.
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
		out := CommunicatorTotal{Communicator: label, Patterns: w.patternTotals(all)}
		ns := int64(0)
		for _, s := range w {
			out.Count += s.count
			ns += s.sum
		}
		out.Time, out.Share = seconds(ns), ratio(seconds(ns), all)
		list = append(list, out)
	}
	slices.SortFunc(list, func(a, b CommunicatorTotal) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Communicator, b.Communicator))
	})
	return list
}

// patternTotals are those of the patterns that there are, the longest first.
func (w waits) patternTotals(all float64) []PatternTotal {
	var sums [numPatterns]waitSum
	for key, s := range w {
		sums[key.pattern].merge(s)
	}
	list := []PatternTotal{}
	for p, s := range sums {
		if s.count > 0 {
			list = append(list, PatternTotal{Pattern(p), s.count, seconds(s.sum), ratio(seconds(s.sum), all)})
		}
	}
	slices.SortStableFunc(list, func(a, b PatternTotal) int { return cmp.Compare(b.Time, a.Time) })
	return list
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio is 0 where there is nothing to have a share of.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
