// Package profile is the data model of mpitrace: what one process of an MPI
// program communicated, as a table of facts (rows), the communicators that the
// rows speak of, and the circumstances of the process.
//
// Every number that mpitrace prints is a sum over rows. What a call counts as
// is defined once, in the table of SEMANTICS that the documentation quotes;
// the functions here only spread a collective's logical volume over pairs.
//
// All sizes are bytes and all counts are unsigned 64-bit; times are
// nanoseconds. A world rank is a rank in MPI_COMM_WORLD.
package profile

import (
	"slices"
)

// Profile is what one process recorded.
type Profile struct {
	Run     string   // the MPI job the process belonged to, as its launcher names it
	Rank    int      // world rank, -1 if the process ended before it was known
	Size    int      // size of MPI_COMM_WORLD, -1 if not known
	Host    string   // node name
	Pid     int      // process id on its node
	Program string   // path of the executable
	Command []string // argument vector
	Library string   // MPI library version string, as MPI_Get_library_version gives it
	Source  string   // the file this was read from

	State  State
	Timing Timing
	// Unfollowed tells that nonblocking receives are counted as calls, and what
	// they received is not known; persistent and partitioned ones' is.
	Unfollowed bool

	Start int64 // Unix ns when recording began (on entering MPI_Init)
	// Application time runs from InitEnd to FinalizeStart; End is the last
	// moment known. Unix ns, 0 if never reached.
	InitEnd, FinalizeStart, End int64

	Threads int // tables used, one per thread at a time
	Comms   []Comm
	Slices  []Slice // slice 0 is "run"
	Modules []Module
	Stacks  map[uint64][]uint64 // by the Row.Callsite that they are: return addresses, the innermost first
	Symbols Symbols             // of the call sites, once they are looked up; profiles of a job share them
	Rows    []Row
	Vectors []Vector
	Asides  []Aside
	Late    []Late
	Open    []OpenCall
	Exit    Exit
	Pauses  uint64 // how often the program stopped the recording: MPI_Pcontrol(0)
	Losses  Losses
	Clocks  ClockCheck

	Intercepted *Intercepted // nil: no other tool hides calls

	// Settings of mpitrace that were not at their defaults, by name.
	Settings  map[string]string
	Variables []Variable
	// What was asked of the MPI's performance variables.
	Pvars       []Pvar
	PvarHandles []PvarHandle
	Readings    []Reading // in the order of time

	Placement *Placement // nil where it is not known: recordings before version 7
	Usage     []Usage    // by slice

	Physical *Physical // nil where nobody asked the MPI library for it

	// Problems are what a reader found wrong with the source, each with its
	// place; what could be read is here all the same.
	Problems []string
}

// State tells how a process ended.
type State uint8

const (
	Running   State = 1 // never finalized: still running, or ended without MPI_Finalize
	Finalized State = 2
)

func (s State) String() string {
	switch s {
	case Running:
		return "running"
	case Finalized:
		return "finalized"
	}
	return "unknown"
}

// OpenCall is a call of MPI that had not returned when the recording was read:
// where a process is that still runs, or where it was when it ended without
// MPI_Finalize. It is counted in no row.
type OpenCall struct {
	Thread    int32
	Call      string
	Class     Class
	Direction Direction
	Comm      int32  // index into Profile.Comms, -1 if the call has none or it is not known
	Peer      int32  // rank in the communicator as the call was given it, or a Peer constant
	Source    int32  // of calls that send and receive: from whom, as Peer; else PeerNone
	Requests  int    // that the call waits for, tests or starts; 0 if it is no such call
	Code      int32  // of MPI_Abort: its error code
	Bytes     uint64 // of the message, or the room for it; of one message of a collective
	Sized     bool   // Bytes is known
	Callsite  uint64
	Slice     uint32
	Start     int64 // Unix ns, 0 if calls are not timed
}

// Exit is how a process ended, as whoever watched it saw: mpitrace run, of the
// processes of its own node.
type Exit struct {
	At     int64 // Unix ns, 0 if nobody saw it
	Known  bool  // Status or Signal is known
	Status int   // exit status, if no signal ended it
	Signal int   // that ended it, 0 if none

	Alive int64 // Unix ns when the process was last seen running, 0 if nobody looked, or if it had ended
	Gone  bool  // it has ended, also where nobody saw when

	Stopped bool // by a signal or a debugger, when it was seen running
}

// Timing tells which calls the times of rows are of.
type Timing uint8

const (
	TimingExact   Timing = iota // of each
	TimingSampled               // of some: the times are estimates
	TimingOff                   // of none: the times are 0 and say nothing
	NumTimings
)

var timingNames = [NumTimings]string{"exact", "sampled", "off"}

func (t Timing) String() string {
	if t < NumTimings {
		return timingNames[t]
	}
	return "unknown"
}

// ParseTiming is the inverse of Timing.String.
func ParseTiming(s string) (Timing, bool) {
	i := slices.Index(timingNames[:], s)
	return Timing(max(i, 0)), i >= 0
}

// Whether nonblocking receives were followed, as flags and files have it.
const (
	ReceivesOn  = "on"
	ReceivesOff = "off"
)

// ReceivesText is one of them.
func ReceivesText(unfollowed bool) string {
	if unfollowed {
		return ReceivesOff
	}
	return ReceivesOn
}

// Intercepted names the MPI functions that another tool's library, which comes
// before mpitrace's, intercepts. Their calls are not recorded.
type Intercepted struct {
	Library   string   `json:"library"` // path
	Functions []string `json:"functions"`
}

// ClockCheck says how far the clocks of a process disagreed from its start to its end, in ns. Each is 0 where they
// agreed, up to what reading and adjusting them explains.
type ClockCheck struct {
	Error int64 `json:"error,omitempty"` // the system's clock, less what the CPU's counter says: times may be wrong
	Step  int64 `json:"step,omitempty"`  // by how much the time of day was set meanwhile
}

// Losses counts what a recording could not keep exactly. All zero in a
// complete one.
type Losses struct {
	Calls         uint64 `json:"calls"`          // calls seen but not recorded at all
	Folded        uint64 `json:"folded"`         // calls that went to an overflow row: counted, but without peer or communicator
	Requests      uint64 `json:"requests"`       // requests that could not be followed to their completion, for want of memory
	Comms         uint64 `json:"communicators"`  // communicators that could not be described
	NegativeTicks uint64 `json:"negative_ticks"` // calls whose clock ran backwards, counted with no time
	Untimed       uint64 `json:"untimed"`        // calls from Fortran that are counted without their time
	Stacks        uint64 `json:"stacks"`         // calls that have their call site, but not the callers that were asked for
	Readings      uint64 `json:"readings"`       // readings of performance variables that had no room, or that the MPI refused
	Damaged       uint64 `json:"damaged"`        // parts of the file that a reader had to skip
}

// Any reports whether anything at all was lost.
func (l Losses) Any() bool { return l != Losses{} }

// Slice is a part of the run: a phase by MPI_Pcontrol or by name.
type Slice struct {
	Index uint32
	Name  string
	Start int64 // Unix ns
}

// Module is a file that was loaded into the process, so that call sites can
// be named later.
type Module struct {
	Path       string
	BuildID    string // lower-case hex, empty if it has none
	Start, End uint64 // addresses
	Bias       uint64 // address minus the file's own (ELF) address
}

// Class is the kind of communication that a call does.
type Class uint8

const (
	P2P      Class = iota // point-to-point
	OneToAll              // rooted, data leaves the root
	AllToOne              // rooted, data reaches the root
	AllToAll              // everyone to everyone
	OneSided
	Sync // synchronisation of windows, no bytes
	IO
	Other // everything else that is timed
	NumClasses
)

var classNames = [NumClasses]string{"p2p", "O2A", "A2O", "A2A", "one-sided", "sync", "io", "other"}

func (c Class) String() string {
	if c < NumClasses {
		return classNames[c]
	}
	return "unknown"
}

// ParseClass is the inverse of Class.String.
func ParseClass(s string) (Class, bool) {
	for c, name := range classNames {
		if name == s {
			return Class(c), true
		}
	}
	return 0, false
}

// Collective reports whether c is one of the collective classes.
func (c Class) Collective() bool { return c == OneToAll || c == AllToOne || c == AllToAll }

// Direction tells which way a row's bytes went, seen from its process.
type Direction uint8

const (
	None  Direction = iota // a call that moved nothing itself
	Send                   // to the peer, or to those that Spread names
	Recv                   // from the peer
	Read                   // one-sided, from the peer's window
	Write                  // one-sided, to the peer's window
	NumDirections
)

var directionNames = [NumDirections]string{"none", "send", "recv", "read", "write"}

func (d Direction) String() string {
	if d < NumDirections {
		return directionNames[d]
	}
	return "unknown"
}

// ParseDirection is the inverse of Direction.String.
func ParseDirection(s string) (Direction, bool) {
	for d, name := range directionNames {
		if name == s {
			return Direction(d), true
		}
	}
	return 0, false
}

// Spread tells to whom the messages of a row go.
type Spread uint8

const (
	ToNobody     Spread = iota // no messages
	ToPeer                     // to (or from) the row's peer
	ToOthers                   // to each other member; over an intercommunicator to each remote one
	ToHigher                   // to each member of higher rank (Scan, Exscan)
	ToVector                   // as the row's Vector says, by member
	ToEdges                    // to each outgoing neighbour of the topology
	ToEdgeVector               // as the row's Vector says, by outgoing neighbour
	NumSpreads
)

// Peers that are no rank.
const (
	PeerNone      = -1 // the call has no peer
	PeerProcNull  = -2 // MPI_PROC_NULL
	PeerAnySource = -3 // MPI_ANY_SOURCE, on the call that posted the receive
	PeerRoot      = -4 // MPI_ROOT: the caller is the root of an intercommunicator's collective
	PeerLost      = -5 // folded into an overflow row
	PeerElsewhere = -6 // a process of another world (spawned or accepted)
)

// NumSizeClasses is how many size classes 64-bit sizes fall into: 0 for an
// empty message, k+1 for 2^k <= size < 2^(k+1).
const NumSizeClasses = 65

// Row is one fact: all calls under one key.
//
// Sums over any selection of rows are meaningful. Calls is how often the
// function was called; Messages and Bytes are what moved, to or from others
// (and to the process itself where the peer is itself). A collective's are its
// logical volume, sent to all others together.
type Row struct {
	Thread    int32
	Call      string // "Send", without MPI_
	Class     Class
	Direction Direction
	Spread    Spread
	Comm      int32  // index into Profile.Comms, -1 if the call has none
	Peer      int32  // rank in the communicator (an intercommunicator's remote group), or a Peer constant; the root of rooted collectives
	SizeClass uint8  // of one message
	Callsite  uint64 // return address, or a stack of them (see StackSite)
	Slice     uint32 // Slice.Index

	Calls    uint64
	Messages uint64
	Bytes    uint64
	TimeNs   uint64 // sum over the calls
	// TimeErrorNs is the standard error of TimeNs where it is estimated from some
	// of the calls; 0 where all of them were timed. The squares of errors add up.
	TimeErrorNs uint64
	MinNs       uint64 // shortest call that was timed, 0 if none was
	MaxNs       uint64
}

// Vector holds what an irregular collective (Alltoallv, Scatterv ...) sent to
// each member of its communicator, or along each outgoing edge of its
// topology. Its calls, and the sum of its bytes less the share that stays at
// home, are in the rows with the same key.
type Vector struct {
	Thread   int32
	Call     string
	Class    Class
	Spread   Spread // ToVector or ToEdgeVector
	Comm     int32
	Callsite uint64
	Slice    uint32
	Calls    uint64   // operations: one message to each member in each
	Bytes    []uint64 // by rank in the (remote) group, or by edge
}

// OwnGroup tells that the vector is by member of the own group although its
// messages go to the other one: Reduce_scatter over an intercommunicator, whose
// counts say what the own group receives.
func (v *Vector) OwnGroup(c *Comm) bool {
	return c.Inter && TraitsOf(v.Call).Any(TraitReduceScatter)
}

// Histogram counts messages by size class. Open MPI prints one column more
// than 64-bit sizes can fill.
type Histogram [NumSizeClasses + 1]uint64
