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

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// compilers lists the MPIs' compiler wrappers that the tests need.
var compilers = []string{"mpicc.openmpi", "mpicc.mpich"}

func build(t *testing.T, cc string, flags ...string) string {
	t.Helper()
	testenv.Need(t, cc)
	t.Setenv("MPITRACE_CACHE", "") // restored at the end
	testenv.SharedCache(filepath.Join(t.TempDir(), "cache"), func() bool { _, err := CacheDir(); return err == nil })
	lib, err := Build(context.Background(), BuildOptions{CC: cc, MPI: librariesOf(t, cc)[0], CFlags: flags, Compile: true, Log: testLog{t}})
	testenv.NoError(t, err)
	return lib
}

func buildLister(t *testing.T, cc string, flags ...string) string {
	t.Helper()
	lister, err := BuildLister(context.Background(), BuildOptions{CC: cc, CFlags: flags, Log: testLog{t}})
	testenv.NoError(t, err)
	return lister
}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) { l.t.Logf("%s", p); return len(p), nil }

func TestBuildWithoutWarnings(t *testing.T) {
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) {
			testenv.At(t, testenv.Quick)
			build(t, cc, "-Werror")
			buildLister(t, cc, "-Werror")
		})
		t.Run(cc+" with clang", func(t *testing.T) {
			testenv.At(t, testenv.All)
			testenv.Need(t, "clang")
			t.Setenv("OMPI_CC", "clang")
			t.Setenv("MPICH_CC", "clang")
			build(t, cc, "-Werror", "-Wno-unknown-warning-option")
			buildLister(t, cc, "-Werror", "-Wno-unknown-warning-option")
		})
	}
}

// TestLibraryNeedsNoMPI checks that the library needs no symbol of an MPI,
// since it is also preloaded into programs without MPI.
func TestLibraryNeedsNoMPI(t *testing.T) {
	testenv.At(t, testenv.Quick)
	for _, cc := range compilers {
		t.Run(cc, func(t *testing.T) {
			f, err := elf.Open(build(t, cc))
			testenv.NoError(t, err)
			defer f.Close()
			needed, err := f.ImportedLibraries()
			testenv.NoError(t, err)
			for _, lib := range needed {
				if strings.Contains(lib, "mpi") {
					t.Errorf("the library is linked to %s", lib)
				}
			}
			symbols, err := f.DynamicSymbols()
			testenv.NoError(t, err)
			for _, s := range symbols {
				if s.Section == elf.SHN_UNDEF && isMPI(s.Name) {
					t.Errorf("undefined symbol %s", s.Name)
				}
				// The linker lists the bounds of sections here too, but hidden.
				hidden := elf.ST_BIND(s.Info) == elf.STB_LOCAL || elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN
				if s.Section != elf.SHN_UNDEF && !hidden && !exported.MatchString(s.Name) {
					t.Errorf("exports %s, which is no MPI function", s.Name)
				}
			}
		})
	}
}

// exported matches the names that the library may export: MPI's functions in C
// and in the Fortran bindings, the functions of mpitrace.h, dlclose, which
// mpitrace intercepts to keep the call sites of unloaded files, and what the
// dispatcher calls or defines.
var exported = regexp.MustCompile(`^(P?MPIX?_\w+|mpix?_[a-z0-9_]+|mpitrace_(begin_phase|change_setting)|dlclose|__gmon_start__|` +
	`mt_dispatched(_other)?|mt_stderr_at_start|mt_self|mt_quick_self|mt_calling|mt_fortran_noted|mt_lock_(depth|state_before))$`)

func TestBuildIsCached(t *testing.T) {
	testenv.At(t, testenv.Quick)
	testenv.Need(t, compilers[0])
	t.Setenv("MPITRACE_CACHE", t.TempDir()+"/cache")
	o := BuildOptions{CC: compilers[0], CFlags: []string{"-O0"}}
	first, err := Build(context.Background(), o)
	testenv.NoError(t, err)
	before, err := os.Stat(first)
	testenv.NoError(t, err)
	second, err := Build(context.Background(), o)
	testenv.NoError(t, err)
	after, err := os.Stat(second)
	if err != nil || first != second || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("built again: %s, then %s (%v)", first, second, err)
	}
	o.CFlags = append(o.CFlags, "-DMT_ANOTHER_FLAG")
	if third, err := Build(context.Background(), o); err != nil || third == first {
		t.Errorf("other flags gave %s, %v", third, err)
	}
}

func TestBuildRefusesUnsafeCache(t *testing.T) {
	open := t.TempDir()
	testenv.NoError(t, os.Chmod(open, 0o777))
	for _, test := range []struct{ dir, want string }{
		{open, "others can write to " + open},
		{filepath.Join(open, "below"), "others can write to " + open},
		{filepath.Join(t.TempDir(), "with space"), "no space or colon"},
		{filepath.Join(t.TempDir(), "with:colon"), "no space or colon"},
	} {
		t.Setenv("MPITRACE_CACHE", test.dir)
		if _, err := Build(context.Background(), BuildOptions{CC: "no-compiler-is-asked"}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.dir, err, test.want)
		}
		t.Setenv("MPITRACE_CACHE", "")
		t.Setenv("XDG_CACHE_HOME", test.dir)
		if _, err := CacheDir(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("XDG_CACHE_HOME=%s: got %v, want %q", test.dir, err, test.want)
		}
	}
}

// TestListerLoadsItsMPI checks that the program that lists variables loads the
// MPI that its argument names, whatever LD_LIBRARY_PATH contains, and that it is
// linked to none.
func TestListerLoadsItsMPI(t *testing.T) {
	testenv.At(t, testenv.Quick)
	testenv.Need(t, "mpicc.mpich")
	t.Setenv("MPITRACE_CACHE", filepath.Join(t.TempDir(), "cache"))
	mpi := librariesOf(t, "mpicc.mpich")[0]
	o := BuildOptions{CC: "mpicc.mpich", MPI: mpi}
	lister, err := BuildLister(t.Context(), o)
	testenv.NoError(t, err)
	f, err := elf.Open(lister)
	testenv.NoError(t, err)
	defer f.Close()
	if needed, err := f.ImportedLibraries(); err != nil || slices.ContainsFunc(needed, func(s string) bool { return strings.Contains(s, "mpi") }) {
		t.Errorf("it is linked to %q, %v", needed, err)
	}
	t.Setenv("LD_LIBRARY_PATH", t.TempDir())
	if out, err := exec.Command(lister, mpi).Output(); err != nil || !strings.HasPrefix(string(out), "library version=MPICH") {
		t.Errorf("%v, %.100s", err, out)
	}
	again, err := BuildLister(t.Context(), o)
	if err != nil || again != lister {
		t.Errorf("built again as %s, %v", again, err)
	}
	o.CFlags = []string{"-DMT_ANOTHER_FLAG"}
	if another, err := BuildLister(t.Context(), o); err != nil || another == lister {
		t.Errorf("other flags gave %s, %v", another, err)
	}
}

func TestUnrecorded(t *testing.T) {
	testenv.At(t, testenv.Quick)
	lib := build(t, "mpicc.mpich")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	text := `#include <mpi.h>
extern int MPIX_Of_another_MPI(void) __attribute__((weak));
int main(void)
{
    int rank;
    MPI_Request request;
    if (MPIX_Of_another_MPI)
        MPIX_Of_another_MPI();
    MPIX_Query_cuda_support();
    MPIX_Grequest_class_allocate(0, 0, &request);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    return MPI_Finalize();
}
`
	testenv.WriteFile(t, source, text)
	if out, err := exec.Command("mpicc.mpich", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mpi := mpiOf(t, program)
	for _, test := range []struct {
		files, want []string
	}{
		{[]string{program, "/bin/sh", filepath.Join(dir, "not there")}, []string{"MPIX_Grequest_class_allocate", "MPIX_Of_another_MPI"}},
		{[]string{program, "/bin/sh", mpi}, []string{"MPIX_Grequest_class_allocate"}},
	} {
		if got, err := Unrecorded(lib, test.files); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v: got %v, %v; want %v", test.files, got, err, test.want)
		}
	}
}

// mpiOf returns the MPI library that the loader finds for a program.
func mpiOf(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command("ldd", program).Output()
	testenv.NoError(t, err)
	_, rest, _ := strings.Cut(string(out), "libmpich.so.12 => ")
	path, _, ok := strings.Cut(rest, " ")
	if !ok {
		t.Fatalf("no libmpich.so.12 in\n%s", out)
	}
	return path
}
