package arrowfile

import (
	"io"

	"github.com/mpitrace/mpitrace/formats/facts"
	"github.com/mpitrace/mpitrace/profile"
)

// WriteWaits writes one row for each wait of a trace. By rank and event it joins
// the rows of trace.<rank>.arrow.
func WriteWaits(w io.Writer, waits []profile.Wait) error {
	t := newWriter(w, tableWaits, waitColumns())
	for i := range waits {
		t.note(&waits[i])
	}
	if err := t.start(); err != nil {
		return err
	}
	for i := range waits {
		if err := t.add(&waits[i]); err != nil {
			return err
		}
	}
	return t.close(new(facts.Header))
}

func waitColumns() []column[*profile.Wait] {
	type wait = *profile.Wait
	return []column[wait]{
		int32Column("rank", "world rank", "rank that waited", func(v wait) int32 { return int32(v.Rank) }),
		uint64Column("event", "row", "the call that waited: which row of trace.<rank>.arrow, from 0 on", func(v wait) uint64 { return uint64(v.Event) }),
		textColumn("pattern", "how it waited: late-sender, late-receiver, wait-at-barrier, wait-at-nxn, early-reduce, late-broadcast, early-scan, late-neighbor, wait-at-comm-create, wait-at-win-create, wait-at-win-free, wait-at-fence, late-post, late-complete, lock-contention, wait-for-progress; undecided: the events do not prove that it waited for the peer",
			func(v wait) string { return v.Pattern }),
		int32Column("peer", "world rank", "rank that it waited for; of collectives, the last to come; where undecided, that it may have waited for", func(v wait) int32 { return int32(v.Peer) }),
		int64Column("start_ns", "ns", "when the wait began, since 1970-01-01 UTC", func(v wait) int64 { return v.Start }),
		int64Column("wait_ns", "ns", "how long it was, which is at most as long as the call", func(v wait) int64 { return v.Duration }),
		textColumn("callsite", "function and line that the call is in", func(v wait) string { return v.Callsite }),
		textColumn("comm", "communicator, by its name and the start of its id", func(v wait) string { return v.Comm }),
		textColumn("peer_callsite", "function and line of the peer's call that it waited for: the send, the call that posted the receive, the peer's call of the collective",
			func(v wait) string { return v.PeerCallsite }),
		int32Column("window", "number", "window of the call, as in trace.<rank>.arrow; 0 if it has none", func(v wait) int32 { return int32(v.Window) }),
	}
}
