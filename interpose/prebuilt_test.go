package interpose

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestWhyPrebuilt(t *testing.T) {
	testenv.At(t, testenv.Quick)
	testenv.Need(t, "mpicc.mpich")
	mpi := librariesOf(t, "mpicc.mpich")[0]
	other := "/proc/self/exe" // has no soname
	inside := "this mpitrace was built without the prebuilt library of the family mpich"
	if HasPrebuilt(BuildOptions{MPI: mpi}) {
		inside = "prebuilt library of the family mpich, for the soname libmpich.so.12"
	}
	for _, test := range []struct {
		o    BuildOptions
		want string
	}{
		{BuildOptions{MPI: mpi}, inside},
		{BuildOptions{MPI: mpi, CFlags: []string{"-O0"}}, "flags of the compiler were given"},
		{BuildOptions{MPI: mpi, Compile: true}, "flags of the compiler were given"},
		{BuildOptions{}, "the MPI's shared library is not known"},
		{BuildOptions{MPI: other}, other + " has no soname"},
		{BuildOptions{MPI: libcPath(t)}, "there is no prebuilt library for the soname libc.so.6"},
	} {
		if got := WhyPrebuilt(test.o); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.o, got, test.want)
		}
	}
}

// TestFamilyOf checks the family of libraries with the sonames and symbols of some
// MPIs.
func TestFamilyOf(t *testing.T) {
	testenv.At(t, testenv.Quick)
	testenv.Need(t, "gcc")
	for _, test := range []struct{ soname, symbol, want string }{
		{"libmpi.so.40", "ompi_mpi_comm_world", "openmpi"},
		{"libmpi.so.12", "MPIR_Version_string", "mpich"},
		{"libmpi_gnu_91.so.12", "MPIR_Version_string", "mpich"}, // Cray
		{"libmpi.so.12", "ompi_mpi_comm_world", ""},             // Open MPI 1.10
		{"libmpi_abi.so.1", "MPIR_Version_string", "abi"},
		{"libmpi.so.1", "ompi_mpi_comm_world", ""},
	} {
		source, file := filepath.Join(t.TempDir(), "stub.c"), filepath.Join(t.TempDir(), "stub.so")
		testenv.WriteFile(t, source, "int "+test.symbol+";\n")
		if out, err := exec.Command("gcc", "-shared", "-fPIC", "-Wl,-soname,"+test.soname, source, "-o", file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if f, ok := familyOf(file); f.Name != test.want || ok != (test.want != "") {
			t.Errorf("%s with %s: got %q, want %q", test.soname, test.symbol, f.Name, test.want)
		}
	}
}

// libcPath returns the path of the C library that this machine's gcc links.
func libcPath(t *testing.T) string {
	t.Helper()
	testenv.Need(t, "gcc")
	out, err := exec.Command("gcc", "-print-file-name=libc.so.6").Output()
	testenv.NoError(t, err)
	return strings.TrimSpace(string(out))
}
