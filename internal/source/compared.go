package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
)

// PairJobs returns the pairs of jobs to compare: the n-th job of a and the m-th job of b or, for n
// = 0, all jobs. Runs with equally many jobs are paired in order. Otherwise each job of the run
// that has fewer jobs is paired with the job of the other run that has the same program and number
// of ranks.
func PairJobs(a, b *Run, n, m int) (pairs [][2]*Job, err error) {
	switch {
	case n > 0:
		x, y := a.nth(n, n == m), b.nth(m, n == m)
		if x == nil || y == nil {
			return nil, rundir.InputErrorf("--job: one of these jobs does not exist: %s, %s", a.jobList(), b.jobList())
		}
		return [][2]*Job{{x, y}}, nil
	case len(a.Jobs) == len(b.Jobs):
		for i := range a.Jobs {
			pairs = append(pairs, [2]*Job{a.Jobs[i], b.Jobs[i]})
		}
		return pairs, nil
	}
	ofA, ofB, fewer := a.byKind(), b.byKind(), a
	if len(b.Jobs) < len(a.Jobs) {
		fewer = b
	}
	for i := range fewer.Jobs {
		kind := fewer.kind(i)
		if len(ofA[kind]) != 1 || len(ofB[kind]) != 1 {
			return nil, rundir.InputErrorf("%s, %s, and it is not clear which to compare: choose with --job N:M, the N-th of A and the M-th of B",
				a.jobList(), b.jobList())
		}
		pairs = append(pairs, [2]*Job{ofA[kind][0], ofB[kind][0]})
	}
	return pairs, nil
}

// jobKind identifies a job among those of a run.
type jobKind struct {
	program string
	ranks   int
}

func (r *Run) kind(i int) jobKind { return jobKind{r.program(i), r.Jobs[i].Size} }

func (r *Run) byKind() map[jobKind][]*Job {
	out := map[jobKind][]*Job{}
	for i, j := range r.Jobs {
		out[r.kind(i)] = append(out[r.kind(i)], j)
	}
	return out
}

// program returns the name of a job's program: its Stem without the number of
// the job.
func (r *Run) program(i int) string {
	return strings.TrimSuffix(r.Jobs[i].Stem, fmt.Sprintf("-job%d", i+1))
}

// nth returns the n-th job, or nil if there is none. If one number is given for
// both runs, a run with one job always returns that job.
func (r *Run) nth(n int, forBoth bool) *Job {
	switch {
	case len(r.Jobs) == 1 && forBoth:
		return r.Jobs[0]
	case n <= len(r.Jobs):
		return r.Jobs[n-1]
	}
	return nil
}

func (r *Run) jobList() string {
	const most = 8
	var names []string
	for i, j := range r.Jobs[:min(len(r.Jobs), most)] {
		names = append(names, fmt.Sprintf("%d: %s on %s", i+1, r.program(i), text.CountOf(j.Size, "rank")))
	}
	if len(r.Jobs) > most {
		names = append(names, "...")
	}
	return fmt.Sprintf("%s has %s (%s)", r.Path, text.CountOf(len(r.Jobs), "job"), strings.Join(names, ", "))
}

// JobName returns the path of the run, with the number of the job if there are
// several.
func (r *Run) JobName(j *Job) string {
	if len(r.Jobs) == 1 {
		return r.Path
	}
	return fmt.Sprintf("%s, job %d", r.Path, slices.Index(r.Jobs, j)+1)
}
