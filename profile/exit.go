package profile

// Exit is how a process ended, as seen from outside. `mpitrace run` observes
// the processes of its own node.
type Exit struct {
	At     int64 `json:"at,omitempty"`     // Unix ns when the process ended, 0 if not observed
	Known  bool  `json:"known,omitempty"`  // whether Status or Signal is known
	Status int   `json:"status,omitempty"` // exit status, if the process was not killed by a signal
	Signal int   `json:"signal,omitempty"` // signal that killed the process, 0 if none

	Alive int64 `json:"alive,omitempty"` // Unix ns when the process was last seen running, 0 if not observed or if it had ended
	Gone  bool  `json:"gone,omitempty"`  // whether it has ended, even if the time is not known

	Stopped bool `json:"stopped,omitempty"` // whether a signal or a debugger had stopped it when it was last seen running
}

// EndState is what is known of the end of a process that did not finalize.
type EndState string

const (
	EndKilled  EndState = "killed"  // by a signal
	EndExited  EndState = "exited"  // with a status
	EndGone    EndState = "ended"   // in an unknown way
	EndRunning EndState = "running" // it has not ended
	EndStopped EndState = "stopped" // it has not ended, but a signal or a debugger has stopped it
	EndUnknown EndState = "unknown" // it was not looked for, or cannot be seen from another namespace of process ids
)

// Runs reports whether the process has not ended.
func (s EndState) Runs() bool { return s == EndRunning || s == EndStopped }

// State returns what is known of the end.
func (e Exit) State() EndState {
	switch {
	case e.Known && e.Signal != 0:
		return EndKilled
	case e.Known:
		return EndExited
	case e.At != 0 || e.Gone:
		return EndGone
	case e.Alive != 0 && e.Stopped:
		return EndStopped
	case e.Alive != 0:
		return EndRunning
	}
	return EndUnknown
}
