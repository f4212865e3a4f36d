// Package nullmpi builds the null MPI, a loopback MPI for tests, and mpitrace's
// library for it, and records programs that run under both. No MPI has to be
// installed, no process is launched besides the program, and the program chooses
// what each MPI function returns: see src/nullmpi.h.
package nullmpi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

//go:embed src
var sources embed.FS

// An MPI is the null MPI, built in a directory, and mpitrace's library for it.
type MPI struct {
	Library string
	dir     string
	flags   []string // of programs
}

// Build builds the null MPI in the user's cache, unless it is there, and the library.
// The C flags are those of the library and of programs that Compile compiles.
//
// Both are outside of the repository: go test repeats a test if a file in the
// repository that it has opened changes, and would not find its result again.
func Build(t testing.TB, flags ...string) *MPI {
	t.Helper()
	testenv.Need(t, "gcc")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "mpitrace-tests")
	root, err := testenv.Root()
	if err != nil {
		t.Fatal(err)
	}
	m := &MPI{flags: flags, dir: filepath.Join(cache, "nullmpi-"+hash(t, root))}
	if _, err := os.Stat(m.dir); err != nil {
		m.make(t, root)
	}
	if err := os.MkdirAll(filepath.Join(cache, "library"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := interpose.BuildOptions{CC: m.cc(), MPI: m.mpi(), CFlags: flags, Compile: true, Dir: filepath.Join(cache, "library")}
	if m.Library, err = interpose.Build(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return m
}

// abi has the types and constants of mpi.h.
const abi = "interpose/src/base"

// hash returns a hash of what the null MPI is made of.
func hash(t testing.TB, root string) string {
	t.Helper()
	h := sha256.New()
	fmt.Fprintln(h, root)
	add := func(files fs.FS, pattern string) {
		names, err := fs.Glob(files, pattern)
		for _, name := range names {
			text, readErr := fs.ReadFile(files, name)
			if err = readErr; err != nil {
				break
			}
			fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		}
		if err != nil || len(names) == 0 {
			t.Fatalf("%d files %s: %v", len(names), pattern, err)
		}
	}
	add(sources, "src/*")
	add(os.DirFS(filepath.Join(root, abi)), "abi*.h")
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

func (m *MPI) cc() string  { return filepath.Join(m.dir, "mpicc") }
func (m *MPI) mpi() string { return filepath.Join(m.dir, "libmpi_abi.so.1") }

// make compiles the null MPI, and writes a compiler wrapper for programs.
func (m *MPI) make(t testing.TB, root string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(m.dir), "making-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	files, err := fs.Sub(sources, "src")
	if err == nil {
		err = os.CopyFS(work, files)
	}
	if err != nil {
		t.Fatal(err)
	}
	units, _ := filepath.Glob(filepath.Join(work, "*.c")) // the pattern is right
	include := []string{"-I" + work, "-I" + filepath.Join(root, "interpose", "src")}
	run(t, slices.Concat([]string{"gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-Wl,-soname,libmpi_abi.so.1", "-o", filepath.Join(work, "libmpi_abi.so.1")}, include, units)...)
	script := fmt.Sprintf("#!/bin/sh\nexec gcc '-I%s' '-I%s' \"$@\" '-L%s' -Wl,-rpath,'%s' -l:libmpi_abi.so.1\n",
		m.dir, filepath.Join(root, "interpose", "src"), m.dir, m.dir)
	if err := os.WriteFile(filepath.Join(work, "mpicc"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(work, m.dir); err != nil {
		if _, exists := os.Stat(m.dir); exists != nil { // else another process made it
			t.Fatal(err)
		}
	}
}

func run(t testing.TB, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// Compile compiles a C file, and returns the program's path.
func (m *MPI) Compile(t testing.TB, source string) string {
	t.Helper()
	root, err := testenv.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	run(t, slices.Concat([]string{m.cc(), "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
		"-I" + filepath.Join(root, "tests", "programs"), "-I" + filepath.Join(root, "tests", "nullmpi", "programs"),
		"-I" + filepath.Join(root, "interpose", "include")}, m.flags, []string{source, "-o", program, "-lpthread"})...)
	return program
}

// Record runs a program under the library, with variables added to the environment,
// and returns its recording. The program must succeed, and print "ok" first.
func (m *MPI) Record(t testing.TB, env []string, program ...string) *profile.Profile {
	t.Helper()
	dir := t.TempDir()
	spool := rundir.Dir(dir).Recordings()
	if err := os.Mkdir(spool, 0o700); err != nil { // a spool must be private
		t.Fatal(err)
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Env = slices.Concat(os.Environ(), []string{"LD_PRELOAD=" + m.Library, "MPITRACE_DIR=" + dir, "MPITRACE_SPOOL_DIR=" + spool, // the runtime of -fsanitize wants to be loaded first
		"ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"}, env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || !strings.HasPrefix(stdout.String(), "ok") {
		t.Fatalf("%s: %v\n%s%s", filepath.Base(program[0]), err, &stdout, &stderr)
	}
	files, err := rundir.Dir(dir).RecordingFiles()
	if err != nil || len(files) != 1 {
		t.Fatalf("%d recordings, %v\n%s", len(files), err, &stderr)
	}
	p, err := recording.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}
