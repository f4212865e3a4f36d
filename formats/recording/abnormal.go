package recording

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// abnormalDirections maps directions of rows to the kinds of operations that did not
// complete normally.
var abnormalDirections = map[uint8]profile.AbnormalKind{
	layout.DirCancelled: profile.CancelledReceive, layout.DirTruncated: profile.TruncatedReceive,
	layout.DirFreed: profile.FreedReceive, layout.DirFailed: profile.FailedReceive,
	layout.DirUnfinished: profile.UnfinishedReceive, layout.DirUntold: profile.UntoldReceive,
	layout.DirSendCancelled: profile.CancelledSend, layout.DirSendFreed: profile.FreedSend,
	layout.DirSendFailed: profile.FailedSend, layout.DirSendDoubtful: profile.DoubtfulSend,
	layout.DirLeft: profile.LeftCall,
}

// receives counts the receives that complete in another call than the one that
// posted them.
type receives struct {
	posted, ended uint64
	unknown       bool // some rows are overflow rows, which do not say what they posted
	unfollowed    bool // the outcome of nonblocking receives is not recorded

	open map[receiveKey]int64 // number posted minus number ended; nil if not needed
}

// receiveKey is what a row that posts receives and the rows of their outcomes have in common. But
// the rows of outcomes have the real peer of a receive from any source.
type receiveKey struct {
	call     string
	callsite uint64
	slice    uint32
	comm     uint32
	peer     int32
}

func (r *receives) add(call string, traits profile.Traits, raw layout.Row) {
	nonblocking := traits.All(profile.TraitReceives | profile.TraitNonblocking)
	posts := nonblocking && !traits.Any(profile.TraitSends)
	// Receives posted by other calls (Start, Isendrecv) have rows of their own,
	// with DirPosted.
	if !nonblocking && !traits.Any(profile.TraitStarts) || r.unfollowed && nonblocking {
		return
	}
	kind, abnormal := abnormalDirections[raw.Direction]
	switch {
	case raw.Direction == layout.DirPosted:
		r.post(call, raw)
	case raw.Direction == layout.DirNone && posts:
		if raw.Peer >= 0 || raw.Peer == layout.PeerAnySource {
			r.post(call, raw)
		}
		r.unknown = r.unknown || raw.Peer == layout.PeerLost
	case raw.Direction == layout.DirRecvPosted, abnormal && kind.OfReceive():
		r.ended += raw.Count
		r.change(call, raw, -int64(raw.Count))
	}
}

func (r *receives) post(call string, raw layout.Row) {
	r.posted += raw.Count
	r.change(call, raw, int64(raw.Count))
}

func (r *receives) change(call string, raw layout.Row, by int64) {
	if r.open != nil {
		r.open[receiveKey{call, raw.Callsite, raw.Slice, raw.Comm, raw.Peer}] += by
	}
}

// unfinished returns the keys of the receives that are still open, sorted, and
// their total number. The total is too large if it is not known which requests
// ended.
func (r *receives) unfinished() (open []receiveKey, total uint64) {
	for k, n := range r.open {
		anyone := k
		anyone.peer = layout.PeerAnySource
		if n < 0 && k != anyone { // these receives were posted with any source
			r.open[anyone] += n
			r.open[k] = 0
		}
	}
	for k, n := range r.open {
		if n > 0 {
			open, total = append(open, k), total+uint64(n)
		}
	}
	slices.SortFunc(open, func(a, b receiveKey) int {
		return cmp.Or(strings.Compare(a.call, b.call), cmp.Compare(a.callsite, b.callsite), cmp.Compare(a.slice, b.slice),
			cmp.Compare(a.comm, b.comm), cmp.Compare(a.peer, b.peer))
	})
	return open, total
}

// addUnfinished computes what MPI_Finalize would have recorded: the receives
// that were still open when a process ended without calling it.
func (f *file) addUnfinished(p *profile.Profile, index map[uint32]int32) {
	r := &f.receives
	ended := r.ended + f.header.LostRequests
	if p.State == profile.Finalized || r.unknown || r.posted <= ended {
		return
	}
	open, total := r.unfinished()
	if total != r.posted-ended {
		p.Abnormal = append(p.Abnormal, profile.AbnormalOps{Kind: profile.UnfinishedReceive, Comm: -1, Peer: profile.PeerNone, Count: r.posted - ended})
		return
	}
	for _, k := range open {
		p.Abnormal = append(p.Abnormal, profile.AbnormalOps{Kind: profile.UnfinishedReceive, Call: k.call, Comm: commIn(index, k.comm),
			Peer: k.peer, Callsite: k.callsite, Slice: k.slice, Count: uint64(r.open[k])})
	}
}

// commIn returns the index of a communicator in a profile; -1 if it is not
// known.
func commIn(index map[uint32]int32, comm uint32) int32 {
	if c, ok := index[comm]; ok && comm != layout.CommNone {
		return c
	}
	return -1
}

// addAbnormal adds a row of operations that did not complete normally. It
// reports whether the row holds no calls, which is also true of rows with
// DirPosted.
func (f *file) addAbnormal(p *profile.Profile, call string, raw layout.Row, index map[uint32]int32) bool {
	kind, ok := abnormalDirections[raw.Direction]
	if !ok {
		return raw.Direction == layout.DirPosted
	}
	p.Abnormal = append(p.Abnormal, profile.AbnormalOps{Kind: kind, Call: call, Comm: commIn(index, raw.Comm), Peer: raw.Peer,
		Callsite: raw.Callsite, Slice: raw.Slice, Count: raw.Count, Bytes: raw.Bytes})
	return true
}
