package trace

import (
	"math"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// collective adds a collective that each rank enters and leaves at true times.
// root is the root of a rooted one, otherwise profile.PeerNone.
func (j *clockJob) collective(call string, root int32, bytes uint64, entered, left []int64) {
	for rank, r := range j.ranks {
		start, end := clockStart+j.reads[rank](entered[rank]), clockStart+j.reads[rank](left[rank])
		e := jobs.Call(call, start, end)
		e.Class, e.Comm, e.Peer, e.Bytes = profile.CallNamed(call).Class, 0, root, bytes
		r.Add(e)
	}
}

// clocksAt returns clocks that are ahead by these amounts.
func clocksAt(offsets ...int64) (reads []func(int64) int64) {
	for _, offset := range offsets {
		reads = append(reads, even(offset, 0))
	}
	return reads
}

// ring sends messages from each rank to the next, which take these times.
func (j *clockJob) ring(takes ...int64) {
	for at := int64(0); at < 20*clockMs; at += clockMs {
		for rank, ns := range takes {
			j.message(rank, (rank+1)%len(takes), at, ns)
		}
	}
}

// wantClock is what is expected of a host but the first.
type wantClock struct {
	offset   float64
	evidence profile.ClockEvidence
	wrong    float64
}

// checkClocks requires exactly these corrections, without a drift, with which
// nothing goes backwards.
func checkClocks(t *testing.T, name string, j *clockJob, want ...wantClock) {
	t.Helper()
	c := estimate(t, j.sources())
	if c.Backwards+c.LeftEarly > 0 || len(c.Hosts) != len(want)+1 {
		t.Errorf("%s: %+v", name, c)
	}
	for i, w := range want {
		h := c.Hosts[i+1]
		if h.Correction.Offset != w.offset || h.Correction.Drift != 0 || h.Evidence != w.evidence || h.ErrorNs != w.wrong {
			t.Errorf("%s: %+v, want %+v", name, h, w)
		}
	}
}

// Clocks that are right stay, however long messages wait for their receivers. The
// error is what the messages on the way to the first host, and on the way from
// there, leave.
func TestClocksLeftAlone(t *testing.T) {
	const both, oneWay = profile.ClockBothWays, profile.ClockOneWay
	j := newClockJob(clocksAt(0, 0)...)
	for at := int64(0); at < 20; at++ {
		j.message(0, 1, at*10*clockMs, 500*clockMs+at*10*clockMs)
	}
	checkClocks(t, "producer", j, wantClock{0, oneWay, 0})
	j.message(1, 0, 900*clockMs, 3*clockUs)
	checkClocks(t, "answered", j, wantClock{0, both, 500 * clockMs})

	j = newClockJob(clocksAt(0, 0, 0)...)
	j.ring(50*clockMs, 20*clockMs, 30*clockMs)
	checkClocks(t, "ring of 3", j, wantClock{0, both, 50 * clockMs}, wantClock{0, both, 70 * clockMs})
	j = newClockJob(clocksAt(0, 0, 0, 0)...)
	j.ring(10*clockMs, 20*clockMs, 30*clockMs, 40*clockMs)
	checkClocks(t, "ring of 4", j, wantClock{0, both, 90 * clockMs}, wantClock{0, both, 70 * clockMs}, wantClock{0, both, 60 * clockMs})

	// Rank 2 enters 5 µs before rank 0 leaves, rank 1 15 µs, and rank 0 26 and 27
	// µs before the others leave.
	j = newClockJob(clocksAt(0, 0, 0)...)
	entered, left := []int64{0, 10 * clockUs, 20 * clockUs}, []int64{25 * clockUs, 26 * clockUs, 27 * clockUs}
	j.collective("Barrier", profile.PeerNone, 0, entered, left)
	checkClocks(t, "Barrier", j, wantClock{0, both, 26 * clockUs}, wantClock{0, both, 27 * clockUs})

	// A Bcast without data limits nothing, nor does one whose number is unknown.
	// One with data limits one direction, a Reduce the other.
	j = newClockJob(clocksAt(0, 0, 0)...)
	j.collective("Bcast", 0, 0, entered, left)
	checkClocks(t, "empty Bcast", j, wantClock{0, profile.ClockReference, 0}, wantClock{0, profile.ClockReference, 0})
	j.collective("Bcast", 0, 8, entered, left)
	checkClocks(t, "Bcast", j, wantClock{0, oneWay, 0}, wantClock{0, oneWay, 0})
	j.collective("Reduce", 0, 8, entered, left)
	checkClocks(t, "Bcast and Reduce", j, wantClock{0, both, 26 * clockUs}, wantClock{0, both, 27 * clockUs})
	for _, r := range j.ranks {
		r.Trace().Gaps = true
	}
	checkClocks(t, "gaps", j, wantClock{0, profile.ClockReference, 0}, wantClock{0, profile.ClockReference, 0})
}

// Results go to one host only. A message takes 1 µs and up to 200 ns until the
// receive returns. Clocks with which no result goes backwards are left alone.
// Others are moved until the fastest result takes no time, and get no drift.
func TestClocksOneWay(t *testing.T) {
	for _, test := range []struct {
		offset      time.Duration
		drift       float64
		least, most int64 // by how much the corrected clocks are wrong, ns
	}{
		{300 * time.Microsecond, 0, 500, 1800},
		{-300 * time.Microsecond, 0, -300_000, -300_000},
		{300 * time.Microsecond, -15e-6, math.MinInt64, 1800},
	} {
		w := synth.NewWorkers(3, 50_000)
		w.PerNode = 1
		truth := w.Sources()
		sources := skewed(truth, test.offset, test.drift)
		c := estimate(t, sources)
		if c.Messages != 100_000 || c.Backwards != 0 {
			t.Fatalf("%+v", c)
		}
		corrected := c.Correct(sources)
		if n, _ := backwards(t, corrected); n > 0 {
			t.Errorf("%d messages go backwards", n)
		}
		for rank := 1; rank < 3; rank++ {
			h := c.Hosts[rank]
			if h.Evidence != profile.ClockOneWay || h.ErrorNs != 0 || h.Messages != 50_000 || h.Correction.Drift != 0 {
				t.Errorf("%+v", h)
			}
			if least, most := off(t, corrected[rank], truth[rank]); least < test.least || most > test.most {
				t.Errorf("rank %d is off by %d to %d ns", rank, least, most)
			}
		}
	}
}

// Clocks that are wrong are moved as little as possible, or to the middle of
// limits that are close to each other, and get no drift.
func TestClocksMovedLittle(t *testing.T) {
	const both, oneWay = profile.ClockBothWays, profile.ClockOneWay
	j := newClockJob(clocksAt(0, -5*clockMs)...)
	j.message(0, 1, 0, 2*clockMs)
	j.message(0, 1, 500*clockMs, 90*clockMs)
	checkClocks(t, "one way", j, wantClock{3 * clockMs, oneWay, 0})
	j.message(1, 0, clockSecond, 405*clockMs)
	checkClocks(t, "answered", j, wantClock{3*clockMs + leastFlight/2, both, 407*clockMs - leastFlight/2})

	// Only the second of three clocks is wrong.
	j = newClockJob(clocksAt(0, 300*clockUs, 0)...)
	j.message(1, 0, 0, 2*clockUs)
	j.message(2, 0, 0, 2*clockUs)
	checkClocks(t, "to the first", j, wantClock{-298 * clockUs, oneWay, 0}, wantClock{0, oneWay, 0})

	// The first clock is compared with all others, so they are moved.
	j = newClockJob(clocksAt(300*clockUs, 0, 0)...)
	j.message(0, 1, 0, 2*clockUs)
	j.message(1, 2, 0, 2*clockUs)
	checkClocks(t, "from the first", j, wantClock{298 * clockUs, oneWay, 0}, wantClock{296 * clockUs, oneWay, 0})

	// In a ring, the second is at most 2 µs too early, and the third and the
	// second together at most 4 µs too late.
	j = newClockJob(clocksAt(0, 7*clockMs, -3*clockMs)...)
	j.ring(2*clockUs, 2*clockUs, 2*clockUs)
	checkClocks(t, "ring of 3", j, wantClock{-7*clockMs + clockUs, both, 3 * clockUs}, wantClock{3*clockMs - clockUs, both, 3 * clockUs})
	j = newClockJob(clocksAt(0, 7*clockMs, -3*clockMs, 40*clockMs)...)
	j.ring(2*clockUs, 2*clockUs, 2*clockUs, 2*clockUs)
	checkClocks(t, "ring of 4", j, wantClock{-7*clockMs + 2*clockUs, both, 4 * clockUs}, wantClock{3 * clockMs, both, 4 * clockUs},
		wantClock{-40*clockMs - 2*clockUs, both, 4 * clockUs})
}

// Rings and collectives show how clocks drift. What they leave open is known.
func TestClocksDrift(t *testing.T) {
	for name, act := range map[string]func(*clockJob, int64){
		"ring": func(j *clockJob, at int64) {
			for rank := range 4 {
				j.message(rank, (rank+1)%4, at+int64(rank)*10*clockUs, 3*clockUs)
			}
		},
		"Barrier": func(j *clockJob, at int64) {
			late := make([]int64, 4)
			for rank := range late {
				late[rank] = at + int64(rank)*clockUs
			}
			j.collective("Barrier", profile.PeerNone, 0, late, []int64{at + 5*clockUs, at + 5*clockUs, at + 5*clockUs, at + 5*clockUs})
		},
		"Allreduce": func(j *clockJob, at int64) {
			all := []int64{at, at, at, at}
			j.collective("Allreduce", profile.PeerNone, 0, all, all) // without data, nobody waits
			j.collective("Allreduce", profile.PeerNone, 8, all, []int64{at + 5*clockUs, at + 4*clockUs, at + 3*clockUs, at + 4*clockUs})
		},
	} {
		j := newClockJob(even(0, 0), even(5*clockMs, 20e-6), even(-2*clockMs, -30e-6), even(clockSecond, 50e-6))
		for at := int64(0); at < 2*clockSecond; at += clockMs {
			act(j, at)
		}
		c := estimate(t, j.sources())
		if c.Backwards+c.LeftEarly > 0 {
			t.Errorf("%s: %+v", name, c)
		}
		for rank, h := range c.Hosts {
			for _, true := range []int64{0, clockSecond, 2 * clockSecond} {
				d := h.Correction.Time(clockStart+j.reads[rank](true)) - clockStart - true
				if math.Abs(float64(d)) > h.ErrorNs+1 || h.ErrorNs > 12*clockUs {
					t.Errorf("%s: host %d is off by %d ns at %d, said to be by %g at most", name, rank, d, true, h.ErrorNs)
				}
			}
		}
	}
}

// Hosts with one clock are corrected together.
func TestClocksShared(t *testing.T) {
	j := newClockJob(clocksAt(0, -5*clockMs, -5*clockMs)...)
	j.message(0, 1, 0, 2*clockUs)
	j.message(2, 0, 0, 4*clockUs)
	j.ranks[1].Trace().ClockID, j.ranks[2].Trace().ClockID = "one", "one"
	c := estimate(t, j.sources())
	if len(c.Hosts) != 2 || len(c.Hosts[1].SharedBy) != 1 || c.Hosts[1].SharedBy[0] != "h2" || c.Hosts[1].ErrorNs != 3*clockUs {
		t.Errorf("%+v", c)
	}
	for _, r := range j.ranks[1:] {
		if by := c.Of(r.Trace()); by == nil || by.Offset != 5*clockMs+clockUs {
			t.Errorf("%+v", by)
		}
	}
	j.ranks[0].Trace().ClockID = "one"
	if c := estimate(t, j.sources()); len(c.Hosts) != 1 || c.Messages != 0 {
		t.Errorf("%+v", c)
	}
}

// The second clock is limited closely by the first, the third loosely; messages
// from the second to the third show that the third is 5 ms late. The third is
// moved, by as little as possible, and the second stays.
func TestClocksOfLooseHost(t *testing.T) {
	j := newClockJob(clocksAt(0, clockMs, -5*clockMs)...)
	for at := int64(0); at < 20*clockMs; at += clockMs {
		j.message(0, 1, at, 3*clockUs)
		j.message(1, 0, at, 3*clockUs)
		j.message(0, 2, at, 500*clockMs)
		j.message(1, 2, at, 2*clockUs)
	}
	j.message(2, 0, clockSecond, 3*clockMs)
	c := estimate(t, j.sources())
	second, third := c.Hosts[1], c.Hosts[2]
	if c.Backwards > 0 || math.Abs(second.Correction.Offset+clockMs) > 3*clockUs || math.Abs(third.Correction.Offset-5*clockMs) > 5*clockUs {
		t.Errorf("%+v", c)
	}
}
