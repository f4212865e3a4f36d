package interpose

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestIdentity checks that all compiler wrappers of an MPI give the same
// library, and that another MPI, other flags or other sources give another one.
func TestIdentity(t *testing.T) {
	const lib = "/usr/lib/x86_64-linux-gnu/"
	for _, name := range []string{"libmpich.so.12", "libmpi.so.40"} {
		if _, err := os.Stat(lib + name); err != nil {
			testenv.Skip(t, "needs Debian's MPIs: "+err.Error())
		}
	}
	of := func(p Product, o BuildOptions) string {
		id, err := p.identity(o)
		testenv.NoError(t, err)
		return id
	}
	base := BuildOptions{CC: "/usr/bin/mpicc", MPI: lib + "libmpich.so.12"}
	want := of(library, base)
	other := library
	other.dir = "mpit"
	for _, test := range []struct {
		name string
		p    Product
		o    BuildOptions
		same bool
	}{
		{"another wrapper", library, BuildOptions{CC: "mpicc.mpich", MPI: base.MPI}, true},
		{"no wrapper", library, BuildOptions{MPI: base.MPI}, true},
		{"another name of the MPI", library, BuildOptions{MPI: lib + "libmpich.so"}, true},
		{"another MPI", library, BuildOptions{MPI: lib + "libmpi.so.40"}, false},
		{"other flags", library, BuildOptions{MPI: base.MPI, CFlags: []string{"-g"}}, false},
		{"other sources", other, base, false},
	} {
		if got := of(test.p, test.o); (got == want) != test.same {
			t.Errorf("%s: %s, of the first %s", test.name, got, want)
		}
	}
	if Fits("/bin/sh", base) || Fits(filepath.Join(t.TempDir(), "none"), base) {
		t.Error("a file that is no library of ours fits")
	}
}

func TestRemoveAbandoned(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * abandonedAfter)
	for name, is := range map[string]time.Time{"build-1": old, "build-2": time.Now(), "doctor-3": old, "mpitrace-probe-4": old, "other": old} {
		path := filepath.Join(dir, name)
		testenv.NoError(t, os.MkdirAll(filepath.Join(path, "below"), 0o700))
		testenv.NoError(t, os.Chtimes(path, is, is))
	}
	removeAbandoned(dir)
	entries, err := os.ReadDir(dir)
	testenv.NoError(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"build-2", "other"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}
