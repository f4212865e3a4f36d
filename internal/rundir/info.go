package rundir

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Info is the content of run.json.
type Info struct {
	Version          string           `json:"mpitrace"`                   // version of the mpitrace that wrote it
	Command          []string         `json:"command,omitempty"`          // as the user gave it
	Launched         []string         `json:"launched_command,omitempty"` // as it was executed
	WorkingDirectory string           `json:"working_directory,omitempty"`
	Host             string           `json:"host,omitempty"`      // node on which the command was started
	Batch            *BatchJob        `json:"batch_job,omitempty"` // that the command belongs to; nil if there is none
	MPI              any              `json:"mpi,omitempty"`       // the MPI that was detected
	Library          string           `json:"library,omitempty"`   // path of the preloaded library
	Spool            string           `json:"spool,omitempty"`     // directory in which this node's recordings were mapped
	Settings         []ChangedSetting `json:"settings,omitempty"`  // that differ from their defaults
	// control variables that differ from their defaults in the command's environment
	CVars      []TunedCVar `json:"cvars,omitempty"`
	Start      time.Time   `json:"start,omitzero"`        //
	WallNs     int64       `json:"wall_ns,omitempty"`     // ns from the command's start to its end
	ExitStatus *int        `json:"exit_status,omitempty"` // of the command; absent if mpitrace did not wait for it
	Jobs       []JobInfo   `json:"jobs"`                  // ordered by start time

	// Processes are the processes of this node that failed or ended without a
	// complete recording, in order of ending.
	Processes []Process `json:"processes,omitempty"`
	// WrongMPI lists programs that were not recorded because they use another
	// MPI than the library was built for.
	WrongMPI []WrongMPI `json:"wrong_mpi,omitempty"`
	// UnfinishedTraces maps recordings whose event files were kept to the
	// number of events that were converted. Their processes may still be
	// running, or some events are damaged.
	UnfinishedTraces map[string]uint64 `json:"unfinished_traces,omitempty"`
	// Uncollected are recordings that are not in the run directory yet, or
	// whose processes are still running. Each is "host:path" of a recording or
	// of a spool.
	Uncollected []string `json:"uncollected,omitempty"`
	// Lost are the file names of recordings of this node that were deleted
	// before they were collected.
	Lost []string `json:"lost,omitempty"`
	// TracedEvents counts the events in all trace.*.arrow files; nil if there
	// are none.
	TracedEvents *TracedEvents `json:"traced_events,omitempty"`
}

// BatchJob is a job of a batch system, as its environment variables describe it. Texts are empty
// if they are not known.
type BatchJob struct {
	System     string `json:"system"` // Slurm, PBS, LSF, Flux or Cobalt
	ID         string `json:"id"`
	Step       string `json:"step,omitempty"`
	ArrayIndex string `json:"array_index,omitempty"`
	Partition  string `json:"partition,omitempty"` // or queue
	Nodes      string `json:"nodes,omitempty"`     // list of their names, as the system writes it
}

// TracedEvents counts the events of a run.
type TracedEvents struct {
	Processes int    `json:"processes"`         // number of traced processes
	Written   uint64 `json:"written"`           // number of events in the traces
	Dropped   uint64 `json:"dropped"`           // number of events lost because of a full disk, --trace-limit, --trace-buffer or --keep
	NoRoom    uint64 `json:"no_room,omitempty"` // of Dropped: events of processes that ran out of space
}

// TunedCVar is a control variable of the MPI whose value differs from its default.
type TunedCVar struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

// ChangedSetting is a setting that differs from its default, and where it was set.
type ChangedSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`           // a settings.Origin
	SetBy  string `json:"set_by,omitempty"` // such as --timing, MPITRACE_TIMING or FILE:LINE
}

// Process is a recorded process and its observed end.
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
	Recording string    `json:"recording"` // file name of its recording
	Ended     time.Time `json:"ended"`
	Status    *int      `json:"status,omitempty"` // exit status, if known
	Signal    int       `json:"signal,omitempty"` // signal that killed it, if any
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

// Exits returns how processes ended, by the file names of their recordings.
func (i *Info) Exits() map[string]profile.Exit {
	exits := make(map[string]profile.Exit, len(i.Processes))
	for _, p := range i.Processes {
		exits[p.Recording] = p.Exit
	}
	return exits
}

// JobInfo describes an MPI job of the run.
type JobInfo struct {
	Run      string `json:"run"`               // value of the column `run` in the Arrow files
	Program  string `json:"program"`           // start of the job's file names
	Size     int    `json:"size"`              // size of MPI_COMM_WORLD, as far as known
	Recorded int    `json:"recorded"`          // number of processes with a recording
	StartNs  int64  `json:"start_ns"`          // Unix time
	Library  string `json:"library,omitempty"` // version string of the MPI
	// Programs are the programs of a job that has several, by file name, in the order of their
	// lowest ranks.
	Programs text.ProgramList `json:"programs,omitempty"`

	// Variables are the MPI's control variables that mpitrace or the
	// environment sets, including those of the launcher, as recorded by rank 0.
	Variables []profile.Variable `json:"variables,omitempty"`
}

// maxInfo is the size in bytes of the largest run.json that is read. The file has about 100 bytes
// for each process that was traced or failed. A file that is made to do harm can take 40 times its
// size in memory, so a file of another user may only have maxForeignInfo bytes.
const (
	maxInfo        = 256 << 20
	maxForeignInfo = 8 << 20
)

// ReadInfo reads run.json. If there is none, because no `mpitrace run` waited for the run or
// because the path is empty (files outside a run directory), it returns an empty Info. The Info is
// also empty, not nil, if there is an error, because the recordings can be read without it.
func (d Dir) ReadInfo() (*Info, error) {
	info := new(Info)
	if d == "" {
		return info, nil
	}
	limit := int64(maxInfo)
	if d.Foreign() != nil {
		limit = maxForeignInfo
	}
	b, err := atomicfile.Read(d.Info(), limit)
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

// WrongMPI returns the programs that were not recorded because they use another
// MPI than the library was built for. If the job is still running, there may be
// more later.
func (d Dir) WrongMPI() []WrongMPI {
	info, _ := d.ReadInfo() // if it cannot be read, there is no spool
	if found := WrongMPIs(d.Recordings()); len(found) > 0 || info.spool() == "" {
		return found
	}
	return WrongMPIs(info.spool())
}

// WriteInfo writes run.json.
func (d Dir) WriteInfo(info *Info) error {
	return atomicfile.Write(d.Info(), func(w io.Writer) error { return text.WriteJSON(w, info) })
}

// Flavour is a family of MPI libraries with the same ABI: the same handles and
// constants.
type Flavour string

const (
	OpenMPI     Flavour = "openmpi"
	MPICH       Flavour = "mpich"
	IntelMPI    Flavour = "intelmpi"
	MVAPICH     Flavour = "mvapich"
	StandardABI Flavour = "mpi-abi" // the ABI of MPI 5.0, in any implementation
	Unknown     Flavour = "mpi"
)

var titles = map[Flavour]string{OpenMPI: "Open MPI", MPICH: "MPICH", IntelMPI: "Intel MPI",
	MVAPICH: "MVAPICH", StandardABI: "MPI with the standard ABI", Unknown: "MPI"}

// Title returns the flavour's name for messages.
func (f Flavour) Title() string { return titles[f] }

// MPIName returns the name of the MPI that was detected for the command.
func (i *Info) MPIName() string {
	found, _ := i.MPI.(map[string]any)
	flavour, _ := found["flavour"].(string)
	version, _ := found["version"].(string)
	return strings.TrimSpace(Flavour(flavour).Title() + " " + version)
}
