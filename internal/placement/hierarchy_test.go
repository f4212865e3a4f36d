package placement

import (
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// hierarchyOf returns a topology in which all domains of a level are alike:
// sizes[i] domains of level i-1, or slots for level 0, are in one domain of level i. names
// and distances have one entry for each level, innermost first.
func hierarchyOf(t *testing.T, names []string, sizes []int, distances []int64) *Topology {
	t.Helper()
	slots := 1
	for _, n := range sizes {
		slots *= n
	}
	topology, per := &Topology{Slots: make([]Slot, slots)}, 1
	for i, n := range sizes {
		per *= n
		l := Level{Name: names[i], Distance: distances[i], Domain: make([]int32, slots)}
		for s := range l.Domain {
			l.Domain[s] = int32(s / per)
		}
		topology.Levels = append(topology.Levels, l)
	}
	testenv.NoError(t, topology.check())
	return topology
}

// Distance returns the distance of two slots; 0 for a slot and itself.
func (t *Topology) Distance(a, b int32) int64 {
	if a == b {
		return 0
	}
	return t.Levels[t.Between(a, b)].Distance
}
