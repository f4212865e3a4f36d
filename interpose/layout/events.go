package layout

// A process that is traced has two files more, named as its recording is:
//
//	NAME.events  an EventsHeader with room behind it, then chunks: those that threads fill, which
//	             are mapped as the recording is, and such as they have filled
//	NAME.spill   more of these, one behind the other
//
// A chunk is ChunkSize bytes: a Chunk and ChunkEvents times an Event, of one
// thread, in the order in which they ended. The thread alone writes it, Count
// last, so that a process may be killed between any two instructions. Chunks of
// one thread follow each other by Sequence. One may be there twice, and one of the two
// cut: the process was killed, or the file copied, before the chunk was filled again.
// It counts once.

// EventsMagic is how a file of events starts.
var EventsMagic = [8]byte{'M', 'P', 'I', 'E', 'V', 'E', 'N', 'T'}

// Of files of events, and chunks.
const (
	EventsVersion    = 1
	EventsHeaderSize = 64 << 10   // whole pages, however large a system has them
	ChunkMagic       = 0x4b4e4843 // "CHNK"
	ChunkSize        = 256 << 10
	ChunkEvents      = (ChunkSize - 64) / 32
)

// EventsHeader.Cut: why there may be fewer events than calls.
const (
	CutSlices  = 1 // slices or classes of calls were chosen
	CutLimit   = 2 // the limit was reached, and the first part kept
	CutRing    = 4 // chunks were used again: the last part was kept
	CutNoRoom  = 8 // there was no room
	CutClasses = 16
)

// Event.Row of what is in no row.
const (
	EventCompleted = 1 // an operation that a call started completed: Event.Request tells which
)

// EventNoTag is Event.Tag of what has no tag.
const EventNoTag = -1 << 31

// Event.Tag of a call on a window (recordings of version 7) is WindowDetails times the
// number of the window in its process, plus a detail: of Win_lock one of the Lock
// constants, of Win_start and Win_post the Group.Index. The call that makes a window
// gives it the next number, from 1 on; number 0 is a window whose making was not
// seen, or that comes after MaxWindows others. Of communicator constructors that
// only the new members call (Comm_create_group, Intercomm_create,
// Comm_create_from_group, Intercomm_create_from_groups), Tag is one more than the
// Comm.Index of what was made, or 0.
const (
	WindowDetails = 4096
	MaxWindows    = 1<<31/WindowDetails - 1
	LockShared    = 1
	LockExclusive = 2
)

// EventsHeader is the start of a file of events.
type EventsHeader struct {
	Magic      [8]byte
	Version    uint32
	ByteOrder  uint32
	HeaderSize uint32
	ChunkSize  uint32
	Pid        uint32
	Cut        uint32
	Chunks     uint64 // that the file has; one more may be behind them, whole or not
	Spilled    uint64 // chunks in the other file
	Dropped    uint64 // events that were not kept
}

// Chunk is the start of a chunk of events.
type Chunk struct {
	Magic    uint32
	Thread   uint32
	Sequence uint64 // over all chunks of the process, from 1 on
	Count    uint64 // events that are whole; stored last
	Reserved [5]uint64
}

// Event is a call that returned, or what is counted beside it. Its Row has the
// rest of what is known of it.
type Event struct {
	Start uint64 // ticks; of a call inside which the program made others, later by their time
	Ticks uint64 // 48 bits: how long it took; and the lower half of Request
	Bytes uint64 // 48 bits: as they were added to the row; and the upper half of Request
	Row   uint32 // where in the recording, in units of 64 bytes; or EventCompleted
	Tag   int32  // of point-to-point as MPI has it; of calls that wait, test or start, of how many requests; of windows, see WindowDetails
}
