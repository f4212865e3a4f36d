package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestPython records mpi4py, which loads the MPI that its environment names.
func TestPython(t *testing.T) {
	python := testenv.Python(t)
	if err := exec.Command(python, "-c", "import mpi4py").Run(); err != nil {
		testenv.Skip(t, "needs mpi4py in build/venv, which make setup makes")
	}
	withEachInTurn(t, anyMPI, func(t *testing.T, m implementation) {
		abi := "mpich" // Intel MPI has it too
		if openMPI(m) {
			abi = "openmpi"
		}
		t.Setenv("MPI4PY_MPIABI", abi)
		t.Setenv("MPI4PY_LIBMPI", m.mpiLibrary(t))
		if !openMPI(m) { // mpi4py uses the library name that all derivatives of MPICH share
			dir := t.TempDir()
			lib := m.mpiLibrary(t)
			if err := os.Symlink(lib, filepath.Join(dir, "libmpi.so.12")); err != nil {
				t.Fatal(err)
			}
			t.Setenv("LD_LIBRARY_PATH", filepath.Dir(lib)+":"+dir)
		}
		j := m.run(t, 2, python, filepath.Join(root, "tests", "e2e", "testdata", "exchange.py"))
		if strings.Contains(j.stderr, "incomplete:") { // mpi4py's module has weak imports of all functions that an MPI may have
			t.Errorf("functions that this MPI lacks are reported as unrecorded:\n%s", j.stderr)
		}
		if !strings.Contains(j.stderr, "exchange.py on 2 of 2 ranks") {
			t.Errorf("the run is not named after the script:\n%s", j.stderr)
		}
		_, text, _ := strings.Cut(strings.TrimSpace(j.stdout), "\n")
		pickled, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		want{
			sent: map[string]volumes{
				"Send": messages(0, 1, pickled, 250*8), "Isend": messages(0, 1, pickled, 10*8),
				"Allreduce": toOthers(2, size(250*8)),
			},
			received: map[string]volumes{
				"Mrecv": messages(0, 1, pickled, pickled), "Recv": message(0, 1, 250*8), "Irecv": message(0, 1, 10*8),
			},
			calls: map[string][]uint64{"Send": {2, 0}, "Mprobe": {0, 2}, "Comm_split": {1, 1}, "Barrier": {1, 1}, "Comm_free": {1, 1}},
		}.check(t, j.ranks)
	})
}
