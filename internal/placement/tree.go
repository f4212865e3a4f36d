package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// A Tree is a hierarchy of domains, as a specification or a file describes it: one node, or a
// system of nodes. Its Topology has a slot for each leaf.
type Tree struct {
	root     *domain
	levels   []string // innermost first; without the level core if slots are cores
	allCores bool     // whether it has all cores of each node, in the order in which hwloc counts them
}

// A domain of a tree. Trees share domains that are alike, so no domain is changed.
type domain struct {
	level      string // name of a level; empty for the root and for slots
	host       string // of a node
	processors string // of a slot
	cores      string // of a slot; empty if not known
	inner      []*domain
}

// The names of levels, with the default distance of two slots whose lowest common domain is of the
// level. The ratios are those of the cost of a message. Within a node, this is the latency between
// two cores that share a cache, that do not, and on different sockets (about 0.1, 0.2 and 0.3 µs).
// Between nodes, it is the share of the bandwidth that each process of a full node gets in a
// network with tapered links.
var defaultDistances = []struct {
	level    string
	distance int64
}{
	{coreLevel, 1}, {"l2", 1}, {"l3", 2}, {"numa", 3}, {"socket", 3},
	{NodeLevel, 5}, {switchLevel, 25}, {"group", 35}, {systemLevel, 50},
}

const (
	coreLevel   = "core"
	switchLevel = "switch"
	systemLevel = "system"
)

// switchName returns the name of the level of switches whose distance to the nodes is height
// levels.
func switchName(height int) string {
	if height == 1 {
		return switchLevel
	}
	return switchLevel + " " + strconv.Itoa(height)
}

// defaultDistance returns the distance of a level by its name. Switches of the upper levels have
// the distance of groups.
func defaultDistance(level string) int64 {
	for _, d := range defaultDistances {
		if d.level == level {
			return d.distance
		}
	}
	return defaultDistance("group")
}

// ParseDistances reads a list of distances such as 1:10:100, innermost level first.
func ParseDistances(list string) ([]int64, error) {
	var out []int64
	for part := range strings.SplitSeq(list, ":") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 1 || n > maxDistance {
			return nil, fmt.Errorf("distances %q: %q is not a number from 1 to %d; give one for each level, innermost first: 1:10:100", list, part, maxDistance)
		}
		out = append(out, n)
	}
	if !slices.IsSorted(out) {
		return nil, fmt.Errorf("distances %q: they must not fall from the inner to the outer levels", list)
	}
	return out, nil
}

// Repeat returns a system of n nodes that are all like t, which must be one node.
func (t *Tree) Repeat(n int) (*Tree, error) {
	if t.hasNodes() {
		return nil, fmt.Errorf("the topology has nodes already: it cannot be repeated for %s", text.CountOf(n, "node"))
	}
	if slots := t.root.slots(); n < 1 || n > maxSlots/slots {
		return nil, fmt.Errorf("%s of %s: a topology has 1 to %s slots", text.CountOf(max(n, 0), "node"), text.CountOf(slots, "slot"), text.Count(maxSlots))
	}
	node := &domain{level: NodeLevel, inner: t.root.content()}
	return &Tree{root: &domain{inner: slices.Repeat([]*domain{node}, n)}, levels: append(slices.Clip(t.levels), NodeLevel), allCores: t.allCores}, nil
}

// content returns the domains inside a domain. A slot is its own content.
func (d *domain) content() []*domain {
	if len(d.inner) == 0 {
		return []*domain{d}
	}
	return d.inner
}

func (t *Tree) hasNodes() bool { return slices.Contains(t.levels, NodeLevel) }

// slots returns the number of slots in a domain. It stops counting a little above maxSlots.
func (d *domain) slots() int {
	known := map[*domain]int{}
	var count func(*domain) int
	count = func(d *domain) int {
		if len(d.inner) == 0 {
			return 1
		}
		n, seen := known[d]
		for i := 0; !seen && i < len(d.inner) && n <= maxSlots; i++ {
			n += count(d.inner[i])
		}
		known[d] = n
		return n
	}
	return count(d)
}

// Topology returns the topology of a tree. distances has one for each of its levels,
// innermost first; nil stands for the default distances.
func (t *Tree) Topology(distances []int64) (*Topology, error) {
	if !t.hasNodes() {
		one, err := t.Repeat(1)
		if err != nil {
			return nil, err
		}
		t = one
	}
	n := t.root.slots()
	if n > maxSlots {
		return nil, fmt.Errorf("the topology has more than %s slots", text.Count(maxSlots))
	}
	w := walk{tree: t, next: make([]int32, len(t.levels)), topology: &Topology{Slots: make([]Slot, 0, n)}}
	for _, name := range t.levels {
		w.topology.Levels = append(w.topology.Levels, Level{Name: name, Domain: make([]int32, 0, n)})
	}
	w.enter(t.root, len(t.levels), "")
	w.topology.Levels = append(kept(w.topology.Levels), Level{Name: systemLevel, Domain: make([]int32, n)})
	return w.topology, w.topology.setDistances(distances)
}

// A walk numbers the domains of a tree.
type walk struct {
	tree     *Tree
	next     []int32 // by level: number of the next domain
	core     int     // number of the next core on the node
	topology *Topology
}

// enter adds the slots of a domain that is inside a domain of level above. If the path to a slot
// leaves out a level, the slot gets a domain of its own at this level.
func (w *walk) enter(d *domain, above int, host string) {
	level := above
	if d.level != "" {
		level = slices.Index(w.tree.levels, d.level)
	}
	if d.level == NodeLevel {
		host = d.host
		w.core = 0
	}
	for _, inner := range d.inner {
		w.enter(inner, level, host)
	}
	if len(d.inner) == 0 {
		level = 0
		w.addSlot(d, host)
	}
	inCore := above < len(w.tree.levels) && w.tree.levels[above] == coreLevel
	if d.level == coreLevel || len(d.inner) == 0 && !inCore {
		w.core++
	}
	for i := level; i < above; i++ {
		w.next[i]++
	}
}

// addSlot adds a slot to all levels.
func (w *walk) addSlot(d *domain, host string) {
	s := Slot{Host: host, Processors: d.processors, Cores: d.cores}
	if w.tree.allCores {
		s.Cores = strconv.Itoa(w.core)
	}
	w.topology.Slots = append(w.topology.Slots, s)
	for i, next := range w.next {
		w.topology.Levels[i].Domain = append(w.topology.Levels[i].Domain, next)
	}
}

// kept returns the levels that add information, and the level of nodes. A level adds none if its
// domains are those of the level below, or the nodes, or the whole system.
func kept(levels []Level) []Level {
	var out []Level
	count := func(l *Level) int32 { return l.Domain[len(l.Domain)-1] + 1 }
	below, nodes := int32(0), int32(0)
	for i := range levels {
		if levels[i].Name == NodeLevel {
			nodes = count(&levels[i])
		}
	}
	if len(levels) > 0 {
		below = int32(len(levels[0].Domain))
	}
	for i := range levels {
		l := &levels[i]
		n := count(l)
		if l.Name == NodeLevel || n != below && n != nodes && n != 1 {
			out = append(out, *l)
			below = n
		}
	}
	return out
}

// setDistances sets the distances of the levels; nil stands for the default ones.
func (t *Topology) setDistances(distances []int64) error {
	if distances != nil && len(distances) != len(t.Levels) {
		names := make([]string, len(t.Levels))
		for i, l := range t.Levels {
			names[i] = l.Name
		}
		return fmt.Errorf("%s given for %s: %s", text.CountOf(len(distances), "distance"), text.CountOf(len(names), "level"), text.List(names))
	}
	before := int64(0)
	for i := range t.Levels {
		l := &t.Levels[i]
		l.Distance = max(before, defaultDistance(l.Name))
		if distances != nil {
			l.Distance = distances[i]
		}
		before = l.Distance
	}
	return t.check()
}
