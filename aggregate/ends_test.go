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

const second = 1_000_000_000

// Call sites of hung; rank r has the program 16 pages further.
const (
	siteRecv = 0x401010 + iota*0x10
	siteBarrier
	siteIrecv
	siteWaitall
)

var hungSymbols = profile.Symbols{
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1010}: {Function: "exchange", Source: "/src/ring.c", Line: 40},
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1020}: {Function: "main", Source: "/src/ring.c", Line: 12},
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1030}: {Function: "post", Source: "/src/ring.c", Line: 50},
	{Path: "/opt/ring", BuildID: "beef", Offset: 0x1040}: {Function: "post", Source: "/src/ring.c", Line: 51},
}

// hung is six ranks that wait for each other for good: 0 and 1 in receives that
// face each other, 2 and 3 in a barrier, 4 for two receives and 5 computes. The
// second communicator has their ranks in reverse. They began at start.
func hung() []*profile.Profile {
	ps := make([]*profile.Profile, 6)
	for r := range ps {
		ps[r] = hungRank(r)
	}
	ps[0].Open = []profile.OpenCall{recvFrom(0, 1, 2*second)}
	ps[1].Open = []profile.OpenCall{recvFrom(1, 0, 3*second)}
	for r := 2; r < 4; r++ {
		ps[r].Open = []profile.OpenCall{{Call: "Barrier", Class: profile.AllToAll, Direction: profile.Send, Comm: 0,
			Peer: profile.PeerNone, Source: profile.PeerNone, Sized: true, Callsite: at(r, siteBarrier), Start: start + 2*second}}
	}
	ps[4].Open = []profile.OpenCall{{Call: "Waitall", Class: profile.P2P, Comm: -1, Peer: profile.PeerNone, Source: profile.PeerNone,
		Requests: 3, Callsite: at(4, siteWaitall), Start: start + 4*second}}
	ps[4].Asides = []profile.Aside{
		{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: 1, Peer: 0, Callsite: at(4, siteIrecv), Count: 1},
		{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: 1, Peer: profile.PeerAnySource, Callsite: at(4, siteIrecv), Count: 2},
	}
	return ps
}

func hungRank(r int) *profile.Profile {
	base := uint64(r) << 16
	return &profile.Profile{Run: "run-9", Rank: r, Size: 6, Host: "node0", Pid: 100 + r, Program: "/opt/ring", State: profile.Running,
		Start: start, InitEnd: start + second/10, End: start + second, Threads: 1, Symbols: hungSymbols,
		Modules: []profile.Module{{Path: "/opt/ring", BuildID: "beef", Start: 0x401000 + base, End: 0x402000 + base, Bias: 0x400000 + base}},
		Comms: []profile.Comm{
			{ID: "00000000000000000000000000000001", Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: 6}},
			{ID: "c0ffee00000000000000000000000002", Constructor: "Comm_split", Rank: 5 - r, Members: profile.Group{Base: 5, Stride: -1, N: 6}},
		}}
}

func at(rank int, site uint64) uint64 { return site + uint64(rank)<<16 }

func recvFrom(rank int, peer int32, after int64) profile.OpenCall {
	return profile.OpenCall{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Comm: 0, Peer: peer, Source: profile.PeerNone,
		Bytes: 8, Sized: true, Callsite: at(rank, siteRecv), Start: start + after}
}

// timedOut is the same after a launcher has killed all, rank 5 having failed
// before.
func timedOut() []*profile.Profile {
	ps := hung()
	for r, p := range ps {
		p.Exit = profile.Exit{At: start + 10*second + int64(r)*2*ms, Known: true, Signal: 15}
	}
	ps[5].Exit = profile.Exit{At: start + 9*second, Known: true, Signal: 11}
	return ps
}

func TestEndsText(t *testing.T) {
	j := New(timedOut())
	rank, err := j.RankSummary(4)
	if err != nil {
		t.Fatal(err)
	}
	running := hung()
	for _, p := range running {
		p.Exit.Alive = start + 12*second
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"ends.txt":      func(b *bytes.Buffer) error { return j.Summary().Text(b, TextOptions{Sites: -1}) },
		"ends_rank.txt": func(b *bytes.Buffer) error { return rank.Text(b, TextOptions{ASCII: true, Sites: -1}) },
		"status.txt":    func(b *bytes.Buffer) error { return New(running).Status().Text(b, TextOptions{Sites: -1}) },
		"status_end.txt": func(b *bytes.Buffer) error {
			return j.Status().Text(b, TextOptions{Sites: -1})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

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
	want := End{Rank: 1, Host: "node0", Pid: 101, State: EndKilled, Signal: "SIGTERM", EndedS: 10.002, LastCallS: 1,
		Calls: []OpenCall{{Call: "Recv", Class: "p2p", Direction: "recv", Communicator: "MPI_COMM_WORLD", Peer: 0, WorldPeer: 0,
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

// Whoever called MPI_Abort is the first, whenever it ended.
func TestEndsAborted(t *testing.T) {
	ps := timedOut()
	ps[4].Open = []profile.OpenCall{{Call: "Abort", Class: profile.Other, Peer: profile.PeerNone, Source: profile.PeerNone, Code: -3}}
	s := New(ps).Summary()
	if e := s.Ends[0]; e.Rank != 4 || *e.Calls[0].ErrorCode != -3 {
		t.Errorf("got %+v", e)
	}
	if text := (TextOptions{}).callText(endGroup{&s.Ends[0]}, 0); text != "MPI_Abort(-3) in MPI_COMM_WORLD" {
		t.Errorf("got %s", text)
	}
}

// A rank that the launcher killed may be gone before the one that it was killed for.
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

func TestCountOf(t *testing.T) {
	for want, got := range map[string]string{"1 process": CountOf(1, "process"), "2 processes": CountOf(2, "process"),
		"0 messages": CountOf(0, "message"), "1,234 more places": CountOf(1234, "more place")} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A process of which nothing is seen may be anywhere: what it was in is told with
// its beginning, or with its age as long as others run.
func TestEndsUnknown(t *testing.T) {
	ps := hung()
	if e := New(ps).Summary().Ends; e[0].State != EndUnknown || e[0].Rank != 5 || e[1].Calls[0].ForS != 0 {
		t.Errorf("nobody was seen: %+v, %+v", e[0], e[1])
	}
	ps[5].Exit.Alive = start + 20*second
	s := New(ps).Status()
	if e := s.Processes; e[0].State != EndUnknown || e[0].Calls[0].ForS != 18 || s.Running != 1 || s.Unknown != 5 || s.AgeS != 20 {
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
			ps[1].Asides = []profile.Aside{{Kind: profile.UnfinishedReceive, Call: "Irecv", Comm: 0, Peer: 0, Count: 1}}
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
