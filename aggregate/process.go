package aggregate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unique"

	"github.com/mpitrace/mpitrace/profile"
)

// process is what a job keeps of each process.
type process struct {
	RankTimes
	start            int64
	size             int // size of its MPI_COMM_WORLD, -1 if not known
	program, library string
	command          string          // argument vector, separated by NUL
	losses           *profile.Losses // nil if there were none
	unfollowed       bool            // see profile.Profile.Unfollowed
	watched          string          // value of --watch-unexpected, empty if off
	threads          int
	clocks           profile.ClockCheck
	intercepted      string        // text of interceptedText
	usage            profile.Usage // WallNs is 0 if not known
	settings         string        // recorded settings: name=value, separated by NUL
}

// RankTimes holds where a process ran, how it ended, and its times.
type RankTimes struct {
	Rank             int     `json:"rank"`
	Host             string  `json:"host"`
	Pid              int     `json:"pid"`
	State            string  `json:"state"`
	WallTimeS        float64 `json:"wall_time_s"`
	ApplicationTimeS float64 `json:"application_time_s"`
	MPITimeS         float64 `json:"mpi_time_s"`
	MPITimeErrorS    float64 `json:"mpi_time_error_s"` // standard error if MPITimeS is an estimate, otherwise 0
	MPIShare         float64 `json:"mpi_share"`
	Timing           string  `json:"timing"` // name of a profile.Timing

	Activities Activities `json:"time_by_activity_ns"` // without Init and Finalize

	Placement *profile.Placement `json:"placement,omitempty"` // nil if not known
	CPU       *profile.CPUShare  `json:"cpu,omitempty"`       // nil if not known
}

// Activities is the time in calls by profile.Activity, in ns. Outside is 0: see
// RankTimes.UsefulNs.
type Activities [profile.NumActivities]uint64

// MarshalJSON returns an object of the times that are not 0, by the name of the activity.
func (a Activities) MarshalJSON() ([]byte, error) {
	byName := map[string]uint64{}
	for i, ns := range a {
		if ns > 0 {
			byName[profile.Activity(i).String()] = ns
		}
	}
	return json.Marshal(byName)
}

// UnmarshalJSON is the inverse of MarshalJSON. It ignores unknown activities.
func (a *Activities) UnmarshalJSON(data []byte) error {
	var byName map[string]uint64
	if err := json.Unmarshal(data, &byName); err != nil {
		return err
	}
	*a = Activities{}
	for name, ns := range byName {
		if i, known := profile.ParseActivity(name); known {
			a[i] = ns
		}
	}
	return nil
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
		out.losses = new(p.Losses)
	}
	return out
}

// shared returns s in memory that all equal strings share.
func shared(s string) string { return unique.Make(s).Value() }

// ordered returns the processes by rank, then by start.
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
	var activities Activities
	for i := range p.Rows {
		if r := &p.Rows[i]; !profile.SetsUp(r.Call) {
			inMPI.add(r)
			activities[profile.ActivityOf(r.Call, r.Class)] += r.TimeNs
		}
	}
	t := RankTimes{Rank: p.Rank, Host: p.Host, Pid: p.Pid, State: p.State.String(), Timing: p.Timing.String(),
		Activities: activities, MPITimeS: seconds(inMPI.TimeNs), MPITimeErrorS: inMPI.TimeVariance.StandardError() / 1e9}
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

// ShareKnown reports whether MPIShare has a meaning. It has none if no call was
// timed, if the rank never left MPI_Init, or if it did not finalize and its
// calls took longer than the time up to its last known moment.
func (t *RankTimes) ShareKnown() bool {
	return t.Timed() && t.ApplicationTimeS > 0 && (t.State == profile.Finalized.String() || t.MPIShare <= 1)
}

// elapsed returns the seconds between two times in Unix ns; 0 if either is not
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
