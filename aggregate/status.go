package aggregate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
)

// JobStatus is the MPI call that each process of a job is in at one moment. Times are in seconds.
type JobStatus struct {
	Run       string  `json:"run"`
	Program   string  `json:"program"`
	AgeS      float64 `json:"age_s"` // since the first process began; 0 if none is seen running
	Expected  int     `json:"ranks_expected"`
	Recorded  int     `json:"ranks_recorded"`
	Finalized int     `json:"ranks_finalized"`
	Running   int     `json:"processes_running"` // that were seen
	Stopped   int     `json:"processes_stopped"` // that were seen, and do not go on
	Ended     int     `json:"processes_ended"`   // without MPI_Finalize
	Unknown   int     `json:"processes_unknown"` // on other nodes, or of another user
	Missing   string  `json:"missing,omitempty"` // ranks that nothing is recorded of

	Processes []End   `json:"processes"` // that did not finalize, the first that ended first
	Deadlocks [][]int `json:"deadlocks"` // rings of ranks in which each waits for the next
}

// Status returns the MPI call each process is in. profile.Exit says which of them were seen
// running, and when.
func (j *Job) Status() *JobStatus {
	start := j.Start()
	s := &JobStatus{Run: j.Run, Program: programOf(j.ordered()), Expected: j.Size(), Recorded: len(j.Recorded()), Finalized: len(j.finalized()),
		AgeS: elapsed(start, j.ends.now()), Processes: j.ends.ends(start), Deadlocks: j.deadlocks()}
	if missing := j.Missing(); missing.Len() > 0 {
		s.Missing = missing.String()
	}
	for i := range s.Processes {
		switch s.Processes[i].State {
		case EndRunning:
			s.Running++
		case EndStopped:
			s.Stopped++
		case EndUnknown:
			s.Unknown++
		default:
			s.Ended++
		}
	}
	return s
}

// Text writes them for people to read on a terminal: the longest wait first.
func (s *JobStatus) Text(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	b.WriteString(o.clean(s.Program))
	if s.Expected > 0 { // a process in MPI_Init does not know yet
		fmt.Fprintf(b, " on %s", CountOf(uint64(s.Expected), "rank"))
	}
	fmt.Fprintf(b, ", run %s", o.clean(s.Run))
	if s.AgeS > 0 {
		fmt.Fprintf(b, ", begun %s ago", o.seconds(s.AgeS))
	}
	fmt.Fprintf(b, ": %s\n", s.countsText())
	if s.Missing != "" {
		fmt.Fprintf(b, "  %s: no recording here\n", s.Missing)
	}
	groups := groupEnds(s.Processes)
	slices.SortStableFunc(groups, func(a, b endGroup) int {
		return cmp.Or(cmp.Compare(a.rest(), b.rest()), cmp.Compare(b.longest(), a.longest()))
	})
	o.groupsText(b, groups)
	o.deadlocksText(b, s.Deadlocks)
	return b.Flush()
}

// countsText is "3 running, 1 ended".
func (s *JobStatus) countsText() string {
	var text string
	for _, c := range []struct {
		n    int
		what string
	}{{s.Running, "running"}, {s.Stopped, "stopped"}, {s.Unknown, "not finalized and not seen from here"},
		{s.Ended, "ended without MPI_Finalize"}, {s.Finalized, "finalized"}} {
		if c.n > 0 {
			if text != "" {
				text += ", "
			}
			text += count(uint64(c.n)) + " " + c.what
		}
	}
	return cmp.Or(text, "no process has a rank")
}

// rest puts what ended or is stopped before what waits, and this before what
// does not.
func (g endGroup) rest() int {
	switch {
	case g[0].State != EndRunning && g[0].State != EndUnknown:
		return 0
	case len(g[0].Calls) > 0:
		return 1
	}
	return 2
}

// longest is how long the first of them has been where it is, in tenths of a
// second: less is no difference. What ended is in order.
func (g endGroup) longest() float64 {
	if g.rest() == 0 {
		return 0
	}
	_, wait := g.extremes(func(e *End) float64 {
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
