package symbolize

import (
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestDebugPackage(t *testing.T) {
	dir := t.TempDir()
	testenv.WriteFile(t, filepath.Join(dir, "cp2k.list"), "/.\n/usr/bin\n/usr/bin/cp2k.psmp\n")
	testenv.WriteFile(t, filepath.Join(dir, "libfoo1:amd64.list"), "/.\n/lib/libfoo.so.1\n")
	for path, want := range map[string]string{
		"/usr/bin/cp2k.psmp": "cp2k-dbgsym", "/usr/lib/libfoo.so.1": "libfoo1-dbgsym", "/usr/bin/no-such-program": "", "/home/u/app": "",
	} {
		if got := debugPackage(path, filepath.Join(dir, "*.list")); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
