package trace

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// POPFactors is the efficiency of a job as defined by the POP Centre of Excellence.
// Each factor is between 0 and 1, and is the product of those below it.
//
//	parallel efficiency = mean useful / runtime
//	├ load balance = mean useful / max useful
//	└ communication efficiency = max useful / runtime
//	  ├ serialisation = max useful / ideal runtime
//	  └ transfer = ideal runtime / runtime
//
// Useful is the time that a process spends outside of MPI between MPI_Init and
// MPI_Finalize. With several threads, the share of MPI is that of the threads'
// time, see profile.Times. The ideal runtime is that on a network which takes no
// time: calls take no time except to wait for other ranks that have not sent or
// arrived yet. Ranks compute as long as they did. Sends do not wait, and
// one-sided operations and IO take no time.
//
// Ranks that did not finalize are left out, as in aggregate.POP.
//
// https://pop-coe.eu/node/69
type POPFactors struct {
	Ranks int `json:"ranks"` // number of ranks that finalized
	// from the first end of Init to the last start of Finalize
	Runtime                 float64 `json:"runtime_s"`
	IdealRuntime            float64 `json:"ideal_runtime_s"` // the same on the ideal network
	UsefulMean              float64 `json:"useful_mean_s"`
	UsefulMax               float64 `json:"useful_max_s"`
	UsefulMaxRank           int     `json:"useful_max_rank"`
	ParallelEfficiency      float64 `json:"parallel_efficiency"`
	LoadBalance             float64 `json:"load_balance"` // 1 if no rank has useful time
	CommunicationEfficiency float64 `json:"communication_efficiency"`
	Serialisation           float64 `json:"serialisation"`
	Transfer                float64 `json:"transfer"`
}

// pop computes the metrics; nil if no process finalized.
func (r *replay) pop() *POPFactors {
	out := POPFactors{UsefulMaxRank: -1}
	var first, last, ideal int64
	sum := 0.0
	for _, p := range r.processes {
		if p.trace.State != profile.Finalized {
			continue
		}
		useful := seconds(p.useful())
		if out.Ranks == 0 || p.from() < first {
			first = p.from()
		}
		last, ideal = max(last, p.to()), max(ideal, p.endOn(idealNetwork, r.start))
		sum += useful
		if out.Ranks == 0 || useful > out.UsefulMax {
			out.UsefulMax, out.UsefulMaxRank = useful, int(p.rank)
		}
		out.Ranks++
	}
	if out.Ranks == 0 {
		return nil
	}
	out.Runtime = seconds(last - first)
	// If clocks differ, a message may seem to be received before it was sent.
	out.IdealRuntime = math.Min(seconds(ideal-(first-r.start)), out.Runtime)
	out.UsefulMean = sum / float64(out.Ranks)
	out.ParallelEfficiency = ratio(out.UsefulMean, out.Runtime)
	if out.LoadBalance = 1; out.UsefulMax > 0 {
		out.LoadBalance = out.UsefulMean / out.UsefulMax
	}
	out.CommunicationEfficiency = ratio(out.UsefulMax, out.Runtime)
	out.Serialisation = ratio(out.UsefulMax, out.IdealRuntime)
	out.Transfer = ratio(out.IdealRuntime, out.Runtime)
	return &out
}

// useful returns how long the process computed, in ns.
func (p *replayedRank) useful() int64 {
	inMPI := int64(0)
	for _, l := range p.lanes {
		if l != nil {
			inMPI += l.mpi
		}
	}
	return max(p.to()-p.from()-p.own(inMPI), 0)
}

// own converts a time in ns that is summed over the process's threads to the part of the process's
// own time that it took.
func (p *replayedRank) own(ns int64) int64 {
	if p.ownShare == 1 {
		return ns
	}
	return int64(math.Round(float64(ns) * p.ownShare))
}

// endOn returns when the process ended by one of the clocks, in ns since the start
// of the job: the latest of its threads. A thread that made no call between
// Init and Finalize, and waited for the others, does not count.
func (p *replayedRank) endOn(clock int, start int64) int64 {
	end := int64(-1)
	for _, l := range p.lanes {
		if l != nil && l.called {
			end = max(end, l.now[clock])
		}
	}
	if end < 0 {
		return p.to() - start
	}
	return end
}
