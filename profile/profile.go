// Package profile is the data model of mpitrace: the communication of one
// process of an MPI program. A Profile holds a table of facts (rows), the
// communicators that rows refer to, and metadata of the process.
//
// Every number that mpitrace prints is a sum over rows. The documentation
// (docs/counting.md) defines what each call counts as. The functions here only
// distribute a collective's logical volume over pairs of ranks.
//
// All sizes are bytes, all counts are unsigned 64-bit numbers, and times are
// nanoseconds. A world rank is a rank in MPI_COMM_WORLD.
package profile

import (
	"cmp"
	"fmt"
	"strings"
)

// Profile is the record of one process. Its JSON form is stored in profile.arrow: it leaves out the
// rows, and what several processes share.
type Profile struct {
	Run     string   `json:"-"`                // id of the MPI job, as its launcher defines it
	Rank    int      `json:"rank"`             // world rank, -1 if the process ended before it was known
	Size    int      `json:"-"`                // size of MPI_COMM_WORLD, -1 if not known
	Host    string   `json:"host"`             // node name
	Pid     int      `json:"pid"`              // process id on the node, in PidNamespace
	Program string   `json:"-"`                // path of the executable
	Command []string `json:"-"`                // argument vector
	Library string   `json:"-"`                // version string of MPI_Get_library_version
	Source  string   `json:"source,omitempty"` // file that the profile was read from

	// PidNamespace is the inode of the process's namespace of process ids; 0 if it is not known.
	PidNamespace uint64 `json:"pid_namespace,omitempty"`

	State  State  `json:"state"`
	Timing Timing `json:"timing"`
	// Unfollowed reports whether nonblocking receives were not followed to
	// their completion. They are then counted as calls without bytes.
	// Persistent and partitioned receives are always followed.
	Unfollowed bool `json:"unfollowed,omitempty"`

	Start int64 `json:"start,omitempty"` // Unix ns when recording began, at the start of MPI_Init
	// Application time is the time from InitEnd to FinalizeStart. End is the
	// last time known. Unix ns, 0 if the process did not reach that point.
	InitEnd       int64 `json:"init_end,omitempty"`
	FinalizeStart int64 `json:"finalize_start,omitempty"`
	End           int64 `json:"end,omitempty"`

	Threads int `json:"threads"` // number of tables; a thread uses one at a time
	// Lifetimes is the sum of the lifetimes of all threads that made calls, in ns: from the
	// start of a thread's first call to the end of its last, and for the thread that
	// initialized MPI from InitEnd to FinalizeStart, or 0 if it made no call in between. 0 if
	// not known: recordings before version 9.
	Lifetimes int64 `json:"lifetimes_ns,omitempty"`

	Comms    []Comm              `json:"-"`
	Slices   []Slice             `json:"slices,omitempty"` // slice 0 is "run"
	Modules  []Module            `json:"-"`
	Stacks   map[uint64][]uint64 `json:"-"` // Row.Callsite -> return addresses, innermost first
	Symbols  Symbols             `json:"-"` // names of the call sites, once looked up; shared by the profiles of a job
	Rows     []Row               `json:"-"`
	Vectors  []Vector            `json:"-"`
	Abnormal []AbnormalOps       `json:"asides,omitempty"`
	Late     []Late              `json:"late,omitempty"`
	Open     []OpenCall          `json:"open,omitempty"`
	Exit     Exit                `json:"exit,omitzero"`
	Pauses   uint64              `json:"pauses,omitempty"` // number of times that the program stopped recording with MPI_Pcontrol(0)
	Losses   Losses              `json:"losses,omitzero"`
	Clocks   ClockCheck          `json:"clocks,omitzero"`

	// Alone is the reason why the recording is in a file of its own. It is empty if the recording
	// is in the container of its node, or was in the spool.
	Alone string `json:"alone,omitempty"`

	// Messages are lines for the user that the library could not write to
	// descriptor 2, which was not the standard error any more.
	Messages []string `json:"messages,omitempty"`

	Intercepted *FileAndFunctions `json:"intercepted,omitempty"` // what another tool's library intercepts before mpitrace's does, or nil
	Direct      *FileAndFunctions `json:"direct,omitempty"`      // what the program calls past mpitrace's library, or nil

	// Settings holds the mpitrace settings that differ from their defaults, by
	// name.
	Settings  map[string]string `json:"settings,omitempty"`
	Variables []Variable        `json:"variables,omitempty"`
	// Performance variables of the MPI that were read.
	Pvars       []Pvar       `json:"-"`
	PvarHandles []PvarHandle `json:"-"`
	Readings    []Reading    `json:"-"` // ordered by time

	Placement *Placement `json:"placement,omitempty"`  // nil if not known: recordings before version 7
	Usage     []Usage    `json:"usage,omitempty"`      // by slice
	ThreadUse *ThreadUse `json:"thread_use,omitempty"` // nil if not known: recordings before version 9, processes that were killed

	Physical *Physical `json:"-"` // nil if it was not requested

	// Problems are the errors that a reader found in the source, each with its
	// position. The profile holds everything that could be read.
	Problems []string `json:"problems,omitempty"`
	// Lost describes damage that belongs to no single profile: recordings that could not be read,
	// and damage of containers. The first profile of a run has the damage of the whole run.
	Lost []string `json:"lost,omitempty"`
	// Untold lists, as lines of text, what is missing from the tables that the profiles were read
	// from. The last profile of a source has the lines of all profiles. Missing columns are no
	// damage.
	Untold []string `json:"-"`
}

// Damage is a sentence with the problems of the source; empty if there are none.
func (p *Profile) Damage() string {
	if len(p.Problems) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is damaged: %s", cmp.Or(p.Source, fmt.Sprintf("rank %d", p.Rank)), strings.Join(p.Problems, "; "))
}

// State is how a process ended.
type State uint8

const (
	Running   State = 1 // not finalized: still running, or ended without MPI_Finalize
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

// OpenCall is an MPI call that had not returned when the recording was read. It
// is the position of a running process, or of one that ended without
// MPI_Finalize. It is counted in no row.
type OpenCall struct {
	Thread    int32     `json:"thread,omitempty"`
	Call      string    `json:"call"`
	Class     Class     `json:"class"`
	Direction Direction `json:"direction"`
	Comm      int32     `json:"communicator"`       // index into Profile.Comms, -1 if there is none or it is not known
	Peer      int32     `json:"peer"`               // rank in the communicator as passed to the call, or a Peer constant
	Source    int32     `json:"from"`               // source rank of calls that both send and receive, otherwise PeerNone
	Requests  int       `json:"requests,omitempty"` // number of requests that the call waits for, tests or starts; 0 for other calls
	Code      int32     `json:"code,omitempty"`     // error code of MPI_Abort
	Bytes     uint64    `json:"bytes,omitempty"`    // size of the message or of the receive buffer; for a collective, of one message
	Sized     bool      `json:"sized,omitempty"`    // whether Bytes is known
	Callsite  uint64    `json:"callsite"`
	Slice     uint32    `json:"slice,omitempty"`
	Start     int64     `json:"start,omitempty"` // Unix ns, 0 if calls are not timed
}

// Timing defines which calls are timed.
type Timing uint8

const (
	TimingExact   Timing = iota // all
	TimingSampled               // a sample: the times of rows are estimates
	TimingOff                   // none: the times of rows are 0
	NumTimings
)

var timingNames = [NumTimings]string{"exact", "sampled", "off"}

func (t Timing) String() string { return nameOf(timingNames[:], t) }

// ParseTiming is the inverse of Timing.String.
func ParseTiming(s string) (Timing, bool) { return valueOf[Timing](timingNames[:], s) }

// MarshalText returns Timing.String.
func (t Timing) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (t *Timing) UnmarshalText(text []byte) error { return setNamed(t, timingNames[:], "timing", text) }

// Values of the setting that controls whether nonblocking receives are
// followed, in flags and files.
const (
	ReceivesOn  = "on"
	ReceivesOff = "off"
)

// ReceivesText returns ReceivesOff if receives were not followed, otherwise
// ReceivesOn.
func ReceivesText(unfollowed bool) string {
	if unfollowed {
		return ReceivesOff
	}
	return ReceivesOn
}

// FileAndFunctions names a file and MPI functions whose calls are not recorded
// because of it.
type FileAndFunctions struct {
	Library   string   `json:"library"` // path
	Functions []string `json:"functions"`
}

// ClockCheck is the disagreement between the clocks of a process from its start
// to its end, in ns. A value is 0 if the clocks agree within the error of
// reading and adjusting them.
type ClockCheck struct {
	Error int64 `json:"error,omitempty"` // system clock minus CPU counter: if not 0, times may be wrong
	Step  int64 `json:"step,omitempty"`  // amount by which the time of day was set during the run
}

// Losses counts what a recording does not hold exactly. All counts are zero in
// a complete recording.
type Losses struct {
	Calls         uint64 `json:"calls"`          // calls that were not recorded at all
	Folded        uint64 `json:"folded"`         // calls counted in an overflow row, without peer or communicator
	Requests      uint64 `json:"requests"`       // requests not followed to their completion, because memory was short
	Comms         uint64 `json:"communicators"`  // communicators without a description
	NegativeTicks uint64 `json:"negative_ticks"` // calls during which the clock went backwards, counted with a time of 0
	Untimed       uint64 `json:"untimed"`        // calls from Fortran that were counted without their time
	Stacks        uint64 `json:"stacks"`         // calls recorded with their call site but without the stack that was requested
	Readings      uint64 `json:"readings"`       // readings of performance variables for which there was no room, or that failed
	Damaged       uint64 `json:"damaged"`        // parts of the file that a reader had to skip
}

// Any reports whether anything was lost.
func (l Losses) Any() bool { return l != Losses{} }

// Slice is a part of the run, started by MPI_Pcontrol or through MPI_T.
type Slice struct {
	Index uint32 `json:"index"`
	Name  string `json:"name"`
	Start int64  `json:"start"` // Unix ns
}

// Module is a file that was loaded into the process. Call sites are named from
// its symbols.
type Module struct {
	Path       string
	BuildID    string // lower-case hex, empty if it has none
	Start, End uint64 // addresses
	Bias       uint64 // address minus the file's own (ELF) address
}

// Class is the kind of communication of a call.
type Class uint8

const (
	P2P      Class = iota // point-to-point
	OneToAll              // rooted, data moves from the root
	AllToOne              // rooted, data moves to the root
	AllToAll              // data moves from each member to each other
	OneSided
	Sync // synchronization of windows, no bytes
	IO
	Other // all other timed calls
	NumClasses
)

var classNames = [NumClasses]string{"p2p", "O2A", "A2O", "A2A", "one-sided", "sync", "io", "other"}

func (c Class) String() string { return nameOf(classNames[:], c) }

// ParseClass is the inverse of Class.String.
func ParseClass(s string) (Class, bool) { return valueOf[Class](classNames[:], s) }

// Collective reports whether c is one of the collective classes.
func (c Class) Collective() bool { return c == OneToAll || c == AllToOne || c == AllToAll }

// Direction is the direction in which a row's bytes moved, as seen from its
// process.
type Direction uint8

const (
	None  Direction = iota // the call moved no bytes itself
	Send                   // to the peer, or to the ranks that Spread defines
	Recv                   // from the peer
	Read                   // one-sided, from the peer's window
	Write                  // one-sided, to the peer's window
	NumDirections
)

var directionNames = [NumDirections]string{"none", "send", "recv", "read", "write"}

func (d Direction) String() string { return nameOf(directionNames[:], d) }

// ParseDirection is the inverse of Direction.String.
func ParseDirection(s string) (Direction, bool) { return valueOf[Direction](directionNames[:], s) }

// Spread defines the ranks to which the messages of a row go.
type Spread uint8

const (
	ToNobody     Spread = iota // no messages
	ToPeer                     // to (or from) the row's peer
	ToOthers                   // to each other member; on an intercommunicator, to each remote member
	ToHigher                   // to each member of higher rank (Scan, Exscan)
	ToVector                   // to each member, with the bytes in a Vector
	ToEdges                    // to each outgoing neighbour of the topology
	ToEdgeVector               // to each outgoing neighbour, with the bytes in a Vector
	NumSpreads
)

var spreadNames = []string{"nobody", "peer", "others", "higher", "vector", "edges", "edge-vector"} // in the table of calls

// Values of Row.Peer that are not ranks.
const (
	PeerNone      = -1 // the call has no peer
	PeerProcNull  = -2 // MPI_PROC_NULL
	PeerAnySource = -3 // MPI_ANY_SOURCE, on the call that posted the receive
	PeerRoot      = -4 // MPI_ROOT: the caller is the root of a collective on an intercommunicator
	PeerLost      = -5 // not known: folded into an overflow row
	PeerElsewhere = -6 // a process of another world (spawned, or connected with MPI_Comm_accept)
)

// NumSizeClasses is the number of size classes: class 0 has empty messages, and
// class k+1 has messages of 2^k <= bytes < 2^(k+1).
const NumSizeClasses = 65

// Row is one fact: all calls with the same key.
//
// Sums over any selection of rows are meaningful. Calls is the number of calls
// of the function. Messages and Bytes are what these calls moved to or from
// other processes, and also to the process itself if it is its own peer. For a
// collective they are its logical volume, summed over all other members.
type Row struct {
	Thread    int32
	Call      string // "Send", without MPI_
	Class     Class
	Direction Direction
	Spread    Spread
	Comm      int32  // index into Profile.Comms, -1 if there is none
	Peer      int32  // rank in the communicator or in an intercommunicator's remote group, or a Peer constant; for rooted collectives, the root
	SizeClass uint8  // of one message
	Callsite  uint64 // return address, or the key of a stack (see StackSite)
	Slice     uint32 // Slice.Index

	Calls    uint64
	Messages uint64
	Bytes    uint64
	TimeNs   uint64 // sum over the calls
	// TimeErrorNs is the standard error of TimeNs if only a sample of the calls
	// was timed, otherwise 0. To add up errors, add their squares.
	TimeErrorNs uint64
	MinNs       uint64 // shortest timed call, 0 if none was timed
	MaxNs       uint64
}

// Vector holds the bytes that an irregular collective (Alltoallv, Scatterv,
// ...) sent to each member of its communicator, or along each outgoing edge of
// its topology. The row with the same key has its calls and the sum of its
// bytes, without the bytes for the process itself.
type Vector struct {
	Thread   int32    `json:"thread"`
	Call     string   `json:"call"`
	Class    Class    `json:"class"`
	Spread   Spread   `json:"spread"` // ToVector or ToEdgeVector
	Comm     int32    `json:"communicator"`
	Callsite uint64   `json:"callsite"`
	Slice    uint32   `json:"slice"`
	Calls    uint64   `json:"calls"` // number of operations; each sends one message to each member
	Bytes    []uint64 `json:"-"`     // by rank in the group (of an intercommunicator, in the remote group), or by edge
}

// OwnGroup reports whether the vector is indexed by rank in the process's own
// group although the messages go to the remote group. This is so for
// Reduce_scatter on an intercommunicator, whose counts are those that the own
// group receives.
func (v *Vector) OwnGroup(c *Comm) bool {
	return c.Inter && TraitsOf(v.Call).Any(TraitReduceScatter)
}

// Histogram counts messages by size class. It has one column more than there
// are size classes, because the histograms of Open MPI's .prof files do.
type Histogram [NumSizeClasses + 1]uint64
