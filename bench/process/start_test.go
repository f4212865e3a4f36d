package process

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestReadStart(t *testing.T) {
	s := starts{ranks: 3}
	text := "start: 5000 300 20 1000\nhello\nstart: 9000 100 60 3000\nstart: 7000 200 40 2000\n"
	if slowest, err := s.read([]byte(text), true); err != nil || slowest != 9000 {
		t.Errorf("slowest %v, %v", slowest, err)
	}
	if s.init[0] != 200 || s.final[0] != 40 || s.outside[0] != 2000 {
		t.Errorf("%+v", s)
	}
	for name, bad := range map[string]string{
		"a rank is missing":     "start: 5000 300 20 1000\n",
		"nobody watched":        "start: 5 0 0 0\nstart: 5 0 0 0\nstart: 5 0 0 0\n",
		"half a line":           "start: 5\nstart: 5 1 1 1\nstart: 5 1 1 1\n",
		"nothing was said":      "",
		"a word and no number ": "start: a b c d\nstart: 5 1 1 1\nstart: 5 1 1 1\n",
	} {
		if _, err := s.read([]byte(bad), true); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := s.read([]byte(text), false); err == nil {
		t.Error("the plain run was watched, and nobody said so")
	}
}

// TestStarts checks that recording adds at most 3 ms to MPI_Init and
// MPI_Finalize together on 4 ranks. It takes the processor time outside of the
// MPI, and the minimum over a few runs, as other work on the machine can only
// increase it.
func TestStarts(t *testing.T) {
	testenv.At(t, testenv.All)
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	dir := t.TempDir()
	testenv.NoError(t, os.CopyFS(dir, sources))
	mpitrace := filepath.Join(dir, "mpitrace")
	testenv.NoError(t, command(t.Context(), "go", "build", "-o", mpitrace, "../../cmd/mpitrace"))
	for mpi, launcher := range launchers {
		testenv.Need(t, "mpicc."+mpi, launcher[0])
		program, err := buildStart(t.Context(), mpi, dir)
		testenv.NoError(t, err)
		s := starts{mpi: mpi, ranks: 4}
		for pair := range 3 {
			testenv.NoError(t, s.pair(t.Context(), mpitrace, dir, program, pair))
		}
		init, final := slices.Min(s.init), slices.Min(s.final)
		t.Logf("%s: %.0f and %.0f us", mpi, init/1e3, final/1e3)
		if init <= 0 || final <= 0 || init+final > 3e6 {
			t.Errorf("%s: MPI_Init takes %.0f us more, MPI_Finalize %.0f, together at most 3000", mpi, init/1e3, final/1e3)
		}
	}
}
