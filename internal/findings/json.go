package findings

import (
	"math"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// Report is the summary of a job with its findings and the analysis of its trace.
type Report struct {
	Findings []Finding `json:"findings"`
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
func UseTrace(s *aggregate.Summary, traced *trace.Result) {
	if s.POP == nil || traced == nil || traced.POP == nil || traced.POP.Ranks != s.POP.Ranks {
		return
	}
	ns := func(seconds float64) float64 { return math.Round(1e9 * seconds) }
	p := traced.POP
	s.POP.ParallelEfficiency, s.POP.LoadBalance, s.POP.CommunicationEfficiency = p.ParallelEfficiency, p.LoadBalance, p.CommunicationEfficiency
	s.POP.RuntimeNs, s.POP.UsefulMeanNs, s.POP.UsefulMaxNs, s.POP.UsefulMaxRank = ns(p.Runtime), ns(p.UsefulMean), ns(p.UsefulMax), p.UsefulMaxRank
	s.Cores = aggregate.CoresOf(s.Ranks, s.POP)
}

// ReportOf returns the report of a job. traced is nil if it was not traced.
func ReportOf(s *aggregate.Summary, traced *trace.Result) Report {
	return Report{Findings: Of(s, traced), TimesUnknown: TimesUnknown(s), WaitsUnknown: WaitsUnknown(s, traced), Analysis: traced, Summary: s}
}

// MarshalJSON returns one object: "findings", "analysis", "patterns" and the fields of the summary.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	return text.JoinJSON(plain(r), r.Summary)
}
