package e2e

import (
	"debug/elf"
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

// A recorded version is a program of which runs are recorded, three times on each
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

// otherBuildID copies a program and changes its build-id: another version with the same
// code.
func otherBuildID(t *testing.T, program, to string) string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note := f.Section(".note.gnu.build-id")
	if note == nil {
		t.Skipf("%s has no build-id", program)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	text[note.Offset+note.Size-1] ^= 1
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestHistory records two versions of halo and of LAMMPS on 1 and 2 ranks, three times
// each. Rank 0 of the second halo is late at each Allreduce; the second LAMMPS has the
// same code as the first. Efficiencies must be those of report.
func TestHistory(t *testing.T) {
	withEachInTurn(t, oneOrBoth, func(t *testing.T, m implementation) {
		const steps, lateUs = 50, 40_000
		source, dir := filepath.Join(root, "examples", "halo", "halo.c"), t.TempDir()
		args := []string{"-s", fmt.Sprint(steps), "-n", "120", "-m", "120"}
		repeat(t, m, dir, 3, []int{1, 2}, recordedVersion{"first", m.compileFile(t, source), args},
			recordedVersion{"second", m.compileFile(t, source, "-include", filepath.Join(root, "examples", "ci", "slow.h"), fmt.Sprintf("-DLATE_US=%d", lateUs)), args})
		h := historyOf(t, dir)
		if len(h.Runs) != 12 || len(h.Configurations) != 4 || len(h.Scaling) != 2 || len(h.Evolution) != 2 {
			t.Fatalf("%d runs, %d configurations, %d scalings, %d evolutions", len(h.Runs), len(h.Configurations), len(h.Scaling), len(h.Evolution))
		}
		checkEfficiencies(t, &h)
		for _, e := range h.Evolution {
			checkSlower(t, &e, steps*lateUs*1e3)
		}
	})
}

// TestHistoryLAMMPS requires that two versions of LAMMPS with the same code do not
// differ.
func TestHistoryLAMMPS(t *testing.T) {
	testenv.Need(t, "lmp")
	withEachInTurn(t, debianOpenMPI, func(t *testing.T, m implementation) { // Debian's LAMMPS uses it
		dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "lmp")
		program, err := filepath.EvalSymlinks("/usr/bin/lmp")
		if err != nil {
			t.Skip(err)
		}
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		first := filepath.Join(t.TempDir(), "lmp")
		if err := os.WriteFile(first, text, 0o755); err != nil {
			t.Fatal(err)
		}
		args := []string{"-in", filepath.Join(root, "tests", "e2e", "testdata", "in.melt"), "-log", "none"}
		repeat(t, m, dir, 3, []int{1, 2}, recordedVersion{"first", first, args}, recordedVersion{"second", otherBuildID(t, program, copied), args})
		h := historyOf(t, dir)
		if len(h.Runs) != 12 || len(h.Evolution) != 2 || len(h.Scaling) != 2 {
			t.Fatalf("%d runs, %d evolutions, %d scalings", len(h.Runs), len(h.Evolution), len(h.Scaling))
		}
		checkEfficiencies(t, &h)
		checkNothing(t, &h)
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

// checkSlower requires that a call site is named at which each of the other ranks waits
// for the given time, in ns. On one rank, that time is outside MPI.
func checkSlower(t *testing.T, e *history.Evolution, late float64) {
	t.Helper()
	s := e.Steps[0]
	want := func(c history.Change) bool {
		if c.Measure != history.Time || c.Difference() < 0.8*late {
			return false
		}
		if e.Ranks == 1 {
			return c.Name == "outside MPI"
		}
		return c.Of == history.OfCallSite && c.Call == "Allreduce" && strings.HasPrefix(c.Name, "solve halo.c:")
	}
	if !s.SpreadKnown || !slices.ContainsFunc(s.Changes, want) {
		t.Errorf("%d ranks: %+v", e.Ranks, s.Changes)
	}
	for _, c := range s.Changes {
		if c.Of == history.OfCallSite && c.Measure == history.Time && !(e.Ranks > 1 && c.Call == "Allreduce") {
			t.Errorf("%d ranks: %s %s is named: %+v", e.Ranks, c.Name, c.Call, c)
		}
	}
}

func checkNothing(t *testing.T, h *history.History) {
	t.Helper()
	for _, e := range h.Evolution {
		s := e.Steps[0]
		if !s.SpreadKnown || len(s.Changes)+len(s.Appeared)+len(s.Disappeared) > 0 {
			t.Errorf("%d ranks: %+v, findings %+v, %+v", e.Ranks, s.Changes, s.Appeared, s.Disappeared)
		}
	}
}

// TestHistoryNoise records 20 repetitions of one code under two build-ids. Noise must name
// nothing, neither in ten runs against ten nor in three against three.
func TestHistoryNoise(t *testing.T) {
	withEachInTurn(t, oneOrBoth, func(t *testing.T, m implementation) {
		dir := t.TempDir()
		first := m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c"))
		second := otherBuildID(t, first, filepath.Join(t.TempDir(), "halo"))
		args := []string{"-s", "200"}
		repeat(t, m, dir, 10, []int{2}, recordedVersion{"first", first, args}, recordedVersion{"second", second, args})
		h := historyOf(t, dir)
		if len(h.Runs) != 20 || len(h.Evolution) != 1 {
			t.Fatalf("%d runs, %d evolutions", len(h.Runs), len(h.Evolution))
		}
		checkNothing(t, &h)
		for i := range 4 {
			var three []string
			for k := range 3 {
				three = append(three, filepath.Join(dir, fmt.Sprintf("first-2-%02d", 2*i+k)), filepath.Join(dir, fmt.Sprintf("second-2-%02d", 2*((i+1)%4)+k)))
			}
			h := historyOf(t, three...)
			checkNothing(t, &h)
		}
	})
}

// TestExampleCI runs examples/ci with two versions of halo, as a pipeline would.
func TestExampleCI(t *testing.T) {
	withEachInTurn(t, debianOpenMPI, func(t *testing.T, m implementation) {
		ci, dir := filepath.Join(root, "examples", "ci"), t.TempDir()
		source, runs := filepath.Join(root, "examples", "halo", "halo.c"), filepath.Join(dir, "runs")
		env := []string{"PATH=" + filepath.Dir(mpitrace) + ":" + os.Getenv("PATH")}
		check := func(program string) output {
			return execute(t, env, slices.Concat([]string{filepath.Join(ci, "check.sh"), runs}, m.launch(2, program, "-s", "50"))...)
		}
		if out := check(m.compileFile(t, source)); out.code != 0 || !strings.Contains(out.stderr, "compared nothing") {
			t.Fatalf("the first version: status %d\n%s", out.code, out.stderr)
		}
		out := check(m.compileFile(t, source, "-include", filepath.Join(ci, "slow.h"), "-DLATE_US=40000"))
		if out.code != 4 || !strings.Contains(out.stdout, "Allreduce | call site | time") || !strings.Contains(out.stderr, "Allreduce time") {
			t.Errorf("the second version: status %d\n%s%s", out.code, out.stdout, out.stderr)
		}
	})
}
