package trace

// Reason is why a message or a collective could not be matched.
type Reason string

const (
	NotTraced     Reason = "partner not traced"        // the other rank has no trace
	Cut           Reason = "partner's trace is cut"    // its trace was limited, or ends before the process did
	Gaps          Reason = "the trace has gaps"        // earlier events are missing from it
	OtherWorld    Reason = "partner unknown"           // in another MPI_COMM_WORLD, or not recorded
	NeverReceived Reason = "never received"            // although the receiver's trace is complete
	NoSend        Reason = "no such send"              // although the sender's trace is complete
	Abnormal      Reason = "cancelled or truncated"    // or freed, or the MPI does not report what was received
	NeverCalled   Reason = "not called by all members" // although their traces are complete
	Mismatch      Reason = "members call different collectives"
)

// Matching counts what was matched. With complete traces this is everything.
type Matching struct {
	Sent     uint64 `json:"sent"`     // messages in the traces of the senders
	Received uint64 `json:"received"` // messages in the traces of the receivers
	Matched  uint64 `json:"matched"`
	// SizesDiffer counts matched messages of which sender and receiver report
	// different sizes. It is 0 if all were matched correctly.
	SizesDiffer uint64 `json:"sizes_differ"`

	UnmatchedSends    map[Reason]uint64 `json:"unmatched_sends"`
	UnmatchedReceives map[Reason]uint64 `json:"unmatched_receives"`

	Collectives Collectives `json:"collectives"`
}

// Collectives counts collective operations. Each counts once for all its
// members.
type Collectives struct {
	Instances  uint64            `json:"instances"`
	Complete   uint64            `json:"complete"` // all members took part
	Incomplete map[Reason]uint64 `json:"incomplete"`
}

func (c *Collectives) add(why Reason, n uint64) { c.Incomplete[why] += n }

func (r *replay) unmatchedSend(why Reason) { r.matching.UnmatchedSends[why]++ }

func (r *replay) unmatchedReceive(why Reason) { r.matching.UnmatchedReceives[why]++ }
