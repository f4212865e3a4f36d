package recording

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// receiving is a recording of 9 Irecv (one from nobody, one that failed), 2
// receives started together, and what became of them.
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
	row(layout.CommNone, layout.PeerNone, 60, layout.DirSendCancelled, 5) // of sends
	row(0, 2, 15, layout.DirRecvPosted, 7)                                // half of a Sendrecv: nothing was posted
	b.rows = append(b.rows, more...)
	return b
}

func TestAsides(t *testing.T) {
	freed := []profile.Aside{
		{Kind: profile.FailedReceive, Call: "Startall", Peer: 3, Callsite: 0x1234, Count: 1},
		{Kind: profile.FreedReceive, Call: "Irecv", Peer: profile.PeerAnySource, Callsite: 0x1234, Count: 1},
		{Kind: profile.CancelledSend, Call: "Cancel", Comm: -1, Peer: profile.PeerNone, Callsite: 0x1234, Count: 5},
	}
	running := func(raw []byte) []byte {
		binary.LittleEndian.PutUint32(raw[20:], layout.StateRunning)
		return raw
	}
	for name, c := range map[string]struct {
		raw  []byte
		want []profile.Aside
	}{
		"finalized": {receiving().bytes(), freed},
		"killed with 3 + 4 + 2 posted and 2 + 1 + 1 ended": {running(receiving().bytes()),
			append(freed[:3:3], profile.Aside{Kind: profile.UnfinishedReceive, Comm: -1, Peer: profile.PeerNone, Count: 5})},
		"killed, and rows were folded": {running(receiving(layout.Row{Comm: layout.CommNone, Peer: layout.PeerLost, Call: 24, Count: 3}).bytes()), freed},
	} {
		t.Run(name, func(t *testing.T) {
			p := read(t, c.raw)
			if diff := cmp.Diff(c.want, p.Asides); diff != "" {
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
