package aggregate

import (
	"iter"
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// MPIShare is MPI time as a fraction of threads × application time: the mean over ranks, and the
// ranks with the smallest and the largest share. Ranks that never left MPI_Init have no share.
type MPIShare struct {
	Mean    float64 `json:"mean"`
	Min     float64 `json:"min"`
	MinRank int     `json:"min_rank"`
	Max     float64 `json:"max"`
	MaxRank int     `json:"max_rank"`
}

// POP is the efficiency of a job as defined by the POP Centre of Excellence.
// With the useful time u of a rank and the runtime T:
//
//	parallel efficiency      = mean u / T = load balance × communication efficiency
//	load balance             = mean u / max u
//	communication efficiency = max u / T
//
// u is a rank's application time minus its time in MPI. With several threads,
// the share of MPI is that of the threads' time, see profile.Times. The time in
// MPI_Init and MPI_Finalize is not included, and time while recording was paused
// counts as useful. T is the time from the first rank's end of MPI_Init to the
// last rank's start of MPI_Finalize. On several hosts, whose clocks do not
// compare, it is the longest application time of a rank.
//
// Ranks that did not finalize are left out: the duration of their last call is
// unknown, and their last known time may be long before the end.
//
// https://pop-coe.eu/node/69
type POP struct {
	ParallelEfficiency      float64 `json:"parallel_efficiency"`
	ParallelEfficiencyError float64 `json:"parallel_efficiency_error"` // standard error if it is an estimate, otherwise 0
	LoadBalance             float64 `json:"load_balance"`              // 1 if no rank has useful time
	CommunicationEfficiency float64 `json:"communication_efficiency"`
	RuntimeNs               float64 `json:"runtime_ns"`
	UsefulMeanNs            float64 `json:"useful_mean_ns"`
	UsefulMaxNs             float64 `json:"useful_max_ns"`
	UsefulMaxRank           int     `json:"useful_max_rank"` // the lowest rank with the largest useful time
	Ranks                   int     `json:"ranks"`           // number of ranks that finalized and were timed
}

// popOf returns the efficiency from the times of processes in the order of
// ranks, or nil if no times are known.
func popOf(ranks []RankTimes) *POP {
	return popOfEach(pointersTo(ranks))
}

// pointersTo returns the elements of a slice.
func pointersTo[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// popOfEach does what popOf does.
func popOfEach(ranks iter.Seq[*RankTimes]) *POP {
	out := POP{UsefulMaxRank: -1, LoadBalance: 1}
	var run runSpan
	sum, wrong := 0.0, 0.0
	for r := range ranks {
		useful, known := r.UsefulNs()
		if !known {
			continue
		}
		if out.UsefulMaxRank < 0 || useful > out.UsefulMaxNs {
			out.UsefulMaxNs, out.UsefulMaxRank = useful, r.Rank
		}
		out.Ranks++
		run.add(r)
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
	out.RuntimeNs = run.ns()
	out.CommunicationEfficiency = out.UsefulMaxNs / out.RuntimeNs
	out.ParallelEfficiency = out.UsefulMeanNs / out.RuntimeNs
	out.ParallelEfficiencyError = wrong / float64(out.Ranks) / out.RuntimeNs
	return &out
}

// runSpan finds the runtime of ranks.
type runSpan struct {
	host        string
	several     bool // whether there are several hosts, or the times of a rank are not known
	first, last int64
	longest     float64 // ns
}

func (s *runSpan) add(r *RankTimes) {
	own := math.Round(1e9 * r.ApplicationTimeS)
	s.several = s.several || r.InitEnd == 0 || s.longest > 0 && r.Host != s.host
	if s.longest == 0 || r.InitEnd < s.first {
		s.first = r.InitEnd
	}
	s.host, s.last, s.longest = r.Host, max(s.last, r.InitEnd+int64(own)), max(s.longest, own)
}

func (s *runSpan) ns() float64 {
	if s.several {
		return s.longest
	}
	return float64(s.last - s.first)
}

// UsefulNs returns the rank's time outside of MPI, if it is known. It is at
// least 0: an estimate of the time in MPI may exceed the application time.
func (t *RankTimes) UsefulNs() (ns float64, known bool) {
	if t.Rank < 0 || !t.Timed() || t.State != profile.Finalized.String() || t.ApplicationTimeS == 0 {
		return 0, false
	}
	return max(math.Round(1e9*t.ApplicationTimeS*(1-t.MPIShare)), 0), true
}

// usefulErrorNs returns the standard error of UsefulNs.
func (t *RankTimes) usefulErrorNs() float64 { return 1e9 * t.OwnShare() * t.MPITimeErrorS }

// ShareOf returns the share of MPI time over the ranks that left MPI_Init and were timed.
func ShareOf(ranks []RankTimes) MPIShare { return shareOfEach(pointersTo(ranks)) }

func shareOfEach(ranks iter.Seq[*RankTimes]) MPIShare {
	var s MPIShare
	n := 0
	for r := range ranks {
		if r.ApplicationTimeS == 0 || !r.Timed() {
			continue
		}
		if n == 0 || r.MPIShare < s.Min {
			s.Min, s.MinRank = r.MPIShare, r.Rank
		}
		if n == 0 || r.MPIShare > s.Max {
			s.Max, s.MaxRank = r.MPIShare, r.Rank
		}
		s.Mean += r.MPIShare
		n++
	}
	if n > 0 {
		s.Mean /= float64(n)
	}
	return s
}
