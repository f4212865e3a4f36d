package page

import (
	"bytes"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// TestUnknownSize checks a job whose size is not known, and that reads from a rank that was
// not recorded: the data move from there.
func TestUnknownSize(t *testing.T) {
	p := synth.New("get", 1).Profile(0)
	p.Size = -1
	p.Comms = []profile.Comm{{ID: "w", Name: "MPI_COMM_WORLD", Members: profile.Group{N: 10, Stride: 1}}}
	p.Rows = append(p.Rows, profile.Row{Call: "Get", Class: profile.OneSided, Direction: profile.Read, Peer: 9, Spread: profile.ToPeer,
		Calls: 2, Messages: 2, Bytes: 16})
	s := sheet(t, reportOf(t, profile.List{p}), "one-sided", "rank")
	if s.Lines != 10 || s.Ranks != 10 || s.cells()[[2]int{9, 0}] != (synth.Volume{Bytes: 16, Messages: 2}) {
		t.Errorf("%+v", s)
	}
	var out bytes.Buffer
	if err := Write(&out, reportOf(t, profile.List{p})); err != nil {
		t.Error(err)
	}
}
