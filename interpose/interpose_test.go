package interpose

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/testenv"
)

// compilers are the MPIs' compiler wrappers that the tests want.
var compilers = []string{"mpicc.openmpi", "mpicc.mpich"}

func build(t *testing.T, cc string, flags ...string) string {
	t.Helper()
	testenv.Need(t, cc)
	t.Setenv("MPITRACE_CACHE", filepath.Join(t.TempDir(), "cache"))
	lib, err := Build(context.Background(), BuildOptions{CC: cc, CFlags: flags, Log: testLog{t}})
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) { l.t.Logf("%s", p); return len(p), nil }

func TestBuildWithoutWarnings(t *testing.T) {
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) { build(t, cc, "-Werror") })
		t.Run(cc+" with clang", func(t *testing.T) {
			testenv.Need(t, "clang")
			t.Setenv("OMPI_CC", "clang")
			t.Setenv("MPICH_CC", "clang")
			build(t, cc, "-Werror", "-Wno-unknown-warning-option")
		})
	}
}

// A preload reaches programs that have no MPI: the library must need none.
func TestLibraryNeedsNoMPI(t *testing.T) {
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) {
			f, err := elf.Open(build(t, cc))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			needed, err := f.ImportedLibraries()
			if err != nil {
				t.Fatal(err)
			}
			for _, lib := range needed {
				if strings.Contains(lib, "mpi") {
					t.Errorf("the library is linked to %s", lib)
				}
			}
			symbols, err := f.DynamicSymbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range symbols {
				if s.Section == elf.SHN_UNDEF && isMPI(s.Name) {
					t.Errorf("undefined symbol %s", s.Name)
				}
				if s.Section != elf.SHN_UNDEF && !exported.MatchString(s.Name) {
					t.Errorf("exports %s, which is no MPI function", s.Name)
				}
			}
		})
	}
}

// exported matches the names that the library may have: MPI's functions, in C
// and in the Fortran bindings, and what mpitrace.h calls.
var exported = regexp.MustCompile(`^(P?MPIX?_\w+|mpix?_[a-z0-9_]+|mpitrace_begin_phase)$`)

func TestBuildIsCached(t *testing.T) {
	testenv.Need(t, compilers[0])
	t.Setenv("MPITRACE_CACHE", t.TempDir()+"/cache")
	o := BuildOptions{CC: compilers[0]}
	first, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(second)
	if err != nil || first != second || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("built again: %s, then %s (%v)", first, second, err)
	}
	o.CFlags = []string{"-DMT_ANOTHER_FLAG"}
	if third, err := Build(context.Background(), o); err != nil || third == first {
		t.Errorf("other flags gave %s, %v", third, err)
	}
}

func TestBuildRefusesUnsafeCache(t *testing.T) {
	testenv.Need(t, compilers[0])
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MPITRACE_CACHE", dir)
	if _, err := Build(context.Background(), BuildOptions{CC: compilers[0]}); err == nil {
		t.Error("built into a directory that others can write to")
	}
	t.Setenv("MPITRACE_CACHE", filepath.Join(t.TempDir(), "with space"))
	if _, err := Build(context.Background(), BuildOptions{CC: compilers[0]}); err == nil {
		t.Error("built into a path with a space, which LD_PRELOAD would cut")
	}
}

func TestUnrecorded(t *testing.T) {
	lib := build(t, "mpicc.mpich")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	text := `#include <mpi.h>
int main(void)
{
    int rank;
    MPI_Request request;
    MPIX_Query_cuda_support();
    MPIX_Grequest_class_allocate(0, 0, &request);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    return MPI_Finalize();
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mpicc.mpich", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := Unrecorded(lib, []string{program, "/bin/sh", filepath.Join(dir, "not there")})
	if err != nil || !slices.Equal(got, []string{"MPIX_Grequest_class_allocate"}) {
		t.Errorf("got %v, %v; want MPIX_Grequest_class_allocate alone", got, err)
	}
}
