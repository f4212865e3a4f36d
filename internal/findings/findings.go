// Package findings says what stands out in a run and what to do about it. It holds
// rules over what aggregate and trace computed. Text and JSON show the same findings
// in the same order.
package findings

import (
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// Rule is the name of a rule.
type Rule string

// The rules.
const (
	EndedBadly        Rule = "ended badly"
	NotMeasured       Rule = "not measured"
	Oversubscribed    Rule = "no core: oversubscribed"
	CoresTaken        Rule = "no core: others use the cores"
	LoadImbalance     Rule = "load imbalance"
	CollectiveWaits   Rule = "waiting in collectives"
	VaryingWork       Rule = "varying work"
	LateSender        Rule = "late sender"
	LateReceiver      Rule = "late receiver"
	BetweenPrograms   Rule = "one program waits for another"
	SerialChain       Rule = "serial chain"
	SmallMessages     Rule = "many small messages"
	SmallCollectives  Rule = "many small collectives"
	HotRank           Rule = "hot rank"
	BytesBetweenNodes Rule = "bytes between nodes"
	SetUpInALoop      Rule = "set-up in a loop"
	BusyPolling       Rule = "busy polling"
	SparseAllToAll    Rule = "sparse all-to-all"
	IdleCores         Rule = "idle cores"
	FileAccess        Rule = "file input/output"
	TimeInMPI         Rule = "time in MPI"
)

// Whole is the total of which Finding.Share is a share.
type Whole string

const (
	OfTime  Whole = "time"  // ranks × run time, see aggregate.TimeTree
	OfBytes Whole = "bytes" // sent point-to-point and one-sided
)

// Finding is one thing that stands out. Its texts contain names of the job, which may
// hold any character.
type Finding struct {
	Rule  Rule    `json:"rule"`
	Share float64 `json:"share"` // as a fraction of Of; 0 if the finding has no share
	Of    Whole   `json:"of,omitempty"`
	// the ranks that the finding is about; empty if it is about all
	Ranks    profile.RankSet `json:"ranks"`
	Call     string          `json:"call,omitempty"`     // without MPI_
	Callsite string          `json:"callsite,omitempty"` // function file:line
	Text     string          `json:"text"`               // a sentence or two with the evidence
	Try      string          `json:"try"`                // what to change
	Cause    string          `json:"-"`                  // the same evidence as a clause of the verdict; empty for one made of the rule and the place
	SavesS   float64         `json:"saves_s,omitempty"`  // what could be saved of the time of each rank, on average; 0 if not known
	// Uncertain says why the times of the finding may be wrong; empty if they are not.
	Uncertain string `json:"uncertain,omitempty"`
	// Burst is the computing for which others wait; nil if the trace does not show it.
	Burst *causes.Burst `json:"burst,omitempty"`

	waits    *causeGroup // that the finding is about; nil if it is not about causes of waits
	replayed bool        // whether SavesS is the replay's
}

const (
	most          = 7    // findings
	leastShare    = 0.02 // of a finding about time
	quietMPI      = 0.05 // with a smaller share of time in MPI, and with
	quietBalanced = 0.95 // at least this load balance, no finding about time is made
	quietNoCore   = 0.05 // with a larger share without a core, something stands out
	noCoreLarge   = 0.3  // with a larger share without a core, other times are not reliable
	leastRunNs    = 10e6 // of run time; in a shorter run, times are mostly those of starting up
)

// facts is what the rules know.
type facts struct {
	*aggregate.Summary
	trace *trace.Result // nil if the job was not traced
}

// noCoreRules are the rules about ranks that had no core.
var noCoreRules = []Rule{Oversubscribed, CoresTaken}

// timed completes a finding about time.
func (f *Finding) timed(uncertain string) {
	f.Of, f.Uncertain = OfTime, uncertain
	if uncertain != "" {
		f.SavesS = 0 // a part of the time was without a core
	}
	if f.SavesS > 0 && f.Rule != LoadImbalance && f.waits == nil { // which say so themselves
		f.Try += fmt.Sprintf(" Could save about %s per rank.", seconds(f.SavesS))
	}
}

// group returns a number that sorts findings which make others doubtful before these.
func (f *Finding) group(j *facts) int {
	switch {
	case f.Rule == EndedBadly:
		return 0
	case f.Rule == NotMeasured:
		return 1
	case slices.Contains(noCoreRules, f.Rule) && j.noCore():
		return 2
	}
	return 3
}

// WaitsUnknown reports whether ranks spend much time in MPI, and no trace was requested
// that would tell why.
func WaitsUnknown(s *aggregate.Summary, traced *trace.Result) bool {
	j := &facts{s, traced}
	return traced == nil && !s.TraceWanted && !j.quiet() && !j.noCore() && j.Tree.Ranks > 1
}

// TimesUnknown returns why no finding about time can be made; empty if they can.
func TimesUnknown(s *aggregate.Summary) string {
	switch {
	case !s.Timed():
		return "calls were not timed"
	case s.POP == nil:
		return "no rank finalized"
	case s.POP.RuntimeNs < leastRunNs:
		return "the run took less than 10 ms"
	}
	return ""
}

// quiet reports whether so little time is lost that no rule about time applies.
func (j *facts) quiet() bool {
	return j.POP == nil || j.Tree == nil || j.POP.RuntimeNs < leastRunNs || j.MPIShare.Mean < quietMPI && j.loadBalance() >= quietBalanced
}

// noCore reports whether ranks had no core for so long that other times are not reliable.
func (j *facts) noCore() bool { return j.Tree != nil && j.Tree.NoCore > noCoreLarge }

// shareOf returns a time as a share of ranks × run time.
func (j *facts) shareOf(ns float64) float64 {
	switch {
	case j.Tree == nil:
		return 0
	case !j.exact():
		return min(j.Tree.ShareOf(ns), 1) // estimates may be more
	}
	return j.Tree.ShareOf(ns)
}

// exact reports whether all calls were timed.
func (j *facts) exact() bool { return j.Timing == profile.TimingExact.String() }
