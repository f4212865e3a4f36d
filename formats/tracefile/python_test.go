package tracefile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPython opens 100 iterations of a halo exchange with pandas, pyarrow,
// polars and DuckDB, in several batches, with the dictionaries before the
// batches and after them.
func TestPython(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(root, "build", "venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		testenv.Skip(t, "needs build/venv, which make setup makes")
	}
	const times = 100
	events := 25*times + times/5
	for name, held := range map[string]int{"dictionaries first": maxHeld, "dictionaries last": 0} {
		t.Run(name, func(t *testing.T) {
			path := saved(t, write(t, halo(1, events), 1000, held))
			cmd := exec.Command(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_trace.py")
			cmd.Dir = filepath.Join(root, "tests", "python")
			cmd.Env = append(os.Environ(), "MPITRACE_TRACE="+path, "MPITRACE_TIMES="+strconv.Itoa(times), "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("pytest: %v\n%s", err, out)
			}
		})
	}
}
