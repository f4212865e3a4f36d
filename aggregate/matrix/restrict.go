package matrix

import "github.com/mpitrace/mpitrace/profile"

// Restrict returns the entries of m whose sender and receiver are both wanted. Ranks
// keep their numbers.
func (m *Matrix) Restrict(sender, receiver func(rank int) bool) *Matrix {
	out := m.entriesIf(func(from, to int) bool { return sender(from) && receiver(to) })
	for _, g := range m.patterns {
		out.addPattern(g.restrict(sender, receiver))
	}
	return out
}

// entriesIf returns the entries that are held one by one and wanted.
func (m *Matrix) entriesIf(wanted func(from, to int) bool) *Matrix {
	out := &Matrix{scratch: m.scratch}
	for p, v := range m.Entries() {
		if wanted(p.From, p.To) {
			out.Add(p, v)
		}
	}
	return out
}

// restrict returns the pattern of the senders and receivers that are wanted.
func (g *groupPattern) restrict(sender, receiver func(rank int) bool) *groupPattern {
	if g.transposed {
		sender, receiver = receiver, sender
	}
	out := &groupPattern{from: g.from, to: g.to, weight: g.weight, higherOnly: g.higherOnly, transposed: g.transposed}
	if kept := g.receivers(receiver); len(kept) < g.to.ranks.Len() {
		out.setReceivers(g, kept)
	}
	g.senders(func(index, rank int, each Volume) {
		if sender(rank) {
			out.each.add(int32(index), each)
		}
	})
	return out
}

// receivers returns the indices, in the group of receivers, of the ranks that are
// wanted.
func (g *groupPattern) receivers(wanted func(rank int) bool) []int {
	var indices []int
	for q := range g.to.ranks.Len() {
		if rank := g.to.ranks.At(q); rank >= 0 && wanted(rank) {
			indices = append(indices, q)
		}
	}
	return indices
}

// setReceivers sets the receivers of g to those of whole at some indices. If
// the order of members matters (higherOnly), the group stays and all other
// members get weight 0. Otherwise the group shrinks.
func (g *groupPattern) setReceivers(whole *groupPattern, indices []int) {
	if g.higherOnly {
		g.weight = make([]uint64, g.to.ranks.Len())
		for _, q := range indices {
			g.weight[q] = whole.weightOf(q)
		}
		return
	}
	ranks := make([]int32, len(indices))
	g.weight = nil
	for i, q := range indices {
		ranks[i] = int32(whole.to.ranks.At(q))
		if whole.weight != nil {
			g.weight = append(g.weight, whole.weight[q])
		}
	}
	g.to = newGroup(profile.Group{List: ranks})
}
