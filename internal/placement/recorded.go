package placement

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// A RankLocation is where a rank ran, as its recording says.
type RankLocation struct {
	Rank      int
	Host      string             // empty if not known
	Placement *profile.Placement // nil if not known
}

// Recorded returns the tree of the places where the ranks of a job ran, and the rank of
// each of its slots, in their order. The nodes are the hosts. A recording does not say
// which processors are of one core, cache or socket. So below the node there are only
// domains of ranks that were bound to the same processors, or to some of these: their
// level follows from the number of these processors and from the numbers of processors,
// cores and sockets of the node. If the masks of two ranks of a host overlap in any other
// way, all ranks of this host are alike, as they are if they were not bound. Cores are
// numbered as Linux mostly does: see coreOf.
func Recorded(processes []RankLocation, ranks int) (*Tree, []int, error) {
	hosts, err := byHost(processes, ranks)
	if err != nil {
		return nil, nil, err
	}
	t := &Tree{root: &domain{}, levels: []string{"core", "numa", "socket", NodeLevel}}
	var inSlots []int
	for _, on := range hosts {
		b := hostBuilder{processes: on}
		t.root.inner = append(t.root.inner, b.build())
		inSlots = append(inSlots, b.ranks...)
	}
	return t, inSlots, nil
}

// byHost returns a list of processes for each host, ordered by rank. Hosts are ordered by
// their first rank. It is an error if the host of a rank is not known.
func byHost(processes []RankLocation, ranks int) ([][]RankLocation, error) {
	known := make([]bool, ranks)
	processes = slices.SortedStableFunc(slices.Values(processes), func(a, b RankLocation) int { return cmp.Compare(a.Rank, b.Rank) })
	var hosts [][]RankLocation
	index := map[string]int{}
	for _, p := range processes {
		if p.Rank < 0 || p.Rank >= ranks || known[p.Rank] || p.Host == "" {
			continue // a rank that was started again counts once
		}
		known[p.Rank] = true
		i, seen := index[p.Host]
		if !seen {
			i = len(hosts)
			index[p.Host] = i
			hosts = append(hosts, nil)
		}
		hosts[i] = append(hosts[i], p)
	}
	var missing []int
	for r, is := range known {
		if !is {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("where %s of %s ran is not recorded", profile.RankSetOf(missing...), text.CountOf(ranks, "rank"))
	}
	if len(hosts) == 0 {
		return nil, errors.New("the job has no ranks")
	}
	return hosts, nil
}

// A hostBuilder makes the domain of one host.
type hostBuilder struct {
	processes []RankLocation
	ranks     []int // of the slots made so far
}

// A maskDomain is the processes that were bound to the same processors.
type maskDomain struct {
	level      string // empty if it is no domain of its own
	processors []int
	processes  []RankLocation
	inner      []*maskDomain
}

// build returns the domain of the host.
func (b *hostBuilder) build() *domain {
	whole := b.masks()
	if whole == nil { // all processes may use the same processors
		whole = &maskDomain{processes: b.processes}
	}
	d := &domain{level: NodeLevel, host: b.processes[0].Host}
	b.fill(d, whole)
	return d
}

// masks returns the processes in domains by their masks; nil if masks overlap without
// one containing the other.
func (b *hostBuilder) masks() *maskDomain {
	whole := &maskDomain{level: NodeLevel}
	var masks []*maskDomain
	byText := map[string]*maskDomain{}
	for _, p := range b.processes {
		list := p.mask()
		m := byText[list]
		if m == nil {
			processors, err := profile.ParseProcessors(list)
			if err != nil || len(processors) == 0 {
				whole.processes = append(whole.processes, p)
				continue
			}
			m = &maskDomain{level: maskLevel(len(processors), p.Placement), processors: processors}
			byText[list] = m
			masks = append(masks, m)
		}
		m.processes = append(m.processes, p)
	}
	// Larger masks first: each is then within the last one that has its processors.
	slices.SortStableFunc(masks, func(a, b *maskDomain) int {
		return cmp.Or(cmp.Compare(len(b.processors), len(a.processors)), cmp.Compare(a.processors[0], b.processors[0]))
	})
	owner := map[int]*maskDomain{}
	for _, m := range masks {
		outer := owner[m.processors[0]]
		for _, n := range m.processors {
			if owner[n] != outer {
				return nil
			}
			owner[n] = m
		}
		if outer == nil {
			outer = whole
		}
		outer.inner = append(outer.inner, m)
	}
	return whole
}

func (p *RankLocation) mask() string {
	if p.Placement == nil {
		return ""
	}
	return p.Placement.Processors
}

// coreOf returns the core of a processor, and which of the core's hardware threads it is.
// A recording does not hold this. It is so on nodes whose processors are numbered as Linux
// mostly does: first one hardware thread of each core, then the others; and the cores of
// one socket after those of the other.
func coreOf(processor int, at *profile.Placement) (core, thread int) {
	if at.NodeCores == 0 {
		return processor, 0
	}
	return processor % at.NodeCores, processor / at.NodeCores
}

// cores returns the list of the cores of a process; empty if not known.
func (p *RankLocation) cores() string {
	processors, _ := profile.ParseProcessors(p.mask())
	var cores []int
	for _, n := range processors {
		core, _ := coreOf(n, p.Placement)
		cores = append(cores, core)
	}
	slices.Sort(cores)
	return profile.ProcessorList(slices.Compact(cores))
}

// maskLevel returns the level of a domain of n processors; empty if it is none: the node,
// or several sockets.
func maskLevel(n int, at *profile.Placement) string {
	processors, cores, sockets := at.NodeProcessors, at.NodeCores, at.NodeSockets
	switch {
	case cores > 0 && n <= processors/cores:
		return "core"
	case sockets > 0 && n*sockets == processors && sockets > 1:
		return "socket"
	case sockets > 0 && n*sockets > processors, n == processors:
		return ""
	}
	return "numa"
}

// fill adds the slots of m to d, those of the lowest processors first.
func (b *hostBuilder) fill(d *domain, m *maskDomain) {
	for _, p := range m.processes {
		d.inner = append(d.inner, &domain{processors: p.mask(), cores: p.cores()})
		b.ranks = append(b.ranks, p.Rank)
	}
	slices.SortFunc(m.inner, func(a, b *maskDomain) int { return cmp.Compare(a.processors[0], b.processors[0]) })
	for _, inner := range m.inner {
		if inner.level == "" || inner.level == m.level {
			b.fill(d, inner)
			continue
		}
		of := &domain{level: inner.level}
		b.fill(of, inner)
		d.inner = append(d.inner, of)
	}
}

// Present returns the order in which ranks ran, in slots of a topology that was not made
// from their recording. Hosts are found by name. If the topology names none, the first
// host with ranks is the first node, and so on; if there are as many nodes as hosts, the
// nodes get these names. Within a host, a rank is in the first free slot of its
// processors; if it has none there, in the first that is left.
//
// If the topology does not number the processors of a node, but has a slot for each of
// the node's cores or processors, they are numbered as coreOf says.
func Present(t *Topology, processes []RankLocation, ranks int) (Order, error) {
	hosts, err := byHost(processes, ranks)
	if err != nil {
		return nil, err
	}
	if len(t.Slots) < ranks {
		return nil, fmt.Errorf("the topology has %s, too few for %s", text.CountOf(len(t.Slots), "slot"), text.CountOf(ranks, "rank"))
	}
	nodes, err := t.nodesOf(hosts)
	if err != nil {
		return nil, err
	}
	o := make(Order, ranks)
	for i, on := range hosts {
		slots := nodes[i]
		if slots.len() < len(on) {
			return nil, fmt.Errorf("host %s ran %s, but its node in the topology has %s", on[0].Host, text.CountOf(len(on), "rank"), text.CountOf(slots.len(), "slot"))
		}
		t.placeOnHost(slots, on, o)
	}
	t.nameHosts(nodes, hosts)
	return o, nil
}

// slotRange is the slots from first to end-1.
type slotRange struct{ first, end int32 }

func (r slotRange) len() int { return int(r.end - r.first) }

// nodeSlots returns the slots of each node.
func (t *Topology) nodeSlots() []slotRange {
	var nodes []slotRange
	for s, d := range t.Levels[t.Nodes()].Domain {
		if int(d) == len(nodes) {
			nodes = append(nodes, slotRange{first: int32(s)})
		}
		nodes[d].end = int32(s) + 1
	}
	return nodes
}

// nodesOf returns the slots of each host.
func (t *Topology) nodesOf(hosts [][]RankLocation) ([]slotRange, error) {
	nodes := t.nodeSlots()
	if !t.namesHosts() {
		if len(nodes) < len(hosts) {
			return nil, fmt.Errorf("the topology has %s, the job ran on %s", text.CountOf(len(nodes), "node"), text.CountOf(len(hosts), "host"))
		}
		return nodes[:len(hosts)], nil
	}
	byName := map[string]slotRange{}
	for _, n := range nodes {
		byName[t.Slots[n.first].Host] = n
	}
	find := finderOf(byName)
	out := make([]slotRange, len(hosts))
	for i, on := range hosts {
		host := on[0].Host
		n, found := find(host)
		if !found {
			return nil, fmt.Errorf("the topology has no node %s, on which ranks of the job ran", host)
		}
		out[i] = n
	}
	return out, nil
}

// nameHosts gives the nodes the names of the hosts that ran on them, if the topology has
// no names and as many nodes as there are hosts.
func (t *Topology) nameHosts(nodes []slotRange, hosts [][]RankLocation) {
	if t.namesHosts() || int(nodes[len(nodes)-1].end) < len(t.Slots) {
		return
	}
	for i, n := range nodes {
		for s := n.first; s < n.end; s++ {
			t.Slots[s].Host = hosts[i][0].Host
		}
	}
}

// finderOf returns a function that finds a host by its name or, if that is not known, by its
// name without the domain.
func finderOf[V any](hosts map[string]V) func(name string) (V, bool) {
	short := map[string]V{}
	withoutDomain := func(name string) string { return strings.SplitN(name, ".", 2)[0] }
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		short[withoutDomain(name)] = hosts[name]
	}
	return func(name string) (V, bool) {
		host, found := hosts[name]
		if !found {
			host, found = short[withoutDomain(name)]
		}
		return host, found
	}
}

func (t *Topology) namesHosts() bool {
	return slices.ContainsFunc(t.Slots, func(s Slot) bool { return s.Host != "" })
}

// placeOnHost sets the slots of the processes of a host.
func (t *Topology) placeOnHost(slots slotRange, on []RankLocation, o Order) {
	slotOf := t.processorSlots(slots, on[0].Placement)
	free := make([]bool, slots.len())
	for i := range free {
		free[i] = true
	}
	masks := make([][]int, len(on))
	order := make([]int, len(on))
	for i := range on {
		masks[i], _ = profile.ParseProcessors(on[i].mask())
		order[i] = i
	}
	// The fewer processors a rank may use, the earlier it chooses.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(masks[a]), len(masks[b])) })
	var left []int
	for _, i := range order {
		at := -1
		for _, processor := range masks[i] {
			if s, known := slotOf[processor]; known && free[s] {
				at = s
				break
			}
		}
		if at < 0 {
			left = append(left, i)
			continue
		}
		free[at] = false
		o[on[i].Rank] = slots.first + int32(at)
	}
	slices.Sort(left)
	at := 0
	for _, i := range left {
		for !free[at] {
			at++
		}
		free[at] = false
		o[on[i].Rank] = slots.first + int32(at)
	}
}

// processorSlots returns the slot of each processor of a node, counted from its first
// slot.
func (t *Topology) processorSlots(slots slotRange, at *profile.Placement) map[int]int {
	slotOf := map[int]int{}
	for i := range slots.len() {
		processors, _ := profile.ParseProcessors(t.Slots[int(slots.first)+i].Processors)
		for _, n := range processors {
			if _, known := slotOf[n]; !known {
				slotOf[n] = i
			}
		}
	}
	if len(slotOf) > 0 || at == nil || at.NodeCores == 0 {
		return slotOf
	}
	threads := 1
	if slots.len() == at.NodeProcessors {
		threads = at.NodeProcessors / at.NodeCores
	} else if slots.len() != at.NodeCores {
		return slotOf
	}
	for n := range at.NodeProcessors {
		core, thread := coreOf(n, at)
		slotOf[n] = core*threads + thread%threads
	}
	return slotOf
}
