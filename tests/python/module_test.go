package python_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestModule has the Python package mpitrace read real runs: one job, and two.
func TestModule(t *testing.T) {
	testenv.Python(t)
	for name, launcher := range map[string][]string{
		"openmpi": {"mpirun.openmpi", "--oversubscribe"},
		"mpich":   {"mpiexec.mpich"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Need(t, "mpicc."+name, launcher[0])
			dir := t.TempDir()
			output(t, "go", "build", "-o", dir, filepath.Join(root, "cmd", "mpitrace"))
			run := record(t, dir, "mpicc."+name, launcher, "--trace")
			testenv.Pytest(t, []string{
				"MPITRACE_RUN=" + run,
				"MPITRACE_TWO=" + recordTwo(t, dir, name, launcher),
				"MPITRACE=" + filepath.Join(dir, "mpitrace"),
				"PYTHONPATH=" + absolute(t, filepath.Join(root, "python")),
			}, absolute(t, filepath.Join(root, "python", "tests")))
		})
	}
}

// recordTwo records the program that record compiled as two jobs, of 2 and of 4 ranks.
func recordTwo(t *testing.T, dir, mpi string, launcher []string) (run string) {
	t.Helper()
	run = filepath.Join(dir, "two")
	const jobs = `program=$1; shift; for n in 2 4; do "$@" -n $n "$program" -n 24 -m 20 -s 3 || exit 1; done`
	args := []string{"run", "--trace", "--mpi", mpi, "-o", run, "--", "sh", "-c", jobs, "sh", filepath.Join(dir, "halo")}
	output(t, filepath.Join(dir, "mpitrace"), append(args, launcher...)...)
	return run
}

// TestModuleTypes has mypy check the types of the Python package.
func TestModuleTypes(t *testing.T) {
	cmd := exec.Command(testenv.Python(t), "-m", "mypy", "--cache-dir", t.TempDir(), "mpitrace")
	cmd.Dir = filepath.Join(root, "python")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("mypy: %v\n%s", err, out)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	testenv.NoError(t, err)
	return path
}
