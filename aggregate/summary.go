package aggregate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// topPairs is how many pairs a summary lists.
const topPairs = 10

// Summary is what a job did, in the numbers that people look at first. Times
// of several processes are added up over processes and threads; the units are
// in the names.
type Summary struct {
	Run            string    `json:"run"`
	Program        string    `json:"program"`
	Command        []string  `json:"command"`     // of the lowest rank
	Library        string    `json:"mpi_library"` // first line of the version string, with single spaces
	Started        time.Time `json:"started"`
	RanksExpected  int       `json:"ranks_expected"`
	RanksRecorded  int       `json:"ranks_recorded"`
	RanksFinalized int       `json:"ranks_finalized"`
	Timing         string    `json:"timing"`   // exact, sampled (times are estimates), off, or mixed
	Receives       string    `json:"receives"` // on, off (what nonblocking ones received is not known), or mixed
	Hosts          []Host    `json:"hosts"`

	Variables []Variable `json:"variables"` // of the MPI's, those that the user set or wanted to

	// Wall time is that of the rank that was there for longest, from entering
	// MPI_Init to the last moment known. Application time is from the end of
	// MPI_Init to the start of MPI_Finalize, added up over ranks; MPI time is
	// what they spent in all other calls.
	WallTimeS         float64 `json:"wall_time_s"`
	ApplicationTimeS  float64 `json:"application_time_s"`
	MPITimeS          float64 `json:"mpi_time_s"`
	MPITimeErrorS     float64 `json:"mpi_time_error_s"` // standard error where MPITimeS is an estimate, else 0
	InitFinalizeTimeS float64 `json:"init_finalize_time_s"`
	MPIShare          Share   `json:"mpi_share"`
	POP               *POP    `json:"pop"` // nil where the times of no rank are known, and in a RankSummary

	Oversubscribed []profile.Oversubscription `json:"oversubscribed"` // ranks that shared processors

	Untimed      uint64         `json:"untimed_calls"` // from Fortran, whose binding does not reach C: counted without time
	Totals       Totals         `json:"totals"`        // of all rows
	Calls        []CallTotals   `json:"calls"`         // of all rows, by call; longest time first, without times most calls
	Classes      []ClassTotals  `json:"classes"`       // of what was sent, by kind of call
	Slices       []SliceTotals  `json:"slices"`        // of all rows, by part of the run, in the order of their start
	CallSites    []CallSite     `json:"callsites"`     // of all rows, by place and call; in the same order
	Traffic      []MatrixTotals `json:"traffic"`       // sums of the matrices that have entries
	MessageSizes []CallSizes    `json:"message_sizes"` // of what was sent, written and read; most bytes first

	Direct MatrixTotals `json:"direct_traffic"` // point-to-point and one-sided, added up
	Pairs  []PairTotals `json:"top_pairs"`      // by what was sent point to point and one-sided; of a job without any, by collectives

	Heatmap           *Heatmap `json:"heatmap,omitempty"`             // point-to-point and one-sided
	CollectiveHeatmap *Heatmap `json:"heatmap_collectives,omitempty"` // their logical volume

	LateReceives []LateReceives `json:"late_receives"`         // most first
	LateOver     string         `json:"late_over,omitempty"`   // --watch-unexpected: how many messages may wait; mixed where ranks differ
	Pvars        []Pvar         `json:"performance_variables"` // that were read, by name and object

	Localities []Locality `json:"locality,omitempty"` // of the matrices that have entries
	Balances   []Balance  `json:"balance,omitempty"`  // over the ranks

	Physical *Physical `json:"physical,omitempty"` // what the MPI library sent, if it was asked for it

	Ends      []End   `json:"ends"`      // of the processes that did not finalize, the first first
	Deadlocks [][]int `json:"deadlocks"` // rings of ranks in which each waits for the next

	Ranks        []RankTimes   `json:"ranks"`
	Conservation *Conservation `json:"conservation"`
	Problems     []string      `json:"problems"` // what is missing or does not add up
}

// Host is a node and how many recorded processes ran there.
type Host struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
}

// Share is MPI time as a fraction of (threads × application time): the mean
// over ranks, and the ranks where it was least and most. Ranks that never left
// MPI_Init have none.
type Share struct {
	Mean    float64 `json:"mean"`
	Min     float64 `json:"min"`
	MinRank int     `json:"min_rank"`
	Max     float64 `json:"max"`
	MaxRank int     `json:"max_rank"`
}

// MatrixTotals are the sums of a matrix.
type MatrixTotals struct {
	Class string `json:"class"`
	matrix.Volume
	Pairs int `json:"pairs"` // that exchanged anything, in one direction
}

// Summary computes the summary of a job.
func (j *Job) Summary() *Summary {
	s := j.summarize()
	s.RanksExpected = j.Size()
	s.RanksRecorded = len(j.Recorded())
	s.RanksFinalized = len(j.finalized())
	ms := j.Matrices()
	s.matricesOf(ms)
	s.Localities = j.localities(ms)
	s.Balances = j.balances(ms)
	s.POP = popOf(s.Ranks)
	s.Oversubscribed = j.oversubscriptions()
	s.Physical = j.physical.physical(s.Traffic)
	s.Deadlocks = j.deadlocks()
	s.Conservation = j.Conservation(AllRanks)
	s.Problems = append(j.Problems(), s.Conservation.problems()...)
	return s
}

// summarize fills in what needs no look at pairs of processes.
func (j *Job) summarize() *Summary {
	ps := j.ordered()
	s := &Summary{
		Run:          j.Run,
		Program:      programOf(ps),
		Timing:       j.setting((*process).timingWord),
		Receives:     j.setting((*process).receivesWord),
		Hosts:        hosts(ps),
		Calls:        j.calls.calls(),
		Classes:      j.calls.classes(),
		Slices:       j.slices.totals(),
		CallSites:    j.sites.sites(),
		MessageSizes: j.sizes.calls(),
		Variables:    j.variables.variables(),
		Ranks:        make([]RankTimes, 0, len(ps)),
	}
	if start := j.Start(); start != 0 {
		s.Started = time.Unix(0, start).UTC()
	}
	for i := range ps {
		s.addProcess(&ps[i])
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		s.Totals.plus(c.Totals)
		if profile.SetsUp(c.Call) {
			s.InitFinalizeTimeS += seconds(c.TimeNs)
		}
	}
	s.MPIShare = ShareOf(s.Ranks)
	s.Ends = j.ends.ends(j.Start())
	s.LateReceives, s.LateOver = j.late.sites(j.sites), j.setting((*process).lateOver)
	s.Pvars = j.pvars.variables(j.slices)
	if !s.Timed() {
		slices.SortStableFunc(s.Calls, func(a, b CallTotals) int { return cmp.Compare(b.Calls, a.Calls) })
		SortSites(s.CallSites, ByCalls)
	}
	return s
}

func (s *Summary) addProcess(p *process) {
	s.Library = cmp.Or(s.Library, p.library)
	if s.Command == nil && p.command != "" {
		s.Command = strings.Split(p.command, "\x00")
	}
	s.Ranks = append(s.Ranks, p.RankTimes)
	s.WallTimeS = max(s.WallTimeS, p.WallTimeS)
	s.ApplicationTimeS += p.ApplicationTimeS
	s.MPITimeS += p.MPITimeS
	s.MPITimeErrorS = math.Hypot(s.MPITimeErrorS, p.MPITimeErrorS)
	if p.losses != nil {
		s.Untimed += p.losses.Untimed
	}
}

func ShareOf(ranks []RankTimes) Share {
	var s Share
	n := 0
	for _, r := range ranks {
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

func hosts(ps []process) []Host {
	count := map[string]int{}
	for i := range ps {
		count[ps[i].Host]++
	}
	out := []Host{}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		out = append(out, Host{name, count[name]})
	}
	return out
}

func matrixTotals(ms *matrix.ByClass) []MatrixTotals {
	out := []MatrixTotals{}
	for c := range ms {
		if n := ms[c].Len(); n > 0 {
			out = append(out, MatrixTotals{matrix.Class(c).String(), ms[c].Total(), n})
		}
	}
	return out
}
