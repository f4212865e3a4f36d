package trace

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// eagerUpTo records an eager limit of messages within the node.
func eagerUpTo(j []*program, bytes uint64) {
	for _, p := range j {
		p.Trace().EagerLimits = []profile.EagerLimit{{Path: profile.InNode, Bytes: bytes, Variable: "limit"}}
	}
}

// exchange sends and receives a message by Isend, Irecv and Waitall.
func (p *program) exchange(peer int, from, until float64) {
	s := p.send("Isend", peer, from, from+0.01)
	r := p.irecv(peer, from+0.01, from+0.02)
	p.wait("Waitall", from+0.02, until)
	p.done(s, until)
	p.got(r, peer, until)
}

// lateExchange has two ranks exchange a message, one of them 30 ms late.
func lateExchange(j []*program) {
	j[0].exchange(1, 0, 30.05)
	j[1].exchange(0, 30, 30.04)
}

// afterDelivery has rank 0 wait for two messages. The one that it receives is
// delivered 30 ms before the one that it sends is received.
func afterDelivery(j []*program) {
	a, b := j[0].irecv(1, 0, 1), j[0].send("Isend", 2, 1, 2)
	j[0].wait("Waitall", 2, 70)
	j[0].got(a, 1, 70)
	j[0].done(b, 70)
	j[1].send("Send", 0, 12, 13)
	j[2].recv(0, 42, 70)
}

// lateReceive has a receive end together with its send, which is 50 ms older.
func lateReceive(j []*program) {
	j[0].send("Send", 1, 10, 90)
	j[1].recv(0, 60, 90)
}

// freedByReceive has a send end 10 µs after its receive is posted.
func freedByReceive(j []*program) {
	j[0].send("Send", 1, 10, 60.01)
	j[1].recv(0, 60, 61)
}

// protocolPrograms are programs of two or three ranks whose waits depend on which
// messages are eager. All messages have 1,000 bytes.
var protocolPrograms = []struct {
	name  string
	limit uint64 // 0 is unknown
	do    func(j []*program)
	want  []WaitState
}{
	{"exchange of eager messages with a late partner", 4096, lateExchange,
		[]WaitState{wait(LateSender, 0, 1, "Waitall", 1, 29.98, 29.98).at("Isend")}},
	{"exchange of large messages with a late partner: the events do not show which was last", 512, lateExchange,
		[]WaitState{wait(LateSender, 0, 1, "Waitall", 1, 29.98, 29.98).at("Isend")}},
	{"the same where no limit is known", 0, lateExchange,
		[]WaitState{wait(LateSender, 0, 1, "Waitall", 1, 29.98, 29.98).at("Isend")}},
	{"a large message, after another had been delivered", 512, afterDelivery,
		[]WaitState{wait(LateReceiver, 0, 2, "Waitall", 1, 40, 40)}},
	{"an eager message, after another had been delivered", 4096, afterDelivery,
		[]WaitState{wait(LateSender, 0, 1, "Waitall", 1, 10, 10)}},
	{"a large message", 512, lateReceive, []WaitState{wait(LateReceiver, 0, 1, "Send", 1, 50, 50)}},
	{"an eager message", 4096, lateReceive, nil},
	{"a message that should be eager ends as if it were not", 4096, freedByReceive,
		[]WaitState{wait(Undecided, 0, 1, "Send", 1, 50, 50)}},
	{"no limit is known, and a send ends when it may", 0, lateReceive,
		[]WaitState{wait(Undecided, 0, 1, "Send", 1, 50, 50)}},
	{"no limit is known, and a send ends right after its receive is posted", 0, freedByReceive,
		[]WaitState{wait(LateReceiver, 0, 1, "Send", 1, 50, 50)}},
	{"what is known of one send holds for others of the size", 0, func(j []*program) {
		j[0].send("Send", 1, 10, 60.01)
		j[1].recv(0, 60, 61)
		j[0].send("Send", 1, 65, 90)
		j[1].recv(0, 75, 90)
	}, []WaitState{wait(LateReceiver, 0, 1, "Send", 2, 60, 50)}},
	{"another send of the size was over before", 0, func(j []*program) {
		j[0].send("Send", 1, 10, 60.01)
		j[1].recv(0, 60, 61)
		j[0].send("Send", 1, 65, 66)
		j[1].recv(0, 75, 76)
		j[0].send("Send", 1, 80, 90)
		j[1].recv(0, 84, 90)
	}, []WaitState{wait(Undecided, 0, 1, "Send", 1, 50, 50)}},
	{"a nonblocking send of the size was over before, as a test told", 0, func(j []*program) {
		j[0].send("Send", 1, 10, 90)
		j[1].recv(0, 60, 91)
		i := j[0].send("Isend", 1, 91, 92)
		j[0].wait("Test", 92, 93)
		j[0].done(i, 93)
		j[1].recv(0, 95, 96)
	}, nil},
}

func TestProtocols(t *testing.T) {
	for _, test := range protocolPrograms {
		t.Run(test.name, func(t *testing.T) {
			j := job(3, 100)
			if test.limit > 0 {
				eagerUpTo(j, test.limit)
			}
			test.do(j)
			var listed float64
			got := analyze(t, j, Options{Wait: func(w profile.Wait) {
				listed += float64(w.Duration) / 1e9 / 9 // analyze does it nine times
			}})
			checkWaits(t, got, test.want...)
			sum := 0.0
			for _, w := range test.want {
				sum += w.Time
			}
			if !near(sum, listed) {
				t.Errorf("the waits one by one are %g s, want %g", listed, sum)
			}
		})
	}
}

// TestEagerLimits checks what is known of eager sends: the limit that was
// recorded, and the largest message whose send ended before its receive was
// posted.
func TestEagerLimits(t *testing.T) {
	j := job(3, 100)
	eagerUpTo(j, 4096)
	j[2].Trace().Host, j[2].Trace().Clock = "other", &profile.ClockCorrection{} // which has been corrected
	j[0].send("Send", 1, 0, 1)
	j[1].recv(0, 10, 11)
	j[0].send("Send", 2, 20, 21)
	j[2].recv(0, 30, 31)
	got := analyze(t, j, Options{}).EagerLimits
	want := []ObservedEagerLimit{{profile.InNode, 4096, "limit", messageBytes}, {profile.BetweenNodes, 0, "", messageBytes}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestLateReceiverOnOtherHost checks sends to another host that seem to end
// before their receive is posted. A synchronous send has waited for its receiver
// all the same. A send above the recorded limit has waited if the clocks may be
// wrong by that much: by 50 us, but not by 5 ms.
func TestLateReceiverOnOtherHost(t *testing.T) {
	for _, test := range []struct {
		name   string
		send   string
		posted float64
		want   []WaitState
	}{
		{"synchronous", "Ssend", 60.05, []WaitState{wait(LateReceiver, 0, 1, "Ssend", 1, 50, 50)}},
		{"synchronous, and clocks are far apart", "Ssend", 65, []WaitState{wait(LateReceiver, 0, 1, "Ssend", 1, 50, 50)}},
		{"above the limit", "Send", 60.05, []WaitState{wait(LateReceiver, 0, 1, "Send", 1, 50, 50)}},
		{"above the limit, and clocks are far apart", "Send", 65, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := job(2, 100)
			j[0].Trace().EagerLimits = []profile.EagerLimit{{Path: profile.BetweenNodes, Bytes: messageBytes - 1, Variable: "limit"}}
			j[1].Trace().Host, j[1].Trace().Clock = "other", &profile.ClockCorrection{}
			j[0].send(test.send, 1, 10, 60)
			j[1].recv(0, test.posted, 70)
			checkWaits(t, analyze(t, j, Options{}), test.want...)
		})
	}
}
