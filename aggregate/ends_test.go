package aggregate

import (
	"bytes"
	"encoding/json"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

func TestEnds(t *testing.T) {
	ps := timedOut()
	slices.Reverse(ps)
	s := New(ps).Summary()
	var ranks []int
	for _, e := range s.Ends {
		ranks = append(ranks, e.Rank)
	}
	if want := []int{5, 0, 1, 2, 3, 4}; !slices.Equal(ranks, want) {
		t.Errorf("ended in the order %d, want %d", ranks, want)
	}
	eight, zero := uint64(8), uint64(0)
	recv, barrier := s.Ends[2], s.Ends[3]
	want := End{Rank: 1, Host: "node0", Pid: 101, State: profile.EndKilled, Signal: "SIGTERM", EndedS: 10.002, LastCallS: 1,
		Calls: []UnfinishedCall{{Call: "Recv", Class: "p2p", Direction: "recv", Communicator: "MPI_COMM_WORLD", Peer: 0, WorldPeer: 0,
			Source: -1, WorldSource: -1, Bytes: &eight, Callsite: recv.Calls[0].Callsite, SinceS: 3, ForS: 7.002}},
		OpenReceives: []OpenReceive{}}
	if diff := cmp.Diff(want, recv, cmp.AllowUnexported(Place{})); diff != "" {
		t.Error(diff)
	}
	if site := recv.Calls[0].Callsite; site.String() != "exchange ring.c:40" || site != s.Ends[1].Calls[0].Callsite {
		t.Errorf("call site %v, of rank 0 %v", site, s.Ends[1].Calls[0].Callsite)
	}
	if c := barrier.Calls[0]; c.Absent != "ranks 0-1, 4-5" || *c.Bytes != zero || c.ForS != 8.004 {
		t.Errorf("barrier: %+v", c)
	}
	if open := s.Ends[5].OpenReceives; len(open) != 2 || open[0].Peer != 0 || open[0].WorldPeer != 5 || open[1].WorldPeer != profile.PeerAnySource {
		t.Errorf("open receives %+v", open)
	}
	raw, err := json.Marshal(s)
	if err != nil || !bytes.Contains(raw, []byte(`"signal":"SIGSEGV","ended_s":9,"last_call_s":1,"calls":[],"open_receives":[]`)) {
		t.Errorf("%v: %s", err, raw)
	}
}

// A process that called MPI_Abort is listed first, whenever it ended.
func TestEndsAborted(t *testing.T) {
	ps := timedOut()
	ps[4].Open = []profile.OpenCall{{Call: "Abort", Class: profile.Other, Peer: profile.PeerNone, Source: profile.PeerNone, Code: -3}}
	s := New(ps).Summary()
	if e := s.Ends[0]; e.Rank != 4 || *e.Calls[0].ErrorCode != -3 {
		t.Errorf("got %+v", e)
	}
}

// A rank that the launcher killed may end before the end of the rank that
// caused this is seen.
func TestEndsOfTheKilled(t *testing.T) {
	ps := timedOut()
	for _, p := range ps {
		p.Exit = profile.Exit{At: start + 5*second, Known: true, Signal: int(syscall.SIGKILL)}
	}
	ps[2].Exit = profile.Exit{At: start + 5*second + 20e6, Known: true, Status: 4}
	ps[5].Exit.At = start + 4*second
	ends := New(ps).Summary().Ends
	if ends[0].Rank != 5 || ends[1].Rank != 2 || ends[2].Rank != 0 {
		t.Errorf("ended in the order %d, %d, %d, want 5, 2, 0", ends[0].Rank, ends[1].Rank, ends[2].Rank)
	}
}

// A process on a node that could not be checked may have ended or not. Its call
// has a duration only if another process of the job was seen running.
func TestEndsUnknown(t *testing.T) {
	ps := hung()
	if e := New(ps).Summary().Ends; e[0].State != profile.EndUnknown || e[0].Rank != 5 || e[1].Calls[0].ForS != 0 {
		t.Errorf("nobody was seen: %+v, %+v", e[0], e[1])
	}
	ps[5].Exit.Alive = start + 20*second
	s := New(ps).Status()
	if e := s.Processes; e[0].State != profile.EndUnknown || e[0].Calls[0].ForS != 18 || s.Running != 1 || s.Unknown != 5 || s.AgeS != 20 {
		t.Errorf("one runs: %+v", s)
	}
}

func TestDeadlocks(t *testing.T) {
	send := func(rank int, peer int32) profile.OpenCall {
		o := recvFrom(rank, peer, second)
		o.Call, o.Direction = "Send", profile.Send
		return o
	}
	message := func(p *profile.Profile, call string, d profile.Direction, peer int32) {
		p.Rows = append(p.Rows, profile.Row{Call: call, Class: profile.P2P, Direction: d, Spread: profile.ToPeer, Comm: 0, Peer: peer, Messages: 1})
	}
	for name, c := range map[string]struct {
		change func(ps []*profile.Profile)
		want   [][]int
	}{
		"receives that face each other": {func([]*profile.Profile) {}, [][]int{{0, 1}}},
		"a message is on its way": {func(ps []*profile.Profile) {
			message(ps[1], "Isend", profile.Send, 0)
		}, nil},
		"all that was sent has arrived": {func(ps []*profile.Profile) {
			message(ps[1], "Isend", profile.Send, 0)
			message(ps[0], "Recv", profile.Recv, 1)
		}, [][]int{{0, 1}}},
		"another thread may send": {func(ps []*profile.Profile) { ps[0].Threads = 2 }, nil},
		"calls were lost":         {func(ps []*profile.Profile) { ps[0].Losses.Calls = 1 }, nil},
		"from any source": {func(ps []*profile.Profile) {
			ps[0].Open = []profile.OpenCall{recvFrom(0, profile.PeerAnySource, 0)}
		}, nil},
		"just now": {func(ps []*profile.Profile) {
			ps[0].Open[0].Start = ps[0].Exit.At - second/2
		}, nil},
		"one sends to the other": {func(ps []*profile.Profile) {
			ps[0].Open = []profile.OpenCall{send(0, 1)}
		}, nil},
		"both send": {func(ps []*profile.Profile) {
			ps[0].Open, ps[1].Open = []profile.OpenCall{send(0, 1)}, []profile.OpenCall{send(1, 0)}
		}, [][]int{{0, 1}}},
		"both send, and one has posted a receive": {func(ps []*profile.Profile) {
			ps[0].Open, ps[1].Open = []profile.OpenCall{send(0, 1)}, []profile.OpenCall{send(1, 0)}
			ps[1].Abnormal = []profile.AbnormalOps{{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: 0, Peer: 0, Count: 1}}
		}, nil},
		"a ring, one who waits for it, and a rank that waits for itself": {func(ps []*profile.Profile) {
			for r, peer := range []int32{2, 0, 3, 0, 1, 5} {
				ps[r].Open = []profile.OpenCall{recvFrom(r, peer, second)}
			}
			ps[5].Exit = ps[4].Exit
		}, [][]int{{0, 2, 3}, {5}}},
		"one is stopped": {func(ps []*profile.Profile) {
			ps[0].Exit = profile.Exit{Alive: start + 10*second, Stopped: true}
		}, nil},
		"it is not known when they ended": {func(ps []*profile.Profile) {
			ps[0].Exit, ps[1].Exit = profile.Exit{Gone: true}, profile.Exit{Gone: true}
		}, [][]int{{0, 1}}},
		"it is not known whether they ended": {func(ps []*profile.Profile) {
			ps[0].Exit, ps[1].Exit = profile.Exit{}, profile.Exit{}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ps := timedOut()
			c.change(ps)
			got := New(ps).Summary().Deadlocks
			if !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
