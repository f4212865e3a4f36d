package report

import (
	"cmp"
	"io"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Status prints the MPI call each process of a job is in, the longest wait first.
func Status(w io.Writer, s *aggregate.JobStatus, options Options) error {
	o := newOutput(w, options, 0)
	o.statusHead(s)
	o.statusGroups(s)
	o.deadlocksText(s.Deadlocks)
	return o.Flush()
}

// statusHead prints what job it is and how many processes run.
func (o *printer) statusHead(s *aggregate.JobStatus) {
	o.printf("%s", o.clean(s.Program))
	if s.Expected > 0 { // 0: the size is not known before MPI_Init returns
		o.printf(" on %s", text.CountOf(s.Expected, "rank"))
	}
	o.printf(", run %s", o.clean(s.Run))
	if s.AgeS > 0 {
		o.printf(", begun %s ago", o.seconds(s.AgeS))
	}
	o.printf(": %s\n", countsText(s))
	if s.Missing != "" {
		o.printf("  %s: no recording here\n", s.Missing)
	}
}

// statusGroups prints the calls of the processes.
func (o *printer) statusGroups(s *aggregate.JobStatus) {
	groups := groupEnds(s.Processes)
	slices.SortStableFunc(groups, func(a, b endGroup) int {
		return cmp.Or(cmp.Compare(a.rest(), b.rest()), cmp.Compare(b.longest(), a.longest()))
	})
	o.groupsText(groups)
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
