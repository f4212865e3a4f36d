package placement

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// listOf returns the processors of a list one by one: "0 1 2".
func listOf(t *testing.T, list string) string {
	t.Helper()
	processors, err := profile.ParseProcessors(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(fmt.Sprint(processors), "[]")
}

// on returns processes on hosts, as "host mask", of nodes with some processors, cores and
// sockets.
func on(processors, cores, sockets int, places ...string) []RankLocation {
	var ps []RankLocation
	for r, place := range places {
		host, mask, _ := strings.Cut(place, " ")
		p := RankLocation{Rank: r, Host: host}
		if mask != "" {
			p.Placement = &profile.Placement{Processors: mask, NodeProcessors: processors, NodeCores: cores, NodeSockets: sockets}
		}
		ps = append(ps, p)
	}
	return ps
}

func TestRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		processes []RankLocation
		levels    string
		ranks     []int  // by slot
		cores     string // by slot
	}{
		"bound to cores": {
			on(4, 4, 2, "a 2", "b 0", "a 0", "b 1"),
			"node:5×2 system:50×1", []int{2, 0, 1, 3}, "0 2 0 1",
		},
		"not bound": {
			on(4, 4, 2, "a 0-3", "b 0-3", "a 0-3", "b 0-3"),
			"node:5×2 system:50×1", []int{0, 2, 1, 3}, "0-3 0-3 0-3 0-3",
		},
		"bound to sockets": {
			on(8, 8, 2, "a 4-7", "a 0-3", "a 4-7", "a 0-3"),
			"socket:3×2 node:5×1 system:50×1", []int{1, 3, 0, 2}, "0-3 0-3 4-7 4-7",
		},
		"two ranks on the hardware threads of a core": {
			on(8, 4, 2, "a 0,4", "a 0,4", "a 1,5", "a 1,5"),
			"core:1×2 node:5×1 system:50×1", []int{0, 1, 2, 3}, "0 0 1 1",
		},
		"bound to two cores each": {
			on(8, 8, 1, "a 0-1", "a 0-1", "a 2-3", "a 2-3"),
			"numa:3×2 node:5×1 system:50×1", []int{0, 1, 2, 3}, "0-1 0-1 2-3 2-3",
		},
		"cores within sockets": {
			on(8, 8, 2, "a 0-3", "a 1", "a 4-7", "a 5", "a 6"),
			"socket:3×2 node:5×1 system:50×1", []int{0, 1, 2, 3, 4}, "0-3 1 4-7 5 6",
		},
		"masks that overlap": {
			on(8, 8, 2, "a 0-4", "a 4-7", "b 0-3", "b 4-7"),
			"node:5×2 system:50×1", []int{0, 1, 2, 3}, "0-4 4-7 0-3 4-7",
		},
		"pairs of cores that overlap": {
			on(8, 8, 1, "a 0-1", "a 1-2", "a 1-2", "a 0-1"),
			"node:5×1 system:50×1", []int{0, 1, 2, 3}, "0-1 1-2 1-2 0-1",
		},
		"no masks": {
			on(0, 0, 0, "a", "b", "a"),
			"node:5×2 system:50×1", []int{0, 2, 1}, "",
		},
	} {
		tree, ranks, err := Recorded(c.processes, len(c.processes))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		topology, err := tree.Topology(nil)
		if err != nil || levels(topology) != c.levels || !slices.Equal(ranks, c.ranks) {
			t.Errorf("%s: %s, ranks %v, %v; want %s, %v", name, levels(topology), ranks, err, c.levels, c.ranks)
			continue
		}
		var cores []string
		for s, slot := range topology.Slots {
			p := c.processes[ranks[s]]
			if cores = append(cores, slot.Cores); slot.Host != p.Host || slot.Processors != p.mask() {
				t.Errorf("%s: slot %d is %+v, rank %d was on %+v", name, s, slot, ranks[s], p)
			}
		}
		if got := strings.TrimSpace(strings.Join(cores, " ")); got != c.cores {
			t.Errorf("%s: cores %q, want %q", name, got, c.cores)
		}
	}
}

func TestRecordedMissing(t *testing.T) {
	ps := on(2, 2, 1, "a 0", "a 1", "", "b 0")
	for ranks, want := range map[int]string{
		4: "where rank 2 of 4 ranks ran is not recorded",
		7: "where ranks 2, 4-6 of 7 ranks ran is not recorded",
	} {
		if _, _, err := Recorded(ps, ranks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d ranks: %v, want %q", ranks, err, want)
		}
	}
	if _, _, err := Recorded(nil, 0); err == nil {
		t.Error("a job without ranks: no error")
	}
}

// presentIn returns the present order in a topology of a specification.
func presentIn(t *testing.T, spec string, ps []RankLocation) (*Topology, Order, error) {
	t.Helper()
	s := TopologySource{Topologies: []string{spec}, Processes: ps, Ranks: len(ps)}
	return s.Load()
}

func TestPresent(t *testing.T) {
	for name, c := range map[string]struct {
		spec      string
		processes []RankLocation
		want      Order
		hosts     string // by slot
	}{
		"cores by mask":        {"node:2 core:4", on(4, 4, 1, "b 3", "a 1", "b 0", "a 2"), Order{3, 5, 0, 6}, "b b b b a a a a"},
		"not bound":            {"node:2 core:4", on(4, 4, 1, "b 0-3", "a 0-3", "b 0-3", "a 0-3"), Order{0, 4, 1, 5}, "b b b b a a a a"},
		"no masks":             {"node:2 core:2", on(0, 0, 0, "a", "a", "b", "b"), Order{0, 1, 2, 3}, "a a b b"},
		"hardware threads":     {"node:1 core:2 pu:2", on(4, 2, 1, "a 2", "a 1", "a 0", "a 3"), Order{1, 2, 0, 3}, "a a a a"},
		"cores of two threads": {"node:1 core:2", on(4, 2, 1, "a 1,3", "a 0,2"), Order{1, 0}, "a a"},
		"small node":           {"node:1 core:2", on(8, 8, 1, "a 7", "a 5"), Order{0, 1}, "a a"}, // not as many slots as cores
		"nodes by the ranks":   {"core:2", on(2, 2, 1, "a 1", "a 0", "b 1", "b 0"), Order{1, 0, 3, 2}, "a a b b"},
		"bound and not":        {"node:1 core:4", on(4, 4, 1, "a 0-3", "a 0"), Order{1, 0}, "a a a a"},
		"more nodes":           {"node:3 core:2", on(2, 2, 1, "a 1", "b 0"), Order{1, 2}, "     "}, // which of them is not known
		"one core for two":     {"node:1 core:4", on(4, 4, 1, "a 2", "a 2"), Order{2, 0}, "a a a a"},
	} {
		topology, got, err := presentIn(t, c.spec, c.processes)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
			continue
		}
		var hosts []string
		for _, s := range topology.Slots {
			hosts = append(hosts, s.Host)
		}
		if names := strings.Join(hosts, " "); names != c.hosts {
			t.Errorf("%s: hosts %s, want %s", name, names, c.hosts)
		}
	}
}

func TestPresentRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spec      string
		processes []RankLocation
		want      string
	}{
		"too few slots":         {"node:1 core:2", on(4, 4, 1, "a 0", "a 1", "a 2"), "the topology has 2 slots, too few for 3 ranks"},
		"a rank is missing":     {"node:2 core:2", on(4, 4, 1, "a 0", "", "b 1"), "where rank 1 of 3 ranks ran is not recorded"},
		"a network and no node": {"switch:2 core:4", on(4, 4, 1, "a 0"), "no nodes"},
	} {
		if _, _, err := presentIn(t, c.spec, c.processes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestNotPresent asks for the present order in topologies of other nodes than those on
// which the ranks ran. The topology is returned, without the names of hosts.
func TestNotPresent(t *testing.T) {
	for _, c := range []struct {
		spec      string
		processes []RankLocation
		want      string
	}{
		{"node:1 core:4", on(4, 4, 1, "a 0", "b 0"), "the topology has 1 node, the job ran on 2 hosts"},
		{"node:2 core:2", on(4, 4, 1, "a 0", "a 1", "a 2", "b 0"), "host a ran 3 ranks, but its node in the topology has 2 slots"},
	} {
		s := TopologySource{Topologies: []string{c.spec}, Processes: c.processes, Ranks: len(c.processes)}
		topology, order, err := s.Load()
		elsewhere := (*NotPresentError)(nil)
		if topology == nil || topology.namesHosts() || order != nil || !errors.As(err, &elsewhere) || err.Error() != c.want {
			t.Errorf("%s: %+v, order %v, %v; want %q", c.spec, topology, order, err, c.want)
		}
	}
}

func TestSource(t *testing.T) {
	ps := on(2, 2, 1, "a 0", "b 1", "a 1", "b 0")
	s := TopologySource{Processes: ps, Ranks: 4}
	topology, order, err := s.Load()
	if err != nil || levels(topology) != "node:5×2 system:50×1" || !slices.Equal(order, Order{0, 3, 1, 2}) {
		t.Errorf("as recorded: %s, %v, %v", levels(topology), order, err)
	}
	files := map[string]string{
		"node.xml":      `<topology><object type="Machine"><object type="Core"><object type="PU" os_index="1"/></object><object type="Core"><object type="PU" os_index="0"/></object></object></topology>`,
		"topology.conf": "SwitchName=s1 Nodes=b\nSwitchName=s2 Nodes=a\n",
	}
	s.Read = func(name string) ([]byte, error) {
		if text, found := files[name]; found {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	s.Topologies, s.Nodes = []string{"node.xml"}, 3
	topology, order, err = s.Load()
	// Processor 0 is that of the second slot of a node.
	if err != nil || levels(topology) != "node:5×3 system:50×1" || !slices.Equal(order, Order{1, 2, 0, 3}) {
		t.Errorf("hwloc: %s, %v, %v", levels(topology), order, err)
	}
	s.Topologies, s.Nodes, s.Distances = []string{"topology.conf"}, 0, []int64{2, 9}
	topology, order, err = s.Load()
	// Node b is first, and its processor 0; each switch has one node.
	if err != nil || levels(topology) != "node:2×2 system:9×1" || !slices.Equal(order, Order{2, 1, 3, 0}) {
		t.Errorf("Slurm: %s, %v, %v", levels(topology), order, err)
	}
	for want, topologies := range map[string][]string{
		"a number of nodes nor a second topology": {"auto", "core:2"},
		"is followed by":                {"core:2", "core:2"},
		"3 topologies are given":        {"topology.conf", "core:2", "core:2"},
		"has nodes: give one of a node": {"topology.conf", "node:2 core:2"},
		"open node 4: file does not exist; for a specification, write it as": {"node 4"},
	} {
		s.Topologies = topologies
		if _, _, err := s.Load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", topologies, err, want)
		}
	}
}
