package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Limits on what is printed about processes that did not finalize.
const (
	textEnds  = 12 // groups of processes
	textWhom  = 6  // processes in one line
	textRings = 4
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

// endsText prints how the processes that did not finalize ended. The process
// that ended first is likely to be the cause, and is printed first.
func (s *summaryText) endsText() {
	if len(s.Ends) == 0 {
		return
	}
	s.println("\nwithout MPI_Finalize, in order of ending:")
	s.groupsText(groupEnds(s.Ends))
	s.deadlocksText(s.Deadlocks)
}

func (o *printer) groupsText(groups []endGroup) {
	for _, g := range groups[:min(len(groups), textEnds)] {
		o.groupText(g)
	}
	if rest := groups[min(len(groups), textEnds):]; len(rest) > 0 {
		n := 0
		for _, g := range rest {
			n += len(g)
		}
		o.printf("  and %s in %s\n", text.CountOf(n, "more process"), text.CountOf(len(rest), "more place"))
	}
}

// groupText prints the ranks of a group and how they ended, and a line for each call that
// they were in.
func (o *printer) groupText(g endGroup) {
	first := g[0]
	line := fmt.Sprintf("  %s: %s", g.who(), endText(first))
	if first.EndedS != 0 {
		line += " at " + g.seconds(func(e *aggregate.End) float64 { return e.EndedS })
	}
	if len(first.Calls) == 0 {
		line += ", outside MPI; the last call returned " + o.lastCall(g)
	}
	o.println(line)
	for i := range first.Calls {
		o.printf("    %s\n", o.callText(g, i))
		if site := first.Calls[i].Callsite; site != nil {
			for _, line := range o.callers("     ", site.Callers) {
				o.println(line)
			}
		}
	}
	if slices.ContainsFunc(first.Calls, func(c aggregate.UnfinishedCall) bool { return c.Requests > 0 }) {
		o.receivesText(g)
	}
}

// who returns the ranks of a group. If no process of the group had a rank when
// it ended, it returns their number.
func (g endGroup) who() string {
	var ranks []int
	for _, e := range g {
		if e.Rank >= 0 {
			ranks = append(ranks, e.Rank)
		}
	}
	if len(ranks) == 0 {
		return text.CountOf(len(g), "process") + " without a rank"
	}
	return profile.RankSetOf(ranks...).String()
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
func (o *printer) spread(g endGroup, of func(*aggregate.End) float64) string {
	low, high := g.extremes(of)
	from, to := o.seconds(low), o.seconds(high)
	if from == to {
		return to
	}
	number, unit, _ := strings.Cut(from, " ")
	if strings.HasSuffix(to, " "+unit) {
		from = number
	}
	return from + " to " + to
}

func (o *printer) lastCall(g endGroup) string {
	if g[0].State.Runs() {
		return o.spread(g, func(e *aggregate.End) float64 { return max(0, e.AliveS-e.LastCallS) }) + " ago"
	}
	return "at " + g.seconds(func(e *aggregate.End) float64 { return e.LastCallS })
}

// callText describes the i-th call of each process of a group: "MPI_Recv from 1 in
// MPI_COMM_WORLD, up to 8 B, at exchange ring.c:40, for 12.3 s".
func (o *printer) callText(g endGroup, i int) string {
	c := &g[0].Calls[i]
	words := "MPI_" + o.clean(c.Call)
	if c.ErrorCode != nil {
		words += fmt.Sprintf("(%d)", *c.ErrorCode)
	}
	if len(g[0].Calls) > 1 || c.Thread > 0 {
		words = fmt.Sprintf("thread %d in %s", c.Thread, words)
	}
	if whom := o.whom(g, func(e *aggregate.End) string { return peerText(&e.Calls[i]) }); whom != "" {
		words += " " + whom
	}
	if c.Requests > 0 {
		words += " of " + g.requestsText(i)
	}
	if c.Communicator != "" {
		words += " in " + o.clean(c.Communicator)
	}
	words += g.bytesText(i)
	if c.Callsite != nil {
		words += ", at " + o.clean(c.Callsite.Label)
	}
	words += o.howLong(g, i)
	if c.Absent != "" {
		words += "; not there: " + c.Absent
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

func (o *printer) howLong(g endGroup, i int) string {
	since := func(e *aggregate.End) float64 { return e.Calls[i].SinceS }
	long := func(e *aggregate.End) float64 { return e.Calls[i].ForS }
	switch low, _ := g.extremes(long); {
	case low > 0 && g[0].State == profile.EndUnknown:
		return ", for " + o.spread(g, long) + " if still there"
	case low > 0:
		return ", for " + o.spread(g, long)
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
func (o *printer) whom(g endGroup, of func(*aggregate.End) string) string {
	words := of(g[0])
	if !slices.ContainsFunc(g, func(e *aggregate.End) bool { return of(e) != words }) {
		return words
	}
	byRank := slices.SortedFunc(slices.Values(g), func(a, b *aggregate.End) int { return cmp.Compare(a.Rank, b.Rank) })
	var parts []string
	for _, e := range byRank[:min(len(byRank), textWhom)] {
		parts = append(parts, fmt.Sprintf("%d %s", e.Rank, cmp.Or(of(e), o.none())))
	}
	if len(byRank) > textWhom {
		parts = append(parts, o.pick("…", "..."))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// receivesText prints the open receives by the call site that posted them.
func (o *printer) receivesText(g endGroup) {
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
		whom := o.whom(g, func(e *aggregate.End) string { return strings.Join(of[at][e], ", ") })
		words := "open receives"
		if strings.HasPrefix(whom, "(") {
			words += " " + whom
		} else {
			words += ": " + whom
		}
		if at.call != "" {
			words += "; posted by MPI_" + o.clean(at.call)
		}
		if at.communicator != "" {
			words += " in " + o.clean(at.communicator)
		}
		if at.site != "" {
			words += ", at " + o.clean(at.site)
		}
		o.printf("      %s\n", words)
	}
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

// deadlocksText prints a line for each cycle of ranks that wait for each other.
func (o *printer) deadlocksText(rings [][]int) {
	for _, ring := range rings[:min(len(rings), textRings)] {
		o.printf("deadlock: %s\n", ringText(ring))
	}
	o.more(len(rings)-textRings, "deadlock", "")
}

func ringText(ring []int) string {
	switch len(ring) {
	case 1:
		return fmt.Sprintf("rank %d waits for itself", ring[0])
	case 2:
		return fmt.Sprintf("ranks %d and %d wait for each other", ring[0], ring[1])
	}
	words := fmt.Sprintf("rank %d", ring[0])
	for _, rank := range ring[1:min(len(ring), 2*textWhom)] {
		words += fmt.Sprintf(" waits for %d, which", rank)
	}
	if len(ring) > 2*textWhom {
		return words + fmt.Sprintf(" waits in a ring of %d ranks", len(ring))
	}
	return words + fmt.Sprintf(" waits for %d", ring[0])
}
