package trace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/synth"
)

const msec = time.Millisecond

// scheduleSteps is the number of steps of the schedules.
const scheduleSteps = 24

// scheduledCause is what must be the first cause of a schedule of 8 ranks.
type scheduledCause struct {
	name          string
	plan          func(*synth.Plan) // nil for the job of that name in synth.CausedJobs
	class         string            // "" if nobody waits
	rank          int               // that causes most; -1 if several do about the same
	before, after string
	cost          float64 // ms, by arithmetic without the 1 µs that each call takes; 0 if it is random
}

// schedules are jobs whose first cause is known. Costs: 24 steps, in which 7 ranks wait, unless said
// otherwise.
var schedules = []scheduledCause{
	{name: "healthy", plan: healthy},
	// One rank computes 12 ms, the others 6.
	{name: "imbalance", class: "imbalance", rank: 5, before: "Allreduce", after: "Irecv", cost: 24 * 7 * 6},
	{name: "halo", class: "imbalance", rank: 5, before: "Waitall", after: "Irecv", cost: 24 * 7 * 6},
	// Rank r computes 3 + r 9/8 ms, so it waits (7 - r) 9/8.
	{name: "stairs", class: "imbalance", rank: 7, before: "Allreduce", after: "Allreduce", cost: 24 * 28 * 9 / 8.},
	// One rank computes 14 ms, in each step another; the others 5.
	{name: "in turn", class: "varying-work", rank: -1, before: "Barrier", after: "Barrier", cost: 24 * 7 * 9},
	{name: "late root", class: "imbalance", rank: 0, before: "Barrier", after: "Bcast", cost: 24 * 7 * 8},
	// Four ranks wait 8 ms for their partner, which then wait 8 ms for the others.
	{name: "late sender", class: "order", rank: 0, before: "Barrier", after: "Send", cost: 24 * 4 * 8},
	{name: "late receiver", class: "order", rank: 1, before: "Barrier", after: "Recv", cost: 24 * 4 * 8},
	// In each of 6 steps, rank r waits 6 r ms for the ranks before it, and 6 (7 - r) ms for the ranks
	// after it. These are 7 × 42 ms. The bursts of ranks 1 to 6 cause 6/7 of this time; those of ranks 0
	// and 7 are of other kinds, before a first Send and before the Barrier: 6 × (7 × 42 - 42) ms.
	{name: "chain", class: "chain", rank: -1, before: "Recv", after: "Send", cost: 6 * (7*42 - 42)},
	{name: "pipeline", plan: pipelined, class: "chain", rank: -1, before: "Recv", after: "Send"},
	{name: "server", class: "imbalance", rank: 0, before: "Recv", after: "Send"},
	// The long work is not the last before the wait. The first of 24 bursts starts at Init.
	{name: "shifted", plan: shifted, class: "imbalance", rank: 5, before: "Allreduce", after: "Iprobe", cost: 23 * 7 * 6},
	// Rank 1 computes 10 ms, the others 6, and in each step another rank 8 ms more. The largest part is
	// what the others than rank 1 cause.
	{name: "mixed", plan: mixedWork, class: "varying-work", rank: -1, before: "Allreduce", after: "Allreduce"},
	// Each half of the ranks computes 8 ms longer in one of two phases.
	{name: "phases", class: "imbalance", rank: 4, before: "Barrier", after: "Allreduce", cost: 24 * 4 * 8},
	{name: "jitter", plan: jittered, class: "varying-work", rank: -1, before: "Allreduce", after: "Irecv"},
	// Rank 0 waits for rank 1, which sends after 5 ms, and rank 2, which sends after 8: 6 ms. All wait
	// in the Allreduce: rank 1 3 ms, five others 8. The first of 24 bursts starts at Init.
	{name: "Waitall", plan: severalLate, class: "imbalance", rank: 2, before: "Allreduce", after: "Send", cost: 23 * (6 + 3 + 5*8)},
	// Rank 0 has a burst that no other has, of 5 ms. Half of the time counts for the burst before it,
	// which the two calls around it have made another kind: 5 ms there, too.
	{name: "log", class: "imbalance", rank: 0, before: "Iprobe", after: "Iprobe", cost: 24 * 7 * 5 / 2.},
}

func healthy(p *synth.Plan) {
	for s := range scheduleSteps {
		p.Work(10 * msec)
		neighbours(p)
		if s%10 == 0 {
			p.All("Allreduce", 60)
		}
	}
}

// neighbours exchanges messages with both neighbours on a ring.
func neighbours(p *synth.Plan) {
	left, right := (p.Rank+p.Ranks-1)%p.Ranks, (p.Rank+1)%p.Ranks
	p.Waitall(46, p.Irecv(42, left), p.Irecv(43, right), p.Isend(44, right, 4096), p.Isend(45, left, 4096))
}

// pipelined: in 6 steps, each rank works on 8 blocks, which it gets from the rank before it.
func pipelined(p *synth.Plan) {
	for range scheduleSteps / 4 {
		for range 8 {
			if p.Rank > 0 {
				p.Recv(41, p.Rank-1)
			}
			p.Work(2 * msec)
			if p.Rank < p.Ranks-1 {
				p.Send(40, p.Rank+1, 4096)
			}
		}
		p.Work(4 * msec)
		p.All("Allreduce", 60)
	}
}

func shifted(p *synth.Plan) {
	for range scheduleSteps {
		work := 6 * msec
		if p.Rank == 5 {
			work = 12 * msec
		}
		p.Work(work)
		p.Local(70)
		p.Work(8 * msec)
		p.All("Allreduce", 60)
	}
}

func mixedWork(p *synth.Plan) {
	for s := range scheduleSteps {
		work := 6 * msec
		if p.Rank == 1 {
			work = 10 * msec
		}
		if s%p.Ranks == p.Rank {
			work += 8 * msec
		}
		p.Work(work)
		p.All("Allreduce", 60)
	}
}

func jittered(p *synth.Plan) {
	r := rand.New(rand.NewPCG(uint64(p.Rank), 1))
	for range scheduleSteps {
		p.Work(5*msec + time.Duration(r.Int64N(int64(10*msec))))
		neighbours(p)
		p.All("Allreduce", 60)
	}
}

func severalLate(p *synth.Plan) {
	for range scheduleSteps {
		switch p.Rank {
		case 0:
			first, second := p.Irecv(42, 1), p.Irecv(43, 2)
			p.Work(2 * msec)
			p.Waitall(46, first, second)
		case 1, 2:
			p.Work(time.Duration(2+3*p.Rank) * msec)
			p.Send(40, 0, 64)
		}
		p.All("Allreduce", 60)
	}
}

// TestSchedules requires the first cause of each schedule.
func TestSchedules(t *testing.T) {
	for _, test := range schedules {
		t.Run(test.name, func(t *testing.T) {
			var job *synth.Schedule
			if test.plan != nil {
				job = synth.NewSchedule(test.name, 8, test.plan)
			} else {
				all := synth.CausedJobs()
				job = all[slices.IndexFunc(all, func(c synth.Caused) bool { return c.Name == test.name })].Job(8, false)
			}
			got := analyzed(t, job.Sources(), Options{})
			checkScheduled(t, job, job.Sources(), got)
			if test.class == "" {
				if len(got.Causes) > 0 {
					t.Errorf("causes %+v", got.Causes)
				}
				return
			}
			c := got.Causes[0]
			if c.Class.String() != test.class || c.Burst == nil || c.Burst.Before.Call != test.before || c.Burst.After.Call != test.after {
				t.Fatalf("%+v", c)
			}
			if test.rank >= 0 && c.Ranks[0].Rank != test.rank {
				t.Errorf("rank %d causes most, not %d", c.Ranks[0].Rank, test.rank)
			}
			const calls = 1.0 // ms
			if d := float64(c.CostNs)/ms - test.cost; test.cost > 0 && (d < -calls || d > calls) {
				t.Errorf("cost %g ms, want %g", float64(c.CostNs)/ms, test.cost)
			}
		})
	}
}
