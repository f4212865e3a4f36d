package source

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
)

// Compared is one of two runs that are compared.
type Compared struct {
	Path string // as the user gave it
	*Run
}

// OpenCompared opens a run directory, or a file with profiles.
func OpenCompared(path string, log io.Writer) (*Compared, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, rundir.InputErrorf("%w", err)
	}
	var opened *Run
	if info.IsDir() {
		opened, err = OpenJobs(rundir.Dir(path), Whole, log)
	} else {
		opened, err = openProfiles(path, log)
	}
	return &Compared{path, opened}, err
}

func openProfiles(path string, log io.Writer) (*Run, error) {
	src, err := OpenFiles([]string{path}, log)
	if err != nil {
		return nil, err
	}
	if opened, ok := src.(*Run); ok {
		return opened, nil
	}
	opened, err := OpenSource(src, log)
	if err != nil {
		return nil, err
	}
	if len(opened.Jobs) == 0 {
		return nil, rundir.InputErrorf("%s: no process in it", path)
	}
	warn(log, opened.Symbolize(nil))
	return opened, nil
}

// PairJobs returns the pairs of jobs to compare: the n-th of a with the m-th of
// b, or for n = 0 all jobs. Runs with as many jobs are paired in order.
// Otherwise each job of the run that has fewer is paired with the job of the
// other run that has the same program and number of ranks.
func PairJobs(a, b *Compared, n, m int) (pairs [][2]*Job, err error) {
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

// jobKind is what tells the jobs of a run apart.
type jobKind struct {
	program string
	ranks   int
}

func (c *Compared) kind(i int) jobKind { return jobKind{c.program(i), c.Jobs[i].Size} }

func (c *Compared) byKind() map[jobKind][]*Job {
	out := map[jobKind][]*Job{}
	for i, j := range c.Jobs {
		out[c.kind(i)] = append(out[c.kind(i)], j)
	}
	return out
}

// program returns the name of a job's program: its Stem without the number of
// the job.
func (c *Compared) program(i int) string {
	return strings.TrimSuffix(c.Jobs[i].Stem, fmt.Sprintf("-job%d", i+1))
}

// nth returns the n-th job, or nil if there is none. If one number is given for
// both runs, a run with one job always returns that job.
func (c *Compared) nth(n int, forBoth bool) *Job {
	switch {
	case len(c.Jobs) == 1 && forBoth:
		return c.Jobs[0]
	case n <= len(c.Jobs):
		return c.Jobs[n-1]
	}
	return nil
}

func (c *Compared) jobList() string {
	const most = 8
	var names []string
	for i, j := range c.Jobs[:min(len(c.Jobs), most)] {
		names = append(names, fmt.Sprintf("%d: %s on %s", i+1, c.program(i), text.CountOf(j.Size, "rank")))
	}
	if len(c.Jobs) > most {
		names = append(names, "...")
	}
	return fmt.Sprintf("%s has %s (%s)", c.Path, text.CountOf(len(c.Jobs), "job"), strings.Join(names, ", "))
}

// JobName returns the path of the run, with the number of the job if there are
// several.
func (c *Compared) JobName(j *Job) string {
	if len(c.Jobs) == 1 {
		return c.Path
	}
	return fmt.Sprintf("%s, job %d", c.Path, slices.Index(c.Jobs, j)+1)
}
