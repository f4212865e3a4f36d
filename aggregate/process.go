package aggregate

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/mpitrace/mpitrace/profile"
)

// process is what a job keeps of each process.
type process struct {
	RankTimes
	start            int64
	size             int // of its world, -1 if not known
	program, library string
	command          string          // argument vector, NUL between
	losses           *profile.Losses // nil if there are none
	unfollowed       bool            // see profile.Profile
	watched          string          // --watch-unexpected
	threads          int
	clocks           profile.ClockCheck
	intercepted      string        // by another tool, as a problem says it
	usage            profile.Usage // WallNs is 0 if it is not known
	settings         string        // those that were made: name=value, NUL between
}

// RankTimes is where a process ran, how it ended, and its times.
type RankTimes struct {
	Rank             int     `json:"rank"`
	Host             string  `json:"host"`
	Pid              int     `json:"pid"`
	State            string  `json:"state"`
	WallTimeS        float64 `json:"wall_time_s"`
	ApplicationTimeS float64 `json:"application_time_s"`
	MPITimeS         float64 `json:"mpi_time_s"`
	MPITimeErrorS    float64 `json:"mpi_time_error_s"` // standard error where MPITimeS is an estimate, else 0
	MPIShare         float64 `json:"mpi_share"`
	Timing           string  `json:"timing"` // profile.Timing

	Placement *profile.Placement `json:"placement,omitempty"` // nil if not known
	CPU       *profile.CPUShare  `json:"cpu,omitempty"`       // nil likewise
}

func processOf(p *profile.Profile) process {
	out := process{RankTimes: timesOf(p), start: p.Start, size: p.Size,
		program: shared(p.Name()), library: shared(p.LibraryLine()),
		command: shared(strings.Join(p.Command, "\x00")), unfollowed: p.Unfollowed,
		settings: shared(settingsLine(p)), watched: shared(watchedFor(p))}
	out.Host = shared(p.Host)
	out.threads, out.clocks, out.intercepted = p.Threads, p.Clocks, shared(interceptedText(p.Intercepted))
	if p.Placement != nil {
		at := *p.Placement
		at.Processors = shared(at.Processors)
		out.Placement = &at
	}
	out.usage, _ = profile.TotalUsage(p.Usage)
	out.CPU = profile.CPUShareOf([]profile.PlacedProcess{{Usage: out.usage}})
	if p.Losses.Any() {
		losses := p.Losses
		out.losses = &losses
	}
	return out
}

// shared is s itself, once for all processes that have it.
func shared(s string) string { return unique.Make(s).Value() }

// ordered are the processes by rank, and by start where a rank has several.
func (j *Job) ordered() []process {
	slices.SortFunc(j.processes, func(a, b process) int {
		return cmp.Or(
			cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.start, b.start),
			cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Pid, b.Pid))
	})
	return j.processes
}

func timesOf(p *profile.Profile) RankTimes {
	var inMPI Totals
	for i := range p.Rows {
		if !profile.SetsUp(p.Rows[i].Call) {
			inMPI.add(&p.Rows[i])
		}
	}
	t := RankTimes{Rank: p.Rank, Host: p.Host, Pid: p.Pid, State: p.State.String(), Timing: p.Timing.String(),
		MPITimeS: seconds(inMPI.TimeNs), MPITimeErrorS: inMPI.TimeVariance.StandardError() / 1e9}
	last := max(p.End, p.FinalizeStart, p.InitEnd)
	t.WallTimeS = elapsed(p.Start, last)
	if p.FinalizeStart != 0 {
		last = p.FinalizeStart
	}
	t.ApplicationTimeS = elapsed(p.InitEnd, last)
	if t.ApplicationTimeS > 0 {
		t.MPIShare = t.MPITimeS / (t.ApplicationTimeS * float64(max(p.Threads, 1)))
	}
	return t
}

// shareKnown is false where the share says nothing: no call was timed, the rank
// never left MPI_Init, or did not finalize and its calls took longer than the time up to
// its last known moment.
func (t *RankTimes) ShareKnown() bool {
	return t.Timed() && t.ApplicationTimeS > 0 && (t.State == profile.Finalized.String() || t.MPIShare <= 1)
}

// elapsed is the seconds between two moments in Unix ns, 0 if either is not
// known.
func elapsed(from, to int64) float64 {
	if from == 0 || to <= from {
		return 0
	}
	return float64(to-from) / 1e9
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// oversubscriptions returns the ranks of the job that shared processors.
func (j *Job) oversubscriptions() []profile.Oversubscription {
	ps := j.ordered()
	placed := make([]profile.PlacedProcess, len(ps))
	for i := range ps {
		p := &ps[i]
		placed[i] = profile.PlacedProcess{Rank: p.Rank, Threads: p.threads, Host: p.Host, Placement: p.Placement, Usage: p.usage}
	}
	return profile.Oversubscriptions(placed)
}
