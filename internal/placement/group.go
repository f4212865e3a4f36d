package placement

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
