package placement

import (
	"fmt"
	"strings"
	"testing"
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
