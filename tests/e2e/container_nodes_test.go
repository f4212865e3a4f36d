package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
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

// TestContainersOfNodes runs 32 ranks on each of two nodes. Each node has one
// container, and all ranks are recorded.
func TestContainersOfNodes(t *testing.T) {
	const perNode = 32
	p := plate{rows: 64, cols: 80, steps: 3, down: 8, across: 8}
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		program := []string{m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c")), "-n", fmt.Sprint(p.rows), "-m", fmt.Sprint(p.cols), "-s", fmt.Sprint(p.steps)}
		for _, mode := range []string{"each rank records itself", "one mpitrace run"} {
			t.Run(mode, func(t *testing.T) {
				c, dir := testenv.NewCluster(t), filepath.Join(t.TempDir(), "run")
				recorder := []string{mpitrace, "run", "-o", dir, "--"}
				command := m.onNodes(c, perNode, slices.Concat(recorder, program)...)
				if mode == "one mpitrace run" {
					command = slices.Concat(recorder, m.onNodes(c, perNode, program...))
				}
				out := succeed(t, nil, c.On("nodea", t.TempDir(), command...)...)
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
