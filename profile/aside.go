package profile

// AsideKind tells why a message, or a receive, is in no row.
type AsideKind uint8

const (
	CancelledReceive  AsideKind = iota // it received nothing
	TruncatedReceive                   // its message did not fit, and is gone
	FreedReceive                       // freed while active: nobody can tell whether it received
	FailedReceive                      // completed with another error
	UnfinishedReceive                  // posted, or matched by a probe, and never completed
	UntoldReceive                      // completed, but the MPI does not say with what
	CancelledSend                      // counted as sent, and never arrived
	FreedSend                          // counted as sent, to be cancelled, and freed: nobody can tell whether it went
	FailedSend                         // half of a Sendrecv whose receive was truncated: not counted, and may have gone
	NumAsideKinds
)

var asideNames = [NumAsideKinds]string{"cancelled_receives", "truncated_receives", "freed_receives", "failed_receives",
	"unfinished_receives", "untold_receives", "cancelled_sends", "freed_sends", "failed_sends"}

// String is the kind as files name it.
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

// OfSend reports whether it is sends that the kind sets aside.
func (k AsideKind) OfSend() bool { return k >= CancelledSend }

// Aside is point-to-point messages or receives whose bytes are in no row, all
// under one key.
type Aside struct {
	Kind     AsideKind
	Call     string // that posted the receive or started the send; Cancel of a send that is not persistent
	Comm     int32  // index into Profile.Comms, -1 if it is not known
	Peer     int32  // rank in the communicator if it is known, else a Peer constant
	Callsite uint64
	Slice    uint32
	Count    uint64
	Bytes    uint64 // of cancelled sends that are persistent; others are not known
}

// SetAside is how many of a kind there are.
func (p *Profile) SetAside(k AsideKind) uint64 {
	var n uint64
	for i := range p.Asides {
		if p.Asides[i].Kind == k {
			n += p.Asides[i].Count
		}
	}
	return n
}
