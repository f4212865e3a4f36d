package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
)

// TestAlone requires that processes of one rank count as one job that failed to form only if they
// ran at the same time.
func TestAlone(t *testing.T) {
	job := func(program string, ranks int, start time.Duration) *aggregate.Summary {
		return &aggregate.Summary{Program: program, RanksExpected: ranks, Library: "MPICH", Started: time.Unix(1000, 0).Add(start), WallTimeS: 2}
	}
	script := []string{"./job.sh"}
	srun, mpirun := []string{"srun", "-n", "2", "./a"}, []string{"mpirun", "-n", "2", "./a"}
	for _, test := range []struct {
		name    string
		jobs    []*aggregate.Summary
		command []string
		want    string
	}{
		{"at once under srun", []*aggregate.Summary{job("a", 1, 0), job("a", 1, time.Second)}, srun, "2 jobs of one rank: for one job, try srun --mpi=pmix"},
		{"at once under mpirun", []*aggregate.Summary{job("a", 1, 0), job("a", 1, time.Second)}, mpirun, "2 jobs of one rank: for one job, use the launcher"},
		{"one began late", []*aggregate.Summary{job("a", 1, 0), job("a", 1, 3*time.Second)}, srun, "2 jobs of one rank: for one job, try srun --mpi=pmix"},
		{"one after the other in a script", []*aggregate.Summary{job("a", 1, 0), job("a", 1, 3*time.Second)}, script, ""},
		{"at once in a script", []*aggregate.Summary{job("a", 1, 0), job("a", 1, time.Second)}, script, "2 jobs of one rank: for one job, use the launcher"},
		{"two programs", []*aggregate.Summary{job("a", 1, 0), job("b", 1, 0)}, srun, ""},
		{"two ranks", []*aggregate.Summary{job("a", 1, 0), job("a", 2, 0)}, srun, ""},
		{"one job", []*aggregate.Summary{job("a", 1, 0)}, srun, ""},
	} {
		got := strings.Join(summaries{jobs: test.jobs}.alone(test.command), "\n")
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
