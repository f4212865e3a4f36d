package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A fileLauncher is a launcher that starts ranks with a file of a format.
type fileLauncher struct {
	m       implementation
	command string // that FileFormat.Command begins with
	options string // by which it starts ranks on the other node; AGENT and LINK stand for the parts
	formats []string
}

func fileLaunchers() []fileLauncher {
	orte := " --mca plm_rsh_agent AGENT --mca oob_tcp_if_include LINK --mca btl_tcp_if_include LINK"
	prte := " --prtemca plm_ssh_agent AGENT --prtemca prte_if_include LINK --mca btl_tcp_if_include LINK"
	hydra := " -launcher ssh -launcher-exec AGENT -iface LINK"
	options := map[string]fileLauncher{
		"openmpi":  {command: "mpirun", options: orte, formats: []string{"rankfile", "seq"}},
		"openmpi5": {command: "mpirun", options: prte, formats: []string{"rankfile", "seq"}},
		"mpich":    {command: "mpiexec", options: hydra, formats: []string{"hydra"}},
		"mpich5":   {command: "mpiexec", options: hydra, formats: []string{"hydra"}},
		"impi":     {command: "mpirun", options: hydra, formats: []string{"intel"}},
	}
	var out []fileLauncher
	for _, m := range append(implementations(), intelMPI()) {
		l := options[m.name]
		l.m = m
		out = append(out, l)
	}
	return out
}

// TestLauncherFiles starts jobs on two nodes with launchers' files, and requires that
// ranks run where the file says: on the nodes and, if the format has them, the cores.
func TestLauncherFiles(t *testing.T) {
	c := testenv.NewCluster(t)
	for _, l := range fileLaunchers() {
		if !testenv.Runs(l.m.level()) {
			continue
		}
		for _, name := range l.formats {
			t.Run(l.m.name+" "+name, func(t *testing.T) {
				testenv.Need(t, "gcc", l.m.cc, l.m.launcher[0])
				if l.m.environment != nil {
					l.m.environment(t)
					t.Setenv("I_MPI_FABRICS", "ofi")
					t.Setenv("FI_PROVIDER", "tcp")
				}
				format, err := placement.FileFormatOf(name)
				if err != nil {
					t.Fatal(err)
				}
				l.check(t, c, format, unboundRanks(t))
				if name == "rankfile" {
					l.check(t, c, format, boundToCores(t))
				}
			})
		}
	}
}

// A placing is a topology and an order of ranks in it.
type placing struct {
	topology *placement.Topology
	order    placement.Order
	bound    bool // each slot is one core
}

// hostOf returns the host of a rank.
func (p placing) hostOf(rank int) string { return p.topology.Slots[p.order[rank]].Host }

// recordedOn returns the topology of a run whose ranks had these processors, the first
// half of the ranks on nodea.
func recordedOn(t *testing.T, masks ...string) *placement.Topology {
	t.Helper()
	var ps []placement.RankLocation
	cores := len(allowed(t))
	for r, mask := range masks {
		host := "nodea"
		if r >= len(masks)/2 {
			host = "nodeb"
		}
		ps = append(ps, placement.RankLocation{Rank: r, Host: host, Placement: &profile.Placement{Processors: mask, NodeProcessors: cores, NodeCores: cores}})
	}
	tree, _, err := placement.Recorded(ps, len(ps))
	if err != nil {
		t.Fatal(err)
	}
	topology, err := tree.Topology(nil)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// boundToCores returns ranks that are each bound to a core of their own.
func boundToCores(t *testing.T) placing {
	t.Helper()
	if processors := allowed(t); len(processors) < 2 || processors[0] != 0 || processors[1] != 1 {
		testenv.Skip(t, fmt.Sprintf("needs processors 0 and 1, has %v", processors))
	}
	return placing{recordedOn(t, "0", "1", "0", "1"), placement.Order{3, 0, 1, 2}, true}
}

// unboundRanks returns three ranks on each node that may use all of its processors.
func unboundRanks(t *testing.T) placing {
	t.Helper()
	all := profile.ProcessorList(allowed(t))
	topology := recordedOn(t, all, all, all, all, all, all)
	return placing{topology, placement.Order{3, 0, 1, 4, 5, 2}, false} // b a a b b a
}

// check starts a job with a file, and compares where its ranks ran.
func (l fileLauncher) check(t *testing.T, c *testenv.Cluster, format *placement.FileFormat, p placing) {
	t.Helper()
	dir := t.TempDir()
	file, run := filepath.Join(dir, "ranks"), filepath.Join(dir, "run")
	var content strings.Builder
	if err := format.Write(&content, p.topology, p.order); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	program := l.m.compileFile(t, filepath.Join(root, "cmd", "mpitrace", "testdata", "ring.c"))
	command := format.Command(file, p.topology, p.order, program+" 1000")
	rest, ok := strings.CutPrefix(command, l.command+" ")
	if !ok {
		t.Fatalf("the command is %q, which does not begin with %s", command, l.command)
	}
	launcher := l.m.launcher[0] + strings.NewReplacer("AGENT", c.Agent, "LINK", testenv.Link).Replace(l.options) + " " + rest
	out := execute(t, nil, c.On("nodea", dir, "sh", "-c", mpitrace+" run -o "+run+" -- "+launcher)...)
	ranks := readRecordings(t, run)
	if out.code != 0 || len(ranks) != len(p.order) {
		t.Fatalf("%s: exit status %d, %d recordings\n%s\n%s%s", command, out.code, len(ranks), content.String(), out.stdout, out.stderr)
	}
	var got, want []string
	for r, rank := range ranks {
		at, wanted := rank.Host, p.hostOf(r)
		if p.bound {
			at += " " + rank.Placement.Processors
			wanted += " " + p.topology.Slots[p.order[r]].Processors
		}
		got, want = append(got, at), append(want, wanted)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\n%sthe ranks were on %q, want %q", command, content.String(), got, want)
	}
}

// TestRankfileCores compares the cores on which Open MPI 5 would bind ranks with those of
// the order, on a node whose processors are numbered by turns in two sockets. It does not
// start the ranks, as this machine is not such a node.
func TestRankfileCores(t *testing.T) {
	testenv.At(t, testenv.All)
	m := implementations()[slices.IndexFunc(implementations(), func(m implementation) bool { return m.name == "openmpi5" })]
	testenv.Need(t, m.launcher[0], "lstopo", "hwloc-calc")
	dir := t.TempDir()
	node, file := filepath.Join(dir, "node.xml"), filepath.Join(dir, "ranks")
	succeed(t, nil, "lstopo", "--if", "synthetic", "--input",
		"pack:2 [numa] core:4 pu:2(indexes=0,8,2,10,4,12,6,14,1,9,3,11,5,13,7,15)", "--of", "xml", node)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s := placement.TopologySource{Topologies: []string{node}, Read: os.ReadFile, Processes: []placement.RankLocation{{Host: host}}, Ranks: 1}
	topology, _, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	order := placement.Order{5, 0, 3, 6}
	var content strings.Builder
	format, err := placement.FileFormatOf("rankfile")
	if err == nil {
		err = format.Write(&content, topology, order)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(content.String()), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.Fields(strings.TrimPrefix(format.Command(file, topology, order, "true"), "mpirun "))
	out := succeed(t, nil, slices.Concat(m.launcher[:1], []string{"--prtemca", "hwloc_use_topo_file", node, "--rtos", "donotlaunch", "--display", "map-devel"}, rest)...)
	var got, want []string
	for line := range strings.Lines(out.stdout + out.stderr) {
		if _, core, found := strings.Cut(strings.TrimSpace(line), "Binding: package"); found {
			_, core, _ = strings.Cut(core, "core:L")
			got = append(got, strings.TrimSuffix(core, "]"))
		}
	}
	for _, slot := range order {
		first, _, _ := strings.Cut(topology.Slots[slot].Processors, ",")
		want = append(want, strings.TrimSpace(succeed(t, nil, "hwloc-calc", "--input", node, "--pi", "-I", "core", "pu:"+first).stdout))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%sOpen MPI would bind the ranks to cores %v, want %v\n%s%s", content.String(), got, want, out.stdout, out.stderr)
	}
}
