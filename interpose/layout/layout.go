// Package layout defines the format of a recording: what the library inside the application maps
// (shared) and updates in place for a process, in a file or in its part of a container.
//
// The types below are the definition; interpose/gen generates layout_gen.h from them. A test
// compares both with the view of a C compiler.
//
//	offset 0      Header
//	HeaderSize    segments, one after the other, up to Header.End
//
// A segment starts with a Segment. It holds either a log (records that are only appended) or a
// table of rows (those of one thread, in a hash table with open addressing). A table grows by
// being copied to a larger segment, which one store to Thread.Table then makes current. A
// reader reads only the tables that a Thread refers to, so that a process may be killed at any
// instant. A log record is valid if its Kind is not 0; Kind is stored last. A row is valid if
// its Count is not 0.
//
// All integers are in the byte order of the machine that wrote the file (Header.ByteOrder).
// Times are ticks of Header.Clock, or ns.
//
// A record kind is never reused, and the meaning of a field never changes. Version grows with
// each addition. Each addition states its version; everything else is of version 1.
package layout

// Limits. A reader compares lengths with them before it allocates.
const (
	Version    = 9
	ByteOrder  = 0x01020304
	HeaderSize = 4096

	SegmentMagic = 0x4753544d // "MTSG"

	MaxSegment    = 1 << 36 // bytes of one segment
	MaxString     = 1 << 20 // bytes of one string
	MaxMessages   = 1536    // bytes of Header.Messages
	MaxRankCount  = 1 << 27 // processes of a communicator
	MaxTableRows  = 1 << 26
	MinTableRows  = 256
	MinLogSegment = 16 << 10
)

// Constants of Sum. Any change of a single word changes the sum. A sum of 0 is stored as 1.
const (
	ChecksumStart  = 0x6d70697472616365
	ChecksumFactor = 0x9e3779b97f4a7c15
)

// Magic is the start of a recording.
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
	TimingExact   = 0 // each call is timed
	TimingSampled = 1 // some calls are timed; in a table segment, the rows are followed by a Sample for each Row
	TimingOff     = 2 // no call is timed
)

// EarlyCalls is the number of calls of a row that are timed before the fraction of later calls
// to be timed is determined.
const EarlyCalls = 64

// Header.Receives (version 4)
const (
	ReceivesFollowed   = 0
	ReceivesUnfollowed = 1 // the outcome of nonblocking receives is not known, except of persistent and partitioned ones
)

// Segment.Kind
const (
	SegmentFree  = 1 // formerly a table, which may be reused; or the unused end of an Extent (version 8)
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

// OpenBytesUnknown is the value of Open.Bytes if the size of the datatype is not yet known.
const OpenBytesUnknown = 1<<64 - 1

// StackSite (version 2) is a bit of Row.Callsite and Vector.Callsite. If it is set, the other
// bits are the Stack.ID of the caller. No address of a program has it.
const StackSite = 1 << 63

// Unloaded (version 7), above all real addresses, is the first for call sites in unloaded files.
const Unloaded = 1 << 62

// Stacks (version 2): the maximum number of addresses of a stack, and of different stacks that
// a process keeps.
const (
	MaxStackDepth = 32
	// AutoStackDepth is the depth for --stack auto. Wrappers around MPI are not deeper.
	AutoStackDepth = 8
	MaxStacks      = 1 << 16
)

// String.Key
const (
	StringHost    = 1
	StringJob     = 2 // the job's name for its launcher
	StringCommand = 3 // argument vector; a NUL follows each argument
	StringProgram = 4 // path of the executable
	StringLibrary = 5 // MPI_Get_library_version
	StringTool    = 6 // version of mpitrace that wrote the recording

	// Of version 7: the library of another tool that comes before mpitrace's,
	// and the MPI functions that it intercepts, each after a newline.
	StringIntercepted = 7

	// Of version 8: why the process has a file of its own and no part of its node's container.
	StringAlone = 8

	// Of version 9: a file that calls PMPI functions itself, and the functions, each after a
	// newline. MPI_Init stands for an initialization that did not pass through the library.
	StringDirect = 9

	// Of version 9: the id of the boot of the process's kernel. Processes with one id share
	// their clocks, whatever the names of their hosts (containers on one node).
	StringBoot = 10
)

// EagerLimit.Path (version 7)
const (
	PathSelf    = 0
	PathNode    = 1 // to other processes of the node
	PathNetwork = 2 // to other nodes
)

// Variable.Origin (version 6)
const (
	VariableEnvironment = 1 // set in the process's environment
	VariableAsked       = 2 // to be set by mpitrace through MPI_T, at the user's request
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

// Pvar.Class (version 6): the variable classes of MPI_T, in the order of the Standard.
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

// Pvar.Type (version 6): the type of the 64-bit words of a Reading.
const (
	PvarSigned   = 1
	PvarUnsigned = 2
	PvarDouble   = 3
	PvarText     = 4 // one character per word
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
	ReadAtSlice    = 2 // at the end of a slice
	ReadAtInterval = 3
	ReadAtFinalize = 4
	ReadAtFree     = 5 // just before the object is freed
	ReadAtBind     = 6 // just after the object was created
)

// Special values of a peer, as in profile.
const (
	PeerNone      = -1
	PeerProcNull  = -2
	PeerAnySource = -3
	PeerRoot      = -4
	PeerLost      = -5
	PeerElsewhere = -6
)

// Thread.Flags
const (
	ThreadMain       = 1 // (version 9) while the thread that initialized MPI has the record
	ThreadUseUnknown = 2 // (version 9) CPUTime and RunDelay lack those of a thread that had the record
)

// CommNone is the communicator of a row without a communicator.
const CommNone = 0xffffffff

// Comm.Flags
const (
	CommInter  = 1 // an intercommunicator
	CommFreed  = 2
	CommFound  = 4 // first seen in a call: its constructor was not seen, and its id is a guess
	CommList   = 8 // the members follow as a list; otherwise they are Base + i*Stride
	CommRemote = 16
)

// Clock is one moment on three clocks, read together.
type Clock struct {
	Ticks     uint64
	Monotonic uint64 // ns
	Realtime  uint64 // Unix ns
}

// Header is at the start of the file.
type Header struct {
	Magic      [8]byte
	Version    uint32
	ByteOrder  uint32
	HeaderSize uint32
	State      uint32
	End        uint64 // offset of the end of the segments
	WorldRank  int32  // -1 until it is known
	WorldSize  int32
	Pid        uint32
	Clock      uint32

	Start         Clock // at the start of MPI_Init
	InitEnd       Clock // zero until MPI_Init returns
	Last          Clock // latest time at which the clocks were read together; this is done rarely
	FinalizeStart Clock
	FinalizeEnd   Clock

	LostCalls     uint64 // calls that are not recorded at all
	FoldedCalls   uint64 // calls added to an overflow row
	LostRequests  uint64
	LostComms     uint64
	NegativeTicks uint64
	LastWrites    uint64 // counter of writes to Last; odd while a write is in progress

	// Of version 2:
	UntimedCalls uint64 // calls from Fortran that do not call C: counted, not timed
	Pauses       uint64 // number of times that MPI_Pcontrol stopped the recording
	LostStacks   uint64 // calls recorded with their return address, since there were too many stacks

	// Of version 3:
	Checksum uint64 // of the file up to End, with 0 in this field (see Sum); 0 while the file is being written

	// Of version 4:
	Timing   uint32
	Receives uint32

	// Of version 6:
	LostReadings uint64 // readings of performance variables lost: no space, or an MPI error

	// Of version 7:
	Abort Open // MPI_Abort called by a thread without a table, where it may be impossible to make one

	// Of version 9:
	PidNamespace uint64 // inode of the namespace of process ids that Pid belongs to; 0 if not known
	// Threads of the process at the start of MPI_Finalize, and how many of them used a processor: had
	// at least 5 % of the CPU time of the busiest. Both are 0 if that is not known.
	Threads     uint32
	BusyThreads uint32
	// Messages that were not written to stderr because descriptor 2 was another file. They are in
	// the header because one of them reports that the log is full.
	Messages [MaxMessages]byte
}

// Sum (version 3) adds the file's next 64-bit word to a checksum, initially ChecksumStart.
func Sum(sum, word uint64) uint64 {
	sum = (sum ^ word) * ChecksumFactor
	return sum ^ sum>>32
}

// Segment is at the start of a segment.
type Segment struct {
	Magic    uint32
	Kind     uint32
	Size     uint64 // in bytes, including this struct
	Rows     uint64 // capacity of a table
	Offset   uint64 // of this segment in the file
	Reserved [4]uint64
}

// Record is at the start of a log record. The size of a record is a multiple of 8 bytes.
type Record struct {
	Size uint32 // in bytes, including this struct
	Kind uint32 // stored last
}

// String is followed by Length bytes of text.
type String struct {
	Record Record
	Key    uint32
	Length uint32
}

// Thread refers to the table of rows of a thread.
type Thread struct {
	Record Record
	Index  uint32
	Flags  uint32 // of version 9, 0 before
	Table  uint64 // offset of the table's segment; 0 if there is none yet
	Last   uint64 // ticks when the latest call returned; from version 5 on see Open.Last

	// Of version 5:
	Open uint64 // offset of the thread's Open, which is in the same record
	// Of version 9: ticks at the start of the first call (main thread: the end of Init). Gaps
	// between owners of the record are added, so that Open.Last - First is the sum of their
	// lifetimes. If the main thread makes no call between Init and Finalize, that time is added too.
	First uint64
	// Of version 9: what the threads that had the record used from First to their end or to the start
	// of MPI_Finalize. Valid if Header.Threads is set.
	CPUTime  uint64 // ns
	RunDelay uint64 // ns in which they were ready to run but had no processor
}

// Open (version 5) is the call that a thread is in, in one cache line. It begins with the key
// of the call's Row. Call is stored last. It is 0 again when the call has been added to its
// row. Fields that the call does not use keep old values. For less frequent calls the
// communicator, peer and bytes are stored a moment after Call. SizeClass is undefined until the
// call has been added to its row.
type Open struct {
	Callsite  uint64
	Comm      uint32
	Peer      int32 // as passed to the call
	Slice     uint32
	Call      uint16 // 0 between calls
	Direction uint8  // if None, Bytes is undefined
	SizeClass uint8

	Start  uint64 // ticks at the start of the call, minus Spent at that time; 0 if the call is not timed
	Bytes  uint64 // size of the message or of the receive buffer; for a collective as in Row
	Spent  uint64 // ticks in all calls that returned, each without the calls inside it
	Last   uint64 // ticks when the latest call returned; from version 9 on the start of the first call before that
	Source int32  // source, for calls that both send and receive
	Count  uint32 // number of requests, for calls that wait, test or start; error code, for MPI_Abort
}

// Comm is a communicator. Its members follow if CommList is set (int32 world ranks), then its
// remote group if CommRemote is set (RemoteSize int32).
type Comm struct {
	Record      Record
	Index       uint32
	Flags       uint32
	ID          [2]uint64
	FoldID      [2]uint64 // equal for all communicators created in the same way
	Parent      uint32    // Index or CommNone
	Constructor uint32    // call id; 0 for predefined communicators
	Size        uint32
	Rank        uint32
	Base        int32
	Stride      int32
	RemoteSize  uint32
	Reserved    uint32
	Folded      uint64 // number of later communicators, created in the same way, that share this record
}

// Name sets the name of a communicator: Length bytes follow. The latest Name applies.
type Name struct {
	Record Record
	Index  uint32
	Length uint32
}

// Edges holds a communicator's outgoing neighbors: Count int32 follow.
type Edges struct {
	Record Record
	Index  uint32
	Count  uint32
}

// Slice is a part of the run. Its name follows (Length bytes). The latest name applies.
type Slice struct {
	Record Record
	Index  uint32
	Length uint32
	Start  uint64 // ticks
}

// Module is a loaded file. Its build id (BuildIDLength bytes) and its path (PathLength bytes)
// follow.
//
// From version 7 on, a file that contains call sites is recorded a second time when it is
// unloaded, with addresses from Unloaded on, and its call sites get these addresses. If two
// Modules overlap, the second was loaded after the first was unloaded.
type Module struct {
	Record        Record
	Bias          uint64 // address in memory minus ELF address
	Start         uint64
	End           uint64
	BuildIDLength uint32
	PathLength    uint32
}

// Vector holds the bytes that an irregular collective sent to each member, or along each edge:
// Length uint64 follow.
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
	Count     uint64 // number of operations
}

// Stack is a call stack: Depth uint64 follow, return addresses, that of the wrapper first.
type Stack struct {
	Record Record
	ID     uint32
	Depth  uint32
}

// Setting (version 6) is a setting of mpitrace that does not have its default value. Its name
// (NameLength bytes) and value (ValueLength bytes) follow.
type Setting struct {
	Record      Record
	NameLength  uint32
	ValueLength uint32
}

// Variable (version 6) is a control variable of the MPI that was set or could not be set. Its
// name and its value follow, then the reason if it was refused.
type Variable struct {
	Record      Record
	Origin      uint32
	Scope       uint32
	NameLength  uint32
	ValueLength uint32
	WhyLength   uint32
}

// Pvar (version 6) is a performance variable to be read. Its name and description follow.
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

// Handle (version 6) is a performance variable bound to a communicator, a window or no object.
type Handle struct {
	Record Record
	Index  uint32
	Pvar   uint32
	Comm   uint32 // Comm.Index, or CommNone
	Count  uint32 // number of elements
}

// EagerLimit (version 7) is the size of the largest message that the MPI sends on a path without
// waiting for the receiver. Written only if events are traced. The MPI variable's name follows.
type EagerLimit struct {
	Record     Record
	Path       uint32
	NameLength uint32
	Bytes      uint64
}

// Group (version 7) is the group of a Win_start or Win_post: Count int32 follow, world ranks.
// It is written only if events are traced, once for each distinct group.
type Group struct {
	Record Record
	Index  uint32 // from 1
	Count  uint32
}

// Reading (version 6) is the value of a handle at one moment: Count uint64 follow.
type Reading struct {
	Record Record
	Handle uint32
	Slice  uint32 // the slice that ends, or in which the variable is read
	Ticks  uint64
	Count  uint32
	Moment uint32
}

// Placement (version 7) holds the processors on which the process may run, and the resources of
// the node. It is read at the end of MPI_Init, since some MPIs bind processes there. Words
// uint64 follow, the affinity mask: processor n is bit n%64 of word n/64.
type Placement struct {
	Record         Record
	Words          uint32
	NodeProcessors uint32 // online hardware threads of the node; 0 if not known, as for the next two fields
	NodeCores      uint32 // calculated from the siblings of processor 0
	NodeSockets    uint32
	CPULimit       uint64 // thousandths of a processor that the control group may use; 0 if there is no limit
	LimitGroup     uint64 // inode of that control group; processes with the same inode share the limit
}

// Usage (version 7) holds the resources that the process used while a slice was current, from
// the end of MPI_Init to the start of MPI_Finalize. It is updated each time the slice ends. For
// a process that was killed, the last slice is missing.
type Usage struct {
	Record      Record
	Slice       uint32
	DelayKnown  uint32 // 1 if the kernel provides RunDelay
	Ticks       uint64 // time for which the slice was current
	UserNs      uint64 // CPU time of all threads
	SystemNs    uint64
	Voluntary   uint64 // context switches of all threads
	Involuntary uint64
	RunDelay    uint64 // ns in which the main thread was ready to run but had no processor
}
