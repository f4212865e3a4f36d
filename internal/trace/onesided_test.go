package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// makeWindow adds a call of all ranks that makes a window, and returns the
// window's number.
func makeWindow(j []*program, from, until float64) int32 {
	for _, p := range j {
		p.add(profile.EventKind{Call: "Win_create", Class: profile.Other, Peer: profile.PeerNone, Window: 1}, from, until, profile.NoTag, 0)
	}
	return 1
}

// on adds a call on the window. The peer is the target of a flush, lock or
// unlock, or selects the group of a start or post; below 0 there is none.
func (p *program) on(call string, peer int, from, until float64) {
	k := profile.EventKind{Call: call, Class: profile.Sync, Peer: profile.PeerNone, Window: 1}
	if peer >= 0 {
		k.Peer = int32(peer)
	}
	switch call {
	case "Lock exclusive":
		k.Call, k.Lock = "Win_lock", profile.ExclusiveLock
	case "Win_lock":
		k.Lock = profile.SharedLock
	case "Win_start", "Win_post":
		k.Group, k.Peer = int32(peer)+1, profile.PeerNone // of group
	}
	p.add(k, from, until, profile.NoTag, 0)
}

// together adds a call on the window to ranks that enter it at these times, and
// leave it at the same time.
func together(j []*program, call string, leave float64, times ...float64) {
	for rank, from := range times {
		j[rank].on(call, -1, from, leave)
	}
}

func (p *program) put(call string, peer int, from, until float64) {
	p.add(profile.EventKind{Call: call, Class: profile.OneSided, Direction: profile.Write, Peer: int32(peer), Window: 1}, from, until, profile.NoTag, 0)
}

// busy adds calls that are in MPI at these times.
func (p *program) busy(times ...float64) {
	for i := 0; i+1 < len(times); i += 2 {
		p.add(profile.EventKind{Call: "Iprobe", Comm: -1, Peer: profile.PeerNone}, times[i], times[i+1], profile.NoTag, 0)
	}
}

// onesidedPrograms are what three ranks do after 10 ms, in which they made a
// window.
var onesidedPrograms = []waitCase{
	{"late to a fence", func(j []*program) {
		together(j, "Win_fence", 61, 20, 60, 30)
	}, []WaitState{late(WaitAtFence, 0, 1, "Win_fence", 40), late(WaitAtFence, 2, 1, "Win_fence", 30)}},
	{"a fence that waits for nobody", func(j []*program) {
		for i, from := range []float64{20, 60, 30} {
			j[i].on("Win_fence", -1, from, from+1)
		}
	}, nil},
	{"late to the freeing of a window", func(j []*program) {
		together(j, "Win_free", 61, 20, 30, 60)
	}, []WaitState{late(WaitAtWinFree, 0, 2, "Win_free", 40), late(WaitAtWinFree, 1, 2, "Win_free", 30)}},
	{"late post, in Win_start", func(j []*program) {
		j[0].on("Win_start", 1, 20, 51)
		j[0].on("Win_complete", -1, 51, 52)
		j[1].on("Win_post", 0, 50, 51)
	}, []WaitState{wait(LatePost, 0, 1, "Win_start", 1, 30, 30).at("Win_post")}},
	{"late post, in Win_complete", func(j []*program) {
		j[0].on("Win_start", 1, 20, 21)
		j[0].on("Win_complete", -1, 25, 51)
		j[1].on("Win_post", 0, 50, 51)
	}, []WaitState{wait(LatePost, 0, 1, "Win_complete", 1, 25, 25).at("Win_post")}},
	{"late post of nobody", func(j []*program) {
		j[0].on("Win_start", 1, 20, 21)
		j[0].on("Win_complete", -1, 22, 23)
		j[1].on("Win_post", 0, 50, 51)
	}, nil},
	{"the second post is of the second start", func(j []*program) {
		j[1].on("Win_post", 0, 20, 21)
		j[0].on("Win_start", 1, 30, 31)
		j[0].on("Win_complete", -1, 31, 32)
		j[0].on("Win_start", 1, 40, 71)
		j[0].on("Win_complete", -1, 71, 72)
		j[1].on("Win_wait", -1, 35, 36)
		j[1].on("Win_post", 0, 70, 71)
	}, []WaitState{wait(LatePost, 0, 1, "Win_start", 1, 30, 30).at("Win_post")}},
	{"late complete: the last counts", func(j []*program) {
		j[1].on("Win_post", 2, 20, 21) // both others
		j[1].on("Win_wait", -1, 25, 61)
		j[0].on("Win_start", 1, 20, 21)
		j[0].on("Win_complete", -1, 40, 41)
		j[2].on("Win_start", 1, 20, 21)
		j[2].on("Win_complete", -1, 60, 61)
	}, []WaitState{wait(LateComplete, 1, 2, "Win_wait", 1, 35, 35).at("Win_complete")}},
	{"lock contention", func(j []*program) {
		j[0].on("Lock exclusive", 1, 20, 21)
		j[0].on("Win_unlock", 1, 60, 62)
		j[2].on("Win_lock", 1, 30, 61)
		j[2].on("Win_unlock", 1, 63, 64)
	}, []WaitState{wait(LockContention, 2, 0, "Win_lock", 1, 30, 30).at("Win_unlock")}},
	{"a lock that is asked for later", func(j []*program) {
		j[0].on("Lock exclusive", 1, 20, 21)
		j[0].on("Win_flush", 1, 22, 23)
		j[0].on("Win_unlock", 1, 60, 62)
		j[2].on("Win_lock", 1, 30, 30.001)
		j[2].on("Win_flush", 1, 31, 61)
		j[2].on("Win_unlock", 1, 63, 64)
	}, []WaitState{wait(LockContention, 2, 0, "Win_flush", 1, 29, 29).at("Win_unlock")}},
	{"the holder has had operations completed", func(j []*program) {
		j[0].on("Lock exclusive", 1, 20, 21)
		j[0].put("Put", 1, 21, 21.001)
		j[0].on("Win_flush", 1, 22, 23)
		j[0].on("Win_unlock", 1, 60, 80) // the machine is busy
		j[1].busy(10, 90)
		j[2].on("Win_lock", 1, 30, 61)
		j[2].on("Win_unlock", 1, 63, 64)
	}, []WaitState{wait(LockContention, 2, 0, "Win_lock", 1, 30, 30).at("Win_unlock")}},
	{"shared locks", func(j []*program) {
		j[0].on("Win_lock", 1, 20, 21)
		j[0].on("Win_unlock", 1, 60, 62)
		j[2].on("Win_lock", 1, 30, 61)
		j[2].on("Win_unlock", 1, 63, 64)
	}, nil},
	{"locks on others", func(j []*program) {
		j[0].on("Lock exclusive", 1, 20, 21)
		j[0].on("Win_unlock", 1, 60, 60.5)
		j[1].on("Win_lock", 2, 30, 61)
		j[1].on("Win_unlock", 2, 63, 64)
	}, nil},
	{"who had the lock is not known", func(j []*program) {
		j[0].on("Lock exclusive", 1, 20, 21)
		j[0].on("Win_unlock", 1, 60, 80) // it may have had to wait itself
		j[2].on("Win_lock", 1, 30, 61)
		j[2].on("Win_unlock", 1, 63, 64)
	}, nil},
	{"the target is outside of MPI", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 19, 60, 62)
	}, []WaitState{wait(WaitForProgress, 0, 1, "Win_flush", 1, 39, 39).at("Iprobe")}},
	{"the target is outside of MPI in an operation", func(j []*program) {
		j[0].put("Accumulate", 1, 20, 61)
		j[1].busy(18, 19, 60, 62)
	}, []WaitState{wait(WaitForProgress, 0, 1, "Accumulate", 1, 40, 40).at("Iprobe")}},
	{"the target leaves MPI later", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 30, 60, 62)
	}, []WaitState{wait(WaitForProgress, 0, 1, "Win_flush", 1, 30, 30).at("Iprobe")}},
	{"the target has left MPI again", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 19, 60, 60.2, 60.3, 60.4, 90, 91)
	}, []WaitState{wait(WaitForProgress, 0, 1, "Win_flush", 1, 39, 39).at("Iprobe")}},
	{"the target comes twice", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 21, 81)
		j[1].busy(18, 19, 60, 60.2, 90, 91)
	}, []WaitState{wait(Undecided, 0, 1, "Win_flush", 1, 39, 39).at("Iprobe")}},
	{"two targets: the last counts", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].put("Put", 2, 20.5, 20.501)
		j[0].on("Win_flush_all", -1, 21, 61)
		j[1].busy(18, 19, 60, 62)
		j[2].busy(18, 19, 40, 62)
	}, []WaitState{wait(WaitForProgress, 0, 1, "Win_flush_all", 1, 39, 39).at("Iprobe")}},
	{"the flush ends long after the target comes", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 21, 81)
		j[1].busy(18, 19, 60, 90)
	}, []WaitState{wait(Undecided, 0, 1, "Win_flush", 1, 39, 39).at("Iprobe")}},
	{"nothing to flush", func(j []*program) {
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 19, 60, 62)
	}, nil},
	{"the target is in MPI", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 62)
	}, nil},
	{"the MPI needs no target", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 20.5, 20.6) // done without it
		j[0].put("Put", 1, 20.7, 20.701)
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 19, 60, 62)
	}, nil},
	{"the MPI needs no target for others", func(j []*program) {
		j[0].put("Put", 1, 20, 20.001)
		j[0].on("Win_flush", 1, 20.5, 20.6)
		j[0].put("Accumulate", 1, 20.7, 20.701)
		j[0].on("Win_flush", 1, 21, 61)
		j[1].busy(18, 19, 60, 62)
	}, []WaitState{wait(WaitForProgress, 0, 1, "Win_flush", 1, 39, 39).at("Iprobe")}},
}

func late(p Pattern, rank, peer int, call string, time float64) WaitState {
	return wait(p, rank, peer, call, 1, time, time)
}

func TestOneSidedWaits(t *testing.T) {
	for _, test := range onesidedPrograms {
		t.Run(test.name, func(t *testing.T) {
			j := job(3, 100)
			for _, p := range j {
				p.Trace().Groups = [][]int32{{0}, {1}, {0, 2}}
			}
			makeWindow(j, 1, 2)
			test.do(j)
			checkWaits(t, analyze(t, j, Options{}), test.want...)
		})
	}
}

// TestUnknownWindow requires that nothing is reported for a window whose
// creation is not in the trace.
func TestUnknownWindow(t *testing.T) {
	j := job(2, 100)
	together(j, "Win_fence", 61, 20, 60)
	j[0].put("Put", 1, 62, 63)
	j[0].on("Win_flush", 1, 64, 91)
	j[1].busy(90, 92)
	checkWaits(t, analyze(t, j, Options{}))
}

// constructor adds the creation of a communicator.
func (p *program) constructor(k profile.EventKind, from, until float64) int {
	k.Class, k.Peer = profile.Other, profile.PeerNone
	return p.add(k, from, until, profile.NoTag, 0)
}

func TestConstructorWaits(t *testing.T) {
	t.Run("of all", func(t *testing.T) {
		j := job(3, 100)
		for i, from := range []float64{20, 60, 30} {
			j[i].constructor(profile.EventKind{Call: "Comm_split"}, from, 61)
		}
		checkWaits(t, analyze(t, j, Options{}), late(WaitAtCommCreate, 0, 1, "Comm_split", 40), late(WaitAtCommCreate, 2, 1, "Comm_split", 30))
	})
	t.Run("in background", func(t *testing.T) {
		j := job(3, 100)
		for i, from := range []float64{20, 60, 30} {
			n := j[i].constructor(profile.EventKind{Call: "Comm_idup"}, from, from+1)
			j[i].wait("Wait", from+5, 66)
			j[i].done(n, 66)
		}
		checkWaits(t, analyze(t, j, Options{}), wait(WaitAtCommCreate, 0, 1, "Wait", 1, 35, 35).at("Comm_idup"),
			wait(WaitAtCommCreate, 2, 1, "Wait", 1, 25, 25).at("Comm_idup"))
	})
	t.Run("of its members", func(t *testing.T) {
		j := job(3, 100)
		for i, from := range []float64{20, 0, 30} {
			if i != 1 {
				j[i].Trace().Comms = append(j[i].Trace().Comms, profile.TraceComm{Label: "world", ID: "88", Size: 2, Rank: i / 2})
				j[i].constructor(profile.EventKind{Call: "Comm_create_group", Made: 2}, from, 31)
			}
		}
		came(j, "Barrier", -1, 60, 50, 50, 50)
		got := analyze(t, j, Options{})
		checkWaits(t, got, late(WaitAtCommCreate, 0, 2, "Comm_create_group", 10))
		if got.Matching.Collectives.Instances != 2 {
			t.Errorf("%+v, want 2 collectives", got.Matching.Collectives)
		}
	})
	t.Run("of members that are not known", func(t *testing.T) {
		j := job(2, 100)
		for i, from := range []float64{20, 30} {
			j[i].constructor(profile.EventKind{Call: "Comm_create_group"}, from, 31)
		}
		checkWaits(t, analyze(t, j, Options{}))
	})
}

// TestNeighborWaits has rank 1 send to rank 0, and rank 2 to rank 1. Each
// receiver waits for its own sender.
func TestNeighborWaits(t *testing.T) {
	j := job(3, 100)
	for i, edges := range [][]int32{nil, {0}, {1, profile.PeerProcNull}} {
		j[i].Trace().Comms[0].Edges = edges
	}
	came(j, "Neighbor_alltoall", -1, 60, 20, 40, 50)
	checkWaits(t, analyze(t, j, Options{}), late(LateNeighbor, 0, 1, "Neighbor_alltoall", 20), late(LateNeighbor, 1, 2, "Neighbor_alltoall", 10))
}

// TestCallTotals has two ranks in a fence for 60 of their 200 ms, half of which
// one of them waits for the other, and in a flush that may have waited for 39
// ms.
func TestCallTotals(t *testing.T) {
	j := job(2, 100)
	makeWindow(j, 0, 0)
	j[0].on("Win_fence", -1, 1, 46)
	j[1].on("Win_fence", -1, 31, 46)
	j[0].put("Put", 1, 50, 50)
	j[0].on("Win_flush", 1, 50, 100)
	j[1].busy(80, 100)
	want := []CallTotal{
		{Call: "Win_fence", Count: 2, Time: 0.060, Waiting: 0.030, Share: 0.3},
		{Call: "Win_flush", Count: 1, Time: 0.050, Undecided: 0.030, Share: 0.25},
		{Call: "Iprobe", Count: 1, Time: 0.020, Share: 0.1},
	}
	if diff := cmp.Diff(want, analyze(t, j, Options{}).Calls, cmp.Comparer(near)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
