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

// topPairs is the largest number of pairs that a summary lists.
const topPairs = 10

// Summary holds the most important numbers of a job. Times of several processes
// are added up over processes and threads. The suffix of a name is the unit.
type Summary struct {
	Run            string    `json:"run"`
	Program        string    `json:"program"`     // of the lowest rank
	Command        []string  `json:"command"`     // argument vector of the lowest rank
	Programs       Programs  `json:"programs"`    // in the order of their lowest ranks
	Library        string    `json:"mpi_library"` // first line of the version string, with single spaces
	Started        time.Time `json:"started"`
	RanksExpected  int       `json:"ranks_expected"`
	RanksRecorded  int       `json:"ranks_recorded"`
	RanksFinalized int       `json:"ranks_finalized"`
	Timing         string    `json:"timing"`       // exact, sampled (times are estimates), off, or mixed if ranks differ
	TraceWanted    bool      `json:"trace_wanted"` // whether a trace of any rank was asked for, written or not
	Receives       string    `json:"receives"`     // on, off (what nonblocking receives received is not known), or mixed
	Hosts          []Host    `json:"hosts"`

	Variables []UserCVar `json:"variables"` // control variables of the MPI library that the user set or tried to set

	// WallTimeS is the longest time of any rank from entering MPI_Init to its
	// last known moment. ApplicationTimeS is from the end of MPI_Init to the
	// start of MPI_Finalize, added up over ranks. MPITimeS is the time in all
	// calls except Init and Finalize, added up over ranks and threads, and
	// ThreadTimeS is the time of which it is a share (see profile.Times).
	WallTimeS         float64   `json:"wall_time_s"`
	ApplicationTimeS  float64   `json:"application_time_s"`
	ThreadTimeS       float64   `json:"thread_time_s"`
	MPITimeS          float64   `json:"mpi_time_s"`
	MPITimeErrorS     float64   `json:"mpi_time_error_s"` // standard error if MPITimeS is an estimate, otherwise 0
	InitFinalizeTimeS float64   `json:"init_finalize_time_s"`
	MPIShare          MPIShare  `json:"mpi_share"`
	POP               *POP      `json:"pop"`                               // nil in a RankSummary, or if no rank's times are known
	Tree              *TimeTree `json:"time_tree"`                         // nil in a RankSummary, or if no rank's times are known
	LifetimesUnknown  int       `json:"lifetimes_unknown_ranks,omitempty"` // number of ranks with several threads whose lifetimes are not known

	Oversubscribed []profile.Oversubscription `json:"oversubscribed"` // sets of ranks that shared processors
	Cores          *Cores                     `json:"cores"`          // nil in a RankSummary

	Untimed      uint64         `json:"untimed_calls"` // calls from Fortran whose binding bypasses the C functions: counted without time
	Totals       Totals         `json:"totals"`        // sums of all rows
	Calls        []CallTotals   `json:"calls"`         // by call, the longest time first; the most calls first if not timed
	Classes      []ClassTotals  `json:"classes"`       // by class; messages as sent
	Slices       []SliceTotals  `json:"slices"`        // by slice, in the order of their start
	CallSites    []CallSite     `json:"callsites"`     // by call site and call, sorted like Calls
	Comms        []CommSums     `json:"communicators"` // by label, the longest time first; at most 100 and the sum of the others
	Traffic      []MatrixTotals `json:"traffic"`       // sums of the matrices that have entries
	MessageSizes []CallSizes    `json:"message_sizes"` // of messages sent, written and read, by call; the most bytes first

	Direct MatrixTotals `json:"direct_traffic"` // point-to-point and one-sided, added up
	Pairs  []PairTotals `json:"top_pairs"`      // pairs with the most point-to-point and one-sided bytes; if there are none, with the most in collectives

	Heatmap           *BinnedMatrix `json:"heatmap,omitempty"`             // point-to-point and one-sided
	CollectiveHeatmap *BinnedMatrix `json:"heatmap_collectives,omitempty"` // logical volume of collectives

	LateReceives []LateReceives `json:"late_receives"`         // call sites with the most late receives first
	LateOver     string         `json:"late_over,omitempty"`   // value of --watch-unexpected: number of messages that may wait; mixed if ranks differ
	Pvars        []PvarSummary  `json:"performance_variables"` // variables that were read, by name and object

	Localities []Locality `json:"locality,omitempty"` // of the matrices that have entries
	Balances   []Balance  `json:"balance,omitempty"`  // over the ranks
	// Directs are the balances of what each rank sent and received point-to-point and
	// one-sided.
	Directs []Balance `json:"direct_balance,omitempty"`
	// Orders compare the bytes between nodes, point-to-point and one-sided, with those
	// of simple orders of the ranks. The first is the recorded one. Empty for one node.
	// Job.OrderOf returns what others cost.
	Orders []NodeOrder `json:"orders,omitempty"`

	// UnnamedFiles are programs and libraries in which call sites have no names or no lines, and why.
	// Who reads the run sets them.
	UnnamedFiles []UnnamedFile `json:"unnamed_files,omitempty"`

	// Shared is the function with most of the time in MPI, if many places call it and no callers were
	// recorded; nil if there is none. Who reads the run sets it.
	Shared *SharedFunction `json:"shared_function,omitempty"`

	Physical *PhysicalComparison `json:"physical,omitempty"` // what the MPI library sent; nil if it was not recorded

	Alone map[string]int `json:"own_files,omitempty"` // number of processes with a file of their own, by Profile.Alone

	// Messages are the lines of Profile.Messages, with the number of processes that
	// have each.
	Messages map[string]int `json:"messages,omitempty"`

	Ends      []End   `json:"ends"`      // processes that did not finalize, in order of ending
	Deadlocks [][]int `json:"deadlocks"` // cycles of ranks in which each waits for the next

	Ranks        []RankTimes   `json:"ranks"`
	Conservation *Conservation `json:"conservation"`
	Problems     []string      `json:"problems"`     // what is missing or does not add up
	NotMeasured  []string      `json:"not_measured"` // the same without processes that did not finalize
	Losses       []Loss        `json:"losses"`       // the problems by kind
}

// Host is a node with the number of recorded processes that ran there.
type Host struct {
	Name  string `json:"name"`
	Ranks int    `json:"ranks"`
}

// MatrixTotals holds the sums of a matrix.
type MatrixTotals struct {
	Class string `json:"class"`
	matrix.Volume
	Pairs int `json:"pairs"` // number of ordered pairs with an entry
}

// Summary returns the summary of the job.
func (j *Job) Summary() *Summary {
	s := j.summarize()
	s.RanksExpected = j.Size()
	s.RanksRecorded = len(j.Recorded())
	s.RanksFinalized = len(j.finalized())
	s.TraceWanted = j.traceWanted()
	ms := j.Matrices()
	checked := make(chan *Conservation)
	ms[matrix.External].Settle()
	go func() { checked <- j.Conservation(AllRanks) }() // reads no other matrix of ms
	s.matricesOf(ms)
	s.addSplits(j, ms)
	s.addLineBalances(j, ms)
	s.POP = popOf(s.Ranks)
	s.Tree = j.treeOf(s)
	if len(s.Programs) == 1 {
		s.Programs[0].POP = s.POP
	}
	s.Oversubscribed = j.oversubscriptions()
	j.addAvailable()
	s.Cores = CoresOf(s.Ranks, s.POP, s.Tree.TotalNs())
	s.Physical = j.physical.physical(s.Traffic)
	s.Conservation = <-checked
	s.Deadlocks = j.deadlocks()
	differing := s.Conservation.problems()
	s.NotMeasured = textsOf(append(j.notMeasured(), differing...))
	problems := append(j.problems(), differing...)
	s.Problems, s.Losses = textsOf(problems), byKind(problems)
	return s
}

// summarize fills in everything that is computed without matrices.
func (j *Job) summarize() *Summary {
	ps := j.ordered()
	programs := groupPrograms(ps)
	s := &Summary{
		Run:          j.Run,
		Program:      programOf(ps),
		Programs:     programs.programs(ps),
		Timing:       j.setting((*processFacts).timingWord),
		Receives:     j.setting((*processFacts).receivesWord),
		Hosts:        hosts(ps),
		Calls:        j.calls.calls(),
		Classes:      j.calls.classes(),
		Slices:       j.slices.totals(),
		CallSites:    j.sites.sites(programs),
		Comms:        j.comms.communicators(),
		MessageSizes: j.sizes.calls(),
		Variables:    j.variables.variables(),
		Ranks:        j.processes.times,
	}
	if s.Ranks == nil {
		s.Ranks = []RankTimes{} // for JSON
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
	s.LateReceives, s.LateOver = j.late.sites(&j.sites, programs), j.setting((*processFacts).lateOver)
	s.Pvars = j.pvars.variables(&j.slices)
	if !s.Timed() {
		slices.SortStableFunc(s.Calls, func(a, b CallTotals) int { return cmp.Compare(b.Calls, a.Calls) })
		SortSites(s.CallSites, ByCalls)
	}
	return s
}

func (s *Summary) addProcess(p *processFacts) {
	s.Library = cmp.Or(s.Library, p.library)
	if s.Command == nil && p.command != "" {
		s.Command = strings.Split(p.command, "\x00")
	}
	s.WallTimeS = max(s.WallTimeS, p.WallTimeS)
	s.ApplicationTimeS += p.ApplicationTimeS
	s.ThreadTimeS += p.ThreadTimeS
	if p.LifetimesUnknown {
		s.LifetimesUnknown++
	}
	s.MPITimeS += p.MPITimeS
	s.InitFinalizeTimeS -= seconds(p.LaterSessions.sum())
	s.MPITimeErrorS = math.Hypot(s.MPITimeErrorS, p.MPITimeErrorS)
	if p.losses != nil {
		s.Untimed += p.losses.Untimed
	}
	if p.alone != "" {
		if s.Alone == nil {
			s.Alone = map[string]int{}
		}
		s.Alone[p.alone]++
	}
	if p.messages == "" {
		return
	}
	if s.Messages == nil {
		s.Messages = map[string]int{}
	}
	for line := range strings.SplitSeq(p.messages, "\x00") {
		s.Messages[line]++
	}
}

func hosts(ps []processFacts) []Host {
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
			out = append(out, MatrixTotals{matrix.TrafficClass(c).String(), ms[c].Total(), n})
		}
	}
	return out
}
