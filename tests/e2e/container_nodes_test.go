package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// onNodes returns the command line that starts perNode ranks on each of the two
// nodes of a cluster.
func (m implementation) onNodes(c *testenv.Cluster, perNode int, program ...string) []string {
	launcher := []string{"mpiexec.mpich", "-hosts", "nodea,nodeb", "-ppn", fmt.Sprint(perNode), "-iface", testenv.Link,
		"-launcher", "ssh", "-launcher-exec", c.Agent}
	if m.name == "openmpi" {
		launcher = []string{"mpirun.openmpi", "--host", fmt.Sprintf("nodea:%d,nodeb:%[1]d", perNode), "--map-by", "slot",
			"--mca", "plm_rsh_agent", c.Agent, "--mca", "oob_tcp_if_include", testenv.Link, "--mca", "btl_tcp_if_include", testenv.Link,
			"--mca", "mpi_yield_when_idle", "1", "-x", "MPITRACE_CACHE"}
	}
	return slices.Concat(launcher, []string{"-n", fmt.Sprint(2 * perNode)}, program)
}

// untilAnswered runs a job of many ranks. It repeats the job, up to four times, if
// Open MPI's launcher reports a rank that did not call MPI_Finalize. On a busy
// machine this happens without mpitrace too: a rank waits in MPI_Finalize for an
// answer of the launcher, but at most two seconds.
func (m implementation) untilAnswered(t *testing.T, run func() (dir string, out output)) (dir string, out output) {
	t.Helper()
	for range 5 {
		dir, out = run()
		if out.code == 0 {
			return dir, out
		}
		if m.name != "openmpi" || !strings.Contains(out.stderr, "exited without calling \"finalize\"") {
			break
		}
		t.Logf("repeated, because the launcher did not answer a rank in time:\n%s", out.stderr)
	}
	t.Fatalf("exit status %d\n%s%s", out.code, out.stdout, out.stderr)
	return "", out
}

// TestContainersOfNodes runs 32 ranks on each of two nodes. Each node has one
// container, and all ranks are recorded.
func TestContainersOfNodes(t *testing.T) {
	const perNode = 32
	p := plate{rows: 64, cols: 80, steps: 3, down: 8, across: 8}
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		program := []string{m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c")), "-n", fmt.Sprint(p.rows), "-m", fmt.Sprint(p.cols), "-s", fmt.Sprint(p.steps)}
		for _, mode := range []string{"each rank records itself", "one mpitrace run"} {
			t.Run(mode, func(t *testing.T) {
				c := testenv.NewCluster(t)
				dir, out := m.untilAnswered(t, func() (string, output) {
					dir := filepath.Join(t.TempDir(), "run")
					recorder := []string{mpitrace, "run", "-o", dir, "--"}
					command := m.onNodes(c, perNode, slices.Concat(recorder, program)...)
					if mode == "one mpitrace run" {
						command = slices.Concat(recorder, m.onNodes(c, perNode, program...))
					}
					return dir, execute(t, nil, c.On("nodea", t.TempDir(), command...)...)
				})
				names := filesOf(t, dir)
				if len(names) != 2 || slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, recording.ContainerSuffix) }) {
					t.Errorf("files %q, want a container for each node", names)
				}
				ranks := readRecordings(t, dir)
				if len(ranks) != 2*perNode {
					t.Fatalf("%d recordings\n%s", len(ranks), out.stderr)
				}
				hosts := map[string]int{}
				for _, r := range ranks {
					hosts[r.Host]++
				}
				if want := map[string]int{"nodea": perNode, "nodeb": perNode}; !maps.Equal(hosts, want) {
					t.Errorf("ranks on %v, want %v", hosts, want)
				}
				sums := pointToPoint(ranks)
				for from := range 2 * perNode {
					for to := range 2 * perNode {
						bytes, messages := p.external(from, to)
						if got := sums[pair{from, to}]; got.Bytes != uint64(bytes) || got.Count != uint64(messages) {
							t.Errorf("%d to %d: %+v, want %d messages of %d bytes in all", from, to, got, messages, bytes)
						}
					}
				}
			})
		}
	})
}

// TestContainerWithoutMpitrace kills `mpitrace run`, then the ranks on two nodes.
// The container of the other node is left in the run directory, with all that its
// ranks announced.
func TestContainerWithoutMpitrace(t *testing.T) {
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		c, dir, run := testenv.NewCluster(t), t.TempDir(), filepath.Join(t.TempDir(), "run")
		command := c.On("nodea", dir, slices.Concat([]string{mpitrace, "run", "-o", run, "--"}, m.onNodes(c, 2, m.compile(t, "dying"), dir, "go", "0", "0"))...)
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitCalls(t, dir)
		pids := append([]int{cmd.Process.Pid}, processesOf(dir)...)
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL) // the launcher may have ended the rank before
		}
		cmd.Wait()
		killLeft(dir)
		ranks := recordingsOf(t, run)
		if len(pids) != 5 || len(ranks) != 2 || len(filesOf(t, run)) != 1 {
			t.Errorf("%d processes; %d recordings in %q, want those of the two ranks on nodeb", len(pids), len(ranks), filesOf(t, run))
		}
		for _, p := range ranks {
			checkAnnounced(t, p, uint64(len(readAll(t, filepath.Join(dir, fmt.Sprint(p.Rank))))))
			if p.Host != "nodeb" {
				t.Errorf("rank %d on %s", p.Rank, p.Host)
			}
		}
		if out := execute(t, nil, mpitrace, "report", "--full", run); !strings.Contains(out.stdout, "on 2 of 4 ranks") {
			t.Errorf("the report is\n%s%s", out.stdout, out.stderr)
		}
	})
}
