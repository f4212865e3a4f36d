// Package python_test has Python open what mpitrace makes of a real run:
// test_arrow.py of this folder, examples/pandas and the package mpitrace, on examples/halo.
package python_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const root = "../.."

func TestRealRun(t *testing.T) {
	python := testenv.Python(t)
	for name, launcher := range map[string][]string{
		"openmpi": {"mpirun.openmpi", "--oversubscribe"},
		"mpich":   {"mpiexec.mpich"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Need(t, "mpicc."+name, launcher[0])
			dir := t.TempDir()
			output(t, "go", "build", "-o", dir, filepath.Join(root, "cmd", "mpitrace"))
			run, mpitrace := record(t, dir, "mpicc."+name, launcher), filepath.Join(dir, "mpitrace")
			testenv.Pytest(t, []string{"MPITRACE_RUN=" + run, "MPITRACE=" + mpitrace}, "test_arrow.py")
			checkExample(t, output(t, python, filepath.Join(root, "examples", "pandas", "traffic.py"), run))
		})
	}
}

// record runs the example on 2 x 2 ranks: a plate of 48 x 40 points, 10 steps.
func record(t *testing.T, dir, cc string, launcher []string, flags ...string) (run string) {
	t.Helper()
	return recordOn(t, dir, cc, launcher, 4, flags...)
}

// recordOn runs the example on n ranks.
func recordOn(t *testing.T, dir, cc string, launcher []string, n int, flags ...string) (run string) {
	t.Helper()
	t.Setenv("MPITRACE_CACHE", "") // put back at the end
	testenv.SharedCache(filepath.Join(dir, "cache"), func() bool { _, err := interpose.CacheDir(); return err == nil })
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	program := filepath.Join(dir, "halo")
	output(t, cc, "-O1", filepath.Join(root, "examples", "halo", "halo.c"), "-o", program, "-lm")
	run = filepath.Join(dir, "run")
	args := slices.Concat([]string{"run", "-o", run, "--format", "prof,arrow"}, flags, []string{"--"}, launcher)
	output(t, filepath.Join(dir, "mpitrace"), append(args, "-n", strconv.Itoa(n), program, "-n", "48", "-m", "40", "-s", "10")...)
	return run
}

// checkExample requires what the example prints. In each of 10 steps a rank
// sends a row of 20 doubles to the one above or below it, and a column of 24
// to the one beside it; and everyone a residual to the three others.
func checkExample(t *testing.T, out string) {
	t.Helper()
	const row, column = "1600", "1920" // 10 x 20 x 8, 10 x 24 x 8 bytes
	for _, line := range []string{
		`p2p +Isend +80 +80 +14080`, // 4 ranks, one row and one column each
		`0 +1 +10 +` + column,
		` 2 +10 +` + row,
		` 3 +10 +` + row,
	} {
		if !regexp.MustCompile(`(?m)` + line + `$`).MatchString(out) {
			t.Errorf("the example does not print %q:\n%s", line, out)
		}
	}
}

// output runs a command, which must succeed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
