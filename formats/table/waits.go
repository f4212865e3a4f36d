package table

import (
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// WriteWaits writes one row for each wait of a trace. The columns rank and
// event refer to the rows of trace.<rank>.arrow.
func WriteWaits(w io.Writer, waits []profile.Wait) error {
	return WriteArrow(w, WaitColumns, slices.Values(waits), Options[profile.Wait]{Metadata: metadataOf(tableWaits, WaitColumns)})
}

// WaitColumns are the columns of a table of waits, in order.
var WaitColumns = []Column[profile.Wait]{
	Numbers("rank", "world rank", "world rank that waited", func(v profile.Wait) int32 { return int32(v.Rank) }),
	Numbers("event", "row", "row of the waiting call in trace.<rank>.arrow, from 0", func(v profile.Wait) uint64 { return uint64(v.Event) }),
	Words("pattern", "kind of the wait: late-sender, late-receiver, wait-at-barrier, wait-at-nxn, early-reduce, late-broadcast, early-scan, late-neighbor, wait-at-comm-create, wait-at-win-create, wait-at-win-free, wait-at-fence, late-post, late-complete, lock-contention, wait-for-progress; undecided: the events do not prove that it waited for the peer",
		func(v profile.Wait) string { return v.Pattern }),
	Numbers("peer", "world rank", "rank that it waited for; in a collective, the last to arrive; if undecided, the rank that it may have waited for", func(v profile.Wait) int32 { return int32(v.Peer) }),
	Numbers("start_ns", "ns since 1970-01-01 UTC", "start of the wait", func(v profile.Wait) int64 { return v.Start }),
	Numbers("wait_ns", "ns", "duration of the wait, at most that of the call", func(v profile.Wait) int64 { return v.Duration }),
	Words("callsite", "function and line of the call", func(v profile.Wait) string { return v.Callsite }),
	Words("comm", "label of the communicator: its name and the start of its id", func(v profile.Wait) string { return v.Comm }),
	Words("peer_callsite", "function and line of the peer's call: the send, the call that posted the receive, or the peer's call of the collective",
		func(v profile.Wait) string { return v.PeerCallsite }),
	Numbers("window", "number", "window of the call, as in trace.<rank>.arrow; 0 if it has none", func(v profile.Wait) int32 { return int32(v.Window) }),
}
