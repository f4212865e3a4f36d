package recording

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// receiving returns a recording of 9 Irecv (one from MPI_PROC_NULL, one that
// failed), 2 receives started together, and their outcomes.
func receiving(more ...layout.Row) *builder {
	b := &builder{}
	b.record(layout.RecordComm, layout.Comm{Index: 0, ID: [2]uint64{1, 2}, Parent: layout.CommNone, Size: 4, Rank: 1, Stride: 1})
	row := func(comm uint32, peer int32, call uint16, dir uint8, count uint64) {
		b.rows = append(b.rows, layout.Row{Callsite: 0x1234, Comm: comm, Peer: peer, Call: call, Direction: dir, Count: count})
	}
	row(0, 2, 24, layout.DirNone, 3)
	row(0, layout.PeerAnySource, 24, layout.DirNone, 4)
	row(0, layout.PeerProcNull, 24, layout.DirNone, 1)
	row(layout.CommNone, layout.PeerNone, 24, layout.DirNone, 1)
	row(0, 3, 36, layout.DirPosted, 2)
	row(0, 2, 24, layout.DirRecvPosted, 2)
	row(0, 3, 36, layout.DirFailed, 1)
	row(0, layout.PeerAnySource, 24, layout.DirFreed, 1)
	row(layout.CommNone, layout.PeerNone, 60, layout.DirSendCancelled, 5) // not receives
	row(0, 2, 15, layout.DirRecvPosted, 7)                                // half of a Sendrecv: nothing was posted
	b.rows = append(b.rows, more...)
	return b
}

func TestAsides(t *testing.T) {
	freed := []profile.AbnormalOps{
		{Kind: profile.FailedReceive, Call: "Startall", Peer: 3, Callsite: 0x1234, Count: 1},
		{Kind: profile.FreedReceive, Call: "Irecv", Peer: profile.PeerAnySource, Callsite: 0x1234, Count: 1},
		{Kind: profile.CancelledSend, Call: "Cancel", Comm: -1, Peer: profile.PeerNone, Callsite: 0x1234, Count: 5},
	}
	unfinished := func(call string, peer int32, count uint64) profile.AbnormalOps {
		return profile.AbnormalOps{Kind: profile.UnfinishedReceive, Call: call, Peer: peer, Callsite: 0x1234, Count: count}
	}
	ended := func(peer int32, count uint64) layout.Row {
		return layout.Row{Callsite: 0x1234, Peer: peer, Call: 24, Direction: layout.DirRecvPosted, Count: count}
	}
	lost := func(raw []byte, requests uint64) []byte {
		binary.LittleEndian.PutUint64(raw[unsafe.Offsetof(layout.Header{}.LostRequests):], requests)
		return raw
	}
	running := func(raw []byte) []byte {
		binary.LittleEndian.PutUint32(raw[20:], layout.StateRunning)
		return raw
	}
	for name, c := range map[string]struct {
		raw  []byte
		want []profile.AbnormalOps
	}{
		"finalized": {receiving().bytes(), freed},
		"killed with 3 + 4 + 2 posted and 2 + 1 + 1 ended": {running(receiving().bytes()),
			append(freed[:3:3], unfinished("Irecv", profile.PeerAnySource, 3), unfinished("Irecv", 2, 1), unfinished("Startall", 3, 1))},
		"killed, and 2 that any source was asked for came from 0": {running(receiving(ended(0, 2)).bytes()),
			append(freed[:3:3], unfinished("Irecv", profile.PeerAnySource, 1), unfinished("Irecv", 2, 1), unfinished("Startall", 3, 1))},
		"killed, and it is not known which of 5 were lost": {lost(running(receiving().bytes()), 2),
			append(freed[:3:3], profile.AbnormalOps{Kind: profile.UnfinishedReceive, Comm: -1, Peer: profile.PeerNone, Count: 3})},
		"killed, and all that is left was lost": {lost(running(receiving().bytes()), 5), freed},
		"killed, and rows were folded":          {running(receiving(layout.Row{Comm: layout.CommNone, Peer: layout.PeerLost, Call: 24, Count: 3}).bytes()), freed},
	} {
		t.Run(name, func(t *testing.T) {
			p := read(t, c.raw)
			if diff := cmp.Diff(c.want, p.Abnormal); diff != "" {
				t.Error(diff)
			}
			if len(p.Problems) > 0 {
				t.Error(p.Problems)
			}
			for _, r := range p.Rows {
				if r.Direction >= profile.NumDirections || r.Call == "Startall" {
					t.Errorf("row %+v", r)
				}
			}
		})
	}
}
