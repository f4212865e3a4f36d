package placement

import "math"

// A problem is a traffic and a topology as the search needs them.
type problem struct {
	h       *hierarchy
	g       *graph  // the pairs, and the groups that are small
	search  *graph  // g and edges that stand for the other groups
	groups  []Group // that are not in g
	scale   float64 // by which the weights of g are smaller than the volumes
	blockAt []int32 // by slot: its block
}

// maxWeight bounds the sum of the weights of a graph, so that its product with twice
// maxDistance fits into 64 bits.
const maxWeight = 1 << 51

// maxClique is the number of members up to which a group becomes edges.
const maxClique = 24

func newProblem(t *Topology, traffic *Traffic) *problem {
	p := &problem{h: newHierarchy(t)}
	var edges []edge
	for r := range traffic.Ranks {
		for i := traffic.Start[r]; i < traffic.Start[r+1]; i++ {
			if peer := traffic.Peer[i]; int(peer) > r && traffic.Weight[i] > 0 {
				edges = append(edges, edge{int32(r), peer, float64(traffic.Weight[i])})
			}
		}
	}
	var standIns []edge
	full := traffic.Ranks == len(t.Slots)
	for i := range traffic.Groups {
		group := &traffic.Groups[i]
		switch {
		case full && group.uniform(traffic.Ranks): // each order costs the same
		case len(group.Members) <= maxClique:
			edges = append(edges, group.clique()...)
		default:
			standIns = append(standIns, group.standIn()...)
			p.groups = append(p.groups, *group)
		}
	}
	total := 0.0
	for _, e := range edges {
		total += e.weight
	}
	for _, e := range standIns {
		total += e.weight
	}
	p.scale = min(1, maxWeight/max(1, total))
	p.g = newGraph(traffic.Ranks, edges, p.scale)
	p.search = p.g
	if len(standIns) > 0 {
		p.search = newGraph(traffic.Ranks, append(edges, standIns...), p.scale)
	}
	p.blockAt = t.blocks(p.h)
	return p
}

func (t *Topology) blocks(h *hierarchy) []int32 {
	block := make([]int32, len(t.Slots))
	for b := range h.blocks() {
		for s := h.first[0][b]; s < h.first[0][b+1]; s++ {
			block[s] = int32(b)
		}
	}
	return block
}

// uniform reports whether a group has all ranks, which all send and receive the same.
func (g *Group) uniform(ranks int) bool {
	if len(g.Members) != ranks || g.HigherOnly {
		return false
	}
	for i := range g.Members {
		if g.Sent[i] != g.Sent[0] || g.Received[i] != g.Received[0] {
			return false
		}
	}
	return true
}

// between returns what two members exchange, i before j.
func (g *Group) between(i, j int) float64 {
	w := float64(g.Sent[i]) * float64(g.Received[j])
	if !g.HigherOnly {
		w += float64(g.Sent[j]) * float64(g.Received[i])
	}
	return w
}

func (g *Group) clique() (edges []edge) {
	for j := range g.Members {
		for i := range j {
			if w := g.between(i, j); w > 0 {
				edges = append(edges, edge{g.Members[i], g.Members[j], w})
			}
		}
	}
	return edges
}

// standInCycles is the number of random cycles that stand for a large group.
const standInCycles = 6

// standIn returns edges that stand for those of all pairs: a few random cycles through
// the members, whose weights are larger for it. The cut of a random graph of a constant
// degree is about in proportion to that of the complete graph.
func (g *Group) standIn() (edges []edge) {
	n := len(g.Members)
	r := generator(uint64(n))
	more := float64(n-1) / (2 * standInCycles)
	for range standInCycles {
		cycle := permutation(n, r)
		for k, i := range cycle {
			j := cycle[(k+1)%n]
			if i > j {
				i, j = j, i
			}
			if w := g.between(int(i), int(j)) * more; w > 0 {
				edges = append(edges, edge{g.Members[i], g.Members[j], w})
			}
		}
	}
	return edges
}

// groupCounts holds, by level and domain, what the members of a group there send and
// receive. What members exchange within a domain is the product.
type groupCounts struct {
	group          *Group
	index          map[int32]int32 // of each rank in the group
	sent, received [][]float64
}

func newGroupCounts(g *Group, h *hierarchy, block []int32) groupCounts {
	c := groupCounts{group: g, index: make(map[int32]int32, len(g.Members))}
	for l := range h.levels() - 1 {
		c.sent = append(c.sent, make([]float64, h.domains(l)))
		c.received = append(c.received, make([]float64, h.domains(l)))
	}
	for i, r := range g.Members {
		c.index[r] = int32(i)
		c.add(h, block[r], float64(g.Sent[i]), float64(g.Received[i]))
	}
	return c
}

func (c *groupCounts) add(h *hierarchy, block int32, sent, received float64) {
	n := h.levels()
	for l := range c.sent {
		d := h.ancestor[int(block)*n+l]
		c.sent[l][d] += sent
		c.received[l][d] += received
	}
}

// difference returns what moves from the block of r to the other one in a swap.
func (c *groupCounts) difference(r, other int32) (sent, received float64) {
	if i, member := c.index[r]; member {
		sent, received = float64(c.group.Sent[i]), float64(c.group.Received[i])
	}
	if i, member := c.index[other]; member {
		sent, received = sent-float64(c.group.Sent[i]), received-float64(c.group.Received[i])
	}
	return sent, received
}

// groupGain returns what the groups save by a swap of r with other, which may be -1, in
// block to. Members that only send to higher ones count half of what all would send.
func (m *mapping) groupGain(r, other, to int32) int64 {
	var sum float64
	n := m.h.levels()
	from := m.block[r]
	for i := range m.groups {
		c := &m.groups[i]
		sent, received := c.difference(r, other)
		if sent == 0 && received == 0 {
			continue
		}
		var g float64
		for l := range c.sent {
			a, b := m.h.ancestor[int(from)*n+l], m.h.ancestor[int(to)*n+l]
			if a == b {
				break
			}
			// (s-x)(r-y) + (s'+x)(r'+y) - sr - s'r'. What a member sends to itself is in
			// all of the products, so that it does not count.
			inside := sent*(c.received[l][b]-c.received[l][a]) + received*(c.sent[l][b]-c.sent[l][a]) + 2*sent*received
			g += inside * float64(m.h.distance[l+1]-m.h.distance[l])
		}
		if c.group.HigherOnly {
			g /= 2
		}
		sum += g
	}
	return int64(math.Round(sum * m.scale))
}

// moveGroups corrects the counts for a swap.
func (m *mapping) moveGroups(r, other, to int32) {
	from := m.block[r]
	for i := range m.groups {
		c := &m.groups[i]
		sent, received := c.difference(r, other)
		if sent != 0 || received != 0 {
			c.add(m.h, from, -sent, -received)
			c.add(m.h, to, sent, received)
		}
	}
}
