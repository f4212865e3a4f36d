package recording

import (
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// asides are the directions of rows that say what was set aside.
var asides = map[uint8]profile.AsideKind{
	layout.DirCancelled: profile.CancelledReceive, layout.DirTruncated: profile.TruncatedReceive,
	layout.DirFreed: profile.FreedReceive, layout.DirFailed: profile.FailedReceive,
	layout.DirUnfinished: profile.UnfinishedReceive, layout.DirUntold: profile.UntoldReceive,
	layout.DirSendCancelled: profile.CancelledSend, layout.DirSendFreed: profile.FreedSend,
	layout.DirSendFailed: profile.FailedSend,
}

// receives counts those that complete in another call than the one that posted
// them.
type receives struct {
	posted, ended uint64
	unknown       bool // rows were folded that do not say what they posted
	unfollowed    bool // what nonblocking ones came to is not known
}

var posting = []string{"Irecv", "Imrecv"}

// Those whose posts are rows of their own, since their calls' rows do not tell.
var starting = []string{"Start", "Startall", "Isendrecv", "Isendrecv_replace"}

func (r *receives) add(call string, raw layout.Row) {
	posts := slices.Contains(posting, call)
	if !posts && !slices.Contains(starting, call) || r.unfollowed && profile.PostsReceive(call) {
		return
	}
	kind, aside := asides[raw.Direction]
	switch {
	case raw.Direction == layout.DirPosted:
		r.posted += raw.Count
	case raw.Direction == layout.DirNone && posts:
		if raw.Peer >= 0 || raw.Peer == layout.PeerAnySource {
			r.posted += raw.Count
		}
		r.unknown = r.unknown || raw.Peer == layout.PeerLost
	case raw.Direction == layout.DirRecvPosted, aside && !kind.OfSend():
		r.ended += raw.Count
	}
}

// addUnfinished finds out what MPI_Finalize would have counted: the receives
// that a process had open when it ended without.
func (f *file) addUnfinished(p *profile.Profile) {
	r := &f.receives
	ended := r.ended + f.header.LostRequests
	if p.State == profile.Finalized || r.unknown || r.posted <= ended {
		return
	}
	p.Asides = append(p.Asides, profile.Aside{Kind: profile.UnfinishedReceive, Comm: -1, Peer: profile.PeerNone, Count: r.posted - ended})
}

// addAside enters a row that holds no calls, and reports whether it is one.
func (f *file) addAside(p *profile.Profile, call string, raw layout.Row, index map[uint32]int32) bool {
	kind, ok := asides[raw.Direction]
	if !ok {
		return raw.Direction == layout.DirPosted
	}
	a := profile.Aside{Kind: kind, Call: call, Comm: -1, Peer: raw.Peer, Callsite: raw.Callsite, Slice: raw.Slice,
		Count: raw.Count, Bytes: raw.Bytes}
	if c, ok := index[raw.Comm]; ok && raw.Comm != layout.CommNone {
		a.Comm = c
	}
	p.Asides = append(p.Asides, a)
	return true
}
