package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// zig returns the command of the compiler that `make prebuilt` uses.
func zig(t *testing.T) string {
	t.Helper()
	python := filepath.Join(root, "build", "zig", "bin", "python")
	testenv.Need(t, python)
	return python + " -m ziglang"
}

// TestPrebuilt records examples/halo with prebuilt libraries, under all MPIs and
// with no compiler called, and checks every cell of the matrices. One library
// serves all MPIs of a family.
func TestPrebuilt(t *testing.T) {
	testenv.At(t, testenv.All)
	withPrebuilt(t)
	p := plate{rows: 31, cols: 25, steps: 20, down: 2, across: 2}
	check := func(t *testing.T, m implementation) {
		cache := t.TempDir()
		t.Setenv("MPITRACE_CACHE", cache)
		j := p.run(t, m)
		checkReceived(t, j.ranks)
		p.checkMatrices(t, j)
		if strings.Contains(j.stderr, "building the library") {
			t.Errorf("the library was compiled: %s", j.stderr)
		}
		if libraries, err := filepath.Glob(filepath.Join(cache, "libmpitrace-*.so")); err != nil || len(libraries) != 1 {
			t.Errorf("the cache has the libraries %v (%v), want one", libraries, err)
		}
	}
	withEachInTurn(t, anyMPI, check)
	t.Run("impi", func(t *testing.T) {
		setIntelMPI(t)
		check(t, intelMPI())
	})
	// mpi4py asks by weak symbols which functions the MPI has. With a function of
	// ours that the MPI lacks, its allreduce fails.
	t.Run("mpi4py", func(t *testing.T) {
		python := filepath.Join(root, "build", "venv", "bin", "python")
		testenv.Need(t, python, "mpirun.openmpi")
		program := "from mpi4py import MPI; c = MPI.COMM_WORLD; print(c.allreduce(c.rank + 1), c.bcast(7))"
		j := record(t, nil, "mpirun.openmpi", "--oversubscribe", "-n", "2", python, "-c", program)
		if j.code != 0 || j.stdout != "3 7\n3 7\n" {
			t.Errorf("exit status %d, output %q\n%s", j.code, j.stdout, j.stderr)
		}
		checkWhole(t, 2, j)
	})
}

// withPrebuilt makes the test use an mpitrace that has the prebuilt libraries in
// it.
func withPrebuilt(t *testing.T) {
	t.Helper()
	command := zig(t)
	dir := t.TempDir()
	replace := map[string]string{}
	for _, f := range interpose.Families {
		if err := interpose.Prebuild(t.Context(), command, f, runtime.GOARCH, dir); err != nil {
			t.Fatal(err)
		}
		name := f.PrebuiltName(runtime.GOARCH)
		replace[filepath.Join(root, "interpose", "prebuilt", name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", file, "-o", filepath.Join(dir, "mpitrace"), "./cmd/mpitrace")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := mpitrace
	mpitrace = filepath.Join(dir, "mpitrace")
	t.Cleanup(func() { mpitrace = before })
}

// TestPrebuildTwice checks that a library is the same, byte for byte, wherever
// it is built.
func TestPrebuildTwice(t *testing.T) {
	testenv.At(t, testenv.All)
	command := zig(t)
	var built [2][]byte
	for i := range built {
		dir := t.TempDir()
		t.Setenv("TMPDIR", t.TempDir()) // it compiles there
		f := interpose.Families[0]
		if err := interpose.Prebuild(t.Context(), command, f, runtime.GOARCH, dir); err != nil {
			t.Fatal(err)
		}
		built[i] = readAll(t, filepath.Join(dir, f.PrebuiltName(runtime.GOARCH)))
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("the library differs between two directories")
	}
}
