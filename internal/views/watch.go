package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Watched is what a job was doing at one moment.
type Watched struct {
	Status         *aggregate.JobStatus `json:"status"` // its processes may be the first of all
	ProcessesTotal int                  `json:"processes_total"`
	// Waits has an entry for each of Status.Processes.
	Waits   []Waiting               `json:"waits"`
	Hanging string                  `json:"hanging,omitempty"` // ranks in one call for longer than 5 s
	Totals  aggregate.Totals        `json:"totals"`            // of all ranks since the start
	Rates   *JobRates               `json:"rates"`             // since the moment before; null if there was none
	Heatmap *aggregate.BinnedMatrix `json:"-"`
}

// Waiting is what follows from the calls of a process.
type Waiting struct {
	For     string `json:"for,omitempty"` // ranks that it waits for
	Hanging bool   `json:"hanging,omitempty"`
	// AgeS is the age of what is known of a process that cannot be checked from this node,
	// in seconds; null for all others.
	AgeS *float64 `json:"age_s,omitempty"`
}

// JobRates are differences between two moments, per second, over all ranks.
type JobRates struct {
	OverS    float64 `json:"over_s"` // time between the moments
	Calls    float64 `json:"calls_per_s"`
	Messages float64 `json:"messages_per_s"` // sent
	Bytes    float64 `json:"bytes_per_s"`
}

// Watch returns what a job is doing for a terminal: deadlocks, ranks that hang, rates, the calls
// of the ranks as in Status, and the matrix so far. What matters most comes first, because a
// terminal may have no room for all.
func Watch(job *Watched) []Section {
	out := job.section()
	out.listUnder(job.soFar(), statusGroups(job.Status))
	sums := Section{ID: "matrix", Title: "Who sends to whom"}
	if h := (SmallMatrix{"", job.Heatmap}); job.Heatmap != nil && h.Largest() > 0 {
		sums.Blocks = append(sums.Blocks, Block{Drawing: &Drawing{Name: "matrix", Title: "bytes between ranks so far (row: from, column: to)", Heatmaps: []SmallMatrix{h}}})
	}
	return Finish(out, sums)
}

// Live returns the same for the page, in tables: of groups of processes in the same calls, and
// of all processes.
func Live(job *Watched) []Section {
	out := job.section()
	out.Title = job.Status.Programs.String()
	if job.Status.Missing != "" {
		out.Say(job.Status.Missing + ": no recording here")
	}
	out.Say(job.soFar())
	l := &live{Watched: job, waits: map[*aggregate.End]*Waiting{}}
	singles := make([]endGroup, len(job.Status.Processes))
	for i := range job.Status.Processes {
		e := &job.Status.Processes[i]
		l.waits[e], singles[i] = &job.Waits[i], endGroup{e}
	}
	groups := Section{ID: "groups", Title: "What ranks are doing"}
	groups.Add(l.table("groups", sortedGroups(job.Status.Processes), false).top(mostGroups, "group", ""))
	ranks := Section{ID: "ranks", Title: "Ranks"}
	t := l.table("ranks", singles, true).top(topRanks, "process", "")
	t.Rest = job.ProcessesTotal - len(singles)
	ranks.Add(t)
	return Finish(out, job.Rates.section(), groups, ranks)
}

// section returns a chart with a series for each rate. A series has one bar, the latest rate: the page
// collects the bars of many readings. At the first moment there are no rates and no bars.
func (r *JobRates) section() Section {
	series := []Series{{Name: "bytes per second"}, {Name: "messages per second"}, {Name: "calls per second"}}
	if r != nil {
		for i, c := range []Cell{bytesCell(uint64(r.Bytes)), countCell(uint64(r.Messages)), countCell(uint64(r.Calls))} {
			series[i].Bars = []ChartBar{{N: c.Value.(uint64), Text: c.Text}}
		}
	}
	title := "Rates of all ranks over the last readings"
	return Section{ID: "rates", Title: "Rates", Blocks: []Block{{Drawing: &Drawing{Name: "rates", Title: title, Series: series}, Detail: true}}}
}

// Rows that the page shows at first.
const (
	mostGroups = 8
	topRanks   = 25
)

// section returns the section of the state of the processes, deadlocks, and ranks that hang.
func (w *Watched) section() Section {
	out := Section{ID: "status", Title: "What ranks are doing"}
	out.Say(statusHead(w.Status))
	deadlocks(&out, w.Status.Deadlocks)
	if w.Hanging != "" {
		out.Toned(Bad, "hanging, in one call for more than 5 s: "+w.Hanging)
	}
	var away []int // ranks that cannot be checked from this node
	oldest := 0.0
	for i := range w.Waits {
		if age := w.Waits[i].AgeS; age != nil && w.Status.Processes[i].Rank >= 0 {
			away, oldest = append(away, w.Status.Processes[i].Rank), max(oldest, *age)
		}
	}
	if len(away) > 0 {
		out.Say(fmt.Sprintf("not visible from this node, last update up to %s ago: %s", seconds(oldest), profile.RankSetOf(away...)))
	}
	return out
}

// soFar returns the sums since the start, and the rates.
func (w *Watched) soFar() string {
	t := &w.Totals
	words := fmt.Sprintf("so far: %s, %s, %s", text.CountOf(t.Calls, "call"), text.CountOf(t.Messages, "message"), text.Bytes(t.Bytes))
	if r := w.Rates; r != nil {
		words += fmt.Sprintf("; per second: %s, %s, %s", text.CountOf(uint64(r.Calls), "call"), text.CountOf(uint64(r.Messages), "message"), text.Bytes(uint64(r.Bytes)))
	}
	return words
}

// live makes tables of processes.
type live struct {
	*Watched
	waits map[*aggregate.End]*Waiting
}

// table returns a row for each group of processes that are in the same calls, or for each
// process.
func (l *live) table(id string, groups []endGroup, single bool) *Table {
	type R = endGroup
	hosts := slices.ContainsFunc(l.Status.Processes, func(e aggregate.End) bool { return e.Host != l.Status.Processes[0].Host })
	away := slices.ContainsFunc(l.Watched.Waits, func(w Waiting) bool { return w.AgeS != nil })
	t := tableOf(id, groups,
		col("ranks", "ranks", Words, func(g *R) Cell { return Cell{g.who(), (*g)[0].Rank} }).when(!single),
		col("rank", "rank", Rank, func(g *R) Cell {
			if (*g)[0].Rank < 0 {
				return wordsCell("none")
			}
			return rankCell((*g)[0].Rank)
		}).when(single),
		col("host", "host", Words, func(g *R) Cell { return wordsCell((*g)[0].Host) }).when(single && hosts),
		col("state", "state", Words, func(g *R) Cell { return wordsCell(stateText((*g)[0])) }),
		col("call", "call", Words, func(g *R) Cell { return wordsCell(g.openCall()) }),
		col("at", "at", Words, func(g *R) Cell {
			if i := g.longestCall(); i >= 0 && (*g)[0].Calls[i].Callsite != nil {
				return wordsCell((*g)[0].Calls[i].Callsite.Label)
			}
			return missing
		}),
		col("waits_for", "waits for", Words, func(g *R) Cell { return l.waitsFor(*g) }),
		col("for", "for", Ns, func(g *R) Cell { return l.howLong(*g) }),
		col("known", "known", Ns, func(g *R) Cell {
			if age := l.waits[(*g)[0]].AgeS; age != nil {
				return secondsCell(*age).with(" ago")
			}
			return missing
		}).help("age of what is known of a process that cannot be checked from this node").when(single && away))
	for i, g := range groups {
		if !single {
			t.Rows[i].Ranks = g.ranks()
		}
		if l.hangs(g) {
			t.Rows[i].Tone = Bad
		}
	}
	return t
}

// stateText is endText, with one word for all processes that run.
func stateText(e *aggregate.End) string {
	if e.State == profile.EndRunning {
		return "running"
	}
	return endText(e)
}

func (l *live) hangs(g endGroup) bool {
	return slices.ContainsFunc(g, func(e *aggregate.End) bool { return l.waits[e].Hanging })
}

// longestCall returns the index of the call that is open for the longest time; -1 outside MPI.
func (g endGroup) longestCall() int {
	longest := -1
	for i, c := range g[0].Calls {
		if longest < 0 || c.ForS > g[0].Calls[longest].ForS {
			longest = i
		}
	}
	return longest
}

// openCall names the call that is open for the longest time.
func (g endGroup) openCall() string {
	i := g.longestCall()
	if i < 0 {
		return "outside MPI"
	}
	words := g.callWords(i)
	if n := len(g[0].Calls); n > 1 {
		words += fmt.Sprintf(" (one of %d threads in MPI)", n)
	}
	return words
}

// mostWaits is the largest number of sets of ranks for which a group is said to wait.
const mostWaits = 3

func (l *live) waitsFor(g endGroup) Cell {
	var whom []string
	for _, e := range g {
		if w := l.waits[e].For; w != "" && !slices.Contains(whom, w) {
			if len(whom) == mostWaits {
				whom = append(whom, "…")
				break
			}
			whom = append(whom, w)
		}
	}
	if len(whom) == 0 {
		return missing
	}
	return wordsCell(strings.Join(whom, "; "))
}

// howLong returns for how long the processes have been in their call, or outside MPI.
func (l *live) howLong(g endGroup) Cell {
	i := g.longestCall()
	since := func(e *aggregate.End) float64 {
		if i >= 0 {
			return e.Calls[i].ForS
		}
		return max(0, e.AliveS-e.LastCallS)
	}
	_, longest := g.extremes(since)
	if longest == 0 {
		return missing
	}
	c := Cell{g.spread(since), 1e9 * longest}
	if l.hangs(g) {
		c = c.with(" (hanging)")
	}
	return c
}
