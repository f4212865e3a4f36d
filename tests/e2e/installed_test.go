package e2e

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// nowhere is the environment of a user who has no directory for libraries.
var nowhere = []string{"HOME=/proc/none", "XDG_CACHE_HOME=", "MPITRACE_CACHE="}

// TestInstalledLibrary runs an installed mpitrace. It must use the installed
// library, without compiling, if that is the one that it would build. Any user
// can run it.
func TestInstalledLibrary(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		prefix := t.TempDir()
		installed := install(t, prefix)
		succeed(t, nil, mpitrace, "build", "--cc", m.cc, "-o", filepath.Join(prefix, "lib"))
		lib := filepath.Join(prefix, "lib", "libmpitrace-"+m.name+".so")
		job := m.launch(4, m.compile(t, "in_place"))
		for name, command := range map[string][]string{
			"a launcher": job, "a script": {"sh", "-c", strings.Join(job, " ")},
		} {
			if got, text := libraryOf(t, nowhere, installed, m, command); got != lib || strings.Contains(text, "building") {
				t.Errorf("%s without a home: the library is %s, want %s\n%s", name, got, lib, text)
			}
		}
		empty := append(slices.Clone(nowhere), "PATH="+t.TempDir())
		if out := execute(t, empty, installed, "doctor"); out.code != 0 || !strings.Contains(out.stdout, "can be recorded with "+lib) {
			t.Errorf("doctor without a compiler: exit status %d\n%s%s", out.code, out.stdout, out.stderr)
		}
		for name, spoil := range map[string]func() error{
			"others can write to it":   func() error { return os.Chmod(lib, 0o666) },
			"it is of another version": func() error { return changeIdentity(lib) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			if got, text := libraryOf(t, nil, installed, m, job); got == lib || filepath.Dir(got) != os.Getenv("MPITRACE_CACHE") {
				t.Errorf("%s: the library is %s\n%s", name, got, text)
			}
			if err := os.Chmod(lib, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNoCache runs mpitrace for a user with neither a cache nor an installed
// library. The library must be built in the run directory.
func TestNoCache(t *testing.T) {
	m := implementations()[0]
	withEach(t, func(o implementation) bool { return o.name == m.name }, func(t *testing.T, m implementation) {
		got, text := libraryOf(t, nowhere, install(t, t.TempDir()), m, m.launch(4, m.compile(t, "in_place")))
		if filepath.Base(filepath.Dir(got)) != "lib" || filepath.Base(filepath.Dir(filepath.Dir(got))) != "run" ||
			!strings.Contains(text, "for this run alone") {
			t.Errorf("the library is %s\n%s", got, text)
		}
	})
}

// install copies mpitrace to where `make install` puts it, and returns its
// path.
func install(t *testing.T, prefix string) string {
	t.Helper()
	installed := filepath.Join(prefix, "bin", "mpitrace")
	content, err := os.ReadFile(mpitrace)
	if err == nil {
		err = os.Mkdir(filepath.Dir(installed), 0o755)
	}
	if err == nil {
		err = os.WriteFile(installed, content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return installed
}

// libraryOf records a job of four ranks. It returns the library that was used,
// and the output on stderr.
func libraryOf(t *testing.T, env []string, installed string, m implementation, command []string) (lib, text string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	mpitrace := []string{installed, "run", "--no-report", "--strict", "--mpi", m.name, "-o", dir, "--"}
	out := succeed(t, env, slices.Concat(mpitrace, command)...)
	if n := len(readRecordings(t, dir)); n != 4 {
		t.Errorf("%d recordings, want 4", n)
	}
	info, err := rundir.Dir(dir).ReadInfo()
	if err != nil {
		t.Fatal(err)
	}
	return info.Library, out.stderr
}

// changeIdentity changes the identity in a library file, as if it were built
// from other sources.
func changeIdentity(lib string) error {
	f, err := elf.Open(lib)
	if err != nil {
		return err
	}
	defer f.Close()
	identity, err := f.Section(".mpitrace").Data()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(lib)
	if err != nil {
		return err
	}
	other := slices.Clone(identity)
	other[0] ^= 1
	return os.WriteFile(lib, bytes.Replace(content, identity, other, 1), 0o755)
}
