// Package layout defines a recording: the file that the library inside the
// application maps shared and updates in place, one per process.
//
// The definition is the Go types below; interpose/src/layout_gen.h is derived
// from them (interpose/gen), and a test compares both with a compiler's view.
//
//	offset 0      Header
//	HeaderSize    segments, one after the other, up to Header.End
//
// A segment starts with a Segment. It holds either a log (records that are
// only ever appended) or a table of rows (one thread's, open-addressed by a
// hash of the key). A thread's table grows by being copied to a larger segment
// and then named by Thread.Table in one store: a reader counts the tables that
// a Thread names and no others, so that a process may be killed at any instant.
// A log record is there once its Kind is not 0, and Kind is stored last; a row
// is there once its Count is not 0.
//
// All integers are in the byte order of the machine that wrote the file
// (Header.ByteOrder tells). Times are ticks of Header.Clock, or ns.
//
// A record kind and a field's meaning are never reused; Version grows with
// each addition, and each addition says its version; what says none is of version 1.
package layout

// Named limits; a reader checks lengths against them before it allocates.
const (
	Version    = 7
	ByteOrder  = 0x01020304
	HeaderSize = 4096

	SegmentMagic = 0x4753544d // "MTSG"

	MaxSegment    = 1 << 36 // bytes of one segment
	MaxString     = 1 << 20 // bytes of one string
	MaxRankCount  = 1 << 27 // processes of a communicator
	MaxTableRows  = 1 << 26
	MinTableRows  = 256
	MinLogSegment = 16 << 10
)

// Of Sum. Any change of one word changes the sum; a sum of 0 is said as 1.
const (
	ChecksumStart  = 0x6d70697472616365
	ChecksumFactor = 0x9e3779b97f4a7c15
)

// Magic is how a recording starts.
var Magic = [8]byte{'M', 'P', 'I', 'T', 'R', 'A', 'C', 'E'}

// Header.State
const (
	StateRunning   = 1
	StateFinalized = 2
)

// Header.Clock
const (
	ClockTSC       = 1 // x86-64 time stamp counter
	ClockCNTVCT    = 2 // aarch64 virtual counter
	ClockMonotonic = 3 // CLOCK_MONOTONIC, ns
)

// Header.Timing (version 4)
const (
	TimingExact   = 0 // each call
	TimingSampled = 1 // some of them: each table segment holds a Sample for each Row, behind them all
	TimingOff     = 2 // none
)

// EarlyCalls is how many calls of a row are timed before it is decided how many
// of the later ones are.
const EarlyCalls = 64

// Header.Receives (version 4)
const (
	ReceivesFollowed   = 0
	ReceivesUnfollowed = 1 // what nonblocking receives received is not known, but of persistent and partitioned ones
)

// Segment.Kind
const (
	SegmentFree  = 1 // was a table, may be used again
	SegmentLog   = 2
	SegmentTable = 3
)

// Record.Kind
const (
	RecordString = 1
	RecordThread = 2
	RecordComm   = 3
	RecordName   = 4
	RecordEdges  = 5
	RecordSlice  = 6
	RecordModule = 7
	RecordVector = 8
	RecordStack  = 9 // version 2

	// Of version 6:
	RecordSetting  = 10
	RecordVariable = 11
	RecordPvar     = 12
	RecordHandle   = 13
	RecordReading  = 14

	// Of version 7:
	RecordPlacement  = 15
	RecordUsage      = 16
	RecordEagerLimit = 17
	RecordGroup      = 21
)

// OpenBytesUnknown is Open.Bytes where the size of the datatype was not known yet.
const OpenBytesUnknown = 1<<64 - 1

// StackSite (version 2) marks a Row.Callsite (and Vector.Callsite) that is no address: the
// other bits are the Stack.ID of what called. No address in a program has it.
const StackSite = 1 << 63

// Unloaded (version 7) is where the addresses of call sites in unloaded files start. No address in
// a process is as large.
const Unloaded = 1 << 62

// Stacks (version 2): addresses of one, and how many different ones a process keeps.
const (
	MaxStackDepth = 32
	// AutoStackDepth is that of --stack auto: wrappers around MPI are no deeper.
	AutoStackDepth = 8
	MaxStacks      = 1 << 16
)

// String.Key
const (
	StringHost    = 1
	StringJob     = 2 // what the launcher calls the job
	StringCommand = 3 // argument vector, NUL after each
	StringProgram = 4 // path of the executable
	StringLibrary = 5 // MPI_Get_library_version
	StringTool    = 6 // version of the library that wrote this

	// Of version 7: another tool's library that comes before ours, and the MPI functions that it
	// intercepts, each after a newline.
	StringIntercepted = 7
)

// Row.Direction. Calls are the counts of None, Send, Recv, Read and Write;
// messages those of the same, but None, and of their Posted forms.
const (
	DirNone       = 0 // a call only
	DirSend       = 1
	DirRecv       = 2
	DirRecvPosted = 3 // a receive that an earlier call posted: no call, no time
	DirRead       = 4
	DirWrite      = 5
	DirSendPosted = 6 // a message that goes with an earlier or other call: no call, no time
	DirReadPosted = 7
)

// Row.Direction of what moved nothing that is known: neither calls, messages
// nor time. The count is of receives, or of sends where the name says so, and
// the peer is the one that is known, else PeerAnySource, or PeerNone of a send.
// All of version 2.
const (
	DirPosted        = 8  // a receive that a Start or an Isendrecv posted
	DirCancelled     = 9  // cancelled: it received nothing
	DirTruncated     = 10 // the message did not fit: it is gone, its size is not known
	DirFreed         = 11 // freed while active: nobody can tell whether it received
	DirFailed        = 12 // completed with another error
	DirUnfinished    = 13 // never completed, found at the end of MPI_Finalize
	DirUntold        = 14 // completed, and the MPI does not say with what
	DirSendCancelled = 15 // counted where it started, and cancelled; bytes where they are known
	DirSendFreed     = 16 // counted, to be cancelled, and freed before it was seen whether it was
	DirSendFailed    = 17 // half of a Sendrecv whose receive was truncated: not counted, and may have gone

	// Of version 6: receives that were posted late, while more messages than
	// MPITRACE_WATCH_UNEXPECTED waited in the MPI's queue of unexpected ones.
	// Bytes is no size but the length of that queue, summed over the receives.
	DirLate = 18
)

// EagerLimit.Path (version 7)
const (
	PathSelf    = 0
	PathNode    = 1 // to other processes of the node
	PathNetwork = 2 // to other nodes
)

// Variable.Origin (version 6)
const (
	VariableEnvironment = 1 // the process's environment sets it
	VariableAsked       = 2 // mpitrace was asked to set it, through MPI_T
)

// Variable.Scope (version 6): the scopes of MPI_T, in the order of the Standard.
const (
	ScopeUnknown  = 0
	ScopeConstant = 1
	ScopeReadOnly = 2
	ScopeLocal    = 3
	ScopeGroup    = 4
	ScopeGroupEq  = 5
	ScopeAll      = 6
	ScopeAllEq    = 7
)

// Pvar.Class (version 6): the performance variable classes of MPI_T, in the
// order of the Standard.
const (
	PvarState         = 1
	PvarLevel         = 2
	PvarSize          = 3
	PvarPercentage    = 4
	PvarHighWatermark = 5
	PvarLowWatermark  = 6
	PvarCounter       = 7
	PvarAggregate     = 8
	PvarTimer         = 9
	PvarGeneric       = 10
)

// Pvar.Type (version 6): what the 64-bit words of a Reading are.
const (
	PvarSigned   = 1
	PvarUnsigned = 2
	PvarDouble   = 3
	PvarText     = 4 // a character each
)

// Pvar.Binding (version 6)
const (
	PvarUnbound      = 0
	PvarCommunicator = 1
	PvarWindow       = 2
)

// Pvar.Flags (version 6)
const (
	PvarReadOnly   = 1
	PvarContinuous = 2
	PvarAtomic     = 4
)

// Reading.Moment (version 6)
const (
	ReadAtInit     = 1
	ReadAtSlice    = 2 // a slice ends
	ReadAtInterval = 3
	ReadAtFinalize = 4
	ReadAtFree     = 5 // the object is about to go
	ReadAtBind     = 6 // the object has just come
)

// Peers that are no rank, as in profile.
const (
	PeerNone      = -1
	PeerProcNull  = -2
	PeerAnySource = -3
	PeerRoot      = -4
	PeerLost      = -5
	PeerElsewhere = -6
)

// CommNone is the communicator of a row that has none.
const CommNone = 0xffffffff

// Comm.Flags
const (
	CommInter  = 1 // an intercommunicator
	CommFreed  = 2
	CommFound  = 4 // met in a call: its constructor was not seen, its id is a guess
	CommList   = 8 // Members follow as a list; else they are Base + i*Stride
	CommRemote = 16
)

// Clock is one moment on the three clocks, read together.
type Clock struct {
	Ticks     uint64
	Monotonic uint64 // ns
	Realtime  uint64 // Unix ns
}

// Header is the start of the file.
type Header struct {
	Magic      [8]byte
	Version    uint32
	ByteOrder  uint32
	HeaderSize uint32
	State      uint32
	End        uint64 // bytes of the file that are segments already
	WorldRank  int32  // -1 until known
	WorldSize  int32
	Pid        uint32
	Clock      uint32

	Start         Clock // entering MPI_Init
	InitEnd       Clock // zero until reached
	Last          Clock // the latest of the rare moments at which the clocks were read together
	FinalizeStart Clock
	FinalizeEnd   Clock

	LostCalls     uint64 // not recorded at all
	FoldedCalls   uint64 // booked on an overflow row
	LostRequests  uint64
	LostComms     uint64
	NegativeTicks uint64
	LastWrites    uint64 // to Last; odd while one is under way

	// Of version 2:
	UntimedCalls uint64 // from Fortran, that did not come by C: counted, not timed
	Pauses       uint64 // how often MPI_Pcontrol stopped the recording
	LostStacks   uint64 // calls booked by their return address, as there were too many stacks

	// Of version 3:
	Checksum uint64 // of the file up to End, with 0 here (see Sum); 0 while it is written to

	// Of version 4:
	Timing   uint32
	Receives uint32

	// Of version 6:
	LostReadings uint64 // of performance variables: there was no room, or the MPI refused

	// Of version 7:
	Abort Open // MPI_Abort, if a thread calls it that has no table: it may be called where no table can be made
}

// Sum is a checksum on the way (version 3), which starts with ChecksumStart and
// takes the file's 64-bit words one by one.
func Sum(sum, word uint64) uint64 {
	sum = (sum ^ word) * ChecksumFactor
	return sum ^ sum>>32
}

// Segment is the start of a segment.
type Segment struct {
	Magic    uint32
	Kind     uint32
	Size     uint64 // bytes, with this
	Rows     uint64 // capacity of a table
	Offset   uint64 // of this segment in the file
	Reserved [4]uint64
}

// Row is one fact, in one cache line. The first three words are the key.
type Row struct {
	Callsite  uint64 // return address of the wrapper, or StackSite and a Stack.ID
	Comm      uint32 // Comm.Index or CommNone
	Peer      int32  // rank in the communicator (remote group), or a Peer constant
	Slice     uint32
	Call      uint16 // id in interpose/calls, 0 in an empty row
	Direction uint8
	SizeClass uint8 // of one message

	Count uint64
	Bytes uint64 // of one message of the call, summed; of vector collectives, all that the call sent to others
	Time  uint64 // ticks of the calls that were timed
	Min   uint64 // ticks
	Max   uint64
}

// Sample (version 4) tells, where calls are timed by samples, how many of a
// row's were. Its early calls and the later ones are to be estimated apart:
// what comes first is seldom like the rest.
type Sample struct {
	Timed        uint64
	Early        uint64  // calls of the row when EarlyCalls of them were timed; 0 before that
	EarlyTime    uint64  // ticks of those
	EarlySquares float64 // sum of their squares
	Squares      float64 // of all that were timed
	Every        uint32  // of the later calls one in about so many is timed
	Pad          uint32
	Reserved     [2]uint64
}

// Record is the start of a log record. Records are multiples of 8 bytes.
type Record struct {
	Size uint32 // bytes, with this
	Kind uint32 // stored last
}

// String is followed by Length bytes.
type String struct {
	Record Record
	Key    uint32
	Length uint32
}

// Thread is a table of rows and who writes it.
type Thread struct {
	Record   Record
	Index    uint32
	Reserved uint32
	Table    uint64 // offset of its segment, 0 if none yet
	Last     uint64 // ticks when its latest call returned; from version 5 on Open has it

	// Of version 5:
	Open uint64 // offset of its Open, which lies in the same record
}

// Open (version 5) is the call that a thread is in, in one cache line. It starts
// as the call's Row would. Call is stored last, and is 0 again once the call is
// booked; what the call has no use for is left as it was. Of calls that are not
// frequent the communicator, peer and bytes follow a moment later. SizeClass says
// nothing before the call is booked.
type Open struct {
	Callsite  uint64
	Comm      uint32
	Peer      int32 // as the call was given it
	Slice     uint32
	Call      uint16 // 0 between calls
	Direction uint8  // of None, Bytes says nothing
	SizeClass uint8

	Start  uint64 // ticks when it began less Spent at that time; 0 if the call is not timed
	Bytes  uint64 // of the message, or the room for it; of a collective as in Row
	Spent  uint64 // ticks in all calls that returned, each without the calls inside it
	Last   uint64 // ticks when the latest call returned
	Source int32  // of calls that send and receive: from whom
	Count  uint32 // of calls that wait, test or start: how many requests; of MPI_Abort its error code
}

// Comm is a communicator, followed by its members (int32 world ranks, if
// CommList) and by its remote group's (RemoteSize int32, if CommRemote).
type Comm struct {
	Record      Record
	Index       uint32
	Flags       uint32
	ID          [2]uint64
	FoldID      [2]uint64 // the same for all of the same making
	Parent      uint32    // Index or CommNone
	Constructor uint32    // call id, 0 for predefined ones
	Size        uint32
	Rank        uint32
	Base        int32
	Stride      int32
	RemoteSize  uint32
	Reserved    uint32
	Folded      uint64 // later communicators of the same making that share this record
}

// Name gives a communicator a name: Length bytes follow. The latest counts.
type Name struct {
	Record Record
	Index  uint32
	Length uint32
}

// Edges are a communicator's outgoing neighbours: Count int32 follow.
type Edges struct {
	Record Record
	Index  uint32
	Count  uint32
}

// Slice is a part of the run: its name, Length bytes, follows. The latest name counts.
type Slice struct {
	Record Record
	Index  uint32
	Length uint32
	Start  uint64 // ticks
}

// Module is a loaded file: BuildIDLength bytes and PathLength bytes follow.
//
// From version 7 on, a file with call sites in it that was unloaded is recorded again, from an
// address of Unloaded on, and its call sites have these addresses too. Where
// two Modules overlap, the later one was loaded after the earlier one was unloaded.
type Module struct {
	Record        Record
	Bias          uint64 // address minus ELF address
	Start         uint64
	End           uint64
	BuildIDLength uint32
	PathLength    uint32
}

// Vector is what an irregular collective sent to each member, or along each
// edge: Length uint64 (bytes) follow.
type Vector struct {
	Record    Record
	Callsite  uint64
	Comm      uint32
	Slice     uint32
	Call      uint16
	Direction uint8
	Pad       uint8
	Thread    uint32
	Length    uint32
	Reserved  uint32
	Count     uint64 // operations
}

// Stack is where calls came from: Depth uint64 follow, return addresses, that
// of the wrapper first.
type Stack struct {
	Record Record
	ID     uint32
	Depth  uint32
}

// Setting (version 6) is a setting of ours that is not at its default:
// NameLength bytes and ValueLength bytes follow.
type Setting struct {
	Record      Record
	NameLength  uint32
	ValueLength uint32
}

// Variable (version 6) is a control variable of the MPI that was set, or was to
// be: its name, its value and, if it was refused, why, follow.
type Variable struct {
	Record      Record
	Origin      uint32
	Scope       uint32
	NameLength  uint32
	ValueLength uint32
	WhyLength   uint32
}

// Pvar (version 6) is a performance variable that is read: its name and its
// description follow.
type Pvar struct {
	Record            Record
	Index             uint32
	Class             uint32
	Type              uint32
	Binding           uint32
	Flags             uint32
	Reserved          uint32
	NameLength        uint32
	DescriptionLength uint32
}

// Handle (version 6) is a performance variable bound to an object, if it needs
// one, which is a communicator or a window.
type Handle struct {
	Record Record
	Index  uint32
	Pvar   uint32
	Comm   uint32 // Comm.Index, or CommNone
	Count  uint32 // elements
}

// EagerLimit (version 7) is the size of the largest message that the MPI sends on a
// path without waiting for the receiver. It is written where calls are traced. The
// name of the MPI's variable follows.
type EagerLimit struct {
	Record     Record
	Path       uint32
	NameLength uint32
	Bytes      uint64
}

// Group (version 7) is the group of a Win_start or Win_post: Count int32, world
// ranks, follow. It is written where calls are traced, once for each distinct group.
type Group struct {
	Record Record
	Index  uint32 // from 1 on
	Count  uint32
}

// Reading (version 6) is the value of a handle at a moment: Count uint64 follow.
type Reading struct {
	Record Record
	Handle uint32
	Slice  uint32 // the one that ends here, or that it is read in
	Ticks  uint64
	Count  uint32
	Moment uint32
}

// Placement (version 7) is on which processors the process may run, and what the
// node has. It is read at the end of MPI_Init, as some MPIs bind processes there.
// Words uint64 follow, the affinity mask: processor n is bit n%64 of word n/64.
type Placement struct {
	Record         Record
	Words          uint32
	NodeProcessors uint32 // online hardware threads of the node; 0 if not known, as are the next two
	NodeCores      uint32 // calculated from the siblings of processor 0
	NodeSockets    uint32
	CPULimit       uint64 // thousandths of a processor that its control group may use; 0 if there is no limit
	LimitGroup     uint64 // inode of that control group: processes with the same one share the limit
}

// Usage (version 7) is what the process has used while a slice was the current
// one, from the end of MPI_Init to the start of MPI_Finalize. Its words grow
// each time the slice ends. A process that was killed lacks its last slice.
type Usage struct {
	Record      Record
	Slice       uint32
	DelayKnown  uint32 // 1 if the kernel tells RunDelay
	Ticks       uint64 // how long it was the current slice
	UserNs      uint64 // CPU time of all threads
	SystemNs    uint64
	Voluntary   uint64 // context switches of all threads
	Involuntary uint64
	RunDelay    uint64 // ns in which the main thread was ready to run and had no processor
}
