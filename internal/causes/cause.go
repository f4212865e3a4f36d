// Package causes finds out why ranks waited for each other: which rank computed longer, or did
// something else first, and between which calls. It knows segments of time only, no MPI.
package causes

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Class is the kind of a cause.
type Class uint8

const (
	// Unknown: the walk back from the wait was cut, or the clocks of the hosts contradict each other.
	Unknown Class = iota
	// Imbalance: a rank computes longer than the ranks that wait, in the whole run.
	Imbalance
	// Varying: a burst is longer now on one rank, now on another.
	Varying
	// Order: a rank does before its send what the waiting rank does later, or not yet.
	Order
	// Chain: as Order, but over three or more ranks, one after the other.
	Chain
	// InCall: the rank that is waited for was in an MPI call: data moved, file input or output, set-up.
	InCall
	numClasses
)

var classNames = [numClasses]string{"not-known", "imbalance", "varying-work", "order", "chain", "call"}

func (c Class) String() string {
	if c < numClasses {
		return classNames[c]
	}
	return "unknown"
}

// MarshalText returns the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText. An unknown name is Unknown.
func (c *Class) UnmarshalText(text []byte) error {
	*c = Class(max(slices.Index(classNames[:], string(text)), 0))
	return nil
}

// EndedEarly is the pattern of the wait of a rank that ends before the last one. Its stop is Finalize.
const EndedEarly = "ended-early"

// Stop is where a burst stops or starts: an MPI function, without MPI_, and its call site "function
// file:line". The function is Init before the first call, and Finalize after the last.
type Stop struct {
	Call     string `json:"call"`
	Callsite string `json:"callsite,omitempty"`
}

// Begin and End are the stops at the ends of a rank's own time.
var (
	Begin = Stop{Call: "Init"}
	End   = Stop{Call: "Finalize"}
)

// Burst is the kind of a stretch of computing: the calls before and after it.
type Burst struct {
	Before Stop `json:"before"`
	After  Stop `json:"after"`
}

// RankCost is the part of a cost that one rank causes.
type RankCost struct {
	Rank   int   `json:"rank"`
	CostNs int64 `json:"cost_ns"`
}

// Seen is where other ranks wait because of a cause.
type Seen struct {
	Stop
	Pattern string          `json:"pattern"` // of the wait, as in trace.Pattern, or EndedEarly
	Ranks   profile.RankSet `json:"ranks"`   // the ranks that wait
	CostNs  int64           `json:"cost_ns"`
}

// Cause is the sum of all waits that have one reason: one class and one kind of burst, or one call.
// Imbalance and varying work of one burst are two causes. All costs are sums over ranks and
// threads; the costs of all causes add up to the time waited.
type Cause struct {
	Class Class  `json:"class"`
	Burst *Burst `json:"burst,omitempty"` // nil if the class is InCall or Unknown
	Call  *Stop  `json:"call,omitempty"`  // of class InCall
	// CostNs is the time that ranks waited because of the cause.
	CostNs int64 `json:"cost_ns"`
	// Share is the cost as a part of ranks × run time, where the threads of a rank count as in
	// profile.Times.
	Share float64 `json:"share"`
	// Waits is the number of waits, and Pairs that of pairs of ranks that have them.
	Waits uint64 `json:"waits"`
	Pairs int    `json:"pairs"`
	// Ranks are all that cause it, the largest cost first.
	Ranks []RankCost `json:"by_rank"`
	// Named are the ranks to name: with imbalance those above the mean in this burst, otherwise
	// those with at least half of the largest cost.
	Named profile.RankSet `json:"ranks"`
	// Alone says that no other rank than those named has the burst.
	Alone bool `json:"alone,omitempty"`
	// Seen are the places where others wait, the largest cost first.
	Seen []Seen `json:"seen"`
	// Slices are the costs by slice of the wait; nil if the job has one slice.
	Slices map[string]int64 `json:"slices_ns,omitempty"`
	// From and To are the programs of the rank that waits and of the one that causes it. They are
	// "" if the job has one program, and equal for waits inside a program.
	From string `json:"from_program,omitempty"`
	To   string `json:"to_program,omitempty"`
	// SavesS is what the replay saves of the run time without this cause, s; nil if it was not
	// replayed: the class has no replay, the share is below 2 %, five others cost more, or the job
	// has very many events. It is less than half of cost ÷ ranks if other causes must go too.
	SavesS *float64 `json:"saves_s,omitempty"`
	// BoundS is the most that breaking a chain can save, s: the run time − the computing of the rank
	// that computes longest. It is 0 for other classes.
	BoundS float64 `json:"bound_s,omitempty"`
}
