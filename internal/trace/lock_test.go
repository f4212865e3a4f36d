package trace

import (
	"math/rand/v2"
	"testing"
)

// TestContention compares two ways to find the epochs of random locks that
// waited for each other: each with all others, and each only with those that
// may have waited for it.
func TestContention(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lanes := make([]*lane, 6)
	for i := range lanes {
		lanes[i] = &lane{process: &replayedRank{rank: int32(i)}}
	}
	waited := 0
	for range 200 {
		in := &communicator{rma: &rma{}}
		for range 30 {
			of := lanes[random.IntN(len(lanes))]
			locked := random.Int64N(100)
			x := &lockEpoch{lane: of, target: int32(random.IntN(3)) - 1, exclusive: random.IntN(2) == 0, locked: locked}
			until := locked + random.Int64N(40)
			x.calls[callOfLock] = &call{lane: of, kind: &kind{}, start: locked, end: until}
			if random.IntN(5) > 0 {
				x.unlocked, x.end = moment{until + random.Int64N(10), of, 0}, until+20
				x.held = random.Int64N(2)
			}
			in.rma.epochs = append(in.rma.epochs, x)
		}
		contention(in)
		got := make([]cause, len(in.rma.epochs))
		for i, x := range in.rma.epochs {
			got[i], x.calls[callOfLock].latest = x.calls[callOfLock].latest, cause{}
		}
		for _, x := range in.rma.epochs {
			for _, y := range in.rma.epochs {
				x.waitedFor(y, in)
			}
		}
		for i, x := range in.rma.epochs {
			if want := x.calls[callOfLock].latest; got[i] != want {
				t.Fatalf("epoch %d waited for %+v, want %+v", i, got[i], want)
			} else if want.lane != nil {
				waited++
			}
		}
	}
	if waited < 100 {
		t.Errorf("%d waits in all: too few to tell", waited)
	}
}
