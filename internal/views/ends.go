package views

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Limits on what is shown about processes that did not finalize.
const (
	mostEnds    = 12     // groups of processes
	mostEndRows = 16_384 // processes
	mostWhom    = 6      // processes in one line
	mostRings   = 4
)

// endGroup holds processes that ended in the same way, or are in the same
// calls.
type endGroup []*aggregate.End

// groupEnds groups the processes that are in the same state and in the same calls. Groups
// are in the order of their first members.
func groupEnds(ends []aggregate.End) []endGroup {
	index := map[string]int{}
	var groups []endGroup
	for i := range ends {
		key := key(&ends[i])
		at, known := index[key]
		if !known {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], &ends[i])
	}
	return groups
}

func key(e *aggregate.End) string {
	var b strings.Builder
	b.WriteString(endText(e))
	for i := range e.Calls {
		c := &e.Calls[i]
		fmt.Fprintf(&b, "\n%s\x00%s\x00%s", c.Call, c.Communicator, c.Callsite)
		if c.ErrorCode != nil {
			fmt.Fprint(&b, "\x00", *c.ErrorCode)
		}
	}
	return b.String()
}

func endText(e *aggregate.End) string {
	switch e.State {
	case profile.EndKilled:
		return "killed by " + e.Signal
	case profile.EndExited:
		return fmt.Sprintf("exited with status %d", *e.Status)
	case profile.EndGone:
		return "ended"
	case profile.EndRunning:
		if len(e.Calls) > 0 {
			return "still in MPI"
		}
		return "running"
	case profile.EndStopped:
		return "stopped by a signal or a debugger"
	}
	return "not finalized; it is not known whether it runs"
}

// ends returns the section of the processes that did not finalize. The process that ended first
// is likely to be the cause, and is first.
func (s *report) ends() Section {
	out := Section{ID: "ends", Title: "How ranks ended", Sub: true}
	if len(s.Ends) > 0 {
		out.List(groupList("without MPI_Finalize, in order of ending:", groupEnds(s.Ends)))
		deadlocks(&out, s.Deadlocks)
		out.Detail(func() { out.Add(endTable(s.Ends)) })
	}
	return out
}

// groupList lists groups of processes, each with the calls that they are in.
func groupList(head string, groups []endGroup) Listing {
	l := Listing{Head: head, Limit: mostEnds}
	n := 0
	for i, g := range groups {
		l.Items = append(l.Items, g.item())
		if i >= mostEnds {
			n += len(g)
		}
	}
	if n > 0 {
		l.More = fmt.Sprintf("%s in %s", text.CountOf(n, "more process"), text.CountOf(len(groups)-mostEnds, "more place"))
	}
	return l
}

// item returns the ranks of a group and how they ended, with an item for each call that they
// were in.
func (g endGroup) item() ListItem {
	first := g[0]
	out := ListItem{Text: fmt.Sprintf("%s: %s", g.who(), endText(first))}
	if first.EndedS != 0 {
		out.Text += " at " + g.seconds(func(e *aggregate.End) float64 { return e.EndedS })
	}
	if len(first.Calls) == 0 {
		out.Text += ", outside MPI; the last call returned " + g.lastCall()
	}
	for i := range first.Calls {
		call := ListItem{Text: g.callText(i)}
		if site := first.Calls[i].Callsite; site != nil {
			call.Callers = labels(site.Callers)
		}
		out.Items = append(out.Items, call)
	}
	if slices.ContainsFunc(first.Calls, func(c aggregate.UnfinishedCall) bool { return c.Requests > 0 }) {
		last := &out.Items[len(out.Items)-1]
		last.Items = append(last.Items, g.receives()...)
	}
	return out
}

// who returns the ranks of a group. If no process of the group had a rank when
// it ended, it returns their number.
func (g endGroup) who() string {
	if ranks := g.ranks(); ranks.Len() > 0 {
		return ranks.String()
	}
	return text.CountOf(len(g), "process") + " without a rank"
}

func (g endGroup) ranks() profile.RankSet {
	var ranks []int
	for _, e := range g {
		if e.Rank >= 0 {
			ranks = append(ranks, e.Rank)
		}
	}
	return profile.RankSetOf(ranks...)
}

// seconds returns a time since the start of the job, or the range of several.
func (g endGroup) seconds(of func(*aggregate.End) float64) string {
	low, high := g.extremes(of)
	if from, to := fmt.Sprintf("%.3f", low), fmt.Sprintf("%.3f", high); from != to {
		return from + " to " + to + " s"
	}
	return fmt.Sprintf("%.3f s", low)
}

func (g endGroup) extremes(of func(*aggregate.End) float64) (low, high float64) {
	low, high = of(g[0]), of(g[0])
	for _, e := range g {
		low, high = min(low, of(e)), max(high, of(e))
	}
	return low, high
}

// spread returns a duration, or the range from the shortest to the longest.
func (g endGroup) spread(of func(*aggregate.End) float64) string {
	low, high := g.extremes(of)
	from, to := seconds(low), seconds(high)
	if from == to {
		return to
	}
	number, unit, _ := strings.Cut(from, " ")
	if strings.HasSuffix(to, " "+unit) {
		from = number
	}
	return from + " to " + to
}

func (g endGroup) lastCall() string {
	if g[0].State.Runs() {
		return g.spread(func(e *aggregate.End) float64 { return max(0, e.AliveS-e.LastCallS) }) + " ago"
	}
	return "at " + g.seconds(func(e *aggregate.End) float64 { return e.LastCallS })
}

// callText describes the i-th call of each process of a group: "MPI_Recv from 1 in
// MPI_COMM_WORLD, up to 8 B, at exchange ring.c:40, for 12.3 s".
func (g endGroup) callText(i int) string {
	c := &g[0].Calls[i]
	words := g.callWords(i) + g.bytesText(i)
	if len(g[0].Calls) > 1 || c.Thread > 0 {
		words = fmt.Sprintf("thread %d in %s", c.Thread, words)
	}
	if c.Callsite != nil {
		words += ", at " + c.Callsite.Label
	}
	words += g.howLong(i)
	if c.Absent != "" {
		words += "; not there: " + c.Absent
	}
	return words
}

// callWords names the i-th call of each process of a group, its peers, requests and
// communicator.
func (g endGroup) callWords(i int) string {
	c := &g[0].Calls[i]
	words := "MPI_" + c.Call
	if c.ErrorCode != nil {
		words += fmt.Sprintf("(%d)", *c.ErrorCode)
	}
	if whom := g.whom(func(e *aggregate.End) string { return peerText(&e.Calls[i]) }); whom != "" {
		words += " " + whom
	}
	if c.Requests > 0 {
		words += " of " + g.requestsText(i)
	}
	if c.Communicator != "" {
		words += " in " + c.Communicator
	}
	return words
}

func (g endGroup) requestsText(i int) string {
	low, high := g.extremes(func(e *aggregate.End) float64 { return float64(e.Calls[i].Requests) })
	words := text.CountOf(uint64(high), "request")
	if low != high {
		words = text.Count(uint64(low)) + " to " + words
	}
	return words
}

// bytesText returns the size of the largest message; empty if the size of any
// is not known.
func (g endGroup) bytesText(i int) string {
	most, same := uint64(0), true
	for _, e := range g {
		bytes := e.Calls[i].Bytes
		if bytes == nil {
			return ""
		}
		same = same && *bytes == *g[0].Calls[i].Bytes
		most = max(most, *bytes)
	}
	if most == 0 && g[0].Calls[i].Collective() {
		return ""
	}
	if !same || g[0].Calls[i].Direction == profile.Recv.String() {
		return ", up to " + text.Bytes(most)
	}
	return ", " + text.Bytes(most)
}

func (g endGroup) howLong(i int) string {
	since := func(e *aggregate.End) float64 { return e.Calls[i].SinceS }
	long := func(e *aggregate.End) float64 { return e.Calls[i].ForS }
	switch low, _ := g.extremes(long); {
	case low > 0 && g[0].State == profile.EndUnknown:
		return ", for " + g.spread(long) + " if still there"
	case low > 0:
		return ", for " + g.spread(long)
	case since(g[0]) > 0 && g[0].State.Runs():
		return ", just now"
	case since(g[0]) > 0:
		return ", since " + g.seconds(since)
	}
	return ""
}

// peerWord returns the role of the peer in the call, such as "from" or "root".
func peerWord(c *aggregate.UnfinishedCall) string {
	class, _ := profile.ParseClass(c.Class)
	switch {
	case class == profile.P2P && c.Direction == profile.Send.String():
		return "to"
	case class == profile.P2P:
		return "from"
	case class == profile.OneToAll || class == profile.AllToOne:
		return "root"
	}
	return "target"
}

// peerText returns, for example, "from 1" or "to 2 (world rank 5) from any source".
func peerText(c *aggregate.UnfinishedCall) string {
	var to, from string
	switch {
	case c.Peer == profile.PeerAnySource:
		to = "from any source"
	case c.Peer >= 0:
		to = peerWord(c) + " " + peerRank(c.Peer, c.WorldPeer)
	}
	switch {
	case c.Source == profile.PeerAnySource:
		from = "from any source"
	case c.Source >= 0:
		from = "from " + peerRank(c.Source, c.WorldSource)
	}
	return strings.TrimSpace(to + " " + from)
}

// peerRank returns a rank in the communicator, with the world rank if it
// differs.
func peerRank(rank, world int) string {
	if world >= 0 && world != rank {
		return fmt.Sprintf("%d (world rank %d)", rank, world)
	}
	return fmt.Sprint(rank)
}

// whom returns the text that of returns for all processes of a group. If the texts differ, it
// returns them in brackets with their ranks: "(0 from 1, 1 from 0)".
func (g endGroup) whom(of func(*aggregate.End) string) string {
	words := of(g[0])
	if !slices.ContainsFunc(g, func(e *aggregate.End) bool { return of(e) != words }) {
		return words
	}
	byRank := slices.SortedFunc(slices.Values(g), func(a, b *aggregate.End) int { return cmp.Compare(a.Rank, b.Rank) })
	var parts []string
	for _, e := range byRank[:min(len(byRank), mostWhom)] {
		parts = append(parts, fmt.Sprintf("%d %s", e.Rank, cmp.Or(of(e), unknown)))
	}
	if len(byRank) > mostWhom {
		parts = append(parts, "…")
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// receives returns the open receives by the call site that posted them.
func (g endGroup) receives() (items []ListItem) {
	type posted struct{ call, communicator, site string }
	var order []posted
	of := map[posted]map[*aggregate.End][]string{}
	for _, e := range g {
		for i := range e.OpenReceives {
			r := &e.OpenReceives[i]
			at := posted{r.Call, r.Communicator, ""}
			if r.Callsite != nil {
				at.site = r.Callsite.Label
			}
			if of[at] == nil {
				of[at] = map[*aggregate.End][]string{}
				order = append(order, at)
			}
			of[at][e] = append(of[at][e], receiveText(r))
		}
	}
	for _, at := range order {
		whom := g.whom(func(e *aggregate.End) string { return strings.Join(of[at][e], ", ") })
		words := "open receives"
		if strings.HasPrefix(whom, "(") {
			words += " " + whom
		} else {
			words += ": " + whom
		}
		if at.call != "" {
			words += "; posted by MPI_" + at.call
		}
		if at.communicator != "" {
			words += " in " + at.communicator
		}
		if at.site != "" {
			words += ", at " + at.site
		}
		items = append(items, ListItem{Text: words})
	}
	return items
}

// receiveText returns, for example, "from 3", or "2 from 3" for two receives.
func receiveText(r *aggregate.OpenReceive) string {
	var from string
	switch {
	case r.Peer == profile.PeerAnySource:
		from = "from any source"
	case r.Peer >= 0:
		from = "from " + peerRank(r.Peer, r.WorldPeer)
	}
	if r.Count == 1 && from != "" {
		return from
	}
	return strings.TrimSpace(text.Count(r.Count) + " " + from)
}

// deadlocks adds a sentence for each cycle of ranks that wait for each other.
func deadlocks(out *Section, rings [][]int) {
	for _, ring := range rings[:min(len(rings), mostRings)] {
		out.Toned(Bad, "deadlock: "+ringText(ring))
	}
	if more := len(rings) - mostRings; more > 0 {
		out.Say("and " + text.CountOf(more, "more deadlock"))
	}
}

func ringText(ring []int) string {
	switch len(ring) {
	case 1:
		return fmt.Sprintf("rank %d waits for itself", ring[0])
	case 2:
		return fmt.Sprintf("ranks %d and %d wait for each other", ring[0], ring[1])
	}
	words := fmt.Sprintf("rank %d", ring[0])
	for _, rank := range ring[1:min(len(ring), 2*mostWhom)] {
		words += fmt.Sprintf(" waits for %d, which", rank)
	}
	if len(ring) > 2*mostWhom {
		return words + fmt.Sprintf(" waits in a ring of %d ranks", len(ring))
	}
	return words + fmt.Sprintf(" waits for %d", ring[0])
}

// endTable returns the processes that did not finalize, each in a row.
func endTable(ends []aggregate.End) *Table {
	type R = aggregate.End
	t := tableOf("ends", ends[:min(len(ends), mostEndRows)],
		col("rank", "rank", Rank, func(e *R) Cell {
			if e.Rank < 0 {
				return wordsCell("none")
			}
			return rankCell(e.Rank)
		}),
		col("end", "end", Words, func(e *R) Cell { return wordsCell(endText(e)) }),
		col("at_s", "at", Number, func(e *R) Cell {
			if e.EndedS == 0 {
				return missing
			}
			return Cell{fmt.Sprintf("%.3f s", e.EndedS), e.EndedS}
		}),
		col("in", "in", Words, func(e *R) Cell {
			var calls []string
			for i := range e.Calls {
				calls = append(calls, endGroup{e}.callText(i))
			}
			return wordsCell(cmp.Or(strings.Join(calls, "; "), "outside MPI"))
		}),
		col("host", "host", Words, func(e *R) Cell { return wordsCell(e.Host) }),
		col("process", "process", Rank, func(e *R) Cell { return rankCell(e.Pid) }),
	).named("processes without MPI_Finalize, in order of ending")
	t.Rest, t.Noun = len(ends)-len(t.Rows), "process"
	return t
}
