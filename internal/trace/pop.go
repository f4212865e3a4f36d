package trace

import "math"

// POP is the efficiency of a job as defined by the POP Centre of Excellence.
// Each factor is between 0 and 1, and is the product of those below it.
//
//	parallel efficiency = mean useful / runtime
//	├ load balance = mean useful / max useful
//	└ communication efficiency = max useful / runtime
//	  ├ serialisation = max useful / ideal runtime
//	  └ transfer = ideal runtime / runtime
//
// Useful is the time that thread 0 of a process spends outside of MPI between
// MPI_Init and MPI_Finalize. The ideal runtime is that on a network which takes
// no time: calls take no time except to wait for other ranks that have not sent
// or arrived yet. Ranks compute as long as they did. Sends do not wait, and
// one-sided operations and IO take no time.
//
// https://pop-coe.eu/node/69
type POP struct {
	Runtime                 float64 `json:"runtime_s"`       // from the first end of Init to the last start of Finalize
	IdealRuntime            float64 `json:"ideal_runtime_s"` // the same on the ideal network
	UsefulMean              float64 `json:"useful_mean_s"`
	UsefulMax               float64 `json:"useful_max_s"`
	UsefulMaxRank           int     `json:"useful_max_rank"`
	ParallelEfficiency      float64 `json:"parallel_efficiency"`
	LoadBalance             float64 `json:"load_balance"`
	CommunicationEfficiency float64 `json:"communication_efficiency"`
	Serialisation           float64 `json:"serialisation"`
	Transfer                float64 `json:"transfer"`
}

// pop computes the metrics from the times of each process's thread 0.
func (r *replay) pop() POP {
	out := POP{UsefulMaxRank: -1}
	var last, ideal int64 = r.start, 0
	sum := 0.0
	for _, p := range r.processes {
		useful, end := p.useful(r.start)
		last, ideal = max(last, p.to()), max(ideal, end)
		sum += seconds(useful)
		if out.UsefulMaxRank < 0 || seconds(useful) > out.UsefulMax {
			out.UsefulMax, out.UsefulMaxRank = seconds(useful), int(p.rank)
		}
	}
	out.Runtime = seconds(last - r.start)
	// If clocks differ, a message may seem to be received before it was sent.
	out.IdealRuntime = math.Min(seconds(ideal), out.Runtime)
	out.UsefulMean = sum / float64(len(r.processes))
	out.ParallelEfficiency = ratio(out.UsefulMean, out.Runtime)
	out.LoadBalance = ratio(out.UsefulMean, out.UsefulMax)
	out.CommunicationEfficiency = ratio(out.UsefulMax, out.Runtime)
	out.Serialisation = ratio(out.UsefulMax, out.IdealRuntime)
	out.Transfer = ratio(out.IdealRuntime, out.Runtime)
	return out
}

// useful returns how long the process computed, and when it ended on the ideal
// network since the start of the job, both in ns.
func (p *process) useful(start int64) (ns, end int64) {
	span := max(p.to()-p.from(), 0)
	if len(p.lanes) == 0 || p.lanes[0] == nil {
		return span, p.to() - start
	}
	return max(span-p.lanes[0].mpi, 0), p.lanes[0].ideal
}
