package profile

// A trace has an event for each call, and for each message and request that a
// call completes: as many as the counts of the process's rows, with the same
// bytes and times in all, and one more for each send that was seen to complete.

// Action tells what an event is.
type Action uint8

const (
	// Called is a call that returned, with what it moved, if that was known then.
	Called Action = iota
	// Moved is a message that goes with a call: one that a receive posted before
	// got, the received half of a Sendrecv, each one that a Startall sent. It has
	// no time of its own: Start is when the call returned that it was seen in.
	Moved
	// Posted is a receive that a Start, Startall or Isendrecv posted beside
	// whatever else it did; or a persistent collective that was started at a rank
	// which sends nothing.
	Posted
	// Completed is an operation that was seen to end and moved nothing that is
	// counted: a nonblocking send, a nonblocking collective. It is in no row.
	Completed
	// Dropped is a receive, or a send, that ended otherwise (see Aside).
	Dropped
	NumActions
)

var actionNames = [NumActions]string{"call", "message", "posted", "completed", "aside"}

func (a Action) String() string {
	if a < NumActions {
		return actionNames[a]
	}
	return "unknown"
}

// ParseAction is the inverse of Action.String.
func ParseAction(s string) (Action, bool) {
	for a, name := range actionNames {
		if name == s {
			return Action(a), true
		}
	}
	return 0, false
}

// EventKind is what the events of one row have in common.
type EventKind struct {
	Action    Action
	Call      string // "Send", without MPI_
	Class     Class
	Direction Direction
	Aside     AsideKind // of Dropped
	Thread    int32
	Comm      int32  // index into Trace.Comms, -1 if there is none
	Peer      int32  // world rank of the peer, or of the root of a rooted collective; or a Peer constant
	Callsite  string // as in the table of facts: "function file:line"
	Slice     string

	// Window numbers the windows of the process in the order in which it made them,
	// from 1 on; 0 if the call has none, or its making was not seen.
	Window int32
	Lock   Lock  // of Win_lock
	Group  int32 // of Win_start and Win_post: one more than an index into Trace.Groups, 0 if it is not known
	// Made is one more than the index into Trace.Comms of what a constructor made that
	// only the new members call (Comm_create_group, Intercomm_create); else 0.
	Made int32
}

// Lock is the type of lock that a Win_lock asks for.
type Lock uint8

const (
	NoLock Lock = iota // no Win_lock, or not recorded
	SharedLock
	ExclusiveLock
	NumLocks
)

// Events are events of one process, in columns of equal length, in the order in
// which they ended.
type Events struct {
	Start    []int64  // Unix ns
	Duration []int64  // ns, without calls that the program made inside from callbacks; 0 of what is no call
	Bytes    []uint64 // of one message; of collectives whose counts differ, all that the process sent
	Kind     []uint32 // index into the kinds that go with the events
	Tag      []int32  // of point-to-point, else NoTag; AnyTag where any was asked for
	// Link is how many events further on (or back, where negative) the other end
	// of a request is: from what posted it to what tells that it completed, and
	// back. 0 if there is none.
	Link []int32
	// Seq numbers messages: of those from one process to one other, in one
	// communicator with one tag, the nth sent is the nth received, if receives are
	// taken in the order in which they were posted. From 1 on; 0 for what is no message.
	Seq []uint32
}

// Tags that are none.
const (
	NoTag  = -1
	AnyTag = -2
)

// Len is how many events there are.
func (e *Events) Len() int { return len(e.Start) }

// Reset empties the columns and keeps their memory.
func (e *Events) Reset() {
	e.Start, e.Duration, e.Bytes = e.Start[:0], e.Duration[:0], e.Bytes[:0]
	e.Kind, e.Tag, e.Link, e.Seq = e.Kind[:0], e.Tag[:0], e.Link[:0], e.Seq[:0]
}

// TraceComm is a communicator of a trace.
type TraceComm struct {
	Label string `json:"label"` // the same on all members, see Comm.Label
	ID    string `json:"id"`    // 32 hex digits, the same on all members
	Size  int    `json:"size"`  // of the local group
	Rank  int    `json:"rank"`  // own rank in it
	Inter bool   `json:"inter,omitempty"`
	// Remote is how many processes the remote group of an intercommunicator has.
	Remote int `json:"remote,omitempty"`
	// Edges are the outgoing neighbours of the topology, as in Comm.
	Edges []int32 `json:"edges,omitempty"`
}

// Trace is the circumstances of a process's events.
type Trace struct {
	Run   string `json:"run"`
	Rank  int    `json:"rank"` // world rank
	Size  int    `json:"size"`
	Host  string `json:"host"`
	Pid   int    `json:"pid"`
	State State  `json:"state"`
	// Unix ns, 0 if never reached, as in Profile.
	Start         int64 `json:"start_ns"`
	InitEnd       int64 `json:"init_end_ns"`
	FinalizeStart int64 `json:"finalize_start_ns"`
	End           int64 `json:"end_ns"`

	Threads int         `json:"threads"`
	Comms   []TraceComm `json:"communicators"`
	// Groups are those of Win_start and Win_post: world ranks.
	Groups [][]int32 `json:"groups,omitempty"`
	// Placement and Usage tell on which processors the process ran, and what it used
	// of them in the whole run; nil where that is not known.
	Placement *Placement `json:"placement,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`

	Events  uint64 `json:"events"`  // how many there are
	Dropped uint64 `json:"dropped"` // events that had no room: --trace-limit, or a full disk
	// Cut tells that not each call was to be traced: by slice, class, or since the
	// first or last part only was kept.
	Cut bool `json:"cut"`
	// Gaps tells that events may be missing before others that are there. Messages
	// and collectives can then not be told apart by counting: none has a Seq.
	Gaps bool `json:"gaps"`
	// WholeUntil is when the first of several threads had no room for an event, Unix
	// ns: what began later has no Seq. 0 if none had to stop.
	WholeUntil int64 `json:"whole_until_ns,omitempty"`
	// Clock tells what was added to the process's own clock; nil if nothing was.
	Clock *ClockCorrection `json:"clock,omitempty"`
	// EagerLimits are those that the MPI told, at most one of each path.
	EagerLimits []EagerLimit `json:"eager_limits,omitempty"`
}

// EagerLimit is the limit of the messages on a path that the process sends without
// waiting for the receiver; nil if it was not recorded.
func (t *Trace) EagerLimit(path Path) *EagerLimit {
	for i := range t.EagerLimits {
		if t.EagerLimits[i].Path == path {
			return &t.EagerLimits[i]
		}
	}
	return nil
}

// EagerLimit is the size of the largest message that an MPI sends without waiting
// for a receive to be posted.
type EagerLimit struct {
	Path     Path   `json:"path"`
	Bytes    uint64 `json:"bytes"`
	Variable string `json:"variable"` // control variable of the MPI that has it
}

// Path is what a message crosses, as far as MPIs send by different protocols.
type Path uint8

const (
	ToSelf Path = iota
	InNode
	BetweenNodes
	NumPaths
)

var pathNames = [NumPaths]string{"self", "node", "network"}

func (p Path) String() string {
	if p < NumPaths {
		return pathNames[p]
	}
	return "unknown"
}

// MarshalText gives the path's name.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse. A name that is not known is NumPaths.
func (p *Path) UnmarshalText(text []byte) error {
	for *p = 0; *p < NumPaths && pathNames[*p] != string(text); *p++ {
	}
	return nil
}

// ClockCorrection is what makes a process's clock agree with that of others:
// at time t (Unix ns of its own clock) Offset + Drift * (t - At) is added.
type ClockCorrection struct {
	At     int64   `json:"at_ns"`
	Offset float64 `json:"offset_ns"`
	Drift  float64 `json:"drift"` // ns per ns
}

// EventSource gives the events of one process, as often as asked. The batch, and
// the kinds up to its largest, hold until f returns; kinds are only ever added.
type EventSource interface {
	Trace() *Trace
	Each(f func(e *Events, kinds []EventKind) error) error
}

// Wait is a call in which a rank waited for another.
type Wait struct {
	Rank  int   // that waited
	Event int64 // the call: which of the rank's events, from 0 on
	Peer  int   // that it waited for; of collectives, the last to come
	// Pattern is how, as "late-sender": see docs/tracing.md.
	Pattern         string
	Start, Duration int64 // of the wait, Unix ns and ns
	Window          int   // as EventKind.Window of the call, 0 if it has none
	Callsite, Comm  string
	PeerCallsite    string // of the peer's call that was waited for
}
