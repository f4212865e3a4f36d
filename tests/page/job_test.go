// Package page tests the page of `mpitrace report --html` in a browser.
package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Paths that TestMain sets.
var (
	root    string // the repository
	scratch string // directory for commands, programs and the browser's data
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if root, err = filepath.Abs("../.."); err == nil {
		scratch, err = os.MkdirTemp("", "mpitrace-page-")
	}
	if err == nil {
		defer os.RemoveAll(scratch)
		err = prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { stopBrowser() }()
	return m.Run()
}

// prepare builds the commands, and sets the environment of all jobs.
func prepare() error {
	build := exec.Command("go", "build", "-o", scratch, "./cmd/mpitrace", "./cmd/profile2mat", "./tests/synth/gen")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	for name, value := range map[string]string{
		"OMPI_ALLOW_RUN_AS_ROOT":            "1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM":    "1",
		"OMPI_MCA_mpi_yield_when_idle":      "1", // other tests run at the same time
		"OMPI_MCA_rmaps_base_oversubscribe": "1",
		"XDG_CONFIG_HOME":                   filepath.Join(scratch, "config"),
		"MPITRACE_SITE_CONFIG":              "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	testenv.SharedCache(filepath.Join(scratch, "cache"), func() bool { _, err := interpose.CacheDir(); return err == nil })
	return nil
}

// command runs a command that prepare built, or another program, and returns what it
// writes to stdout.
func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	if built := filepath.Join(scratch, name); exists(built) {
		name = built
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, stderr.String())
	}
	return string(out)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compile compiles a C program with Open MPI and returns its path.
func compile(t testing.TB, source string) string {
	t.Helper()
	testenv.Need(t, "gcc", "mpicc.openmpi", "mpirun.openmpi")
	program := filepath.Join(scratch, strings.TrimSuffix(filepath.Base(source), ".c"))
	if !exists(program) {
		command(t, "mpicc.openmpi", "-O1", "-g", "-Wno-stringop-overflow", "-I", filepath.Join(root, "interpose", "include"),
			"-o", program, filepath.Join(root, source), "-lm")
	}
	return program
}

// record runs a job under mpitrace and Open MPI and returns its run directory. flags
// are those of mpitrace run. The job may fail.
func record(t testing.TB, flags []string, ranks int, job ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	args := append([]string{"run", "-o", dir}, flags...)
	args = append(args, "--", "mpirun.openmpi", "--oversubscribe", "-n", fmt.Sprint(ranks))
	out, err := exec.CommandContext(t.Context(), filepath.Join(scratch, "mpitrace"), append(args, job...)...).CombinedOutput()
	if !exists(dir) {
		t.Fatalf("no run directory: %v\n%s", err, out)
	}
	return dir
}

// synthetic writes a job of a shape and returns its run directory.
func synthetic(t testing.TB, shape string, ranks, perNode int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	command(t, "gen", "-shape", shape, "-ranks", fmt.Sprint(ranks), "-per-node", fmt.Sprint(perNode), "-o", dir)
	return dir
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
