package views

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// The largest numbers of names and values that a sentence lists.
const (
	mostHosts     = 4
	mostVariables = 12
	mostStandouts = 3
)

func seconds(s float64) string   { return text.Duration(1e9*s, false) }
func duration(ns float64) string { return text.Duration(ns, false) }

// run returns the section of what ran: the program, the library, the times and the settings
// that limit what was recorded.
func (s *report) run() Section {
	out := Section{ID: "run", Title: "Run"}
	of := ""
	if s.rank == nil {
		out.Say(s.ranksOfPrograms() + ", " + s.hosts())
		of = "over all ranks: "
	} else {
		for _, r := range s.Ranks {
			out.Say(fmt.Sprintf("rank %d of %d of %s, process %d on %s, %s", s.rank.Rank, s.RanksExpected, s.Program, r.Pid, r.Host, StateWords(r.State)))
		}
	}
	words := fmt.Sprintf("%s; run %s", profile.LibraryName(s.Library), s.Run)
	if !s.Started.IsZero() {
		words += s.Started.Format(", started 2006-01-02 15:04:05 UTC")
	}
	if s.Info != nil && s.Info.Batch != nil {
		words += "; " + batchJob(s.Info.Batch)
	}
	out.Say(words)
	out.Say(s.times(of))
	if s.Timed() {
		out.Fact("share of MPI time", s.shares())
		out.Say(lifetimes(s.LifetimesUnknown))
	}
	switch s.Timing {
	case profile.TimingSampled.String():
		out.Say("times are estimates (--timing sampled): ± is one standard error")
	case profile.TimingOff.String():
		out.Say("calls were not timed (--timing off): calls, messages and bytes are exact")
	}
	if s.Receives == profile.ReceivesOff {
		out.Say("nonblocking receives were not followed (--receives off): what they received is not known")
	}
	out.Fact("MPI variables set", s.variablesSet())
	if s.rank != nil {
		s.placement(&out)
	}
	return out
}

// batchJob returns, for example, "Slurm job 4711 in batch on n[1-4]".
func batchJob(b *rundir.BatchJob) string {
	words := b.System + " job " + b.ID
	if b.Step != "" {
		words += "." + b.Step
	}
	if b.ArrayIndex != "" {
		words += ", array index " + b.ArrayIndex
	}
	if b.Partition != "" {
		words += " in " + b.Partition
	}
	if b.Nodes != "" {
		words += " on " + b.Nodes
	}
	return words
}

// ranksOfPrograms says on how many ranks the programs ran.
func (s *report) ranksOfPrograms() string {
	if !s.Programs.Several() {
		return fmt.Sprintf("%s on %d of %d ranks", s.Program, s.RanksRecorded, s.RanksExpected)
	}
	words := s.Programs.OnRanks()
	if s.RanksRecorded < s.RanksExpected {
		words += fmt.Sprintf(", %d of %d ranks recorded", s.RanksRecorded, s.RanksExpected)
	}
	return words
}

// StateWords returns how a process ended. A process whose end was not recorded is "not
// finalized", because it may or may not be running.
func StateWords(state string) string {
	if state == profile.Running.String() {
		return "not finalized"
	}
	return state
}

func (s *report) hosts() string {
	names := []string{}
	for i, h := range s.Hosts {
		if i == mostHosts {
			names = append(names, "…")
			break
		}
		names = append(names, h.Name)
	}
	return text.CountOf(len(s.Hosts), "host") + " (" + strings.Join(names, ", ") + ")"
}

// times returns the times of the run. of says what the application time adds up.
func (s *report) times(of string) string {
	words := fmt.Sprintf("wall time %s; %sapplication %s", lifetime(s.WallTimeS), of, lifetime(s.ApplicationTimeS))
	if s.ThreadTimeS > s.ApplicationTimeS {
		words += fmt.Sprintf("; its threads %s", seconds(s.ThreadTimeS))
	}
	if !s.Timed() {
		return words + ", in MPI: not timed"
	}
	return words + fmt.Sprintf(", of which in MPI %s; Init and Finalize %s besides", estimate(1e9*s.MPITimeS, 1e9*s.MPITimeErrorS), seconds(s.InitFinalizeTimeS))
}

// shares returns the mean and the extremes of the ranks' shares of time in MPI. If not all
// shares are known, it adds the number of known ones.
func (s *report) shares() string {
	known, isUnknown := s.Ranks, func(r aggregate.RankTimes) bool { return !r.ShareKnown() }
	if slices.ContainsFunc(known, isUnknown) { // usually false, and a copy of a million ranks is large
		known = slices.DeleteFunc(slices.Clone(known), isUnknown)
	}
	if len(known) == 0 {
		return unknown
	}
	share := aggregate.ShareOf(known)
	words := "mean " + text.Percent(share.Mean)
	if len(known) < len(s.Ranks) {
		words += fmt.Sprintf(" of %s where it is known", text.CountOf(len(known), "rank"))
	}
	if len(known) > 1 {
		words += fmt.Sprintf(", min %s (rank %d), max %s (rank %d)",
			text.Percent(share.Min), share.MinRank, text.Percent(share.Max), share.MaxRank)
	}
	return words
}

// lifetime returns how long processes ran, in seconds; 0 if that is not known.
func lifetime(s float64) string {
	if s == 0 {
		return unknown
	}
	return seconds(s)
}

// lifetimes says that shares of time are inexact for some ranks with several threads.
func lifetimes(ranks int) string {
	if ranks == 0 {
		return ""
	}
	return fmt.Sprintf("%s: the lifetimes of threads were not recorded; each thread counts as living for the whole run", text.CountOf(ranks, "rank"))
}

// variablesSet returns the control variables of the MPI library that were set. Variables that
// the library refused are among the problems.
func (s *report) variablesSet() string {
	var parts []string
	for _, v := range s.Variables {
		where := v.From
		if v.From == aggregate.FromCvar {
			if v.Refused != "" {
				continue
			}
			where = "--cvar"
			if v.Ranks.Len() < len(s.Ranks) {
				where += v.On()
			}
		}
		if v.Name != "" {
			parts = append(parts, fmt.Sprintf("%s=%s (%s)", v.Name, aggregate.ShortValue(v.Value), where))
		}
	}
	if more := len(parts) - mostVariables; more > 0 {
		parts = append(parts[:mostVariables], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// detailsOf says which section has the details of a finding.
var detailsOf = map[findings.Rule]string{
	findings.EndedBadly: "ends", findings.NotMeasured: "completeness", findings.Oversubscribed: "efficiency",
	findings.CoresTaken: "efficiency", findings.IdleCores: "efficiency",
	findings.LoadImbalance: "time", findings.CollectiveWaits: "waits", findings.VaryingWork: "causes", findings.LateSender: "causes",
	findings.LateReceiver: "causes", findings.SerialChain: "causes", findings.BetweenPrograms: "causes", findings.SmallMessages: "sizes",
	findings.HotRank: "balance", findings.BytesBetweenNodes: "placement",
	findings.FileAccess: "calls", findings.TimeInMPI: "sites",
}

// findings returns the section of what stands out.
func (s *report) findings() Section {
	out := Section{ID: "findings", Title: "What stands out"}
	found := s.judged().Findings
	switch why := s.judged().TimesUnknown; {
	case len(found) > 0:
		out.Say("what stands out:")
	case why != "":
		out.Say("what costs time is not known: " + why)
	case s.judged().NothingStandsOut:
		out.Say("nothing stands out")
	default:
		out.Say("no cause found: " + s.nearlyLost())
	}
	list := []Highlight{}
	for i := range found {
		f := &found[i]
		list = append(list, Highlight{Rule: string(f.Rule), Share: shareOfWhole(f), Text: f.Text, Try: f.Try, Uncertain: f.Uncertain,
			Ranks: f.Ranks, Callsite: f.Callsite, Section: detailsOf[f.Rule]})
	}
	if len(list) > 0 {
		out.Blocks = append(out.Blocks, Block{Findings: &list})
	}
	if !s.Unanalyzed && s.judged().WaitsUnknown && !slices.ContainsFunc(found, func(f findings.Finding) bool { return f.Rule == findings.TimeInMPI }) {
		out.Say("to record why ranks wait: mpitrace run --trace")
	}
	if rest := s.judged().NotExplained; rest > 0 {
		out.Say(fmt.Sprintf("not explained: %s of the time, which is in MPI", text.Percent(rest)))
	}
	return out
}

// nearlyLost returns a sentence about losses of time for which no rule holds, but which are too large
// to say that nothing stands out.
func (s *report) nearlyLost() string {
	balance := ""
	if s.POP.Ranks > 1 {
		balance = fmt.Sprintf(", load balance is %s", text.Percent(s.POP.LoadBalance))
	}
	return fmt.Sprintf("%s of the time is in MPI%s, ranks had no core for %s", text.Percent(s.Tree.InMPI()), balance, noCore(s.Tree))
}

func shareOfWhole(f *findings.Finding) string {
	switch {
	case f.Share <= 0:
		return ""
	case f.Of == findings.OfBytes:
		return text.Percent(f.Share) + " of bytes"
	}
	return text.Percent(f.Share) + " of the run"
}

// efficiency returns the section of the parallel efficiency and of shared cores.
func (s *report) efficiency() Section {
	out := Section{ID: "efficiency", Title: "Parallel efficiency"}
	out.efficiency(s.POP, s.Programs, s.RanksExpected)
	out.cores(s.Cores)
	shared(&out, s.Oversubscribed, s.RanksRecorded)
	out.programs(s.Programs)
	return out
}

// efficiency adds the parallel efficiency of a job of some ranks. If there are several programs,
// whose ranks do not do the same work, it is divided within each of them.
func (s *Section) efficiency(p *aggregate.POP, programs aggregate.Programs, ranks int) {
	name := "parallel efficiency"
	if p == nil {
		s.Fact(name, unknown)
		return
	}
	if p.Ranks < ranks {
		name += fmt.Sprintf(", of %d of %d ranks", p.Ranks, ranks)
	}
	words := Efficiency(p)
	switch {
	case programs.Several():
		s.Fact(name, words+", of all programs")
		return
	case p.Ranks > 1:
		words += fmt.Sprintf(" = load balance %s × communication efficiency %s", text.Percent(p.LoadBalance), text.Percent(p.CommunicationEfficiency))
	}
	s.Fact(name, words)
	s.Detail(func() {
		s.Say(fmt.Sprintf("ranks compute %s of %s on average; rank %d computes most, %s",
			duration(p.UsefulMeanNs), duration(p.RuntimeNs), p.UsefulMaxRank, duration(p.UsefulMaxNs)))
	})
}

// Efficiency returns the parallel efficiency, with its standard error if it is an estimate.
// The error is rounded up, so that it is never printed as 0.
func Efficiency(p *aggregate.POP) string {
	if p == nil {
		return unknown
	}
	words := text.Percent(p.ParallelEfficiency)
	if p.ParallelEfficiencyError > 0 {
		words += fmt.Sprintf(" ±%.1f", math.Ceil(1000*p.ParallelEfficiencyError-1e-9)/10)
	}
	return words
}

// completeness returns the section of what the record lacks: the conservation of messages and
// the problems.
func (s *report) completeness() Section {
	out := Section{ID: "completeness", Title: "Completeness"}
	out.Detail(func() {
		out.Fact("ranks", fmt.Sprintf("%s expected, %s recorded, %s finalized", text.Count(s.RanksExpected), text.Count(s.RanksRecorded), text.Count(s.RanksFinalized)))
	})
	conservation(&out, s.Conservation)
	if s.Untimed > 0 { // no problem: these calls are short, as MPI_Comm_set_attr
		out.Fact("not timed", text.CountOf(s.Untimed, "call")+" from Fortran, whose bindings do it without MPI's functions in C")
	}
	for _, why := range slices.Sorted(maps.Keys(s.Alone)) {
		out.Fact("files of their own", text.CountOf(s.Alone[why], "process")+": "+why)
	}
	for _, line := range slices.Sorted(maps.Keys(s.Messages)) {
		out.Fact(fmt.Sprintf("message of %s, whose standard error was closed or replaced", text.CountOf(s.Messages[line], "process")), line)
	}
	return out
}

// problems returns the section of what does not add up.
func (s *report) problems() Section {
	out := Section{ID: "problems", Title: "What does not add up", Sub: true, Joined: true}
	problems(&out, slices.Concat(s.Problems, s.Missing))
	return out
}

// problems adds what a record lacks.
func problems(out *Section, list []string) {
	if len(list) == 0 {
		out.Toned(Good, "complete: finalized, nothing lost")
		return
	}
	out.List(problemList(problemsHead, list))
}

const problemsHead = "what does not add up:"

func problemList(head string, list []string) Listing {
	l := Listing{Head: head, Tone: Bad}
	for _, p := range list {
		l.Items = append(l.Items, ListItem{Text: p})
	}
	return l
}

// logicalNames are the names of the classes of logical volume.
var logicalNames = map[string]string{matrix.All.String(): "all that the program asked for", matrix.External.String(): "point-to-point",
	matrix.OneSided.String(): "one-sided", matrix.Collective.String(): "collectives"}

// physical returns the section of what the program asked for, and of what the MPI library sent.
func (s *report) physical() Section {
	out := Section{ID: "physical", Title: "Physical next to logical"}
	p := s.Physical
	if p == nil || p.Known == 0 {
		return out
	}
	name := "logical and physical"
	if len(p.Unknown) > 0 {
		name += fmt.Sprintf(" (of %d of %d ranks)", p.Known, s.RanksExpected)
	}
	type R struct {
		name  string
		pairs int // negative: not known
		matrix.Volume
	}
	var list []R
	for i := range p.Logical {
		l := p.Logical[(i+1)%len(p.Logical)] // the sum is the first entry and shown last
		list = append(list, R{"logical: " + logicalNames[l.Class], l.Pairs, l.Volume})
	}
	list = append(list, R{"physical: point-to-point", p.External.Pairs, p.External.Volume},
		R{"physical: the library's own", p.Internal.Pairs, p.Internal.Volume}, R{"physical: all that the library sent", -1, p.Sum})
	volume := func(r *R) *matrix.Volume { return &r.Volume }
	out.Add(tableOf("physical", list,
		col("traffic", "traffic", Words, func(r *R) Cell { return wordsCell(r.name) }),
		col("pairs", "pairs", Count, func(r *R) Cell {
			if r.pairs < 0 {
				return Cell{}
			}
			return countCell(r.pairs)
		}),
		messagesColumn("msgs", volume), bytesColumn("bytes", volume)).named(name))
	if p.External.Volume != p.Asked {
		out.Say(fmt.Sprintf("the library's count of point-to-point differs from the program's, %s (%s): it does not see persistent sends, and takes some of its own messages for the program's",
			text.CountOf(p.Asked.Messages, "message"), text.Bytes(p.Asked.Bytes)))
	}
	return out
}
