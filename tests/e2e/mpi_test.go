package e2e

import (
	"bytes"
	"cmp"
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
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Paths and directories that TestMain sets.
var (
	root     string // the repository
	scratch  string // directory for programs and commands that several tests use
	mpitrace string
	toMatrix string // path of profile2mat
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

// prepare builds the commands, and sets the environment of all jobs.
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
		// Waiting ranks yield their processor, since other tests and jobs run
		// at the same time. Open MPI does not do so by itself.
		"OMPI_MCA_mpi_yield_when_idle": "1",
		// Do not read settings of the user or the site.
		"XDG_CONFIG_HOME": filepath.Join(scratch, "config"), "MPITRACE_SITE_CONFIG": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	testenv.SharedCache(filepath.Join(scratch, "cache"), func() bool { _, err := interpose.CacheDir(); return err == nil })
	return buildLibraries()
}

// buildLibraries builds the library for each installed MPI with which tests run.
// Otherwise the first run with an MPI would build it, within the time limit of that run.
func buildLibraries() error {
	for _, m := range implementations() {
		if !debian(m) && testenv.Highest() == testenv.Quick {
			continue
		}
		if _, err := exec.LookPath(m.cc); err != nil {
			continue // the tests that need it report that it is missing
		}
		if out, err := exec.Command(mpitrace, "build", "--cc", m.cc).CombinedOutput(); err != nil {
			return fmt.Errorf("build the library for %s: %w\n%s", m.name, err, out)
		}
	}
	return nil
}

// An implementation is an installed MPI.
type implementation struct {
	name     string
	cc       string
	launcher []string
	mpi4     bool // has persistent collectives and Isendrecv
	large    bool // has the large-count functions

	binaries    string           // whose programs it runs, unless these are its own
	environment func(*testing.T) // sets the variables that it needs; may be nil
}

// implementations returns the MPIs of Debian and those of the Python wheels,
// which `make setup` installs below build.
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

// withEach runs f as a subtest for each MPI for which has returns true and that
// can do what the test needs (see lacks): Debian's at level quick, the others,
// among them Intel MPI, at level all. Two subtests run at a time, and at level
// quick other tests beside them. Tests of times use withEachAlone.
func withEach(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	beside(t)
	withEachAlone(t, has, f)
}

// withEachAlone does the same, but runs no other test of this package at the same time.
func withEachAlone(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	atOnce(t, 2, withLevel(has), f)
}

// withEachInTurn runs one subtest at a time, and no other test. f may set the environment.
func withEachInTurn(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	atOnce(t, 1, withLevel(has), f)
}

// withEachAt does what withEach does for the subtests of all MPIs at one level.
func withEachAt(t *testing.T, level testenv.Level, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	testenv.At(t, level)
	beside(t)
	atOnce(t, 2, has, f)
}

// besideOthers holds the tests that run at the same time as others.
var besideOthers sync.Map

// beside lets a test run at the same time as others, at level quick. At level all, the
// subtests of Intel MPI need environment variables.
func beside(t *testing.T) {
	if _, already := besideOthers.LoadOrStore(t, true); !already && !testenv.Runs(testenv.All) && !testenv.Runs(testenv.Sweep) {
		t.Parallel()
	}
}

// environments holds the variables that tests set for their commands, by name of the test.
var environments sync.Map

// setenv sets a variable of the commands that a test and its subtests run, and of no
// others: other tests may run at the same time.
func setenv(t *testing.T, name, value string) {
	t.Helper()
	var own []string
	if set, ok := environments.Load(t.Name()); ok {
		own = set.([]string)
	}
	environments.Store(t.Name(), append(slices.Clip(own), name+"="+value))
}

// environ returns the environment of a test's commands.
func environ(t *testing.T) []string {
	env, name := os.Environ(), t.Name()
	for i := range len(name) + 1 {
		if i == len(name) || name[i] == '/' {
			if set, ok := environments.Load(name[:i]); ok {
				env = append(env, set.([]string)...)
			}
		}
	}
	return env
}

// atOnce runs at most limit subtests at a time, and returns when all are done.
func atOnce(t *testing.T, limit int, has func(implementation) bool, f func(*testing.T, implementation)) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(limit)
	for _, m := range implementations() {
		if has(m) && !lacksFor(t, m) {
			group.Go(func() error {
				m.subtest(t, f)
				return nil
			})
		}
	}
	_ = group.Wait() // the functions return no errors
	// These run alone, because they need other environment variables.
	alone := []implementation{intelMPI()}
	if slices.Contains(testsOfStandardABI, t.Name()) {
		alone = append(alone, standardABIs()...)
	}
	for _, m := range alone {
		if has(m) && !lacksFor(t, m) {
			m.subtest(t, f)
		}
	}
}

// withLevel returns a filter that accepts an MPI if has does and its level
// runs.
func withLevel(has func(implementation) bool) func(implementation) bool {
	return func(m implementation) bool { return has(m) && testenv.Runs(m.level()) }
}

func (m implementation) subtest(t *testing.T, f func(*testing.T, implementation)) {
	t.Run(m.name, func(t *testing.T) {
		testenv.Need(t, "gcc", m.cc, m.launcher[0])
		if m.environment != nil {
			m.environment(t)
		}
		f(t, m)
	})
}

// level returns the level of tests that run with any MPI.
func (m implementation) level() testenv.Level {
	if debian(m) {
		return testenv.Quick
	}
	return testenv.All
}

func anyMPI(implementation) bool    { return true }
func debian(m implementation) bool  { return m.name == "openmpi" || m.name == "mpich" }
func openMPI(m implementation) bool { return strings.HasPrefix(m.name, "openmpi") }
func mpi4(m implementation) bool    { return m.mpi4 }
func large(m implementation) bool   { return m.large }

// compile compiles a program of tests/programs, once per MPI and set of flags,
// and returns its path.
func (m implementation) compile(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return m.compileFile(t, filepath.Join(root, "tests", "programs", name+".c"), flags...)
}

func (m implementation) compileFile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	dir := m.builtWith(flags)
	program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".c"))
	defer lock(program)()
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m.compileTo(t, program, append(slices.Clone(flags), source)...)
	return program
}

// builtWith returns the directory of the programs that are compiled with these flags.
// Its name must not contain "=": env(1) would take it for a variable.
func (m implementation) builtWith(flags []string) string {
	return filepath.Join(scratch, cmp.Or(m.binaries, m.name), strings.ReplaceAll("built"+strings.Join(flags, ""), "=", "-"))
}

// compileTo compiles a program, or with -c an object.
func (m implementation) compileTo(t *testing.T, output string, args ...string) {
	t.Helper()
	// Both MPIs declare their IGNORE constants in ways about which gcc warns.
	args = slices.Concat([]string{"-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-Wno-stringop-overread",
		"-I" + filepath.Join(root, "interpose", "include")}, args, []string{"-o", output, "-lpthread", "-lm", "-ldl"})
	if out, err := exec.Command(m.cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", m.cc, strings.Join(args, " "), err, out)
	}
}

// locks holds a mutex for each program that tests compile.
var locks sync.Map

// lock locks a program, and returns the function that unlocks it.
func lock(program string) (unlock func()) {
	mutex, _ := locks.LoadOrStore(program, new(sync.Mutex))
	mutex.(*sync.Mutex).Lock()
	return mutex.(*sync.Mutex).Unlock
}

// launch returns the command line that runs a program on n ranks.
func (m implementation) launch(n int, program ...string) []string {
	return slices.Concat(m.launcher, []string{"-n", fmt.Sprint(n)}, program)
}

// output is the output and exit status of a command.
type output struct {
	stdout, stderr string
	code           int
	memory         int64 // bytes, at most, of the command or of a process that it waited for
}

// patience is how long tests wait for an event that must happen. It only ends
// tests that hang.
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
	cmd.Env = append(environ(t), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A launcher that gets SIGTERM also ends its ranks.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s: not done in time\n%s%s", strings.Join(command, " "), &stdout, &stderr)
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 // in KiB on Linux
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), used}
}

// succeed runs a command, and requires exit status 0.
func succeed(t *testing.T, env []string, command ...string) output {
	t.Helper()
	out := execute(t, env, command...)
	if out.code != 0 {
		t.Fatalf("%s: exit status %d\n%s%s", strings.Join(command, " "), out.code, out.stdout, out.stderr)
	}
	return out
}

// A job is a program that ran under mpitrace: its run directory, and each
// rank's recording.
type job struct {
	output
	dir    string
	ranks  []*profile.Profile
	traces []profile.EventSource // of a job that was traced, by rank
}

// record runs a command under `mpitrace run` with these flags.
func record(t *testing.T, flags []string, command ...string) job {
	t.Helper()
	return recordInto(t, filepath.Join(t.TempDir(), "run"), flags, command...)
}

func recordInto(t *testing.T, dir string, flags []string, command ...string) job {
	t.Helper()
	out := execute(t, nil, slices.Concat([]string{mpitrace, "run", "-o", dir}, flags, []string{"--"}, command)...)
	checkColumns(t, dir)
	return job{output: out, dir: dir, ranks: readRecordings(t, dir)}
}

// recordFiles records a program under a library that is preloaded by hand, each
// rank in a file of its own: the spool is in the run directory dir.
func (m implementation) recordFiles(t *testing.T, ranks int, dir string, env []string, program string) []*profile.Profile {
	t.Helper()
	recordings := filepath.Join(dir, "recordings")
	if err := os.MkdirAll(recordings, 0o700); err != nil { // a spool must be private
		t.Fatal(err)
	}
	env = slices.Concat([]string{"MPITRACE_DIR=" + dir, "MPITRACE_SPOOL_DIR=" + recordings}, env)
	succeed(t, nil, m.launch(ranks, preload(m.library(t), env, program)...)...)
	return readRecordings(t, dir)
}

// readRecordings reads all recordings of a run directory, sorted by rank.
func readRecordings(t *testing.T, dir string) []*profile.Profile {
	t.Helper()
	return readFiles(t, recordingFiles(t, dir))
}

// recordingFiles returns the paths of a run's recordings, those in containers
// and those that are still in the spool included.
func recordingFiles(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := rundir.Dir(dir).RecordingFiles()
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// readFiles reads recordings, sorted by rank.
func readFiles(t *testing.T, paths []string) []*profile.Profile {
	t.Helper()
	var err error
	ranks := make([]*profile.Profile, len(paths))
	for i, path := range paths {
		if ranks[i], err = recording.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(ranks, func(a, b *profile.Profile) int { return a.Rank - b.Rank })
	return ranks
}

// run records a test program on n ranks. The program must succeed, and its
// recordings must be complete.
func (m implementation) run(t *testing.T, n int, program string, args ...string) job {
	t.Helper()
	return m.runInto(t, filepath.Join(t.TempDir(), "run"), n, program, args...)
}

func (m implementation) runInto(t *testing.T, dir string, n int, program string, args ...string) job {
	t.Helper()
	j := recordInto(t, dir, nil, m.launch(n, append([]string{program}, args...)...)...)
	if j.code != 0 || strings.TrimSpace(j.stdout) == "" {
		t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
	}
	if first, _, _ := strings.Cut(j.stdout, "\n"); first != "ok" && filepath.Base(program) != "halo" {
		t.Errorf("the program printed %q, want ok first", j.stdout)
	}
	checkWhole(t, n, j)
	return j
}

// checkWhole requires that the recordings of all ranks are there, finalized,
// and without losses.
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
