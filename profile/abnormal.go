package profile

// AbnormalKind says how a message, a receive or a call failed to complete normally.
type AbnormalKind uint8

const (
	CancelledReceive  AbnormalKind = iota // cancelled before it received anything
	TruncatedReceive                      // the message was larger than the buffer
	FreedReceive                          // freed while active: not known whether it received anything
	FailedReceive                         // completed with another error
	UnfinishedReceive                     // posted, or matched by a probe, but never completed
	UntoldReceive                         // completed, but the MPI does not report what it received
	CancelledSend                         // counted as sent, but cancelled
	FreedSend                             // counted as sent, then cancelled and freed: not known whether the message was sent
	FailedSend                            // the send of a Sendrecv that failed: not counted, although the message may have been sent
	DoubtfulSend                          // the send of a Sendrecv that failed: counted, although the message may not have been sent
	LeftCall                              // any call that never returned: an exception or longjmp left it, or its thread ended
	NumAbnormalKinds
)

var abnormalNames = [NumAbnormalKinds]string{"cancelled_receives", "truncated_receives", "freed_receives", "failed_receives",
	"unfinished_receives", "untold_receives", "cancelled_sends", "freed_sends", "failed_sends", "doubtful_sends", "left_calls"}

// String returns the name of the kind in files.
func (k AbnormalKind) String() string { return nameOf(abnormalNames[:], k) }

// ParseAbnormalKind is the inverse of AbnormalKind.String.
func ParseAbnormalKind(s string) (AbnormalKind, bool) {
	return valueOf[AbnormalKind](abnormalNames[:], s)
}

// MarshalText returns AbnormalKind.String.
func (k AbnormalKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (k *AbnormalKind) UnmarshalText(text []byte) error {
	return setNamed(k, abnormalNames[:], "abnormal operation", text)
}

// OfReceive reports whether the kind is one of receives.
func (k AbnormalKind) OfReceive() bool { return k < CancelledSend }

// OfSend reports whether the kind is one of sends.
func (k AbnormalKind) OfSend() bool { return !k.OfReceive() && k < LeftCall }

// AbnormalOps holds point-to-point sends or receives, or calls, of the same key that did
// not complete normally. Receives and calls are in no row.
type AbnormalOps struct {
	Kind     AbnormalKind `json:"kind"`
	Call     string       `json:"call,omitempty"` // call that posted the receive or started the send, or that was left; Cancel, if it is for a nonpersistent send
	Comm     int32        `json:"communicator"`   // index into Profile.Comms, -1 if not known
	Peer     int32        `json:"peer"`           // rank in the communicator, or a Peer constant
	Callsite uint64       `json:"callsite,omitempty"`
	Slice    uint32       `json:"slice,omitempty"`
	Count    uint64       `json:"count"`
	Bytes    uint64       `json:"bytes,omitempty"` // of cancelled persistent sends and of doubtful sends; 0 for all others, whose bytes are not known
}

// CountAbnormal returns the number of operations of a kind.
func (p *Profile) CountAbnormal(k AbnormalKind) uint64 {
	var n uint64
	for i := range p.Abnormal {
		if p.Abnormal[i].Kind == k {
			n += p.Abnormal[i].Count
		}
	}
	return n
}
