// Package aggregate puts together what the processes of an MPI job recorded:
// profiles into a Job, and a Job into matrices and summaries.
//
// Merging is associative, and no result depends on the order in which
// processes are given.
package aggregate

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Job is an MPI job: the processes of one MPI_COMM_WORLD. What it knows of
// them comes from profiles, or from .prof files, which know traffic only.
type Job struct {
	Run      string             // as the launcher names it; empty if not known
	Profiles []*profile.Profile // by rank, and by start where a rank has several
	Traffic  []*profile.Traffic
}

// New makes one job of profiles, whatever run they say that they are of. Their
// communicators are unified (profile.Unify).
func New(profiles []*profile.Profile) *Job {
	j := &Job{Profiles: slices.Clone(profiles)}
	slices.SortFunc(j.Profiles, compareProfiles)
	profile.Unify(j.Profiles)
	if len(j.Profiles) > 0 {
		j.Run = j.Profiles[0].Run
	}
	return j
}

// NewFromTraffic makes one job of what .prof files hold.
func NewFromTraffic(traffic ...*profile.Traffic) *Job {
	return &Job{Traffic: slices.Clone(traffic)}
}

func compareProfiles(a, b *profile.Profile) int {
	return cmp.Or(
		cmp.Compare(a.Rank, b.Rank),
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(a.Host, b.Host),
		cmp.Compare(a.Pid, b.Pid),
		cmp.Compare(a.Source, b.Source))
}

// Merge is the job of the processes of j and of o.
func (j *Job) Merge(o *Job) *Job {
	m := New(slices.Concat(j.Profiles, o.Profiles))
	m.Traffic = slices.Concat(j.Traffic, o.Traffic)
	return m
}

// Jobs tells apart the jobs that profiles are of, by their runs. They are
// ordered by start, which is what numbers them in file names.
func Jobs(profiles []*profile.Profile) []*Job {
	byRun := map[string][]*profile.Profile{}
	for _, p := range profiles {
		byRun[p.Run] = append(byRun[p.Run], p)
	}
	jobs := make([]*Job, 0, len(byRun))
	for _, ps := range byRun {
		jobs = append(jobs, New(ps))
	}
	slices.SortFunc(jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Start(), b.Start()), cmp.Compare(a.Run, b.Run))
	})
	return jobs
}

// Stems are what the files of each job begin with: the program's name, and
// -job1, -job2 ... where there are several jobs.
func Stems(jobs []*Job) []string {
	out := make([]string, len(jobs))
	for i, j := range jobs {
		out[i] = j.Program()
		if len(jobs) > 1 {
			out[i] = fmt.Sprintf("%s-job%d", out[i], i+1)
		}
	}
	return out
}

// Program is the file name of the executable, that of the lowest rank where
// processes run several.
func (j *Job) Program() string {
	for _, p := range j.Profiles {
		if p.Program != "" {
			return filepath.Base(p.Program)
		}
	}
	return "mpi"
}

// Start is when the first process began to record, in Unix ns; 0 if not known.
func (j *Job) Start() int64 {
	start := int64(0)
	for _, p := range j.Profiles {
		if start == 0 || p.Start < start {
			start = p.Start
		}
	}
	return start
}

// Size is the number of processes of the job: that of MPI_COMM_WORLD where it
// is known, and at least what the largest rank seen asks for.
func (j *Job) Size() int {
	n := 0
	for _, p := range j.Profiles {
		n = max(n, p.Size, p.Rank+1)
	}
	for _, t := range j.Traffic {
		for i := range t.Flows {
			n = max(n, t.Flows[i].From+1, t.Flows[i].To+1)
		}
		for i := range t.Comms {
			n = max(n, t.Comms[i].Rank+1)
			for _, r := range t.Comms[i].Members {
				n = max(n, r+1)
			}
		}
	}
	return n
}

// Recorded lists the ranks that something was recorded of, each once.
func (j *Job) Recorded() []int {
	ranks, _ := j.census()
	return ranks
}

// Duplicated lists the ranks that several recordings, or several .prof files,
// are of: a sign that they are of several runs.
func (j *Job) Duplicated() []int {
	_, twice := j.census()
	return twice
}

// Missing are the ranks of the job that nothing was recorded of.
func (j *Job) Missing() Spans { return gaps(j.Recorded(), j.Size()) }

func (j *Job) census() (ranks, twice []int) {
	for _, p := range j.Profiles {
		if p.Rank >= 0 {
			ranks = append(ranks, p.Rank)
		}
	}
	for _, t := range j.Traffic {
		ranks = append(ranks, senders(t)...)
	}
	slices.Sort(ranks)
	for i := 1; i < len(ranks); i++ {
		if ranks[i] == ranks[i-1] {
			twice = append(twice, ranks[i])
		}
	}
	return slices.Compact(ranks), slices.Compact(twice)
}

// senders lists the processes whose .prof file, or part of one, t is.
func senders(t *profile.Traffic) []int {
	seen := map[int]bool{}
	for i := range t.Flows {
		seen[t.Flows[i].From] = true
	}
	for i := range t.Comms {
		if t.Comms[i].Rank >= 0 {
			seen[t.Comms[i].Rank] = true
		}
	}
	out := make([]int, 0, len(seen))
	for r := range seen {
		out = append(out, r)
	}
	return out
}

// Matrices adds up what the processes sent, by class and pair.
func (j *Job) Matrices() *Matrices { return j.tally().Matrices() }

func (j *Job) tally() *Tally {
	t := NewTally(nil)
	for _, p := range j.Profiles {
		t.Add(p)
	}
	for _, traffic := range j.Traffic {
		for i := range traffic.Flows {
			t.AddFlow(&traffic.Flows[i])
		}
	}
	return t
}

// find returns the recordings of a rank.
func (j *Job) find(rank int) []*profile.Profile {
	var out []*profile.Profile
	for _, p := range j.Profiles {
		if p.Rank == rank {
			out = append(out, p)
		}
	}
	return out
}
