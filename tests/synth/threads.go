package synth

import (
	"fmt"
	"math/rand/v2"

	"github.com/mpitrace/mpitrace/profile"
)

// RandomThreads returns a job with a random number of ranks, of threads and of waits, on a random
// number of cores. No thread is longer in MPI than it lives, and no process has more CPU time than
// its threads and cores allow. Half of the jobs have ranks with earlier recordings, which lack
// lifetimes and ThreadUse, with unknown cores, with estimated times, or without MPI_Finalize.
func RandomThreads(seed uint64) profile.List {
	r := rand.New(rand.NewPCG(seed, 40))
	j := New(fmt.Sprintf("threads%d", seed), 1+r.IntN(12))
	j.PerNode = 1 + r.IntN(j.Ranks)
	gap, run := r.IntN(2*randomGaps), uint64(50_000_000+r.Int64N(2_000_000_000))
	cores := 1 + r.IntN(8)
	var out profile.List
	for rank := range j.Ranks {
		b := j.begin(rank)
		b.environment("Init", initTime)
		b.enterComm(j, World)
		own := run - min(run/2, uint64(r.Int64N(int64(run)))) // ranks may end early
		b.FinalizeStart = b.InitEnd + int64(own)
		b.randomThreads(r, own, cores)
		if r.IntN(2) == 0 {
			b.randomGap(gap)
		}
		if b.State == profile.Finalized {
			b.End = b.FinalizeStart + finalizing
			b.environment("Finalize", finalizing)
		}
		out = append(out, b.Profile)
	}
	return out
}

// randomThreads adds the calls of some threads, and what they used of some cores.
func (b *rows) randomThreads(r *rand.Rand, own uint64, cores int) {
	b.Threads = 1 + r.IntN(6)
	upTo := func(n uint64) uint64 { return uint64(r.Int64N(int64(n) + 1)) }
	use := profile.ThreadUse{Busy: 1 + r.IntN(2*b.Threads), Incomplete: r.IntN(8) == 0}
	for range b.Threads {
		life := upTo(own)
		if b.Threads == 1 {
			life = own
		}
		b.Lifetimes += int64(life)
		left := life
		for range r.IntN(4) {
			ns := upTo(left)
			left -= ns
			b.randomCall(r, ns)
		}
		cpu := upTo(life)
		use.CPUNs += cpu
		use.DelayNs += upTo(life - cpu)
	}
	b.ThreadUse = &use
	all := min(use.CPUNs+upTo(2*own), own*uint64(cores)) // with threads that make no call
	b.Usage = []profile.Usage{{WallNs: own, UserNs: all, RunDelayNs: upTo(own), DelayKnown: r.IntN(4) > 0, Involuntary: upTo(1000)}}
	b.Placement = &profile.Placement{Processors: fmt.Sprintf("0-%d", cores), NodeProcessors: cores + 1, NodeCores: cores + 1}
	if r.IntN(3) == 0 {
		b.Placement.CPULimit, b.Placement.LimitGroup = float64(1+r.IntN(cores)), uint64(1+r.IntN(2))
	}
}

func (b *rows) randomCall(r *rand.Rand, ns uint64) {
	calls, bytes := uint64(1+r.IntN(5000)), uint64(8)<<r.IntN(14)
	switch line := 10 + r.IntN(6); r.IntN(5) {
	case 0:
		b.send(line, ns, "Send", b.next(), calls, bytes)
	case 1:
		b.recv(line, ns, b.before(), calls, bytes)
	case 2:
		b.all(line, ns, "Allreduce", calls, bytes)
	case 3:
		b.lasting(line, ns, profile.Row{Call: "Iprobe", Direction: profile.None, Peer: profile.PeerAnySource, Calls: calls})
	default:
		b.lasting(line, ns, profile.Row{Call: "Comm_dup", Class: profile.Other, Peer: profile.PeerNone, Calls: calls})
	}
}

const randomGaps = 4

// randomGap removes something from a profile, or nothing.
func (b *rows) randomGap(gap int) {
	switch gap {
	case 0:
		b.Lifetimes, b.ThreadUse = 0, nil
	case 1:
		b.ThreadUse, b.Usage, b.Placement = nil, nil, nil
	case 2:
		b.Timing = profile.TimingSampled
		for i := range b.Rows {
			row := &b.Rows[i]
			row.TimeErrorNs = row.TimeNs / 4
			row.TimeNs += row.TimeErrorNs // an estimate may be more than the time that there was
		}
	case 3:
		b.State, b.FinalizeStart, b.End, b.ThreadUse = profile.Running, 0, b.FinalizeStart, nil
	}
}
