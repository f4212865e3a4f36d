package trace

// Reason is why a message, or a collective, could not be put together.
type Reason string

const (
	NotTraced     Reason = "partner not traced"        // the other rank has no trace
	Cut           Reason = "partner's trace is cut"    // it was limited, or ends before the process did
	Gaps          Reason = "the trace has gaps"        // events that came before are not in it
	OtherWorld    Reason = "partner unknown"           // of another world, or not recorded
	NeverReceived Reason = "never received"            // although the receiver's trace is whole
	NoSend        Reason = "no such send"              // although the sender's trace is whole
	SetAside      Reason = "cancelled or truncated"    // or freed, or the MPI does not tell what was received
	NeverCalled   Reason = "not called by all members" // although their traces are whole
	Mismatch      Reason = "members call different collectives"
)

// Matching counts what was put together. Of complete traces that is all.
type Matching struct {
	Sent     uint64 `json:"sent"`     // messages, by the traces of the senders
	Received uint64 `json:"received"` // by those of the receivers
	Matched  uint64 `json:"matched"`
	// SizesDiffer is how many of the matched have not as many bytes received as
	// sent: none, if each was matched rightly.
	SizesDiffer uint64 `json:"sizes_differ"`

	UnmatchedSends    map[Reason]uint64 `json:"unmatched_sends"`
	UnmatchedReceives map[Reason]uint64 `json:"unmatched_receives"`

	Collectives Collectives `json:"collectives"`
}

// Collectives counts collective operations, each once, whoever takes part.
type Collectives struct {
	Instances  uint64            `json:"instances"`
	Complete   uint64            `json:"complete"` // all members took part
	Incomplete map[Reason]uint64 `json:"incomplete"`
}

func (c *Collectives) add(why Reason, n uint64) { c.Incomplete[why] += n }

func (r *replay) unmatchedSend(why Reason) { r.matching.UnmatchedSends[why]++ }

func (r *replay) unmatchedReceive(why Reason) { r.matching.UnmatchedReceives[why]++ }
