package trace

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// wait returns a wait state, with times in ms. The peer's call site is that of
// the Send or Recv for waits for messages, and that of the rank itself for
// collectives.
func wait(p Pattern, rank, peer int, site string, count uint64, time, longest float64) WaitState {
	peerSite := site
	switch p {
	case LateSender:
		peerSite = "Send"
	case LateReceiver, Undecided:
		peerSite = "Recv"
	}
	return WaitState{p, rank, peer, site, site, peerSite, "world", count, time / 1000, longest / 1000, 0}
}

// at returns the wait with another call of the peer.
func (w WaitState) at(peerSite string) WaitState {
	w.PeerCallsite = peerSite
	return w
}

// checkWaits requires these waits, their shares of ranks × runtime, and no others, the
// longest first.
func checkWaits(t *testing.T, got *Result, want ...WaitState) {
	t.Helper()
	if want == nil {
		want = []WaitState{}
	}
	for i := range want { // of ranks with one thread
		want[i].Share = want[i].Time / (got.Runtime * float64(got.Ranks))
	}
	if diff := cmp.Diff(want, got.WaitStates, cmp.Comparer(near)); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if m := got.Matching; m.Sent != m.Matched || m.Received != m.Matched || m.SizesDiffer > 0 || m.Collectives.Complete != m.Collectives.Instances {
		t.Errorf("not all matched: %+v", m)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// waitCase is what ranks do, and the resulting waits.
type waitCase struct {
	name string
	do   func(j []*program)
	want []WaitState
}

// messagePrograms are of three ranks.
var messagePrograms = []waitCase{
	{"late sender", func(j []*program) {
		j[0].send("Send", 1, 50, 51)
		j[1].recv(0, 0, 52)
	}, []WaitState{wait(LateSender, 1, 0, "Recv", 1, 50, 50)}},
	{"early sender", func(j []*program) {
		j[0].send("Send", 1, 0, 1)
		j[1].recv(0, 50, 51)
	}, nil},
	{"late receiver of a synchronous send", func(j []*program) {
		j[0].send("Ssend", 1, 10, 62)
		j[1].recv(0, 60, 63)
	}, []WaitState{wait(LateReceiver, 0, 1, "Ssend", 1, 50, 50)}},
	{"a buffered send waits for nobody", func(j []*program) {
		j[0].send("Bsend", 1, 10, 62)
		j[1].recv(0, 60, 63)
	}, nil},
	{"late receiver, while the send is waited for", func(j []*program) {
		i := j[0].send("Issend", 1, 0, 1)
		j[0].wait("Wait", 20, 62)
		j[0].done(i, 62)
		r := j[1].irecv(0, 60, 61)
		j[1].wait("Wait", 61, 63)
		j[1].got(r, 0, 63)
	}, []WaitState{wait(LateReceiver, 0, 1, "Wait", 1, 40, 40).at("Irecv")}},
	{"a test does not wait", func(j []*program) {
		r := j[1].irecv(0, 0, 1)
		j[1].wait("Test", 1, 60)
		j[1].got(r, 0, 60)
		j[0].send("Send", 1, 50, 51)
	}, nil},
	{"late receiver that learns of the send later", func(j []*program) {
		i := j[0].send("Issend", 1, 0, 1)
		j[0].wait("Wait", 20, 62)
		j[0].done(i, 62)
		r := j[1].irecv(0, 60, 61)
		j[1].wait("Wait", 90, 91)
		j[1].got(r, 0, 91)
	}, []WaitState{wait(LateReceiver, 0, 1, "Wait", 1, 40, 40).at("Irecv")}},
	{"two late senders in one Waitall: the last counts", func(j []*program) {
		a, b := j[0].irecv(1, 0, 1), j[0].irecv(2, 1, 2)
		j[0].wait("Waitall", 2, 70)
		j[0].got(a, 1, 70)
		j[0].got(b, 2, 70)
		j[1].send("Send", 0, 62, 63)
		j[2].send("Send", 0, 32, 33)
	}, []WaitState{wait(LateSender, 0, 1, "Waitall", 1, 60, 60)}},
	{"late sender and late receiver in one Waitall", func(j []*program) {
		a, b := j[0].irecv(1, 0, 1), j[0].send("Issend", 2, 1, 2)
		j[0].wait("Waitall", 2, 70)
		j[0].got(a, 1, 70)
		j[0].done(b, 70)
		j[1].send("Send", 0, 12, 13)
		j[2].recv(0, 42, 70)
	}, []WaitState{wait(LateReceiver, 0, 2, "Waitall", 1, 40, 40)}},
	{"wildcard", func(j []*program) {
		r := j[0].irecv(profile.PeerAnySource, 0, 1)
		j[0].wait("Wait", 1, 32)
		j[0].got(r, 2, 32)
		j[2].send("Send", 0, 31, 33)
	}, []WaitState{wait(LateSender, 0, 2, "Wait", 1, 30, 30)}},
	{"a probe waits for the receive behind it", func(j []*program) {
		j[0].add(profile.EventKind{Call: "Probe", Peer: profile.PeerAnySource}, 0, 31, 0, 0)
		j[0].recv(2, 32, 33)
		j[2].send("Send", 0, 30, 31)
	}, []WaitState{wait(LateSender, 0, 2, "Probe", 1, 30, 30)}},
	{"several waits at one place", func(j []*program) {
		for i := range 3 {
			t := float64(20 * i)
			j[0].send("Send", 1, t+float64(i)+1, t+10)
			j[1].recv(0, t, t+11)
		}
	}, []WaitState{wait(LateSender, 1, 0, "Recv", 3, 6, 3)}},
}

func TestWaits(t *testing.T) {
	for _, test := range messagePrograms {
		t.Run(test.name, func(t *testing.T) {
			j := job(3, 100)
			test.do(j)
			checkWaits(t, analyze(t, j, Options{}), test.want...)
		})
	}
}

// A message that a probe found seems to be sent 50 µs later by the corrected
// clock of another host. If the clocks are the same, it is another message.
func TestProbeByCorrectedClock(t *testing.T) {
	for _, test := range []struct {
		clock *profile.ClockCorrection
		want  []WaitState
	}{
		{nil, nil},
		{&profile.ClockCorrection{Offset: 1}, []WaitState{wait(LateSender, 0, 1, "Probe", 1, 30, 30).at("Bsend")}},
	} {
		j := job(2, 100)
		j[1].Trace().Clock = test.clock
		j[0].add(profile.EventKind{Call: "Probe", Peer: profile.PeerAnySource}, 0, 30, 0, 0)
		j[0].recv(1, 30.06, 31)
		j[1].send("Bsend", 0, 30.05, 30.07)
		checkWaits(t, analyze(t, j, Options{}), test.want...)
	}
}

// swap adds a Sendrecv of two ranks with each other. The received half comes
// before the call if ahead is set, otherwise after it.
func (p *program) swap(peer int, from, until float64, ahead bool) {
	k := profile.EventKind{Action: profile.Moved, Call: "Sendrecv", Direction: profile.Recv, Peer: int32(peer)}
	var half, whole int
	if ahead {
		half = p.add(k, until, until, 0, p.number(profile.Recv, peer, 0))
	}
	whole = p.send("Sendrecv", peer, from, until)
	if !ahead {
		half = p.add(k, until, until, 0, p.number(profile.Recv, peer, 0))
	}
	p.link(half, whole)
}

func TestSendrecv(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		j := job(2, 100)
		for i := range 5 {
			t := float64(20 * i)
			j[0].swap(1, t, t+11, ahead)
			j[1].swap(0, t+10, t+12, ahead)
		}
		// A message that the late rank had not sent comes later than its
		// receive could have ended.
		checkWaits(t, analyze(t, j, Options{}), wait(LateSender, 0, 1, "Sendrecv", 5, 50, 10).at("Sendrecv"))
	}
}

// came adds a collective to ranks that enter it at these times, and leave when
// the last one has entered.
func came(j []*program, call string, root int, leave float64, times ...float64) {
	for rank, from := range times {
		j[rank].collective(call, root, from, leave)
	}
}

func TestCollectiveWaits(t *testing.T) {
	for _, test := range []waitCase{
		{"late to a barrier", func(j []*program) { came(j, "Barrier", -1, 60, 0, 50, 20) },
			[]WaitState{wait(WaitAtBarrier, 0, 1, "Barrier", 1, 50, 50), wait(WaitAtBarrier, 2, 1, "Barrier", 1, 30, 30)}},
		{"late to an Allreduce", func(j []*program) { came(j, "Allreduce", -1, 60, 50, 0, 20) },
			[]WaitState{wait(WaitAtNxN, 1, 0, "Allreduce", 1, 50, 50), wait(WaitAtNxN, 2, 0, "Allreduce", 1, 30, 30)}},
		{"slow root of a broadcast", func(j []*program) { came(j, "Bcast", 2, 60, 0, 55, 50) },
			[]WaitState{wait(LateBroadcast, 0, 2, "Bcast", 1, 50, 50)}},
		{"early root of a reduction", func(j []*program) { came(j, "Reduce", 1, 60, 30, 10, 40) },
			[]WaitState{wait(EarlyReduce, 1, 2, "Reduce", 1, 30, 30)}},
		{"late root of a reduction", func(j []*program) { came(j, "Reduce", 1, 60, 30, 50, 40) }, nil},
		{"scan", func(j []*program) { came(j, "Scan", -1, 60, 20, 40, 10) },
			[]WaitState{wait(EarlyScan, 2, 1, "Scan", 1, 30, 30)}},
		{"nobody waits longer than the call", func(j []*program) {
			j[0].collective("Bcast", 0, 50, 51)
			j[1].collective("Bcast", 0, 0, 40) // a clock that is wrong
			j[2].collective("Bcast", 0, 60, 61)
		}, []WaitState{wait(LateBroadcast, 1, 0, "Bcast", 1, 40, 40)}},
		{"neighbours are not known", func(j []*program) { came(j, "Neighbor_alltoall", -1, 60, 20, 40, 10) }, nil},
		{"nonblocking", func(j []*program) {
			for rank, from := range []float64{0, 50, 10} {
				i := j[rank].collective("Iallreduce", -1, from, from+1)
				j[rank].wait("Wait", from+5, 60)
				j[rank].done(i, 60)
			}
		}, []WaitState{wait(WaitAtNxN, 0, 1, "Wait", 1, 45, 45).at("Iallreduce"), wait(WaitAtNxN, 2, 1, "Wait", 1, 35, 35).at("Iallreduce")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := job(3, 100)
			test.do(j)
			got := analyze(t, j, Options{})
			checkWaits(t, got, test.want...)
			if got.Matching.Collectives.Instances != 1 {
				t.Errorf("%+v, want 1 collective", got.Matching.Collectives)
			}
		})
	}
}

func TestPatternTotals(t *testing.T) {
	j := job(2, 100)
	j[0].send("Send", 1, 50, 51)
	j[1].recv(0, 0, 52)
	came(j, "Barrier", -1, 81, 60, 80)
	got := analyze(t, j, Options{})
	// 50 and 20 of the 200 ms of two ranks.
	want := []PatternTotal{{LateSender, 1, 0.050, 0.25}, {WaitAtBarrier, 1, 0.020, 0.1}}
	testenv.Equal(t, want, got.Patterns, cmp.Comparer(near))
}

// TestCommunicatorTotals checks the waits of each of two communicators.
func TestCommunicatorTotals(t *testing.T) {
	j := job(2, 100)
	for _, p := range j {
		p.Trace().Comms = append(p.Trace().Comms, profile.TraceComm{Label: "row", ID: "78", Size: 2, Rank: p.Trace().Rank})
	}
	j[0].send("Send", 1, 50, 51)
	j[1].recv(0, 0, 52)
	came(j, "Barrier", -1, 81, 60, 80)
	for rank, from := range []float64{82, 85} {
		j[rank].add(profile.EventKind{Call: "Barrier", Class: profile.AllToAll, Direction: profile.Send, Comm: 1, Peer: -1}, from, 86, profile.NoTag, 0)
	}
	got := analyze(t, j, Options{}).Communicators
	// Of the 200 ms of two ranks.
	want := []CommunicatorTotal{
		{"world", 2, 0.070, 0.35, []PatternTotal{{LateSender, 1, 0.050, 0.25}, {WaitAtBarrier, 1, 0.020, 0.1}}},
		{"row", 1, 0.003, 0.015, []PatternTotal{{WaitAtBarrier, 1, 0.003, 0.015}}},
	}
	testenv.Equal(t, want, got, cmp.Comparer(near))
}

// TestEachWait checks the waits of the pipeline one by one: rank 1 is in its
// first event from 0 to 30 ms, rank 2 in its first from 0 to 60.
func TestEachWait(t *testing.T) {
	var got []profile.Wait
	if _, err := Analyze(jobs.Sources(pipeline()...), Options{Wait: func(w profile.Wait) { got = append(got, w) }}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b profile.Wait) int { return a.Rank - b.Rank })
	want := []profile.Wait{
		{Rank: 1, Event: 0, Peer: 0, Pattern: "late-sender", Start: at(0), Duration: 30_000_000, Callsite: "Recv", Comm: "world", PeerCallsite: "Send"},
		{Rank: 2, Event: 0, Peer: 1, Pattern: "late-sender", Start: at(0), Duration: 60_000_000, Callsite: "Recv", Comm: "world", PeerCallsite: "Send"},
	}
	testenv.Equal(t, want, got)
}
