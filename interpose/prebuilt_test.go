package interpose

import (
	"os/exec"
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

// libcPath returns the path of the C library that this machine's gcc links.
func libcPath(t *testing.T) string {
	t.Helper()
	testenv.Need(t, "gcc")
	out, err := exec.Command("gcc", "-print-file-name=libc.so.6").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
