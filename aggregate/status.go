package aggregate

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// JobStatus holds the MPI call that each process of a job is in at one moment.
// Times are in seconds.
type JobStatus struct {
	Run       string   `json:"run"`
	Program   string   `json:"program"` // of the lowest rank
	Programs  Programs `json:"programs"`
	AgeS      float64  `json:"age_s"` // time since the first process began; 0 if no process was seen running
	Expected  int      `json:"ranks_expected"`
	Recorded  int      `json:"ranks_recorded"`
	Finalized int      `json:"ranks_finalized"`
	Running   int      `json:"processes_running"` // seen running
	Stopped   int      `json:"processes_stopped"` // seen stopped by a signal or a debugger
	Ended     int      `json:"processes_ended"`   // ended without MPI_Finalize
	Unknown   int      `json:"processes_unknown"` // not visible from here: on other nodes, in another namespace of process ids, or of another user
	Missing   string   `json:"missing,omitempty"` // ranks without a recording

	Processes []End   `json:"processes"` // processes that did not finalize, in order of ending
	Deadlocks [][]int `json:"deadlocks"` // cycles of ranks in which each waits for the next
}

// Status returns the MPI call that each process is in. Profile.Exit must hold
// which processes were seen running, and when.
func (j *Job) Status() *JobStatus {
	start := j.Start()
	s := &JobStatus{Run: j.Run, Program: programOf(j.ordered()), Programs: j.programs(), Expected: j.Size(), Recorded: len(j.Recorded()), Finalized: len(j.finalized()),
		AgeS: elapsed(start, j.ends.now()), Processes: j.ends.ends(start), Deadlocks: j.deadlocks()}
	if missing := j.Missing(); missing.Len() > 0 {
		s.Missing = missing.String()
	}
	for i := range s.Processes {
		switch s.Processes[i].State {
		case profile.EndRunning:
			s.Running++
		case profile.EndStopped:
			s.Stopped++
		case profile.EndUnknown:
			s.Unknown++
		default:
			s.Ended++
		}
	}
	return s
}

// WaitsFor returns the ranks that the process waits for, as far as its open calls tell: "rank 1",
// "ranks 2-5", or "any rank" for a receive from MPI_ANY_SOURCE. A send or receive waits for its
// peer, and a collective for the members that have not entered it. A call that completes all
// requests of the process waits for the peers of its receives. The result is empty for a call that
// completes some of the requests, for other calls that do not tell whom they wait for, and for a
// process that ended or is outside MPI.
func (e *End) WaitsFor() string {
	if !e.State.Runs() && e.State != profile.EndUnknown {
		return ""
	}
	var ranks []int
	absent, any := "", false
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Absent != "" {
			absent = c.Absent
		}
		peers := c.peers(e.OpenReceives)
		any = any || slices.Contains(peers, profile.PeerAnySource)
		ranks = append(ranks, peers...)
	}
	ranks = slices.DeleteFunc(ranks, func(rank int) bool { return rank < 0 })
	switch {
	case len(ranks) > 0:
		return profile.RankSetOf(ranks...).String()
	case absent != "":
		return absent
	case any:
		return "any rank"
	}
	return ""
}

// peers returns the world ranks that have to act before a call with messages or windows can return.
// receives are the posted receives of the process.
func (c *UnfinishedCall) peers(receives []OpenReceive) []int {
	traits := profile.TraitsOf(c.Call)
	switch class, _ := profile.ParseClass(c.Class); {
	case c.Collective():
		return nil
	case c.Requests > 0:
		var out []int
		posted := uint64(0)
		for i := range receives {
			out = append(out, receives[i].WorldPeer)
			posted += receives[i].Count
		}
		if uint64(c.Requests) < posted {
			return nil
		}
		return out
	case class == profile.OneSided || traits.Any(profile.TraitBlocks):
		return []int{c.WorldPeer, c.WorldSource}
	}
	return nil
}
