package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// allOrSweep returns the level of a test that does more at level sweep than at all.
func allOrSweep() testenv.Level {
	if testenv.Runs(testenv.Sweep) {
		return testenv.Sweep
	}
	return testenv.All
}

// TestFaults lets the library's system calls fail, one after the other: the
// k-th call of a function alone, or that one and all later ones. The program
// must not notice, and what is missing from the recording must be counted. At
// level all, the calls whose number is a power of two fail, at level sweep every
// one.
func TestFaults(t *testing.T) {
	withEachAt(t, allOrSweep(), debian, func(t *testing.T, m implementation) {
		lib := m.faultyLibrary(t)
		for _, way := range []faultyWay{
			{name: "run directory", env: []string{"MPITRACE_STACK=4"}},
			{name: "container refused", before: "fallocate:1+", only: regexp.MustCompile(`^(open|mmap|posix_fallocate|ftruncate|fstat|unlink)$`)},
			{name: "spool", env: []string{"MPITRACE_TIMING=sampled", "MPITRACE_SPOOL_DIR=DIR/spool"},
				only: regexp.MustCompile(`^(calloc|mmap|open|posix_fallocate|ftruncate|fstat|lstat|mkdir)$`)},
			{name: "trace", env: []string{"MPITRACE_TRACE=on"}, only: regexp.MustCompile(`^(calloc|realloc|mmap|open|fallocate|pwrite|fstat|lstat|mkdir)$`)},
			// The recording cannot be created in the run directory; it is
			// copied there at the end.
			{name: "elsewhere", before: "fallocate:1+,posix_fallocate:1", only: regexp.MustCompile(`^(open|close|pread|write|rename|unlink|fstat|mkdir|ftruncate)$`)},
		} {
			t.Run(way.name, func(t *testing.T) { m.failEach(t, lib, way) })
		}
	})
}

// A faultyWay is a configuration in which the calls of some functions fail.
type faultyWay struct {
	name   string
	env    []string // DIR stands for the directory of the trial
	before string   // fault that is added in each trial
	only   *regexp.Regexp
}

// faultyLibrary builds the library with tests/programs/faults.c between it and
// the system.
func (m implementation) faultyLibrary(t *testing.T) string {
	t.Helper()
	defer lock(m.name + "-faults.o")()
	source := filepath.Join(root, "tests", "programs", "faults.c")
	// The path must be the same in each run of the tests, because the library's
	// name is a hash of its flags.
	object := filepath.Join(os.Getenv("MPITRACE_CACHE"), m.name+"-faults.o")
	built := filepath.Join(scratch, m.name+"-faults.o")
	succeed(t, nil, "gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fPIC", "-fvisibility=hidden", "-c", source, "-o", built)
	succeed(t, nil, "cp", built, object)
	flags := []string{"-Wl," + object, hashOf(t, source), "-O0"} // -O0 builds faster
	for _, f := range regexp.MustCompile(`(?m)^FAULT\((\w+)`).FindAllSubmatch(readAll(t, source), -1) {
		flags = append(flags, "-Wl,--wrap="+string(f[1]))
	}
	return m.library(t, flags...)
}

// A trial is one run of the program in its own directory.
type trial struct {
	way     faultyWay
	faults  string
	dir     string
	command []string
	output
}

// alone is the environment in which Open MPI runs one process without starting a daemon or searching
// for networks. Without a daemon, all such processes of a node would share one session directory:
// MPI_Init fails in a process that makes the directory at the same moment as another process.
var alone = []string{"OMPI_MCA_ess_singleton_isolated=1", "OMPI_MCA_orte_create_session_dirs=0", "OMPI_MCA_btl=self", "OMPI_MCA_pml=ob1", "OMPI_MCA_osc=^ucx"}

func (r *trial) run() error {
	for _, dir := range []string{"spool", "tmp"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o700); err != nil {
			return err
		}
	}
	var stdout, stderr strings.Builder
	cmd := exec.Command(r.command[0], r.command[1:]...)
	cmd.Dir = r.dir
	cmd.Env = slices.Concat(os.Environ(), alone, []string{"FAULTS=" + r.faults, "FAULTS_COUNT=" + filepath.Join(r.dir, "count"),
		"MPITRACE_DIR=run", "MPITRACE_PROF=" + filepath.Join(r.dir, "p"), "TMPDIR=" + filepath.Join(r.dir, "tmp")})
	for _, e := range r.way.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "DIR/", r.dir+"/"))
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		return err
	}
	r.output = output{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return fmt.Errorf("ended by %v", status.Signal())
	}
	return nil
}

// recordings returns the paths of the trial's recordings, wherever they are.
func (r *trial) recordings() []string {
	var found []string
	for _, place := range []string{"run/recordings", "spool", "tmp/*"} {
		found = append(found, recordingsIn(filepath.Join(r.dir, place))...)
	}
	return found
}

func (m implementation) failEach(t *testing.T, lib string, way faultyWay) {
	program := m.compile(t, "answer")
	whole := trial{way: way, dir: t.TempDir(), command: []string{program}}
	if err := whole.run(); err != nil || whole.code != 0 || whole.stderr != "" {
		t.Fatalf("alone: %v, status %d: %s", err, whole.code, whole.stderr)
	}
	want := whole.output
	whole.command = preload(lib, nil, program)
	whole.faults = way.before
	if err := whole.run(); err != nil {
		t.Fatal(err)
	}
	var calls uint64
	fmt.Sscanf(want.stdout, "%d", &calls)
	clean, err := whole.judge(want, calls)
	if err != nil || clean == nil || clean.Losses.Any() || len(movedBy(clean)) < 40 {
		t.Fatalf("no function failed, but %v: %+v\n%s", err, clean, whole.stderr)
	}
	var group errgroup.Group
	group.SetLimit(2)
	trials := 0
	dir := t.TempDir()
	for _, line := range strings.Split(strings.TrimSpace(string(readAll(t, filepath.Join(whole.dir, "count")))), "\n") {
		var function string
		var n int
		fmt.Sscan(line, &function, &n)
		if n == 0 || way.only != nil && !way.only.MatchString(function) {
			continue
		}
		for k := 1; k <= n; k++ {
			for _, on := range []string{"", "+"} {
				if !faultAtLevel(k, on != "") {
					continue
				}
				trials++
				r := trial{way: way, faults: fmt.Sprintf("%s:%d%s,%s", function, k, on, way.before),
					dir: filepath.Join(dir, fmt.Sprintf("%s-%d%s", function, k, on)), command: whole.command}
				group.Go(func() error {
					if err := r.survives(want, calls, clean); err != nil {
						t.Errorf("%s: %v\n%s", r.faults, err, r.stderr)
					}
					return os.RemoveAll(r.dir)
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d trials", trials)
}

// faultAtLevel reports whether the k-th call of a function is to fail at the
// highest level that runs, alone or together with all later calls.
func faultAtLevel(k int, andLater bool) bool {
	power := k&(k-1) == 0
	if testenv.Runs(testenv.Sweep) {
		return power || !andLater
	}
	return power
}

func (r *trial) survives(want output, calls uint64, clean *profile.Profile) error {
	if err := r.run(); err != nil {
		return err
	}
	p, err := r.judge(want, calls)
	if err != nil {
		return err
	}
	if p == nil {
		if !strings.Contains(r.stderr, "nothing is recorded") {
			return errors.New("nothing was recorded, and nobody said so")
		}
		return nil
	}
	if p.Losses.Any() || r.stderr != "" {
		return nil
	}
	if got, want := fingerprint(p), fingerprint(clean); got != want {
		return fmt.Errorf("recorded %q without a message, want %q", missing(want, got), missing(got, want))
	}
	return nil
}

// judge requires that the program behaved as it does alone, that the library
// printed few lines, and that each call is recorded or counted as lost. It
// returns the recording, or nil if there is none.
func (r *trial) judge(want output, calls uint64) (*profile.Profile, error) {
	if r.code != want.code || r.stdout != want.stdout {
		return nil, fmt.Errorf("status %d, output %q; alone %d, %q", r.code, r.stdout, want.code, want.stdout)
	}
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, "mpitrace: ") {
			return nil, fmt.Errorf("it printed %q", line)
		}
	}
	if len(lines) > 5 { // two about the trace, one each about the recording, a table and the .prof file
		return nil, fmt.Errorf("%d lines were printed", len(lines))
	}
	files := r.recordings()
	if len(files) == 0 {
		return nil, nil
	}
	if strings.Contains(r.stderr, "cannot be removed") {
		files = files[:1]
	}
	p, err := recording.ReadFile(files[0])
	if err != nil || len(p.Problems) > 0 || len(files) > 1 {
		return p, fmt.Errorf("%d recordings: %v %q", len(files), err, p.Problems)
	}
	var sum uint64
	for i := range p.Rows {
		sum += p.Rows[i].Calls
	}
	if p.State != profile.Finalized || sum+p.Losses.Calls != calls {
		return p, fmt.Errorf("%s, %d calls recorded and %d lost, of %d", p.State, sum, p.Losses.Calls, calls)
	}
	return p, nil
}

// movedBy returns the totals of each call and direction as sorted lines of
// text.
func movedBy(p *profile.Profile) []string {
	type total struct{ calls, messages, bytes uint64 }
	sums := map[string]total{}
	for i := range p.Rows {
		r := &p.Rows[i]
		name := fmt.Sprintf("%s %d", r.Call, r.Direction)
		s := sums[name]
		sums[name] = total{s.calls + r.Calls, s.messages + r.Messages, s.bytes + r.Bytes}
	}
	var out []string
	for name, s := range sums {
		out = append(out, fmt.Sprintf("%s: %d", name, s))
	}
	slices.Sort(out)
	return out
}

// fingerprint returns, as text, everything that is the same in two complete
// runs.
func fingerprint(p *profile.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d stacks, %d vectors, %d rows, %d modules", len(p.Stacks), len(p.Vectors), len(p.Rows), len(p.Modules))
	for _, c := range p.Comms {
		fmt.Fprintf(&b, "\n%q %s %v %v", c.Name, c.ID, c.Members, c.Edges)
	}
	for _, s := range p.Slices {
		fmt.Fprintf(&b, "\n%s", s.Name)
	}
	return b.String() + "\n" + strings.Join(movedBy(p), "\n")
}

// missing returns the lines of b that a does not have.
func missing(a, b string) []string {
	have := strings.Split(a, "\n")
	return slices.DeleteFunc(strings.Split(b, "\n"), func(line string) bool { return slices.Contains(have, line) })
}
