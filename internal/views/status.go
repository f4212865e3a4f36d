package views

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Status returns the section of the MPI call that each process of a job is in, the longest
// wait first.
func Status(s *aggregate.JobStatus) []Section {
	out := Section{ID: "status", Title: "What ranks are doing"}
	out.listUnder(statusHead(s), statusGroups(s))
	deadlocks(&out, s.Deadlocks)
	return Finish(out)
}

// listUnder adds a list under a sentence, which is there without items, too.
func (s *Section) listUnder(head string, l Listing) {
	if l.Head = head; len(l.Items) == 0 {
		s.Say(head)
	}
	s.List(l)
}

// statusHead says what job it is and how many processes run.
func statusHead(s *aggregate.JobStatus) string {
	words := s.Programs.String()
	if s.Expected > 0 && !s.Programs.Several() { // 0: the size is not known before MPI_Init returns
		words += fmt.Sprintf(" on %s", text.CountOf(s.Expected, "rank"))
	}
	words += ", run " + s.Run
	if s.AgeS > 0 {
		words += fmt.Sprintf(", begun %s ago", seconds(s.AgeS))
	}
	return words + ": " + countsText(s)
}

// statusGroups lists the calls of the processes, after those that are not seen from here.
func statusGroups(s *aggregate.JobStatus) Listing {
	l := groupList("", sortedGroups(s.Processes))
	if s.Missing != "" {
		l.Items = slices.Insert(l.Items, 0, ListItem{Text: s.Missing + ": no recording here"})
		l.Limit++
	}
	return l
}

// sortedGroups returns groups of processes: those that ended, then those that wait longest.
func sortedGroups(processes []aggregate.End) []endGroup {
	groups := groupEnds(processes)
	slices.SortStableFunc(groups, func(a, b endGroup) int {
		return cmp.Or(cmp.Compare(a.rest(), b.rest()), cmp.Compare(b.longest(), a.longest()))
	})
	return groups
}

// countsText returns, for example, "3 running, 1 finalized".
func countsText(s *aggregate.JobStatus) string {
	var words string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Running, "running"}, {s.Stopped, "stopped"}, {s.Unknown, "not finalized and not visible from here"},
		{s.Ended, "ended without MPI_Finalize"}, {s.Finalized, "finalized"}} {
		if c.n > 0 {
			if words != "" {
				words += ", "
			}
			words += text.Count(c.n) + " " + c.what
		}
	}
	return cmp.Or(words, "no process has a rank")
}

// rest returns a sort key: processes that ended or are stopped come first, then those that
// are in MPI, then the others.
func (g endGroup) rest() int {
	switch {
	case g[0].State != profile.EndRunning && g[0].State != profile.EndUnknown:
		return 0
	case len(g[0].Calls) > 0:
		return 1
	}
	return 2
}

// longest returns how long the process that has waited longest has been in its
// call, or outside MPI since its last call, in tenths of a second. It is 0 for
// processes that ended or are stopped, which stay in their order.
func (g endGroup) longest() float64 {
	if g.rest() == 0 {
		return 0
	}
	_, wait := g.extremes(func(e *aggregate.End) float64 {
		if len(e.Calls) == 0 {
			return e.AliveS - e.LastCallS
		}
		longest := 0.0
		for i := range e.Calls {
			longest = max(longest, e.Calls[i].ForS)
		}
		return longest
	})
	return math.Round(10 * wait)
}
