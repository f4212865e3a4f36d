package profile

// A trace has one event for each call, and one for each message and request
// that a call completes. The number, bytes and times of these events equal the
// sums over the rows of the process. A trace also has one event for each
// completed send, which is in no row.

// Action is what an event records.
type Action uint8

const (
	// Called is a call that returned, with the bytes that it moved if they were
	// known at that time.
	Called Action = iota
	// Moved is a message that belongs to a call: one that an earlier receive
	// received, the received half of a Sendrecv, or one that a Startall sent.
	// It has no duration. Its Start is the time when the call that completed it
	// returned.
	Moved
	// Posted is a receive that a Start, Startall or Isendrecv posted in
	// addition to its other work. It is also a persistent collective that was
	// started on a rank which sends nothing in it.
	Posted
	// Completed is the completion of an operation whose bytes are counted
	// elsewhere or not at all: a nonblocking send or a nonblocking collective.
	// It is in no row.
	Completed
	// Abnormal is a receive or send that did not complete normally (see AbnormalOps).
	Abnormal
	NumActions
)

var actionNames = [NumActions]string{"call", "message", "posted", "completed", "abnormal"}

func (a Action) String() string { return nameOf(actionNames[:], a) }

// EventKind holds what all events of one row have in common.
type EventKind struct {
	Action       Action
	Call         string // "Send", without MPI_
	Class        Class
	Direction    Direction
	AbnormalKind AbnormalKind // set if Action is Abnormal
	Thread       int32
	Comm         int32  // index into Trace.Comms, -1 if there is none
	Peer         int32  // world rank of the peer or of the root of a rooted collective, or a Peer constant
	Callsite     string // "function file:line", as in the row table
	Slice        string

	// Window is the number of the window, counted from 1 in the order in which
	// the process created its windows. It is 0 if the call has no window or the
	// window's creation was not recorded.
	Window int32
	Lock   Lock  // of Win_lock
	Group  int32 // group of Win_start and Win_post: index into Trace.Groups plus 1, 0 if not known
	// Made is the communicator that a constructor created, for constructors
	// that only the new members call (Comm_create_group, Intercomm_create):
	// index into Trace.Comms plus 1. Otherwise it is 0.
	Made int32
}

// Lock is the lock type of a Win_lock.
type Lock uint8

const (
	NoLock Lock = iota // no Win_lock, or not recorded
	SharedLock
	ExclusiveLock
	NumLocks
)

// Events holds events of one process in columns of equal length, ordered by the
// time when they ended.
type Events struct {
	Start    []int64  // Unix ns
	Duration []int64  // ns, without the MPI calls made in callbacks; 0 for events that are no call
	Bytes    []uint64 // of one message; for irregular collectives, the sum that the process sent
	Kind     []uint32 // index into the kinds that belong to the events
	Tag      []int32  // of point-to-point events, otherwise NoTag; AnyTag for MPI_ANY_TAG
	// Link connects the event that started a request with the event that
	// completed it. It is the distance in events from one to the other:
	// positive in the first, negative in the second. 0 if there is no other
	// event.
	Link []int32
	// Seq numbers the messages of one sender, receiver, communicator and tag
	// from 1. The message that the sender numbers n is the one that the
	// receiver numbers n, as receives are numbered in the order in which they
	// were posted. 0 if the event is no message.
	Seq []uint32
}

// Values of Events.Tag that are not tags.
const (
	NoTag  = -1
	AnyTag = -2
)

// Len returns the number of events.
func (e *Events) Len() int { return len(e.Start) }

// Reset empties the columns but keeps their memory.
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
	// Remote is the number of processes in an intercommunicator's remote group.
	Remote int `json:"remote,omitempty"`
	// Edges are the outgoing neighbours of the topology, as in Comm.Edges.
	Edges []int32 `json:"edges,omitempty"`
}

// Trace holds the metadata of a process's events.
type Trace struct {
	Run  string `json:"run"`
	Rank int    `json:"rank"` // world rank
	Size int    `json:"size"`
	Host string `json:"host"`
	// ClockID is the same for processes that share one clock, whatever the names
	// of their hosts. If it is empty, the processes of a host share a clock.
	ClockID string `json:"clock_id,omitempty"`
	Pid     int    `json:"pid"`
	State   State  `json:"state"`
	// Unix ns, 0 if the process did not reach that point, as in Profile.
	Start         int64 `json:"start_ns"`
	InitEnd       int64 `json:"init_end_ns"`
	FinalizeStart int64 `json:"finalize_start_ns"`
	End           int64 `json:"end_ns"`

	Threads   int         `json:"threads"`
	Lifetimes int64       `json:"lifetimes_ns,omitempty"` // as in Profile
	ThreadUse *ThreadUse  `json:"thread_use,omitempty"`   // as in Profile
	Comms     []TraceComm `json:"communicators"`
	// Groups are the groups of Win_start and Win_post, as world ranks.
	Groups [][]int32 `json:"groups,omitempty"`
	// Placement has the processors on which the process may run, and Usage its
	// use of processors in the whole run. Nil if not known.
	Placement *Placement `json:"placement,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`

	Events  uint64 `json:"events"`  // number of events
	Dropped uint64 `json:"dropped"` // number of events lost because of --trace-limit or a full disk
	// NoRoom reports whether there was no space for some of the events that were lost.
	NoRoom bool `json:"no_room,omitempty"`
	// Cut reports whether the settings excluded some calls: by slice, by class,
	// or because only the first or last part of the events was kept.
	Cut bool `json:"cut"`
	// Gaps reports whether events may be missing before other events. Messages
	// and collectives then cannot be matched by counting, so no event has a
	// Seq.
	Gaps bool `json:"gaps"`
	// Holes reports whether calls may be missing between others: the settings excluded them by class or
	// slice, the program paused recording, or the file is damaged.
	Holes bool `json:"holes,omitempty"`
	// WholeUntil is the time, in Unix ns, at which the first of several threads
	// ran out of room for events. Events that began later have no Seq. 0 if no
	// thread ran out of room.
	WholeUntil int64 `json:"whole_until_ns,omitempty"`
	// Clock is the correction that was added to the process's own clock; nil if
	// there was none.
	Clock *ClockCorrection `json:"clock,omitempty"`
	// Clocks says how the clocks of the job's hosts were compared, in the trace
	// of its lowest rank; nil in others, or if there is one clock.
	Clocks *JobClocks `json:"clocks,omitempty"`
	// Program is the path of the executable, and BuildID its build-id; empty if not known.
	Program string `json:"program,omitempty"`
	BuildID string `json:"build_id,omitempty"`
	// EagerLimits are the limits that the MPI reports, at most one for each
	// path.
	EagerLimits []EagerLimit `json:"eager_limits,omitempty"`
}

// EagerLimit returns the eager limit of messages on a path, or nil if it was
// not recorded.
func (t *Trace) EagerLimit(path Path) *EagerLimit {
	for i := range t.EagerLimits {
		if t.EagerLimits[i].Path == path {
			return &t.EagerLimits[i]
		}
	}
	return nil
}

// EagerLimit is the size of the largest message that an MPI sends eagerly,
// which means without waiting for the receive to be posted.
type EagerLimit struct {
	Path     Path   `json:"path"`
	Bytes    uint64 `json:"bytes"`
	Variable string `json:"variable"` // the MPI's control variable for it
}

// Path is the kind of connection between two processes. MPIs have an eager
// limit for each.
type Path uint8

const (
	ToSelf Path = iota
	InNode
	BetweenNodes
	NumPaths
)

var pathNames = [NumPaths]string{"self", "node", "network"}

func (p Path) String() string { return nameOf(pathNames[:], p) }

// MarshalText returns the path's name.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText. An unknown name becomes
// NumPaths.
func (p *Path) UnmarshalText(text []byte) error {
	var known bool
	if *p, known = valueOf[Path](pathNames[:], string(text)); !known {
		*p = NumPaths
	}
	return nil
}

// ClockCorrection is the correction that makes a process's clock agree with the
// clocks of the others: the corrected time is t + Offset + Drift * (t - At),
// where t is the time in Unix ns by the process's own clock.
type ClockCorrection struct {
	At     int64   `json:"at_ns"`
	Offset float64 `json:"offset_ns"`
	Drift  float64 `json:"drift"` // ns per ns
}

// EventSource returns the events of one process. Each may be called several
// times. The batch is valid until f returns, and so are the kinds up to the
// largest one that the batch uses. Kinds are never removed or changed.
type EventSource interface {
	Trace() *Trace
	Each(f func(e *Events, kinds []EventKind) error) error
}

// Wait is a call in which a rank waited for another rank.
type Wait struct {
	Rank  int   // the waiting rank
	Event int64 // index of the call among the rank's events
	Peer  int   // the rank that it waited for; for collectives, the last to enter
	// Pattern is the name of the wait pattern, as "late-sender"; see
	// docs/tracing.md.
	Pattern         string
	Start, Duration int64 // of the wait, Unix ns and ns
	Window          int   // EventKind.Window of the call, 0 if it has none
	Callsite, Comm  string
	PeerCallsite    string // call site of the peer's call
}
