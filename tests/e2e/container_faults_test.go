package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/collect"
	"github.com/mpitrace/mpitrace/profile"
)

// TestContainerKilledInside kills a process just before and just after each call
// of the system by which it makes and extends its part of a container: between a
// claim and its extent, too. Processes that come before and after it must lose
// nothing. Of the killed one, what is there can be read.
func TestContainerKilledInside(t *testing.T) {
	withEachAt(t, allOrSweep(), debian, func(t *testing.T, m implementation) {
		lib := m.faultyLibrary(t)
		for _, trace := range []string{"off", "on"} {
			t.Run("trace "+trace, func(t *testing.T) { m.killInside(t, lib, trace) })
		}
	})
}

// A victim is a job of three processes, one after the other, of which the second
// is killed.
type victim struct {
	dir     string
	env     []string
	command []string
}

func (v *victim) run(faults string) error {
	cmd := exec.Command(v.command[0], v.command[1:]...)
	cmd.Env = slices.Concat(os.Environ(), oneJob, v.env, []string{"MPITRACE_DIR=" + v.dir, "FAULTS=" + faults, "FAULTS_COUNT=" + v.dir + ".count"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (m implementation) killInside(t *testing.T, lib, trace string) {
	v := victim{dir: filepath.Join(t.TempDir(), "run"), env: []string{"MPITRACE_TRACE=" + trace, "MPITRACE_TRACE_BUFFER=256K"},
		command: preload(lib, nil, m.compile(t, "answer"))}
	if err := v.run(""); err != nil {
		t.Fatal(err)
	}
	want := fingerprint(checkOneContainer(t, v.dir, 1)[0])
	functions := regexp.MustCompile(`^(open|fstat|lstat|mmap|fallocate|pwrite|link|unlink|close|pread)$`)
	var group errgroup.Group
	group.SetLimit(2)
	trials := 0
	for _, line := range strings.Split(strings.TrimSpace(string(readAll(t, v.dir+".count"))), "\n") {
		var function string
		var n int
		fmt.Sscan(line, &function, &n)
		if !functions.MatchString(function) {
			continue
		}
		for k := 1; k <= n; k++ {
			if !faultAtLevel(k, false) {
				continue
			}
			for name, moment := range map[string]string{"before": "!", "after": "?"} {
				for _, first := range []bool{true, false} {
					fault := fmt.Sprintf("%s:%d%s", function, k, moment)
					trials++
					trial := v
					trial.dir = filepath.Join(v.dir, fmt.Sprintf("%s-%d-%s-%t", function, k, name, first))
					group.Go(func() error {
						if err := trial.check(fault, first, want); err != nil {
							t.Errorf("%s, first %t: %v", fault, first, err)
						}
						return os.RemoveAll(trial.dir)
					})
				}
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d trials", trials)
}

// check runs the job. The killed process is its first if first is set, and makes
// the container.
func (v *victim) check(fault string, first bool, want string) error {
	whole := 1
	if !first {
		whole++
		if err := v.run(""); err != nil {
			return err
		}
	}
	if err := v.run(fault); err == nil && first {
		return fmt.Errorf("the process was not killed") // one that does not make the container calls less
	}
	if err := v.run(""); err != nil {
		return err
	}
	containers, _ := filepath.Glob(filepath.Join(v.dir, "recordings", "*"+recording.ContainerSuffix))
	if len(containers) != 1 {
		return fmt.Errorf("containers %q", containers)
	}
	c, err := recording.OpenContainer(containers[0])
	if err != nil {
		return err
	}
	defer c.Close()
	if problems := c.Problems(); len(problems) > 0 {
		return fmt.Errorf("%q", problems)
	}
	for _, head := range c.Heads() {
		p, err := recording.ReadFile(filepath.Join(c.Path(), head.Name))
		switch {
		case err != nil:
			return err
		case len(p.Problems) > 0:
			return fmt.Errorf("%s: %q", p.Source, p.Problems)
		case p.State == profile.Finalized && fingerprint(p) == want:
			whole--
		}
	}
	if n := len(c.Heads()); whole > 0 || n > 3 {
		return fmt.Errorf("%d recordings, %d of the other processes are missing", n, whole)
	}
	collect.PackAll(filepath.Dir(containers[0]))
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(containers[0]), ".*")); len(left) > 0 {
		return fmt.Errorf("%q are left", left)
	}
	return nil
}

// TestContainerCalls counts the calls of the system that the library makes from
// MPI_Init to MPI_Finalize. They must not grow with the number of ranks on the
// node, but for those of ranks that wait for the first one to make the container.
func TestContainerCalls(t *testing.T) {
	const waits = 5 * 2 // each opens the container once more
	withEach(t, debian, func(t *testing.T, m implementation) {
		lib, program := m.faultyLibrary(t), m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c"))
		most := func(n int) int {
			dir := t.TempDir()
			command := append([]string{"sh", "-c", `FAULTS_COUNT=` + dir + `/$$ exec "$@"`, "sh"},
				preload(lib, []string{"MPITRACE_DIR=" + filepath.Join(dir, "run")}, program, "-n", "32", "-m", "32", "-s", "1")...)
			succeed(t, nil, m.launch(n, command...)...)
			checkOneContainer(t, filepath.Join(dir, "run"), n)
			counts, _ := filepath.Glob(filepath.Join(dir, "[0-9]*"))
			if len(counts) != n {
				t.Fatalf("%d counts of %d ranks", len(counts), n)
			}
			most := 0
			for _, path := range counts {
				most = max(most, systemCalls(string(readAll(t, path))))
			}
			return most
		}
		one, few, many := most(1), most(2), most(8)
		t.Logf("1 rank: %d calls, 2 ranks: at most %d, 8 ranks: at most %d", one, few, many)
		if one < 20 || few > one+waits || many > one+waits {
			t.Errorf("%d calls for 1 rank, up to %d and %d for 2 and 8", one, few, many)
		}
	})
}

// systemCalls returns how many calls of files and memory are in the counts that
// faults.c writes.
func systemCalls(counts string) (sum int) {
	for line := range strings.Lines(counts) {
		var function string
		var n int
		fmt.Sscan(line, &function, &n)
		switch function {
		case "malloc", "calloc", "realloc", "aligned_alloc", "strdup", "open_memstream", "pthread_key_create", "pthread_setspecific", "__register_atfork":
		default:
			sum += n
		}
	}
	return sum
}
