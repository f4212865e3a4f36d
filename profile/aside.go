package profile

// AsideKind is the reason why a message or a receive is in no row.
type AsideKind uint8

const (
	CancelledReceive  AsideKind = iota // cancelled before it received anything
	TruncatedReceive                   // the message was larger than the buffer
	FreedReceive                       // freed while active: not known whether it received anything
	FailedReceive                      // completed with another error
	UnfinishedReceive                  // posted, or matched by a probe, but never completed
	UntoldReceive                      // completed, but the MPI does not report what it received
	CancelledSend                      // counted as sent, but cancelled
	FreedSend                          // counted as sent, then cancelled and freed: not known whether the message was sent
	FailedSend                         // the send of a Sendrecv whose receive was truncated: not counted, although the message may have been sent
	NumAsideKinds
)

var asideNames = [NumAsideKinds]string{"cancelled_receives", "truncated_receives", "freed_receives", "failed_receives",
	"unfinished_receives", "untold_receives", "cancelled_sends", "freed_sends", "failed_sends"}

// String returns the name of the kind in files.
func (k AsideKind) String() string {
	if k < NumAsideKinds {
		return asideNames[k]
	}
	return "unknown"
}

// ParseAsideKind is the inverse of AsideKind.String.
func ParseAsideKind(s string) (AsideKind, bool) {
	for k, name := range asideNames {
		if name == s {
			return AsideKind(k), true
		}
	}
	return 0, false
}

// OfSend reports whether the kind is one of sends.
func (k AsideKind) OfSend() bool { return k >= CancelledSend }

// Aside holds point-to-point messages or receives that are in no row. All have
// the same key.
type Aside struct {
	Kind     AsideKind
	Call     string // call that posted the receive or started the send; Cancel, if it is for a nonpersistent send
	Comm     int32  // index into Profile.Comms, -1 if not known
	Peer     int32  // rank in the communicator, or a Peer constant
	Callsite uint64
	Slice    uint32
	Count    uint64
	Bytes    uint64 // of cancelled persistent sends; 0 for all others, whose bytes are not known
}

// SetAside returns the number of messages or receives of a kind.
func (p *Profile) SetAside(k AsideKind) uint64 {
	var n uint64
	for i := range p.Asides {
		if p.Asides[i].Kind == k {
			n += p.Asides[i].Count
		}
	}
	return n
}
