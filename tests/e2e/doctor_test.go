package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestDoctorWithoutCompiler runs `mpitrace doctor` where no compiler is found.
// With prebuilt libraries it must test each MPI by a run. Without them it must
// say why there is none and what to install, as must `run` and `vars`.
func TestDoctorWithoutCompiler(t *testing.T) {
	testenv.At(t, testenv.All)
	without := buildWithoutPrebuilt(t)
	none := t.TempDir() // in PATH, with no compiler
	t.Setenv("I_MPI_FABRICS", "shm")
	for _, m := range append(implementations(), intelMPI()) {
		t.Run(m.name, func(t *testing.T) {
			testenv.Need(t, "gcc", m.cc)
			t.Setenv("I_MPI_ROOT", filepath.Dir(filepath.Dir(m.cc)))
			library := m.mpiLibrary(t)
			if !interpose.HasPrebuilt(interpose.BuildOptions{MPI: library}) {
				testenv.Skip(t, "needs libraries of these sources: make prebuilt")
			}
			program := m.compile(t, "in_place")
			env := []string{"PATH=" + none, "LD_LIBRARY_PATH=" + filepath.Dir(library), "MPITRACE_CACHE=" + t.TempDir()}
			family := "mpich"
			if openMPI(m) {
				family = "openmpi"
			}
			out := succeed(t, env, mpitrace, "doctor")
			works := regexp.MustCompile(regexp.QuoteMeta(filepath.Base(library)) + `\S*\n +can be recorded with \S+ \(prebuilt library of the family ` +
				family + `, for the soname libmpi\S+\)\n +works: a prebuilt program was run and recorded\n`)
			if !works.MatchString(out.stdout) {
				t.Errorf("with prebuilt libraries: %s", out.stdout)
			}
			why := "this mpitrace was built without the prebuilt library of the family " + family
			for _, command := range []string{"doctor", "run " + program, "vars --mpi " + library} {
				out := execute(t, env, append([]string{without}, strings.Fields(command)...)...)
				for _, want := range []string{why, "Install the MPI's development files", "an mpitrace that has prebuilt libraries"} {
					if text := out.stdout + out.stderr; out.code == 0 || !strings.Contains(text, want) {
						t.Errorf("%s without prebuilt libraries: exit status %d, no %q in\n%s", command, out.code, want, text)
					}
				}
			}
		})
	}
}
