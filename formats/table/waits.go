package table

import (
	"io"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// WriteWaits writes one row for each wait of a trace. The columns rank and
// event refer to the rows of trace.<rank>.arrow.
func WriteWaits(w io.Writer, waits []profile.Wait) error {
	t := newArrowTable(w, tableWaits, WaitColumns)
	rows := slices.Values(waits)
	if err := t.arrow.note(rows); err != nil {
		return err
	}
	if err := t.start(); err != nil {
		return err
	}
	if err := t.arrow.add(rows); err != nil {
		return err
	}
	return t.close()
}

// WaitColumns are the columns of a table of waits, in order.
var WaitColumns = []Column[profile.Wait]{
	Numbers("rank", "world rank", "rank that waited", func(v profile.Wait) int32 { return int32(v.Rank) }),
	Numbers("event", "row", "the call that waited: which row of trace.<rank>.arrow, from 0 on", func(v profile.Wait) uint64 { return uint64(v.Event) }),
	Words("pattern", "how it waited: late-sender, late-receiver, wait-at-barrier, wait-at-nxn, early-reduce, late-broadcast, early-scan, late-neighbor, wait-at-comm-create, wait-at-win-create, wait-at-win-free, wait-at-fence, late-post, late-complete, lock-contention, wait-for-progress; undecided: the events do not prove that it waited for the peer",
		func(v profile.Wait) string { return v.Pattern }),
	Numbers("peer", "world rank", "rank that it waited for; of collectives, the last to come; where undecided, that it may have waited for", func(v profile.Wait) int32 { return int32(v.Peer) }),
	Numbers("start_ns", "ns", "when the wait began, since 1970-01-01 UTC", func(v profile.Wait) int64 { return v.Start }),
	Numbers("wait_ns", "ns", "how long it was, which is at most as long as the call", func(v profile.Wait) int64 { return v.Duration }),
	Words("callsite", "function and line that the call is in", func(v profile.Wait) string { return v.Callsite }),
	Words("comm", "communicator, by its name and the start of its id", func(v profile.Wait) string { return v.Comm }),
	Words("peer_callsite", "function and line of the peer's call that it waited for: the send, the call that posted the receive, the peer's call of the collective",
		func(v profile.Wait) string { return v.PeerCallsite }),
	Numbers("window", "number", "window of the call, as in trace.<rank>.arrow; 0 if it has none", func(v profile.Wait) int32 { return int32(v.Window) }),
}
