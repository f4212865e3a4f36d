package placement

import (
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// onNodes returns the topology of a specification, with nodes named so.
func onNodes(t *testing.T, spec string, hosts ...string) *Topology {
	t.Helper()
	tree, err := ParseSpec(spec)
	testenv.NoError(t, err)
	topology, err := tree.Topology(nil)
	testenv.NoError(t, err)
	for s, node := range topology.Levels[topology.Nodes()].Domain {
		if len(hosts) > 0 {
			topology.Slots[s].Host = hosts[node]
		}
	}
	return topology
}

// TestLauncherFile compares files and command lines with what the documentation of the
// launchers has: mpirun(1) of Open MPI 4 and PRRTE for rankfile and seq, mpiexec(1) of
// MPICH, srun(1), intro_mpi(3) of Cray MPICH, and Flux RFC 34. tests/e2e starts those of
// Open MPI, MPICH and Intel MPI.
func TestLauncherFile(t *testing.T) {
	named := onNodes(t, "node:2 socket:2 core:2", "aa", "bb")
	order := Order{4, 0, 1, 5, 2, 7}
	for name, want := range map[string]struct{ file, command string }{
		"rankfile": {"rank 0=bb slot=0\nrank 1=aa slot=0\nrank 2=aa slot=1\nrank 3=bb slot=1\nrank 4=aa slot=2\nrank 5=bb slot=3\n",
			"mpirun --host aa:3,bb:3 --rankfile 'my file' -n 6 ./app -x"},
		"seq":   {"bb\naa\naa\nbb\naa\nbb\n", "mpirun --hostfile 'my file' --map-by seq -n 6 ./app -x"},
		"hydra": {"bb:1\naa:2\nbb:1\naa:1\nbb:1\n", "mpiexec -f 'my file' -n 6 ./app -x"},
		"slurm": {"bb\naa\naa\nbb\naa\nbb\n", "SLURM_HOSTFILE='my file' srun --distribution=arbitrary -n 6 ./app -x"},
		"mpich": {"1,2,4\n0,3,5\n", "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE='my file' srun -N 2 --ntasks-per-node=3 --distribution=block -n 6 ./app -x"},
		"flux":  {"[[1,1,1,1],[0,1,2,1],[1,1,1,1],[0,1,1,1],[1,1,1,1]]\n", `flux run -N 2 --taskmap=manual:"$(cat 'my file')" -n 6 ./app -x`},
		"intel": {"bb:1\naa:2\nbb:1\naa:1\nbb:1\n", "mpirun -machinefile 'my file' -n 6 ./app -x"},
	} {
		f, err := FileFormatOf(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var got strings.Builder
		if err := f.Write(&got, named, order); err != nil || got.String() != want.file {
			t.Errorf("%s: %v\n%swant\n%s", name, err, got.String(), want.file)
		}
		if command := f.Command("my file", named, order, "./app -x"); command != want.command {
			t.Errorf("%s:\n%s\nwant\n%s", name, command, want.command)
		}
	}
	if len(FileFormats) != 7 {
		t.Errorf("%d formats, this test has 7", len(FileFormats))
	}
}

// TestTaskmap compares with the test vectors of Flux RFC 34.
func TestTaskmap(t *testing.T) {
	for _, c := range []struct {
		spec  string
		order Order
		want  string
	}{
		{"node:1 core:1", Order{0}, "[[0,1,1,1]]"},
		{"node:1 core:2", Order{0, 1}, "[[0,1,2,1]]"},
		{"node:2 core:1", Order{1, 0}, "[[1,1,1,1],[0,1,1,1]]"},
		{"node:4 core:4", Order{12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3}, "[[3,1,4,1],[2,1,4,1],[1,1,4,1],[0,1,4,1]]"},
		{"node:3 core:1", Order{2, 1}, "[[1,1,1,1],[0,1,1,1]]"}, // the first node has no rank
	} {
		f, _ := FileFormatOf("flux")
		var got strings.Builder
		if err := f.Write(&got, onNodes(t, c.spec), c.order); err != nil || got.String() != c.want+"\n" {
			t.Errorf("%s, %v: %v, %swant %s", c.spec, c.order, err, got.String(), c.want)
		}
	}
}

// TestRankOrder compares with what Cray's grid_order prints for a grid of 4 × 4 × 4 and 32
// ranks a node, of which each node has half of the planes: ranks 0-3, 16-19, ... first.
func TestRankOrder(t *testing.T) {
	order := make(Order, 64)
	next := int32(0)
	for _, first := range []int{0, 16, 32, 48, 4, 20, 36, 52, 8, 24, 40, 56, 12, 28, 44, 60} {
		for r := first; r < first+4; r++ {
			order[r] = next
			next++
		}
	}
	f, _ := FileFormatOf("mpich")
	var got strings.Builder
	want := "0,1,2,3,16,17,18,19,32,33,34,35,48,49,50,51,4,5,6,7,20,21,22,23,36,37,38,39,52,53,54,55\n" +
		"8,9,10,11,24,25,26,27,40,41,42,43,56,57,58,59,12,13,14,15,28,29,30,31,44,45,46,47,60,61,62,63\n"
	if err := f.Write(&got, onNodes(t, "node:2 core:32"), order); err != nil || got.String() != want {
		t.Errorf("%v\n%swant\n%s", err, got.String(), want)
	}
}

func TestLauncherFileWithoutNames(t *testing.T) {
	topology := onNodes(t, "node:2 core:2")
	order := Order{2, 0, 3}
	for name, want := range map[string]string{
		"rankfile": "rank 0=+n1 slot=0\nrank 1=+n0 slot=0\nrank 2=+n1 slot=1\n",
		"flux":     "[[1,1,1,1],[0,1,1,1],[1,1,1,1]]\n",
		"seq":      "format seq: it has the names of nodes, but the topology does not name the node of rank 0;",
		"hydra":    "format hydra: it has the names of nodes",
		"slurm":    "format slurm: it has the names of nodes",
		"intel":    "format intel: it has the names of nodes",
		"mpich":    "format mpich: the launcher fills all nodes but the last with the same number of ranks",
	} {
		f, err := FileFormatOf(name)
		testenv.NoError(t, err)
		var got strings.Builder
		err = f.Write(&got, topology, order)
		if text := got.String(); err != nil {
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		} else if text != want {
			t.Errorf("%s:\n%swant\n%s", name, text, want)
		}
	}
	f, _ := FileFormatOf("rankfile")
	if got, want := f.Command("f", topology, order, "./app"), "mpirun --rankfile f -n 3 ./app"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSharedCores writes files for ranks that share cores, which Open MPI must be told.
func TestSharedCores(t *testing.T) {
	tree, _, err := Recorded(on(4, 4, 1, "aa 0-3", "aa 0-3", "bb 0-3"), 3)
	testenv.NoError(t, err)
	topology, err := tree.Topology(nil)
	testenv.NoError(t, err)
	for name, want := range map[string]string{
		"rankfile": "mpirun --host aa:2,bb:1 --rankfile f --bind-to core:overload-allowed -n 3 ./app",
		"seq":      "mpirun --hostfile f --map-by seq --bind-to none -n 3 ./app",
		"hydra":    "mpiexec -f f -n 3 ./app",
	} {
		f, _ := FileFormatOf(name)
		if got := f.Command("f", topology, Block(3), "./app"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestLauncherFileRefused(t *testing.T) {
	f, _ := FileFormatOf("rankfile")
	var out strings.Builder
	if err := f.Write(&out, onNodes(t, "node:2", "aa", "bb"), Order{0, 1}); err == nil || !strings.Contains(err.Error(), "the cores of rank 0 are not known") {
		t.Errorf("nodes without cores: %v", err)
	}
	if err := f.Write(&out, onNodes(t, "core:2", "a"), Order{0, 0}); err == nil {
		t.Error("two ranks in a slot: no error")
	}
	if _, err := FileFormatOf("pbs"); err == nil || !strings.Contains(err.Error(), "they are rankfile, seq, hydra, slurm, mpich, flux and intel") {
		t.Errorf("unknown format: %v", err)
	}
}

// TestHostileHosts requires that a host whose name a launcher could not use is an error, and is in
// no file or command line.
func TestHostileHosts(t *testing.T) {
	for _, host := range []string{"a$(id)", "n;rm", "a'b", "x\x1b[31m", "+n0", "-x", "a b", "a:1", "*", "a/b"} {
		topology := onNodes(t, "node:2 core:2", host, "good")
		for _, name := range []string{"rankfile", "seq", "hydra", "slurm", "intel"} {
			f, err := FileFormatOf(name)
			testenv.NoError(t, err)
			if err := f.Write(&strings.Builder{}, topology, Order{0, 2}); err == nil || !strings.Contains(err.Error(), "not the name of a host") {
				t.Errorf("%s: %q: %v", name, host, err)
			}
			if command := f.Command("file", topology, Order{0, 2}, "./app"); strings.Contains(command, host) && host != "*" && host != "-x" {
				t.Errorf("%s: %s", name, command)
			}
		}
	}
}
