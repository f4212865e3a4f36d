package aggregate

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// POP is how well a job uses its processes, as the POP Centre of Excellence has
// it. With the useful time u of a rank and the runtime T:
//
//	parallel efficiency      = mean u / T = load balance × communication efficiency
//	load balance             = mean u / max u
//	communication efficiency = max u / T
//
// u is a rank's application time less its time in MPI, which of several threads
// is their mean. That in MPI_Init and MPI_Finalize is in neither, and what a
// paused recording missed counts as useful. T is the longest application time of
// a rank. From the first that leaves MPI_Init to the last that enters
// MPI_Finalize would take moments of several hosts, whose clocks may differ;
// each application time is by one clock.
//
// Ranks that did not finalize are left out: how long the call took in which one
// ended is not known, and their last known moment may be long before the end.
//
// https://pop-coe.eu/node/69
type POP struct {
	ParallelEfficiency      float64 `json:"parallel_efficiency"`
	ParallelEfficiencyError float64 `json:"parallel_efficiency_error"` // standard error where it is an estimate, else 0
	LoadBalance             float64 `json:"load_balance"`              // 1 where no rank has useful time
	CommunicationEfficiency float64 `json:"communication_efficiency"`
	RuntimeNs               float64 `json:"runtime_ns"`
	UsefulMeanNs            float64 `json:"useful_mean_ns"`
	UsefulMaxNs             float64 `json:"useful_max_ns"`
	UsefulMaxRank           int     `json:"useful_max_rank"` // the lowest of those that have it
	Ranks                   int     `json:"ranks"`           // that are in: finalized and timed
}

// popOf takes the times of processes in the order of rank; nil if those of none
// are known.
func popOf(ranks []RankTimes) *POP {
	out := POP{UsefulMaxRank: -1, LoadBalance: 1}
	sum, wrong := 0.0, 0.0
	for i := range ranks {
		r := &ranks[i]
		useful, known := r.usefulNs()
		if !known {
			continue
		}
		if out.UsefulMaxRank < 0 || useful > out.UsefulMaxNs {
			out.UsefulMaxNs, out.UsefulMaxRank = useful, r.Rank
		}
		out.RuntimeNs = max(out.RuntimeNs, math.Round(1e9*r.ApplicationTimeS))
		out.Ranks++
		sum += useful
		wrong = math.Hypot(wrong, r.usefulErrorNs())
	}
	if out.Ranks == 0 {
		return nil
	}
	out.UsefulMeanNs = sum / float64(out.Ranks)
	if out.UsefulMaxNs > 0 {
		out.LoadBalance = out.UsefulMeanNs / out.UsefulMaxNs
	}
	out.CommunicationEfficiency = out.UsefulMaxNs / out.RuntimeNs
	out.ParallelEfficiency = out.UsefulMeanNs / out.RuntimeNs
	out.ParallelEfficiencyError = wrong / float64(out.Ranks) / out.RuntimeNs
	return &out
}

// usefulNs is the rank's time outside of MPI, if that is known. Estimates of the
// time in MPI may be longer than the application took.
func (t *RankTimes) usefulNs() (ns float64, known bool) {
	if t.Rank < 0 || !t.Timed() || t.State != profile.Finalized.String() || t.ApplicationTimeS == 0 {
		return 0, false
	}
	return max(math.Round(1e9*t.ApplicationTimeS*(1-t.MPIShare)), 0), true
}

// usefulErrorNs is the standard error of that time: the one of the time in MPI,
// by thread.
func (t *RankTimes) usefulErrorNs() float64 {
	if t.MPITimeS == 0 {
		return 0
	}
	return 1e9 * t.ApplicationTimeS * t.MPIShare * t.MPITimeErrorS / t.MPITimeS
}
