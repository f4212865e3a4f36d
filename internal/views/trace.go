package views

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// Trace returns the sections of the analysis of a trace.
func Trace(found *trace.Result, o Options) []Section { return Finish(traceSections(found, o)...) }

// traceSections returns none if there is no analysis.
func traceSections(found *trace.Result, o Options) []Section {
	if found == nil {
		return nil
	}
	a := &analysis{found, o.Top, o.programsOf(found.Run)}
	sections := []Section{a.traced(), a.efficiencies(), a.causes(), a.times(), a.waits(), a.places(), a.eager(), a.path(), a.matching()}
	for i := range sections[1:] {
		sections[1+i].Sub = true
	}
	return sections
}

// programsOf returns the programs of a job that has several; nil for others.
func (o *Options) programsOf(job string) text.ProgramList {
	if o.Info == nil {
		return nil
	}
	for i := range o.Info.Jobs {
		if j := &o.Info.Jobs[i]; j.Run == job {
			return j.Programs
		}
	}
	return nil
}

func (a *analysis) traced() Section {
	out := Section{ID: "trace", Title: "Trace"}
	ranks := text.CountOf(a.Size, "rank")
	if len(a.programs) > 1 {
		ranks = a.programs.String()
	}
	if a.Ranks < a.Size {
		ranks = fmt.Sprintf("%d of %d ranks", a.Ranks, a.Size)
	}
	out.Say(fmt.Sprintf("trace of %s: %s in %s", ranks, text.CountOf(a.Events, "event"), seconds(a.Runtime)))
	return out
}

// efficiencies returns the section of the tree of POP's metrics. Each is the ratio of the two
// times beside it.
func (a *analysis) efficiencies() Section {
	out := Section{ID: "efficiencies", Title: "Efficiencies"}
	p := a.POP
	switch {
	case p != nil:
		out.Add(a.efficiencyTable())
		if p.Ranks < a.Ranks {
			out.Say(fmt.Sprintf("of the %d of %d ranks that finalized", p.Ranks, a.Ranks))
		}
	case a.CriticalPath != nil:
		out.Say("efficiencies are not known: no rank finalized")
	default:
		out.Say("efficiencies and the critical path are not known: the traces do not have all calls")
	}
	if p != nil && len(a.programs) > 1 {
		out.Say("the programs do different work: mpitrace report has the load balance within each")
	}
	out.Say(lifetimes(a.LifetimesUnknown))
	shared(&out, a.Oversubscribed, a.Ranks)
	return out
}

func (a *analysis) efficiencyTable() *Table {
	p := a.POP
	most, lost := seconds(p.UsefulMax), "lost in messages and calls"
	if len(a.Oversubscribed) > 0 {
		lost = "lost in MPI or waiting for a core"
	}
	type R struct {
		name  string
		value float64
		why   string
	}
	return tableOf("efficiencies", []R{
		{"parallel efficiency", p.ParallelEfficiency, fmt.Sprintf("ranks compute %s of %s on average", seconds(p.UsefulMean), seconds(p.Runtime))},
		{"├ load balance", p.LoadBalance, fmt.Sprintf("rank %d computes most, %s", p.UsefulMaxRank, most)},
		{"└ communication", p.CommunicationEfficiency, fmt.Sprintf("rank %d computes %s of %s", p.UsefulMaxRank, most, seconds(p.Runtime))},
		{"  ├ serialisation", p.Serialisation, fmt.Sprintf("%s of %s on an ideal network", most, seconds(p.IdealRuntime))},
		{"  └ transfer", p.Transfer, fmt.Sprintf("%s of %s; %s", seconds(p.IdealRuntime), seconds(p.Runtime), lost)},
	},
		col("efficiency", "efficiency", Words, func(r *R) Cell { return wordsCell(r.name) }),
		col("value", "value", Share, func(r *R) Cell { return shareCell(r.value) }),
		col("because", "because", Words, func(r *R) Cell { return wordsCell(r.why) }))
}

// times returns the section of the time in each MPI function, and how much of it was spent
// waiting for other ranks.
func (a *analysis) times() Section {
	out := Section{ID: "trace-calls", Title: "Time in calls"}
	type R = trace.CallTotal
	unproven := slices.ContainsFunc(a.Calls, func(c R) bool { return c.Undecided > 0 })
	out.Add(tableOf("trace_calls", a.Calls,
		col("call", "call", Words, func(c *R) Cell { return wordsCell(c.Call) }),
		numberColumn(func(c *R) uint64 { return c.Count }),
		secondsColumn("time_ns", "time", func(c *R) float64 { return c.Time }),
		shareOfTime(func(c *R) float64 { return c.Share }),
		secondsColumn("waiting_ns", "waiting for others", func(c *R) float64 { return c.Waiting }),
		secondsColumn("undecided_ns", "undecided", func(c *R) float64 { return c.Undecided }).
			help("waits that the trace does not prove").when(unproven),
	).top(a.top, "call", topTrace))
	return out
}

// waits returns the section of the waits by kind and by communicator.
func (a *analysis) waits() Section {
	out := Section{ID: "waits", Title: "Waits"}
	if len(a.Patterns) == 0 {
		out.Say("no rank waited for another")
		return out
	}
	type P = trace.PatternTotal
	out.Add(tableOf("wait_patterns", a.Patterns,
		col("pattern", "waits", Words, func(p *P) Cell { return wordsCell(p.Pattern.String()) }),
		col("for", "for", Words, func(p *P) Cell { return wordsCell(waitsFor(p.Pattern)) }),
		numberColumn(func(p *P) uint64 { return p.Count }),
		secondsColumn("time_ns", "time", func(p *P) float64 { return p.Time }),
		shareOfTime(func(p *P) float64 { return p.Share })))
	type C = trace.CommunicatorTotal
	out.Add(tableOf("wait_communicators", a.Communicators,
		col("communicator", "communicator", Words, func(c *C) Cell { return wordsCell(c.Communicator) }),
		col("mostly", "mostly", Words, func(c *C) Cell {
			longest := c.Patterns[0]
			return wordsCell(fmt.Sprintf("%s, %s", longest.Pattern, seconds(longest.Time)))
		}),
		numberColumn(func(c *C) uint64 { return c.Count }),
		secondsColumn("time_ns", "time", func(c *C) float64 { return c.Time }),
		shareOfTime(func(c *C) float64 { return c.Share }),
	).top(a.top, "communicator", topTrace))
	return out
}

// eager returns the section of the eager limits if sends waited, or may have waited, for receivers.
func (a *analysis) eager() Section {
	out := Section{ID: "eager", Title: "Eager limits"}
	has := func(pattern trace.Pattern) bool {
		return slices.ContainsFunc(a.Patterns, func(p trace.PatternTotal) bool { return p.Pattern == pattern })
	}
	if !has(trace.LateReceiver) && !has(trace.Undecided) {
		return out
	}
	ofSends := func(s trace.WaitState) bool { return s.Pattern == trace.Undecided && !s.OneSided() }
	limits := a.EagerLimits
	if !has(trace.LateReceiver) && !slices.ContainsFunc(a.WaitStates, ofSends) {
		limits = nil
	}
	toSelf := slices.ContainsFunc(a.WaitStates, func(s trace.WaitState) bool {
		return s.Rank == s.Peer && (s.Pattern == trace.LateReceiver || ofSends(s))
	})
	for i := range limits {
		if l := &limits[i]; l.Path != profile.ToSelf || toSelf {
			out.Say(eagerText(l))
		}
	}
	if has(trace.Undecided) {
		out.Say("undecided: the trace does not prove that the call waited for the rank named")
	}
	return out
}

func eagerText(l *trace.ObservedEagerLimit) string {
	words := "eager limit " + [profile.NumPaths]string{"of messages of a rank to itself", "within nodes", "between nodes"}[l.Path]
	switch {
	case l.Variable != "":
		return fmt.Sprintf("%s: %s (%s); larger messages wait for their receivers", words, text.CountOf(l.Bytes, "byte"), l.Variable)
	case l.Shown > 0:
		return fmt.Sprintf("%s: not recorded; messages of up to %s did not wait for their receivers", words, text.CountOf(l.Shown, "byte"))
	}
	return words + ": not recorded"
}

// path returns the section of the critical path.
func (a *analysis) path() Section {
	out := Section{ID: "path", Title: "Critical path"}
	p := a.CriticalPath
	if p == nil {
		return out
	}
	out.Say(fmt.Sprintf("critical path: %s over %s; %s computing, %s in MPI", seconds(p.Length),
		text.CountOf(len(p.Ranks), "rank"), ratioCell(p.Computation, p.Length).Text, ratioCell(p.MPI, p.Length).Text))
	type R = trace.PathRank
	out.Add(tableOf("path_ranks", p.Ranks,
		col("rank", "rank", Rank, func(r *R) Cell { return rankCell(r.Rank) }),
		secondsColumn("time_ns", "time", func(r *R) float64 { return r.Time }),
		col("share", "% of path", Share, func(r *R) Cell { return shareCell(r.Share) }),
		secondsColumn("computation_ns", "computing", func(r *R) float64 { return r.Computation }),
		secondsColumn("mpi_ns", "in MPI", func(r *R) float64 { return r.MPI }),
	).top(a.top, "rank", topTrace))
	type C = trace.PathPlace
	sites := tableOf("path_sites", p.Callsites,
		col("callsite", "where", Words, func(c *C) Cell { return siteCell(c.Callsite) }),
		col("call", "call", Words, func(c *C) Cell { return wordsCell(c.Call) }),
		secondsColumn("time_ns", "time", func(c *C) float64 { return c.Time }),
		col("share", "% of path", Share, func(c *C) Cell { return shareCell(c.Share) }),
	).top(a.top, "place", topTrace)
	for i := range p.Callsites {
		sites.Rows[i].Callers = callersOf(p.Callsites[i].Callsite)
	}
	sites.Least = leastPlace
	out.Add(sites)
	return out
}

// siteCell returns the cell of a call site without its callers, which callersOf returns.
func siteCell(label string) Cell {
	site, _, _ := strings.Cut(label, profile.Callers)
	return wordsCell(site)
}

func callersOf(label string) []string { return strings.Split(label, profile.Callers)[1:] }

// matching returns the section of how many messages and collectives were matched, why the
// others were not, and what else limits the analysis.
func (a *analysis) matching() Section {
	out := Section{ID: "matching", Title: "Matching"}
	m, c := &a.Matching, &a.Matching.Collectives
	out.Say(fmt.Sprintf("matched: %s of %s, %s of %s", text.Count(m.Matched), text.CountOf(max(m.Sent, m.Received), "message"),
		text.Count(c.Complete), text.CountOf(c.Instances, "collective")))
	for _, unmatched := range []struct {
		noun    string
		reasons map[trace.Reason]uint64
	}{{"send", m.UnmatchedSends}, {"receive", m.UnmatchedReceives}, {"collective", c.Incomplete}} {
		for _, why := range slices.Sorted(maps.Keys(unmatched.reasons)) {
			out.Say(fmt.Sprintf("not matched: %s: %s", text.CountOf(unmatched.reasons[why], unmatched.noun), why))
		}
	}
	if m.SizesDiffer > 0 {
		out.Say("of another size than was sent: " + text.CountOf(m.SizesDiffer, "message"))
	}
	for _, note := range a.ClockNotes {
		out.Say(note)
	}
	if a.Dropped > 0 {
		out.Say("the traces had no room for " + text.CountOf(a.Dropped, "event"))
	}
	if n := a.Partial + a.Size - a.Ranks; n > 0 {
		out.Say(fmt.Sprintf("the traces of %s are not whole: waits for what is not in them are not known", text.CountOf(n, "rank")))
	}
	return out
}
