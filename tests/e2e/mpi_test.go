package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Where things are; set by TestMain.
var (
	root     string // the repository
	scratch  string // for programs and commands that several tests use
	mpitrace string
	toMatrix string // profile2mat
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if root, err = filepath.Abs("../.."); err == nil {
		scratch, err = os.MkdirTemp("", "mpitrace-e2e-")
	}
	if err == nil {
		defer os.RemoveAll(scratch)
		err = prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare builds the commands and sets the environment of all jobs.
func prepare() error {
	mpitrace = filepath.Join(scratch, "mpitrace")
	toMatrix = filepath.Join(scratch, "profile2mat")
	build := exec.Command("go", "build", "-o", scratch, "./cmd/mpitrace", "./cmd/profile2mat")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	for name, value := range map[string]string{
		"OMPI_ALLOW_RUN_AS_ROOT":         "1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
		// A rank that waits leaves its processor to others: other tests and jobs
		// run beside it, for which Open MPI does not know to make room.
		"OMPI_MCA_mpi_yield_when_idle": "1",
		// No settings of the user's, nor the site's.
		"XDG_CONFIG_HOME": filepath.Join(scratch, "config"), "MPITRACE_SITE_CONFIG": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	testenv.SharedCache(filepath.Join(scratch, "cache"), func() bool { _, err := interpose.CacheDir(); return err == nil })
	return buildLibraries()
}

// buildLibraries makes the library for each MPI that is here: the first run with
// one would do it, in the time that the run has.
func buildLibraries() error {
	for _, m := range implementations() {
		if _, err := exec.LookPath(m.cc); err != nil {
			continue // the tests that need it say so
		}
		if out, err := exec.Command(mpitrace, "build", "--cc", m.cc).CombinedOutput(); err != nil {
			return fmt.Errorf("build the library for %s: %w\n%s", m.name, err, out)
		}
	}
	return nil
}

// An implementation of MPI, as installed here.
type implementation struct {
	name     string
	cc       string
	launcher []string
	mpi4     bool // has persistent collectives and Isendrecv
	large    bool // has the large-count twins
}

// implementations are the MPIs of Debian and those of the Python wheels, which
// `make setup` puts below build.
func implementations() []implementation {
	wheel := func(name, command string) string { return filepath.Join(root, "build", name, "bin", command) }
	return []implementation{
		{name: "openmpi", cc: "mpicc.openmpi", launcher: []string{"mpirun.openmpi", "--oversubscribe"}},
		{name: "mpich", cc: "mpicc.mpich", launcher: []string{"mpiexec.mpich"}, mpi4: true, large: true},
		{name: "openmpi5", cc: wheel("openmpi5", "mpicc"),
			launcher: []string{wheel("openmpi5", "mpirun"), "--oversubscribe"}, mpi4: true},
		{name: "mpich5", cc: wheel("mpich5", "mpicc"), launcher: []string{wheel("mpich5", "mpiexec")}, mpi4: true, large: true},
	}
}

// withEach runs f as a subtest for each MPI that has what the test needs: for
// Debian's at level quick, for the others at level all. Two run at a time: a test
// whose f sets the environment or shares variables uses withEachInTurn.
func withEach(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	atOnce(t, 2, withLevel(has), f)
}

func withEachInTurn(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	atOnce(t, 1, withLevel(has), f)
}

// withEachAt runs all of these subtests at one level.
func withEachAt(t *testing.T, level testenv.Level, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	testenv.At(t, level)
	atOnce(t, 2, has, f)
}

// atOnce runs so many of the subtests at a time, and returns when all are done.
func atOnce(t *testing.T, limit int, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(limit)
	for _, m := range implementations() {
		if has(m) {
			group.Go(func() error {
				m.subtest(t, f)
				return nil
			})
		}
	}
	_ = group.Wait() // of no errors
}

// withLevel selects, of the MPIs that have something, those whose level runs.
func withLevel(has func(implementation) bool) func(implementation) bool {
	return func(m implementation) bool { return has(m) && testenv.Runs(m.level()) }
}

func (m implementation) subtest(t *testing.T, f func(*testing.T, implementation)) {
	t.Run(m.name, func(t *testing.T) {
		testenv.Need(t, "gcc", m.cc, m.launcher[0])
		f(t, m)
	})
}

// level is the level of tests that any MPI can run.
func (m implementation) level() testenv.Level {
	if debian(m) {
		return testenv.Quick
	}
	return testenv.All
}

func anyMPI(implementation) bool    { return true }
func debian(m implementation) bool  { return !strings.HasSuffix(m.name, "5") }
func openMPI(m implementation) bool { return strings.HasPrefix(m.name, "openmpi") }
func mpi4(m implementation) bool    { return m.mpi4 }
func large(m implementation) bool   { return m.large }

// compile makes a program of tests/programs, once for each MPI and set of
// flags, and returns its path.
func (m implementation) compile(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return m.compileFile(t, filepath.Join(root, "tests", "programs", name+".c"), flags...)
}

func (m implementation) compileFile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(source), ".c")
	// Not a name with "=" in it: env(1) would take it for a variable.
	dir := filepath.Join(scratch, m.name, strings.ReplaceAll(strings.Join(append([]string{"built"}, flags...), ""), "=", "-"))
	program := filepath.Join(dir, name)
	defer lock(program)()
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Both MPIs declare their IGNORE constants in ways that gcc mistrusts.
	args := []string{"-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread",
		"-I" + filepath.Join(root, "interpose", "include")}
	args = append(append(args, flags...), source, "-o", program, "-lpthread", "-lm", "-ldl")
	if out, err := exec.Command(m.cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", source, err, out)
	}
	return program
}

// locks has a mutex for each program that tests compile.
var locks sync.Map

// lock locks a program and returns what unlocks it.
func lock(program string) (unlock func()) {
	mutex, _ := locks.LoadOrStore(program, new(sync.Mutex))
	mutex.(*sync.Mutex).Lock()
	return mutex.(*sync.Mutex).Unlock
}

// launch is the command line that runs a program on n ranks.
func (m implementation) launch(n int, program ...string) []string {
	return slices.Concat(m.launcher, []string{"-n", fmt.Sprint(n)}, program)
}

// output is what a command left.
type output struct {
	stdout, stderr string
	code           int
}

// patience is how long tests wait for what must come: it ends those that hang, and
// bounds nothing else.
const patience = 5 * time.Minute

// execute runs a command to its end.
func execute(t *testing.T, env []string, command ...string) output {
	t.Helper()
	return executeWithin(t, patience, env, command...)
}

func executeWithin(t *testing.T, limit time.Duration, env []string, command ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A launcher that is asked to end takes its ranks along.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s: not done in time\n%s%s", strings.Join(command, " "), &stdout, &stderr)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// succeed runs a command that must exit with 0.
func succeed(t *testing.T, env []string, command ...string) output {
	t.Helper()
	out := execute(t, env, command...)
	if out.code != 0 {
		t.Fatalf("%s: exit status %d\n%s%s", strings.Join(command, " "), out.code, out.stdout, out.stderr)
	}
	return out
}

// A job is a program that ran under mpitrace: its run directory, and what each
// rank recorded.
type job struct {
	output
	dir   string
	ranks []*profile.Profile
}

// record runs a command under `mpitrace run` with these flags.
func record(t *testing.T, flags []string, command ...string) job {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	out := execute(t, nil, slices.Concat([]string{mpitrace, "run", "-o", dir}, flags, []string{"--"}, command)...)
	return job{output: out, dir: dir, ranks: readRecordings(t, dir)}
}

// readRecordings reads all of a run directory, by rank.
func readRecordings(t *testing.T, dir string) []*profile.Profile {
	t.Helper()
	return readFiles(t, filepath.Join(dir, "recordings", "*.rec"))
}

// readFiles reads the recordings whose paths match a pattern, by rank.
func readFiles(t *testing.T, pattern string) []*profile.Profile {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	ranks := make([]*profile.Profile, len(paths))
	for i, path := range paths {
		if ranks[i], err = recording.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(ranks, func(a, b *profile.Profile) int { return a.Rank - b.Rank })
	return ranks
}

// run records a test program on n ranks, which must end well and be recorded
// whole.
func (m implementation) run(t *testing.T, n int, program string, args ...string) job {
	t.Helper()
	j := record(t, nil, m.launch(n, append([]string{program}, args...)...)...)
	if j.code != 0 || strings.TrimSpace(j.stdout) == "" {
		t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
	}
	if first, _, _ := strings.Cut(j.stdout, "\n"); first != "ok" && filepath.Base(program) != "halo" {
		t.Errorf("the program printed %q, want ok first", j.stdout)
	}
	checkWhole(t, n, j)
	return j
}

// checkWhole requires that all ranks are there, finalized, and lost nothing.
func checkWhole(t *testing.T, n int, j job) {
	t.Helper()
	if len(j.ranks) != n {
		t.Fatalf("%d recordings of %d ranks\n%s", len(j.ranks), n, j.stderr)
	}
	for r, p := range j.ranks {
		if p.Rank != r || p.Size != n {
			t.Errorf("recording %d is of rank %d of %d, want %d of %d", r, p.Rank, p.Size, r, n)
		}
		if p.State != profile.Finalized {
			t.Errorf("rank %d: state %v, want finalized", r, p.State)
		}
		if p.Losses.Any() {
			t.Errorf("rank %d: lost %+v, want nothing", r, p.Losses)
		}
	}
}
