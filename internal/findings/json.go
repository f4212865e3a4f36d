package findings

import (
	"math"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// Report is the summary of a job with its findings and the analysis of its trace.
type Report struct {
	Verdict  string    `json:"verdict"` // one or two sentences
	Findings []Finding `json:"findings"`
	// NotExplained is the share of ranks × run time that is in MPI and in no finding; 0 if it is small.
	NotExplained float64 `json:"not_explained"`
	// NothingStandsOut is whether nothing was found and nothing is lost, in time or in the record.
	NothingStandsOut bool `json:"nothing_stands_out"`
	// TimesUnknown says why no finding about time can be made; empty if they can.
	TimesUnknown string                  `json:"times_unknown,omitempty"`
	WaitsUnknown bool                    `json:"waits_unknown"`      // whether a trace would tell why ranks wait
	Analysis     *trace.Result           `json:"analysis,omitempty"` // nil if the job was not traced
	Patterns     *patterns.Decomposition `json:"patterns,omitempty"` // what the matrices are made of; nil if that was not looked for
	Summary      *aggregate.Summary      `json:"-"`                  // its fields follow, see MarshalJSON
}

// UseTrace gives the summary the efficiency of the traces, if they have the same ranks. Both
// have the same definition, but the clocks of the traces are corrected, so that the runtime
// is known on several hosts too. traced may be nil.
//
// The tree of the summary gets the waits of the traces, unless calls are missing in them.
func UseTrace(s *aggregate.Summary, traced *trace.Result) {
	useWaits(s, traced)
	if s.POP == nil || traced == nil || traced.POP == nil || traced.POP.Ranks != s.POP.Ranks {
		return
	}
	ns := func(seconds float64) float64 { return math.Round(1e9 * seconds) }
	p := traced.POP
	s.POP.ParallelEfficiency, s.POP.LoadBalance, s.POP.CommunicationEfficiency = p.ParallelEfficiency, p.LoadBalance, p.CommunicationEfficiency
	s.POP.RuntimeNs, s.POP.UsefulMeanNs, s.POP.UsefulMaxNs, s.POP.UsefulMaxRank = ns(p.Runtime), ns(p.UsefulMean), ns(p.UsefulMax), p.UsefulMaxRank
	s.Cores = aggregate.CoresOf(s.Ranks, s.POP, s.Tree.TotalNs())
}

func useWaits(s *aggregate.Summary, traced *trace.Result) {
	if s.Tree == nil || traced == nil || traced.POP == nil || traced.Dropped > 0 || traced.Ranks != s.Tree.Ranks {
		return
	}
	waits := map[int]aggregate.RankWaits{}
	all := 1e9 * traced.Runtime * float64(traced.Ranks)
	for i := range traced.WaitStates {
		w := &traced.WaitStates[i]
		if w.Pattern == trace.Undecided {
			continue
		}
		of, ns := waits[w.Rank], int64(math.Round(w.Share*all))
		if profile.MakesObject(w.Call) {
			of.InConstructors += ns
		} else {
			of.Elsewhere += ns
		}
		waits[w.Rank] = of
	}
	s.UseWaits(int64(math.Round(1e9*traced.Runtime)), func(rank int) aggregate.RankWaits { return waits[rank] })
}

// ReportOf returns the report of a job. traced is nil if it was not traced.
func ReportOf(s *aggregate.Summary, traced *trace.Result) Report {
	j, found := &facts{s, traced}, Of(s, traced)
	return Report{Verdict: j.verdict(found), Findings: found, NotExplained: j.notExplained(found), NothingStandsOut: len(found) == 0 && j.nothingLost(),
		TimesUnknown: TimesUnknown(s), WaitsUnknown: WaitsUnknown(s, traced), Analysis: traced, Summary: s}
}

// nothingLost reports whether the job spends its time in computing, evenly and with cores.
func (j *facts) nothingLost() bool {
	return TimesUnknown(j.Summary) == "" && j.Tree != nil && j.Tree.InMPI() < quietMPI && j.POP.LoadBalance >= quietBalanced &&
		j.Tree.NoCore < quietNoCore && len(j.NotMeasured) == 0
}

// MarshalJSON returns one object: "verdict", "findings", "analysis", "patterns" and the fields of the summary.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	return text.JoinJSON(plain(r), r.Summary)
}
