package aggregate

import "github.com/mpitrace/mpitrace/profile"

// JobStatus holds the MPI call that each process of a job is in at one moment.
// Times are in seconds.
type JobStatus struct {
	Run       string  `json:"run"`
	Program   string  `json:"program"`
	AgeS      float64 `json:"age_s"` // time since the first process began; 0 if no process was seen running
	Expected  int     `json:"ranks_expected"`
	Recorded  int     `json:"ranks_recorded"`
	Finalized int     `json:"ranks_finalized"`
	Running   int     `json:"processes_running"` // seen running
	Stopped   int     `json:"processes_stopped"` // seen stopped by a signal or a debugger
	Ended     int     `json:"processes_ended"`   // ended without MPI_Finalize
	Unknown   int     `json:"processes_unknown"` // not checked: on other nodes, or of another user
	Missing   string  `json:"missing,omitempty"` // ranks without a recording

	Processes []End   `json:"processes"` // processes that did not finalize, in order of ending
	Deadlocks [][]int `json:"deadlocks"` // cycles of ranks in which each waits for the next
}

// Status returns the MPI call that each process is in. Profile.Exit must hold
// which processes were seen running, and when.
func (j *Job) Status() *JobStatus {
	start := j.Start()
	s := &JobStatus{Run: j.Run, Program: programOf(j.ordered()), Expected: j.Size(), Recorded: len(j.Recorded()), Finalized: len(j.finalized()),
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
