package layout

// A process whose events are traced has two more files, with the name of its
// recording (with a container see ExtentEvents; there is no NAME.spill then):
//
//	NAME.events  an EventsHeader, padded to EventsHeaderSize, then chunks: those that threads
//	             are filling, which are mapped like the recording, and some filled ones
//	NAME.spill   the other filled chunks, one after the other
//
// A chunk is ChunkSize bytes: a Chunk and up to ChunkEvents Events of one thread,
// in the order in which they ended. Only this thread writes it. It stores Count
// last, so that a process may be killed between any two instructions. The
// chunks of one thread are in order of Sequence. A chunk may occur twice, one
// copy of it truncated, if the process was killed or the file copied before the
// chunk was reused. Readers must use it once.

// EventsMagic is the start of a file of events.
var EventsMagic = [8]byte{'M', 'P', 'I', 'E', 'V', 'E', 'N', 'T'}

// Constants of files of events, and of chunks.
const (
	EventsVersion    = 1
	EventsHeaderSize = 64 << 10   // whole pages, for all page sizes in use
	ChunkMagic       = 0x4b4e4843 // "CHNK"
	ChunkSize        = 256 << 10
	ChunkEvents      = (ChunkSize - 64 - ExtentSize) / 32 // of a full chunk: it fits into an extent of ChunkSize bytes
	MaxChunkEvents   = (ChunkSize - 64) / 32              // of a full chunk in recordings up to version 7
)

// EventsHeader.Cut: reasons why there may be fewer events than calls.
const (
	CutSlices  = 1 // only some slices or classes of calls were traced
	CutLimit   = 2 // the limit was reached; the first part was kept
	CutRing    = 4 // chunks were reused; the last part was kept
	CutNoRoom  = 8 // there was not enough space
	CutClasses = 16
)

// Values of Event.Row for events that have no row.
const (
	EventCompleted = 1 // an operation that a call started has completed; Event.Request identifies it
)

// EventNoTag is the value of Event.Tag for events without a tag.
const EventNoTag = -1 << 31

// Event.Tag of a call on a window (recordings of version 7) is WindowDetails
// times the number of the window in its process, plus a detail: for Win_lock
// one of the Lock constants, for Win_start and Win_post the Group.Index.
// Windows are numbered from 1 in the order in which they were made. Number 0 is
// a window whose creation was not seen, or one after the first MaxWindows. For
// communicator constructors that only the new members call (Comm_create_group,
// Intercomm_create, Comm_create_from_group, Intercomm_create_from_groups), Tag
// is the Comm.Index of the new communicator plus 1, or 0.
const (
	WindowDetails = 4096
	MaxWindows    = 1<<31/WindowDetails - 1
	LockShared    = 1
	LockExclusive = 2
)

// EventsHeader is at the start of a file of events.
type EventsHeader struct {
	Magic      [8]byte
	Version    uint32
	ByteOrder  uint32
	HeaderSize uint32
	ChunkSize  uint32
	Pid        uint32
	Cut        uint32
	Chunks     uint64 // number of chunks in this file; one more may follow, complete or not
	Spilled    uint64 // number of chunks in NAME.spill
	Dropped    uint64 // number of events that were not kept
}

// Chunk is at the start of a chunk of events.
type Chunk struct {
	Magic    uint32
	Thread   uint32
	Sequence uint64 // over all chunks of the process, from 1
	Count    uint64 // number of complete events; stored last
	Reserved [5]uint64
}

// Event is a call that returned, or a message or request counted separately
// from its call. Its Row has the other data.
type Event struct {
	Start uint64 // ticks at the start; if the program made other calls inside this one, plus their duration
	Ticks uint64 // low 48 bits: duration in ticks; high 16 bits: lower half of Request
	Bytes uint64 // low 48 bits: bytes, as added to the row; high 16 bits: upper half of Request
	Row   uint32 // offset of the row in the recording, in units of 64 bytes; or EventCompleted
	Tag   int32  // MPI tag, for point-to-point; number of requests, for calls that wait, test or start; see WindowDetails for windows
}
