package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// sleepTimes are what a rank of sleeps.c measured, in ns: the times after MPI_Init and before
// MPI_Finalize, how long it slept in between, and how long it was in the barriers.
type sleepTimes struct {
	rank                   int
	begin, end, slept, met int64
}

// sleepTimesOf returns what the ranks printed, in the order of their MPI_Init.
func sleepTimesOf(t *testing.T, stdout string) (list []sleepTimes) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var r sleepTimes
		if n, _ := fmt.Sscan(line, &r.rank, &r.begin, &r.end, &r.slept, &r.met); n == 5 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b sleepTimes) int { return cmp.Compare(a.begin, b.begin) })
	return list
}

// judgedJob is what `mpitrace report --json` has of the time of a job.
type judgedJob struct {
	Verdict  string
	Findings []findings.Finding
	Tree     *aggregate.TimeTree `json:"time_tree"`
}

func judgedJobs(t *testing.T, dir string) []judgedJob {
	t.Helper()
	var report struct{ Jobs []judgedJob }
	testenv.NoError(t, json.Unmarshal([]byte(succeed(t, nil, mpitrace, "report", "--json", dir).stdout), &report))
	return report.Jobs
}

const sleepMs = 5 * (20 + 60) // of two ranks

// checkTree compares the time of a job with what its ranks measured. sleepMs is how long they sleep
// at least, together.
func checkTree(job *judgedJob, ranks []sleepTimes, sleepMs int64) (problem string) {
	tree := job.Tree
	if tree == nil || tree.Ranks != len(ranks) || len(ranks) == 0 {
		return fmt.Sprintf("%d ranks, %+v", len(ranks), job)
	}
	begin, end, slept, met := ranks[0].begin, ranks[0].end, int64(0), int64(0)
	for _, r := range ranks {
		begin, end, slept, met = min(begin, r.begin), max(end, r.end), slept+r.slept, met+r.met
	}
	run := end - begin
	if tree.RuntimeNs < run-run/1000-100_000 || tree.RuntimeNs > run+run/50 { // the clocks differ
		return fmt.Sprintf("a run time of %d ns, the program measured %d", tree.RuntimeNs, run)
	}
	if tree.Parts.Sum() != tree.TotalNs() || slept < sleepMs*1_000_000 {
		return fmt.Sprintf("%v of %d ns, %d ns of sleep", tree.Parts, tree.TotalNs(), slept)
	}
	near := tree.TotalNs() / 20
	computing, inBarriers := tree.Before[aggregate.Computing], tree.Before[aggregate.Waiting]+tree.Before[aggregate.MovingData]
	if max(computing-slept, slept-computing) > near || max(inBarriers-met, met-inBarriers) > near {
		return fmt.Sprintf("%v, want %d ns of computing and %d in MPI", tree.Before, slept, met)
	}
	return ""
}

// TestSpecialTimes checks the time tree of jobs that are special: without exact times, killed, with one
// rank, with sessions, or spawned. A busy machine may delay a rank between two readings, so
// each has three attempts.
func TestSpecialTimes(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "sleeps")
		for _, test := range []struct {
			name  string
			flags []string
			ranks int
			way   string
			is    func(job *judgedJob, ranks []sleepTimes) (problem string)
		}{
			{"not timed", []string{"--timing", "off"}, 2, "world", func(job *judgedJob, _ []sleepTimes) string {
				const want = "sleeps on 2 ranks: times were not recorded (--timing off); calls, messages and bytes are exact."
				ofTime := func(f findings.Finding) bool { return f.Of == findings.OfTime }
				if job.Tree != nil || job.Verdict != want || slices.ContainsFunc(job.Findings, ofTime) {
					return fmt.Sprintf("%+v, want %s", job, want)
				}
				return ""
			}},
			{"sampled", []string{"--timing", "sampled"}, 2, "world", func(job *judgedJob, ranks []sleepTimes) string { return checkTree(job, ranks, sleepMs) }},
			{"killed", nil, 2, "killed", func(job *judgedJob, ranks []sleepTimes) string {
				if !strings.Contains(job.Verdict, "SIGKILL") {
					return job.Verdict
				}
				return checkTree(job, ranks, sleepMs)
			}},
			{"one rank", nil, 1, "world", func(job *judgedJob, ranks []sleepTimes) string {
				if strings.Contains(job.Verdict, "each other") || job.Tree == nil || job.Tree.Parts[aggregate.Waiting] != 0 {
					return fmt.Sprintf("%+v", job)
				}
				return checkTree(job, ranks, 5*20)
			}},
		} {
			attempts(t, test.name, func() string {
				j := record(t, append(test.flags, "--no-report"), m.launch(test.ranks, program, test.way)...)
				jobs := judgedJobs(t, j.dir)
				if len(jobs) != 1 {
					return fmt.Sprintf("%d jobs\n%s", len(jobs), j.stderr)
				}
				return test.is(&jobs[0], sleepTimesOf(t, j.stdout))
			})
		}
	})
}

// TestTimeOfSessions checks that the run time is from the end of the first Session_init to the begin
// of the last Session_finalize, and what the program does outside is not in it.
func TestTimeOfSessions(t *testing.T) {
	withEach(t, can(someSessions), func(t *testing.T, m implementation) {
		program := m.compile(t, "sleeps")
		attempts(t, "sessions", func() string {
			j := record(t, []string{"--no-report"}, m.launch(2, program, "sessions")...)
			jobs := judgedJobs(t, j.dir)
			if len(jobs) != 1 {
				return fmt.Sprintf("%d jobs\n%s", len(jobs), j.stderr)
			}
			return checkTree(&jobs[0], sleepTimesOf(t, j.stdout), sleepMs+2*2*50)
		})
	})
}

// TestTimeOfSpawned checks that spawned processes are a job of their own, with a time of its own.
func TestTimeOfSpawned(t *testing.T) {
	withEach(t, can(spawnedWorlds), func(t *testing.T, m implementation) {
		program := m.compile(t, "sleeps")
		attempts(t, "spawned", func() string {
			dir := filepath.Join(t.TempDir(), "run")
			child := fmt.Sprintf("exec %s run -o %s -- %s", mpitrace, dir, program)
			out := succeed(t, nil, slices.Concat([]string{mpitrace, "run", "--no-report", "-o", dir, "--"}, m.launch(2, program, "spawn", "sh", "-c", child))...)
			jobs, ranks := judgedJobs(t, dir), sleepTimesOf(t, out.stdout)
			if len(jobs) != 2 || len(ranks) != 4 {
				return fmt.Sprintf("%d jobs, %d ranks\n%s%s", len(jobs), len(ranks), out.stdout, out.stderr)
			}
			for i := range jobs { // the parents begin first
				if problem := checkTree(&jobs[i], ranks[2*i:2*i+2], sleepMs); problem != "" {
					return problem
				}
				if !strings.HasPrefix(jobs[i].Verdict, "sleeps on 2 ranks, ") {
					return jobs[i].Verdict
				}
			}
			return ""
		})
	})
}
