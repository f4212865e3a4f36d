package placement

import "math"

// uniform reports whether a group has all ranks, which all send and receive the same.
func (g *WeightedGroup) uniform(ranks int) bool {
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
func (g *WeightedGroup) between(i, j int) float64 {
	w := float64(g.Sent[i]) * float64(g.Received[j])
	if !g.HigherOnly {
		w += float64(g.Sent[j]) * float64(g.Received[i])
	}
	return w
}

func (g *WeightedGroup) clique() (edges []edge) {
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
func (g *WeightedGroup) standIn() (edges []edge) {
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
	share          float64 // of the product that counts
	sent, received [][]float64
}

// A groupShare is what a rank sends and receives in a group.
type groupShare struct {
	group          int32
	sent, received float64
}

// setGroups computes the counts.
func (m *mapping) setGroups() {
	if len(m.problem.groups) == 0 {
		return
	}
	m.memberships = make([][]groupShare, len(m.block))
	for i := range m.problem.groups {
		g := &m.problem.groups[i]
		c := groupCounts{share: m.scale}
		if g.HigherOnly {
			c.share /= 2 // about half of what all would send
		}
		for l := range m.near {
			c.sent = append(c.sent, make([]float64, m.h.domains(l)))
			c.received = append(c.received, make([]float64, m.h.domains(l)))
		}
		for j, r := range g.Members {
			is := groupShare{int32(i), float64(g.Sent[j]), float64(g.Received[j])}
			m.memberships[r] = append(m.memberships[r], is)
			c.add(m.h, m.block[r], is.sent, is.received)
		}
		m.groups = append(m.groups, c)
	}
}

func (c *groupCounts) add(h *hierarchy, block int32, sent, received float64) {
	n := h.levels()
	for l := range c.sent {
		d := h.ancestor[int(block)*n+l]
		c.sent[l][d] += sent
		c.received[l][d] += received
	}
}

// A groupSwap iterates over the groups of the two ranks of a swap.
type groupSwap struct{ out, in []groupShare }

func (m *mapping) groupSwap(r, other int32) groupSwap {
	s := groupSwap{out: m.memberships[r]}
	if other >= 0 {
		s.in = m.memberships[other]
	}
	return s
}

// next returns the next group, and what moves out of the block of the first rank.
func (s *groupSwap) next() (moved groupShare, ok bool) {
	switch {
	case len(s.out) == 0 && len(s.in) == 0:
		return moved, false
	case len(s.in) == 0 || len(s.out) > 0 && s.out[0].group <= s.in[0].group:
		moved, s.out = s.out[0], s.out[1:]
	default:
		moved.group = s.in[0].group
	}
	if len(s.in) > 0 && s.in[0].group == moved.group {
		moved.sent -= s.in[0].sent
		moved.received -= s.in[0].received
		s.in = s.in[1:]
	}
	return moved, true
}

// groupGain returns what the groups save by a swap of r with other, which may be -1, in
// block to.
func (m *mapping) groupGain(r, other, to int32) int64 {
	var sum float64
	n := m.h.levels()
	from := m.block[r]
	s := m.groupSwap(r, other)
	for moved, ok := s.next(); ok; moved, ok = s.next() {
		c := &m.groups[moved.group]
		var g float64
		for l := range c.sent {
			a, b := m.h.ancestor[int(from)*n+l], m.h.ancestor[int(to)*n+l]
			if a == b {
				break
			}
			// (s-x)(r-y) + (s'+x)(r'+y) - sr - s'r'. What a member sends to itself is in
			// all of the products, so that it does not count.
			inside := moved.sent*(c.received[l][b]-c.received[l][a]) + moved.received*(c.sent[l][b]-c.sent[l][a]) +
				2*moved.sent*moved.received
			g += inside * float64(m.h.distance[l+1]-m.h.distance[l])
		}
		sum += g * c.share
	}
	return int64(math.Round(sum))
}

// moveGroups corrects the counts for a swap.
func (m *mapping) moveGroups(r, other, to int32) {
	s := m.groupSwap(r, other)
	for moved, ok := s.next(); ok; moved, ok = s.next() {
		c := &m.groups[moved.group]
		c.add(m.h, m.block[r], -moved.sent, -moved.received)
		c.add(m.h, to, moved.sent, moved.received)
	}
}
