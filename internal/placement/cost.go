package placement

// A Cost is what an order costs.
type Cost struct {
	// Objective is the sum over all pairs of ranks of what they exchange, in both
	// directions, × the distance of their slots.
	Objective uint64 `json:"objective"`
	// Levels is, by level, what is exchanged by ranks whose lowest common domain is of
	// that level. Objective is the sum of Levels × the distance of the level.
	Levels []uint64 `json:"levels"`
}

// Evaluate returns what an order costs. The sums are exact, modulo 2^64.
func Evaluate(t *Topology, traffic *RankTraffic, o Order) Cost {
	c := Cost{Levels: make([]uint64, len(t.Levels))}
	for r := range traffic.Ranks {
		for i := traffic.Start[r]; i < traffic.Start[r+1]; i++ {
			if p := traffic.Column[i]; int(p) > r { // each pair once
				c.Levels[t.Between(o[r], o[p])] += traffic.Value[i]
			}
		}
	}
	for i := range traffic.Groups {
		traffic.Groups[i].addTo(c.Levels, t, o)
	}
	for i, w := range c.Levels {
		c.Objective += w * uint64(t.Levels[i].Distance)
	}
	return c
}

// addTo adds what members exchange to the level of their lowest common domain. This is what
// they exchange within the domains of that level, minus what they do within those one level below.
func (g *WeightedGroup) addTo(levels []uint64, t *Topology, o Order) {
	below := g.within(func(member int) int32 { return o[g.Members[member]] }, len(t.Slots))
	for i := range t.Levels {
		domain := t.Levels[i].Domain
		inside := g.within(func(member int) int32 { return domain[o[g.Members[member]]] }, int(domain[len(domain)-1])+1)
		levels[i] += inside - below
		below = inside
	}
}

// within returns what members exchange with members of the same domain, themselves
// included.
func (g *WeightedGroup) within(domain func(member int) int32, domains int) (sum uint64) {
	sent, received := make([]uint64, domains), make([]uint64, domains)
	for i := range g.Members {
		d := domain(i)
		if g.HigherOnly { // what the lower members of the domain send to this one
			sum += sent[d] * g.Received[i]
		}
		sent[d] += g.Sent[i]
		received[d] += g.Received[i]
	}
	if !g.HigherOnly {
		for d := range sent {
			sum += sent[d] * received[d]
		}
	}
	return sum
}
