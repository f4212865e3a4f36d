package run

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Info is what run.json holds.
type Info struct {
	Version          string    `json:"mpitrace"`                    // of mpitrace, which wrote it
	Command          []string  `json:"command,omitempty"`           // as the user gave it
	Launched         []string  `json:"launched_command,omitempty"`  // as it was run
	WorkingDirectory string    `json:"working_directory,omitempty"` // where it was run
	Host             string    `json:"host,omitempty"`              // on which node
	MPI              any       `json:"mpi,omitempty"`               // the MPI that was found
	Library          string    `json:"library,omitempty"`           // that was preloaded
	Spool            string    `json:"spool,omitempty"`             // where the recordings of this node were mapped
	Settings         []Setting `json:"settings,omitempty"`          // that were made
	CVars            []CVar    `json:"cvars,omitempty"`             // of the MPI, that differ from their defaults where the command was started
	Start            time.Time `json:"start,omitzero"`              //
	WallNs           int64     `json:"wall_ns,omitempty"`           // from starting the command to its end
	ExitStatus       *int      `json:"exit_status,omitempty"`       // of the command; absent if it was not waited for
	Jobs             []JobInfo `json:"jobs"`                        // by start time

	// Processes are those of this node that were seen to end without a complete
	// recording, or badly, the first first.
	Processes []Process `json:"processes,omitempty"`
	// WrongMPI is the programs that were not recorded, as they use another MPI than
	// the library was built for.
	WrongMPI []WrongMPI `json:"wrong_mpi,omitempty"`
	// UnfinishedTraces is how many events were written of recordings beside which they still
	// are: their processes may go on, or some of them are damaged.
	UnfinishedTraces map[string]uint64 `json:"unfinished_traces,omitempty"`
	// Uncollected are recordings that are not here yet, or of which more may
	// come: "host:path" of one, or of the spool with all that is in it.
	Uncollected []string `json:"uncollected,omitempty"`
	// Lost are recordings that processes of this node made and that somebody deleted
	// before they were brought home: the names of their files.
	Lost []string `json:"lost,omitempty"`
	// TracedEvents is what is in all trace.*.arrow; nil if there are none.
	TracedEvents *TracedEvents `json:"traced_events,omitempty"`
}

// TracedEvents counts the events of a run.
type TracedEvents struct {
	Processes int    `json:"processes"` // that were traced
	Written   uint64 `json:"written"`   // events that are in the traces
	Dropped   uint64 `json:"dropped"`   // events that had no room: a full disk, --trace-limit, --trace-buffer or --keep
}

// CVar is a control variable of the MPI that differs from its default.
type CVar struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

// Setting is one that was made for the run, and where.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`           // a settings.Source
	SetBy  string `json:"set_by,omitempty"` // --timing, MPITRACE_TIMING, FILE:LINE
}

// Process is a process that recorded, and how it was seen to end.
type Process struct {
	Host      string // where it ran; empty for this node
	Pid       int
	Recording string // name of its file
	Exit      profile.Exit
	Finalized bool // whether the recording was complete when the process ended; not in run.json
}

// processJSON is a Process in run.json.
type processJSON struct {
	Host      string    `json:"host"`
	Pid       int       `json:"pid"`
	Recording string    `json:"recording"`
	Ended     time.Time `json:"ended"`
	Status    *int      `json:"status,omitempty"` // exit status, if it is known
	Signal    int       `json:"signal,omitempty"` // that killed it, if one did
}

// MarshalJSON implements json.Marshaler.
func (p Process) MarshalJSON() ([]byte, error) {
	out := processJSON{Host: p.Host, Pid: p.Pid, Recording: p.Recording, Ended: time.Unix(0, p.Exit.At), Signal: p.Exit.Signal}
	if p.Exit.State() == profile.EndExited {
		out.Status = &p.Exit.Status
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Process) UnmarshalJSON(text []byte) error {
	var in processJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*p = Process{Host: in.Host, Pid: in.Pid, Recording: in.Recording,
		Exit: profile.Exit{At: in.Ended.UnixNano(), Known: in.Status != nil || in.Signal != 0, Signal: in.Signal}}
	if in.Status != nil {
		p.Exit.Status = *in.Status
	}
	return nil
}

// exits are the ends of processes by the names of their recordings.
func (i *Info) exits() map[string]profile.Exit {
	exits := make(map[string]profile.Exit, len(i.Processes))
	for _, p := range i.Processes {
		exits[p.Recording] = p.Exit
	}
	return exits
}

// JobInfo describes an MPI job of the run.
type JobInfo struct {
	Run      string `json:"run"`               // the value of column `run` in the Arrow files
	Program  string `json:"program"`           // the stem of the job's file names
	Size     int    `json:"size"`              // of MPI_COMM_WORLD, as far as it is known
	Recorded int    `json:"recorded"`          // processes
	StartNs  int64  `json:"start_ns"`          // Unix time
	Library  string `json:"library,omitempty"` // the MPI, as it names itself

	// Variables are the MPI's control variables that mpitrace was asked to set and
	// those that the environment sets, with the launcher's own, as rank 0 has them.
	Variables []profile.Variable `json:"variables,omitempty"`
}

// maxInfo is the largest run.json that is read: it names each process that was
// traced or that ended badly, in some 100 bytes.
const maxInfo = 256 << 20

// ReadInfo reads run.json. Without one it is empty: a run that nobody waited
// for has none. With an error it is empty, too, and not nil: what was recorded
// can be read without it.
func (d Dir) ReadInfo() (*Info, error) {
	info := new(Info)
	b, err := atomicfile.Read(d.Info(), maxInfo)
	if os.IsNotExist(err) {
		return info, nil
	}
	if err != nil {
		return new(Info), fmt.Errorf("read run: %w", err)
	}
	if err := json.Unmarshal(b, info); err != nil {
		return new(Info), fmt.Errorf("read %s: %w", d.Info(), err)
	}
	return info, nil
}

// WrongMPI returns the programs that were not recorded, as they use another MPI
// than the library was built for: so far, if the run goes on.
func (d Dir) WrongMPI() []WrongMPI {
	info, _ := d.ReadInfo() // without it nothing is in a spool
	if found := WrongMPIs(d.Recordings()); len(found) > 0 || info.Spool == "" {
		return found
	}
	return WrongMPIs(info.Spool)
}

// WriteInfo writes run.json.
func (d Dir) WriteInfo(info *Info) error {
	return atomicfile.Write(d.Info(), func(w io.Writer) error { return text.WriteJSON(w, info) })
}
