package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// hostsOf returns one process on each host.
func hostsOf(hosts ...string) []RankLocation {
	var ps []RankLocation
	for r, host := range hosts {
		ps = append(ps, RankLocation{Rank: r, Host: host})
	}
	return ps
}

// onSlurm returns the topology of processes by a topology.conf and a node.
func onSlurm(conf, node string, ps []RankLocation) (*Topology, Order, error) {
	s := TopologySource{Topologies: []string{"topology.conf"}, Processes: ps, Ranks: len(ps),
		Read: func(string) ([]byte, error) { return []byte(conf), nil }}
	if node != "" {
		s.Topologies = append(s.Topologies, node)
	}
	return s.Load()
}

// The example of Slurm's documentation of topology.conf, with remarks.
const slurmTree = `##################################################################
# Slurm's network topology configuration file for use with the
# topology/tree plugin
##################################################################
SwitchName=s0 Nodes=dev[0-5]
switchname=s1 nodes=dev-[6-11] LinkSpeed=900
SwitchName=s2 Nodes=dev[12-17] # the third
SwitchName=s3 \
    Switches=s[0-2]
`

func TestSlurmTree(t *testing.T) {
	conf := strings.ReplaceAll(slurmTree, "dev-", "dev")
	topology, order, err := onSlurm(conf, "core:2", hostsOf("dev16", "dev0", "dev6.cluster.org", "dev17"))
	testenv.NoError(t, err)
	// Each of the four nodes has two cores. The top switch is the system.
	if want := "node:5×4 switch:25×3 system:50×1"; levels(topology) != want {
		t.Errorf("%s, want %s", levels(topology), want)
	}
	if want := (Order{4, 0, 2, 6}); !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	var hosts []string
	for _, s := range topology.Slots {
		hosts = append(hosts, s.Host+"/"+s.Cores)
	}
	want := "dev0/0 dev0/1 dev6.cluster.org/0 dev6.cluster.org/1 dev16/0 dev16/1 dev17/0 dev17/1"
	if got := strings.Join(hosts, " "); got != want {
		t.Errorf("slots %s, want %s", got, want)
	}
}

// TestSlurmIrregular reads a tree in which some nodes have more switches above them than
// others.
func TestSlurmIrregular(t *testing.T) {
	conf := `SwitchName=top Switches=mid,leaf3
SwitchName=mid Switches=leaf1,leaf2
SwitchName=leaf1 Nodes=a,b
SwitchName=leaf2 Nodes=c
SwitchName=leaf3 Nodes=d,e
BlockName=alone Nodes=f
BlockSizes=1
`
	topology, _, err := onSlurm(conf, "", hostsOf("a", "b", "c", "d", "e", "f"))
	testenv.NoError(t, err)
	if want := "node:5×6 switch:25×4 switch 2:35×3 switch 3:35×2 system:50×1"; levels(topology) != want {
		t.Errorf("%s, want %s", levels(topology), want)
	}
	for _, c := range []struct {
		a, b string
		want string
	}{{"a", "b", "switch"}, {"a", "c", "switch 2"}, {"a", "d", "switch 3"}, {"d", "e", "switch"}, {"a", "f", "system"}, {"e", "f", "system"}} {
		a := slices.IndexFunc(topology.Slots, func(s Slot) bool { return s.Host == c.a })
		b := slices.IndexFunc(topology.Slots, func(s Slot) bool { return s.Host == c.b })
		if got := topology.Levels[topology.Between(int32(a), int32(b))].Name; got != c.want {
			t.Errorf("%s and %s have %s in common, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestSlurmErrors(t *testing.T) {
	for name, c := range map[string]struct{ conf, want string }{
		"two parents":          {"SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n", "topology.conf:3: switch a is in switch c and, by line 2, in switch b"},
		"a node in two":        {"SwitchName=a Nodes=n[1-3]\n\nSwitchName=b Nodes=n[3-5]\n", "topology.conf:3: node n3 is in switch b and, by line 1, in switch a"},
		"cycle":                {"SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=n1\n", "topology.conf:1: switch a is within itself"},
		"itself":               {"SwitchName=a Switches=a\n", "topology.conf:1: switch a is within itself"},
		"undefined":            {"SwitchName=a Nodes=n1\nSwitchName=b Switches=x\n", "topology.conf:2: switch x is not defined"},
		"defined again":        {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "topology.conf:2: switch a is defined again, first in line 1"},
		"nothing in it":        {"SwitchName=a\n", "topology.conf:1: switch a has neither nodes nor switches"},
		"no name":              {"Nodes=n1\n", "topology.conf:1: the switch has no name"},
		"unknown key":          {"SwitchName=a Nods=n1\n", `topology.conf:1: key "Nods" is not known`},
		"no pair":              {"node:4 socket:2\n", `topology.conf:1: "node:4" is not KEY=VALUE`},
		"bad range":            {"SwitchName=a Nodes=n[5-1]\n", `"5-1" is neither a number nor a range`},
		"open bracket":         {"SwitchName=a Nodes=n[5\n", "brackets do not match"},
		"many nodes":           {"SwitchName=a Nodes=n[0-2000000000]\n", "more than 1,048,576 names"},
		"many nodes, crossed":  {"SwitchName=a Nodes=n[0-1999]x[0-1999]\n", "more than 1,048,576 names"},
		"no nodes":             {"# nothing\n", "topology.conf: it has no nodes"},
		"a host is missing":    {"SwitchName=a Nodes=n2\n", "topology.conf has no node n1, on which ranks of the job ran"},
		"name after a comment": {"SwitchName=a # Nodes=n1\n", "neither nodes nor switches"},
	} {
		if _, _, err := onSlurm(c.conf, "", hostsOf("n1")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	var deep strings.Builder
	deep.WriteString("SwitchName=s0 Nodes=n1\n")
	for i := range 40 {
		fmt.Fprintf(&deep, "SwitchName=s%d Switches=s%d\n", i+1, i)
	}
	if _, _, err := onSlurm(deep.String(), "", hostsOf("n1")); err == nil || !strings.Contains(err.Error(), "levels of switches") {
		t.Errorf("40 levels of switches: %v", err)
	}
}

func TestHostlist(t *testing.T) {
	for list, want := range map[string]string{
		"a":                    "a",
		"n[01-04,7]":           "n01 n02 n03 n04 n7",
		"n[8-11]":              "n8 n9 n10 n11",
		"a,n[1-2],b":           "a n1 n2 b",
		"r[1-2]c[0-1]":         "r1c0 r1c1 r2c0 r2c1",
		"n[098-101].local,x-1": "n098.local n099.local n100.local n101.local x-1",
	} {
		got, err := expandHostlist(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", list, got, err, want)
		}
	}
	for _, list := range []string{"", "a,,b", "n[", "n]", "n[1-]", "n[a]", "n[1]]", "n[-1]"} {
		if got, err := expandHostlist(list); err == nil {
			t.Errorf("%q: %v, want an error", list, got)
		}
	}
}

func FuzzSlurm(f *testing.F) {
	f.Add(slurmTree)
	f.Add("BlockName=b Nodes=n[1-2]c[0-9],x\n")
	f.Fuzz(func(t *testing.T, conf string) {
		n, err := ReadSlurm(strings.NewReader(conf), "topology.conf")
		if err != nil {
			return
		}
		tree := Tree{root: n.root, levels: append([]string{NodeLevel}, n.levels...)}
		if _, err := tree.Topology(nil); err != nil {
			t.Errorf("a network that was read is no topology: %v", err)
		}
	})
}
