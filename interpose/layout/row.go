package layout

// Row holds the counts and times of a key, in one cache line. The key is its first 24 bytes.
type Row struct {
	Callsite  uint64 // return address of the wrapper, or StackSite | Stack.ID
	Comm      uint32 // Comm.Index or CommNone
	Peer      int32  // rank in the communicator (or its remote group), or a Peer constant
	Slice     uint32
	Call      uint16 // id in interpose/calls; 0 if the row is empty
	Direction uint8
	SizeClass uint8 // of one message

	Count uint64
	Bytes uint64 // sum over calls of the size of one message; for vector collectives, of all bytes sent to others
	Time  uint64 // ticks in the timed calls
	Min   uint64 // ticks
	Max   uint64
}

// Sample (version 4) describes the timed calls of a row if only some calls are timed. Its early
// calls and its later ones are estimated separately, since they often differ.
type Sample struct {
	Timed        uint64
	Early        uint64  // number of calls of the row when EarlyCalls of them had been timed; 0 before
	EarlyTime    uint64  // ticks of those EarlyCalls calls
	EarlySquares float64 // sum of the squares of their ticks
	Squares      float64 // the same sum over all timed calls
	Every        uint32  // about one in Every of the later calls is timed
	Pad          uint32
	Reserved     [2]uint64
}

// Row.Direction. Rows with None, Send, Recv, Read and Write count calls. Rows with these
// directions except None, and with the Posted ones, count messages.
const (
	DirNone       = 0 // a call without a message
	DirSend       = 1
	DirRecv       = 2
	DirRecvPosted = 3 // a message of a receive that an earlier call posted: no call, no time
	DirRead       = 4
	DirWrite      = 5
	DirSendPosted = 6 // a message that belongs to an earlier or other call: no call, no time
	DirReadPosted = 7
)

// Row.Direction of operations that moved no known data. They are not calls or messages, and
// have no time. Count is the number of receives, or of sends if the name says so. Peer is
// PeerAnySource for a receive and PeerNone for a send if it is not known. All of version 2.
const (
	DirPosted        = 8  // receive posted by a Start or an Isendrecv
	DirCancelled     = 9  // receive cancelled: it received nothing
	DirTruncated     = 10 // the message did not fit; it is lost, and its size is not known
	DirFreed         = 11 // freed while active: it is not known whether it received a message
	DirFailed        = 12 // completed with another error
	DirUnfinished    = 13 // not completed by the end of MPI_Finalize
	DirUntold        = 14 // completed, but the MPI does not say which message it received
	DirSendCancelled = 15 // counted when it started, then cancelled; has bytes if they are known
	DirSendFreed     = 16 // counted; cancel requested, then freed: it is not known whether it was cancelled
	DirSendFailed    = 17 // send of a Sendrecv that failed: not counted, but may have been sent

	// Of version 6: receives that were posted late, while more messages than
	// MPITRACE_WATCH_UNEXPECTED were in the MPI's queue of unexpected messages.
	// Bytes is the length of that queue, summed over the receives.
	DirLate = 18

	// Of version 9: calls that never returned, because an exception or longjmp left them,
	// or their thread ended. They are in no other row.
	DirLeft = 19
	// Of version 9: the send of a failed Sendrecv. It is counted, but may not have been sent.
	DirSendDoubtful = 20
)
