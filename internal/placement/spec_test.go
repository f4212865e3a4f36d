package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// levels returns the levels of a topology as text: name, distance and number of domains,
// innermost first.
func levels(t *Topology) string {
	var words []string
	for _, l := range t.Levels {
		words = append(words, fmt.Sprintf("%s:%d×%d", l.Name, l.Distance, l.Domain[len(l.Domain)-1]+1))
	}
	return strings.Join(words, " ")
}

func TestSpec(t *testing.T) {
	for _, c := range []struct {
		spec  string
		slots int
		want  string
	}{
		{"node:4 socket:2 core:8", 64, "socket:3×8 node:5×4 system:50×1"},
		{"switch:2 node:8 pack:2 l3:2 core:4 pu:2", 512, "core:1×256 l3:2×64 socket:3×32 node:5×16 switch:25×2 system:50×1"},
		{"GROUP:2 Switch:3 Machine:2 core:4", 48, "node:5×12 switch:25×6 group:35×2 system:50×1"},
		{"core:8", 8, "node:5×1 system:50×1"},
		{"node:8", 8, "node:5×8 system:50×1"},
		{"node:2 socket:1 core:4 pu:1", 8, "node:5×2 system:50×1"},
		{"switch:1 node:2 core:4", 8, "node:5×2 system:50×1"},
		{"node:2 socket:2 numa:1 l3:2 core:2", 16, "l3:2×8 numa:3×4 node:5×2 system:50×1"},
		{"node:2 l3:2 numa:2 core:2", 16, "numa:3×8 l3:3×4 node:5×2 system:50×1"}, // distances do not fall
		// as lstopo --of synthetic writes it
		{"Package:2 [NUMANode] L3Cache:2(size=16777216) L2Cache:2(size=1) L1dCache:1 Core:4 PU:2", 64, "core:1×32 l2:1×8 l3:2×4 socket:3×2 node:5×1 system:50×1"},
		{"node:2 l1:3 core:2", 12, "node:5×2 system:50×1"},
	} {
		tree, err := ParseSpec(c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		got, err := tree.Topology(nil)
		if err != nil || levels(got) != c.want || len(got.Slots) != c.slots {
			t.Errorf("%s: %d slots, %s, %v; want %d, %s", c.spec, len(got.Slots), levels(got), err, c.slots, c.want)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"16:4:2":                     `word 1, "16:4:2": this is not the name of a level and a number; write it as "node:4 socket:2 core:8", outermost first`,
		"":                           "is empty",
		"node:4 core:x":              `word 2, "core:x": "x" is not a number above 0`,
		"node:0 core:8":              `word 1, "node:0": "0" is not a number above 0`,
		"node:-1":                    "is not a number above 0",
		"node:4 sockets:2":           `word 2, "sockets:2": this is not the name of a level`,
		"core:8 node:4":              `word 2, "node:4": node cannot be inside core: give the outermost level first`,
		"node:4 switch:2":            "switch cannot be inside node",
		"switch:2 group:2 node:4":    "group cannot be inside switch",
		"node:2 core:2 core:2":       "this level is given twice",
		"node:2 pu:2 core:2":         "core cannot be inside pu",
		"switch:2 core:8":            "it has switches or groups but no nodes",
		"node:16777216 core:2":       "at most 2,097,152 slots",
		"node:2 core:99999999999999": "at most 2,097,152 slots",
		"core:99999999999999999999":  "not a number above 0",
		"node:2 [numa core:8":        "brackets do not match",
		"node:2 numa] [core:8":       "brackets do not match",
	} {
		if _, err := ParseSpec(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

func TestDistances(t *testing.T) {
	tree, err := ParseSpec("node:4 socket:2 core:8")
	testenv.NoError(t, err)
	distances, err := ParseDistances("1:10:100")
	testenv.NoError(t, err)
	got, err := tree.Topology(distances)
	if want := "socket:1×8 node:10×4 system:100×1"; err != nil || levels(got) != want {
		t.Errorf("%s, %v; want %s", levels(got), err, want)
	}
	// The slots are those of sockets, of which two are on each node.
	for _, c := range []struct{ a, b, want int }{{0, 0, 0}, {0, 7, 1}, {0, 8, 10}, {15, 16, 100}, {0, 63, 100}} {
		if d := got.Distance(int32(c.a), int32(c.b)); d != int64(c.want) {
			t.Errorf("slots %d and %d: distance %d, want %d", c.a, c.b, d, c.want)
		}
	}
	if _, err := tree.Topology([]int64{1, 10}); err == nil || err.Error() != "2 distances given for 3 levels: socket, node and system" {
		t.Errorf("two distances for three levels: %v", err)
	}
	for list, want := range map[string]string{
		"": "is not a number from 1 to 1000", "1:0": `"0" is not a number`, "1:1001": `"1001" is not a number`, "10:1": "must not fall", "1,10": `"1,10" is not a number`,
	} {
		if _, err := ParseDistances(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

// TestCores checks the numbers of cores, which count from 0 on each node.
func TestCores(t *testing.T) {
	for spec, want := range map[string]string{
		"node:2 socket:2 core:2": "0 1 2 3 0 1 2 3",
		"core:3":                 "0 1 2",
		"node:2 core:2 pu:2":     "0 0 1 1 0 0 1 1",
		"node:2 l2:2 l1:2":       strings.Repeat(" ", 7), // caches are not cores
		"node:3":                 "  ",
	} {
		tree, err := ParseSpec(spec)
		testenv.NoError(t, err)
		topology, err := tree.Topology(nil)
		testenv.NoError(t, err)
		var got []string
		for _, s := range topology.Slots {
			got = append(got, s.Cores)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: cores %q, want %q", spec, text, want)
		}
	}
}

func TestRepeat(t *testing.T) {
	tree, err := ParseSpec("socket:2 core:4")
	testenv.NoError(t, err)
	three, err := tree.Repeat(3)
	testenv.NoError(t, err)
	got, err := three.Topology(nil)
	if want := "socket:3×6 node:5×3 system:50×1"; err != nil || levels(got) != want || len(got.Slots) != 24 {
		t.Errorf("%d slots, %s, %v; want 24, %s", len(got.Slots), levels(got), err, want)
	}
	if _, err := three.Repeat(2); err == nil || !strings.Contains(err.Error(), "has nodes already") {
		t.Errorf("nodes repeated: %v", err)
	}
	for _, n := range []int{0, -1, 1 << 22} {
		if _, err := tree.Repeat(n); err == nil {
			t.Errorf("%d nodes: no error", n)
		}
	}
}
