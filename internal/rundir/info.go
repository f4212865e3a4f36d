package rundir

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Info is what run.json holds.
type Info struct {
	Version    string    `json:"mpitrace"`              // of mpitrace, which wrote it
	Command    []string  `json:"command,omitempty"`     // as the user gave it
	Launched   []string  `json:"launched,omitempty"`    // as it was run
	Directory  string    `json:"directory,omitempty"`   // where it was run
	Host       string    `json:"host,omitempty"`        // on which node
	MPI        any       `json:"mpi,omitempty"`         // the MPI that was found
	Library    string    `json:"library,omitempty"`     // that was preloaded
	Spool      string    `json:"spool,omitempty"`       // where the recordings of this node were mapped
	Start      time.Time `json:"start,omitzero"`        //
	WallNs     int64     `json:"wall_ns,omitempty"`     // from starting the command to its end
	ExitStatus *int      `json:"exit_status,omitempty"` // of the command; absent if it was not waited for
	Jobs       []JobInfo `json:"jobs"`                  // by start time
}

// JobInfo describes an MPI job of the run.
type JobInfo struct {
	Run      string `json:"run"`      // the value of column `run` in the Arrow files
	Program  string `json:"program"`  // the stem of the job's file names
	Size     int    `json:"size"`     // of MPI_COMM_WORLD, as far as it is known
	Recorded int    `json:"recorded"` // processes
	StartNs  int64  `json:"start_ns"` // Unix time
}

// ReadInfo reads run.json. Without one it is empty: a run that nobody waited
// for has none. With an error it is empty, too, and not nil: what was recorded
// can be read without it.
func (d Dir) ReadInfo() (*Info, error) {
	info := new(Info)
	b, err := os.ReadFile(d.Info())
	if os.IsNotExist(err) {
		return info, nil
	}
	if err == nil {
		err = json.Unmarshal(b, info)
	}
	if err != nil {
		return new(Info), fmt.Errorf("read %s: %w", d.Info(), err)
	}
	return info, nil
}

// WriteInfo writes run.json.
func (d Dir) WriteInfo(info *Info) error {
	return writeFile(d.Info(), func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(info)
	})
}
