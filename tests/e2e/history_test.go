package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A recorded version is a program of which runs are recorded, several times on each
// number of ranks.
type recordedVersion struct {
	name    string
	program string
	args    []string
}

// debianOpenMPI is for tests of many runs, which say little more with another MPI.
func debianOpenMPI(m implementation) bool { return m.name == "openmpi" }

// oneOrBoth adds MPICH where time matters less.
func oneOrBoth(m implementation) bool {
	return debianOpenMPI(m) || debian(m) && testenv.Highest() != testenv.Quick
}

// repeat records runs below dir, in turn for all versions, so that what else happens on
// the machine concerns all alike.
func repeat(t *testing.T, m implementation, dir string, times int, ranks []int, versions ...recordedVersion) {
	t.Helper()
	for i := range times {
		for _, n := range ranks {
			for _, v := range versions {
				to := filepath.Join(dir, fmt.Sprintf("%s-%d-%02d", v.name, n, i))
				succeed(t, nil, slices.Concat([]string{mpitrace, "run", "--no-report", "-o", to, "--"}, m.launch(n, append([]string{v.program}, v.args...)...))...)
			}
		}
	}
}

func historyOf(t *testing.T, dirs ...string) (h history.History) {
	t.Helper()
	out := succeed(t, nil, append([]string{mpitrace, "history", "--json"}, dirs...)...)
	if err := json.Unmarshal([]byte(out.stdout), &h); err != nil || len(h.Skipped) > 0 {
		t.Fatalf("%v, left out %v", err, h.Skipped)
	}
	return h
}

// TestHistory records two versions of halo on 1 and 2 ranks, twice each. Efficiencies must be
// those of report. That a slow call site is named and noise is not is tested with simulated
// runs, TestSlowSite and TestNoise of internal/history; TestExampleCI names one of real runs.
func TestHistory(t *testing.T) {
	withEach(t, oneOrBoth, func(t *testing.T, m implementation) {
		source, dir := filepath.Join(root, "examples", "halo", "halo.c"), t.TempDir()
		args := []string{"-s", "50", "-n", "120", "-m", "120"}
		repeat(t, m, dir, 2, []int{1, 2}, recordedVersion{"first", m.compileFile(t, source), args},
			recordedVersion{"second", m.compileFile(t, source, "-include", filepath.Join(root, "examples", "ci", "slow.h"), "-DLATE_US=1000"), args})
		h := historyOf(t, dir)
		if len(h.Runs) != 8 || len(h.Configurations) != 4 || len(h.Scaling) != 2 || len(h.Evolution) != 2 {
			t.Fatalf("%d runs, %d configurations, %d scalings, %d evolutions", len(h.Runs), len(h.Configurations), len(h.Scaling), len(h.Evolution))
		}
		checkEfficiencies(t, &h)
	})
}

// checkEfficiencies compares each run with report.
func checkEfficiencies(t *testing.T, h *history.History) {
	t.Helper()
	for _, r := range h.Runs {
		var reported struct{ Jobs []struct{ POP aggregate.POP } }
		out := succeed(t, nil, mpitrace, "report", "--json", r.Dir)
		if err := json.Unmarshal([]byte(out.stdout), &reported); err != nil || len(reported.Jobs) != 1 || r.POP == nil || reported.Jobs[0].POP != *r.POP {
			t.Errorf("%s: %v, %+v, report has %+v", r.Dir, err, r.POP, reported)
		}
	}
}

// TestExampleCI runs examples/ci with two versions of halo, as a pipeline would.
func TestExampleCI(t *testing.T) {
	withEachInTurn(t, debianOpenMPI, func(t *testing.T, m implementation) {
		ci := filepath.Join(root, "examples", "ci")
		source := filepath.Join(root, "examples", "halo", "halo.c")
		env := []string{"PATH=" + filepath.Dir(mpitrace) + ":" + os.Getenv("PATH")}
		first := m.compileFile(t, source)
		second := m.compileFile(t, source, "-include", filepath.Join(ci, "slow.h"), "-DLATE_US=40000")
		attempts(t, "examples/ci", func() string {
			runs := filepath.Join(t.TempDir(), "runs")
			check := func(program string) output {
				return execute(t, env, slices.Concat([]string{filepath.Join(ci, "check.sh"), runs}, m.launch(2, program, "-s", "50"))...)
			}
			if out := check(first); out.code != 0 || !strings.Contains(out.stderr, "compared nothing") {
				return fmt.Sprintf("the first version: status %d\n%s", out.code, out.stderr)
			}
			out := check(second)
			if out.code != 4 || !strings.Contains(out.stdout, "Allreduce | call site | time") || !strings.Contains(out.stderr, "Allreduce time") {
				return fmt.Sprintf("the second version: status %d\n%s%s", out.code, out.stdout, out.stderr)
			}
			return ""
		})
	})
}
