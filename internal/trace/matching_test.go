package trace

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

type counts = map[Reason]uint64

// unmatched are programs of which not everything can be matched.
var unmatched = []struct {
	name            string
	do              func(j []*program) []*program
	sends, receives counts
	collectives     counts
}{
	{"a rank without a trace", func(j []*program) []*program {
		j[0].send("Send", 1, 0, 1)
		j[0].recv(1, 1, 2)
		came(j, "Barrier", -1, 6, 3, 3, 3)
		return []*program{j[0], j[2]}
	}, counts{NotTraced: 1}, counts{NotTraced: 1}, counts{NotTraced: 1}},
	{"killed", func(j []*program) []*program {
		j[1].Trace().State = profile.Running
		j[1].Trace().FinalizeStart = 0
		for range 2 {
			j[0].send("Send", 1, 0, 1)
		}
		j[1].recv(0, 1, 2)
		j[2].recv(1, 0, 50)
		came(j[:1], "Barrier", -1, 60, 3)
		return j
	}, counts{Cut: 1}, counts{Cut: 1}, counts{Cut: 1}},
	{"the flight recorder", func(j []*program) []*program {
		j[1].Trace().Dropped, j[1].Trace().Gaps = 5, true
		j[0].send("Send", 1, 0, 1)
		came(j[:1], "Barrier", -1, 60, 3)
		came(j, "Barrier", -1, 70, 61, 61, 61)
		return j
	}, counts{Cut: 1}, counts{}, counts{Gaps: 2}},
	{"the first part", func(j []*program) []*program {
		j[1].Trace().Dropped = 5
		came(j, "Barrier", -1, 60, 51, 51, 51)
		came(j[:1], "Barrier", -1, 70, 61)
		j[0].send("Send", 1, 80, 81)
		return j
	}, counts{Cut: 1}, counts{}, counts{Cut: 1}},
	{"another world", func(j []*program) []*program {
		j[0].send("Send", profile.PeerElsewhere, 0, 1)
		j[0].recv(profile.PeerLost, 0, 1)
		j[0].send("Send", profile.PeerProcNull, 0, 1)
		return j
	}, counts{OtherWorld: 1}, counts{OtherWorld: 1}, counts{}},
	{"whole traces that do not fit", func(j []*program) []*program {
		j[0].send("Send", 1, 0, 1)
		j[1].recv(2, 0, 1)
		j[0].collective("Barrier", -1, 2, 3)
		j[1].collective("Allreduce", -1, 2, 3)
		j[2].collective("Barrier", -1, 2, 3)
		j[2].collective("Barrier", -1, 4, 5)
		return j
	}, counts{NeverReceived: 1}, counts{NoSend: 1}, counts{Mismatch: 1, NeverCalled: 1}},
	{"cancelled", func(j []*program) []*program {
		i := j[0].send("Isend", 1, 0, 1)
		k := profile.EventKind{Action: profile.Abnormal, AbnormalKind: profile.CancelledSend, Call: "Isend", Peer: 1}
		j[0].link(i, j[0].add(k, 2, 2, 0, 0))
		return j
	}, counts{Abnormal: 1}, counts{}, counts{}},
}

// Operations without a counterpart are counted with the reason, and delay no
// others.
func TestUnmatched(t *testing.T) {
	for _, test := range unmatched {
		t.Run(test.name, func(t *testing.T) {
			got := analyzed(t, jobs.Sources(test.do(job(3, 100))...), Options{})
			m := got.Matching
			for _, diff := range []string{cmp.Diff(test.sends, m.UnmatchedSends), cmp.Diff(test.receives, m.UnmatchedReceives),
				cmp.Diff(test.collectives, m.Collectives.Incomplete)} {
				if diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// An operation that did not complete normally neither causes a wait nor matches
// another message.
func TestAbnormal(t *testing.T) {
	type counts = map[Reason]uint64
	for _, test := range []struct {
		name  string
		do    func(j []*program)
		sends counts
	}{
		{"truncated", func(j []*program) {
			i := j[0].send("Issend", 1, 0, 1)
			j[0].wait("Wait", 1, 3)
			j[0].done(i, 3)
			r := j[1].irecv(0, 0, 1)
			j[1].wait("Wait", 2, 4)
			j[1].dropped(r, profile.TruncatedReceive, 0, 4)
		}, counts{Abnormal: 1}},
		{"freed before it is sent", func(j []*program) {
			j[1].dropped(j[1].irecv(0, 0, 1), profile.FreedReceive, 0, 2)
			i := j[0].send("Issend", 1, 10, 11)
			j[0].wait("Wait", 11, 13)
			j[0].done(i, 13)
			j[0].send("Send", 1, 14, 15)
			j[1].recv(0, 20, 21)
		}, counts{Abnormal: 1}},
		{"nobody tells from whom", func(j []*program) {
			j[1].dropped(j[1].irecv(profile.PeerAnySource, 0, 1), profile.UntoldReceive, profile.PeerAnySource, 4)
			j[0].send("Send", 1, 0, 1)
			j[2].send("Send", 1, 0, 1)
		}, counts{Abnormal: 1, NeverReceived: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := job(3, 100)
			test.do(j)
			m := analyze(t, j, Options{}).Matching
			if diff := cmp.Diff(test.sends, m.UnmatchedSends); diff != "" || len(m.UnmatchedReceives) > 0 {
				t.Errorf("receives %v, sends (-want +got):\n%s", m.UnmatchedReceives, diff)
			}
		})
	}
}

// Messages of several tags that are received in any order find their sends,
// however the threads of the receiver's trace are merged.
func TestMatchingInAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		j := job(2, 1e6)
		const messages = 3000
		type sent struct {
			tag int32
			seq uint32
		}
		var all []sent
		for i := range messages {
			tag := r.Int32N(5)
			n := j[0].sendTagged("Send", 1, tag, float64(2*i), float64(2*i+1))
			all = append(all, sent{tag, j[0].Events.Seq[n]})
		}
		for i := range all { // at most so far from the order of the sends
			other := i + r.IntN(min(len(all)-i, 1+int(seed)*20))
			all[i], all[other] = all[other], all[i]
		}
		for i, s := range all {
			k := profile.EventKind{Call: "Recv", Direction: profile.Recv, Thread: r.Int32N(3)}
			j[1].add(k, float64(i), float64(i)+0.5, s.tag, s.seq)
		}
		got := analyzed(t, jobs.Sources(j...), Options{})
		if got.Matching.Matched != messages {
			t.Fatalf("seed %d: %+v, want %d matched", seed, got.Matching, messages)
		}
	}
}

// Two threads of each rank whose messages cross: in the order of events,
// neither can be the first.
func TestThreadsThatCross(t *testing.T) {
	j := job(2, 100)
	for i, p := range j {
		other := int32(1 - i)
		p.add(profile.EventKind{Call: "Recv", Direction: profile.Recv, Peer: other, Thread: 1}, 0, 20, 1, 1)
		p.add(profile.EventKind{Call: "Recv", Direction: profile.Recv, Peer: other, Thread: 2}, 21, 22, 1, 2)
		p.add(profile.EventKind{Call: "Send", Direction: profile.Send, Peer: other}, 5, 23, 1, 1)
		p.add(profile.EventKind{Call: "Send", Direction: profile.Send, Peer: other}, 24, 25, 1, 2)
	}
	got := analyze(t, j, Options{})
	if got.Matching.Matched != 4 || got.Matching.Received != 4 {
		t.Errorf("%+v, want 4 matched", got.Matching)
	}
}

func TestIntercommunicator(t *testing.T) {
	j := job(3, 100)
	for i, p := range j {
		p.Trace().Comms = []profile.TraceComm{{Label: "inter", ID: "12", Inter: true, Size: 1, Remote: 2}}
		if i > 0 {
			p.Trace().Comms[0] = profile.TraceComm{Label: "inter", ID: "12", Inter: true, Size: 2, Remote: 1, Rank: i - 1}
		}
	}
	// Rank 0 broadcasts to the two ranks of the other group.
	j[0].collective("Bcast", profile.PeerRoot, 30, 31)
	j[1].collective("Bcast", 0, 10, 32)
	j[2].collective("Bcast", 0, 40, 41)
	got := analyze(t, j, Options{})
	want := wait(LateBroadcast, 1, 0, "Bcast", 1, 20, 20)
	want.Communicator = "inter"
	checkWaits(t, got, want)
}

func TestFrames(t *testing.T) {
	j := job(3, 100)
	for _, from := range []float64{5, 15, 19, 95} {
		j[0].send("Send", 1, from, from+0.5)
		j[1].recv(0, from, from+1)
	}
	j[2].sendTagged("Send", 1, 9, 16, 17)
	got := analyzed(t, jobs.Sources(j...), Options{Interval: 10 * time.Millisecond})
	want := &Frames{Interval: 0.01, Start: at(0), Frames: []SentInterval{
		{0, 0, []FramePair{{0, 1, 1, 1000}}},
		{1, 0.01, []FramePair{{0, 1, 2, 2000}, {2, 1, 1, 1000}}},
		{9, 0.09, []FramePair{{0, 1, 1, 1000}}},
	}}
	if diff := cmp.Diff(want, got.Frames, cmp.Comparer(near)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobs(t *testing.T) {
	j := job(4, 100)
	for i, run := range []string{"second", "first", "second", "first"} {
		j[i].Trace().Run = run
		if run == "first" {
			j[i].Trace().Start -= 5 * ms
		}
	}
	list := jobs.Sources(j...)
	want := [][]profile.EventSource{{list[1], list[3]}, {list[0], list[2]}}
	got := Jobs(list)
	if len(got) != 2 || got[0][0] != want[0][0] || got[0][1] != want[0][1] || got[1][0] != want[1][0] || got[1][1] != want[1][1] {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNoAnalysis(t *testing.T) {
	j := job(2, 100)
	j[1].Trace().Rank = 0
	broken := jobs.ProcessOf(profile.Trace{Rank: 3})
	broken.Err = errors.New("it ends within")
	for want, list := range map[string][]profile.EventSource{
		"no rank has a trace":                  nil,
		"two traces are of rank 0":             jobs.Sources(j...),
		"read trace of rank 3: it ends within": {broken},
	} {
		if _, err := Analyze(list, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}
