package patterns

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// search finds the components of what all-to-all does not explain.
func (p *parts) search(m *matrix.Matrix) {
	g := newGraph(p, m)
	for len(g.found) < mostParts-1 && g.enough(g.openWeight()) {
		s := g.best()
		if s == nil {
			break
		}
		g.take(s)
	}
	g.takeRandom()
	g.attribute()
}

func (g *graph) openWeight() (sum uint64) {
	for i, open := range g.open {
		if open {
			sum += g.weight(g.left[i])
		}
	}
	return sum
}

// best returns the shape that explains the most; nil if none explains enough. If two
// explain the same, it is the one whose kind comes first.
func (g *graph) best() shape {
	var best shape
	var most uint64
	try := func(s shape) {
		if f, ok := g.fit(s); ok && f.weight > most && g.worth(f) {
			best, most = s, f.weight
		}
	}
	lines := g.lines()
	g.groups(lines, try)
	g.masters(try)
	for _, lines := range g.grids(lines) {
		if s := g.stencilOn(lines); s != nil {
			try(s)
		}
	}
	g.butterflies(lines, try)
	g.transposes(try)
	g.trees(try)
	return best
}

// groups tries all-to-all in the lines of grids.
func (g *graph) groups(lines []line, try func(shape)) {
	for _, l := range lines {
		if far := (l.extent - 1) * l.stride; l.extent > 2 && !l.periodic && l.extent*g.has(far) >= g.ranks && l.extent*g.has(-far) >= g.ranks {
			try(groups{g.ranks, l})
		}
	}
}

// masters tries the ranks that send to all others, or receive from all.
func (g *graph) masters(try func(shape)) {
	in, weight := make([]int, g.ranks), make([]uint64, g.ranks)
	for from := range g.ranks {
		for i := g.start[from]; i < g.start[from+1]; i++ {
			to := int(g.to[i])
			in[to]++
			if g.open[i] {
				weight[to] += g.weight(g.left[i])
				weight[from] += g.weight(g.left[i])
			}
		}
	}
	var full []int
	for r := range g.ranks {
		if g.start[r+1]-g.start[r] == g.ranks-1 || in[r] == g.ranks-1 {
			full = append(full, r)
		}
	}
	slices.SortStableFunc(full, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	for _, r := range full[:min(len(full), mostMasters)] {
		try(hub{g.ranks, r, true, true})
		try(hub{g.ranks, r, true, false})
		try(hub{g.ranks, r, false, true})
	}
}

// butterflies tries all stages together in which all ranks exchange.
func (g *graph) butterflies(lines []line, try func(shape)) {
	var s butterfly
	for stage := 1; g.ranks%(2*stage) == 0; stage *= 2 {
		if slices.ContainsFunc(lines, func(l line) bool { return l.stride == stage }) {
			if up, down := g.extents(stage); up%2 == 0 && down%2 == 0 {
				s.stages = append(s.stages, stage)
			}
		}
	}
	if len(s.stages) > 0 {
		try(s)
	}
}

// transposes tries all grids and blocks.
func (g *graph) transposes(try func(shape)) {
	tried := 0
	divisors := divisorsOf(g.ranks)
	for _, size := range slices.Backward(divisors) { // of a group
		for _, block := range divisorsOf(size) {
			for _, rows := range divisorsOf(size / block) {
				s := transpose{g.ranks, rows, size / block / rows, block}
				if rows > 1 && s.columns > 1 && tried < mostTranspose {
					tried++
					try(s)
				}
			}
		}
	}
}

func divisorsOf(n int) (out []int) {
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			out = append(out, d)
		}
	}
	return out
}

// trees tries all kinds of trees with each rank as the root. Most fail at the first pair.
func (g *graph) trees(try func(shape)) {
	for root := range g.ranks {
		for arity := highestBit; arity <= mostArity; arity++ {
			if arity == 1 {
				continue // a sweep in one dimension
			}
			_, down := g.fit(tree{g.ranks, root, arity, true, false})
			_, up := g.fit(tree{g.ranks, root, arity, false, true})
			for _, s := range []tree{{g.ranks, root, arity, true, true}, {g.ranks, root, arity, true, false}, {g.ranks, root, arity, false, true}} {
				if (down || !s.down) && (up || !s.up) {
					try(s)
				}
			}
		}
	}
}

// Random traffic has at least leastRandom pairs; its distances, modulo the number of
// ranks and in up to distanceBins ranges, are as frequent as chance makes them.
const (
	leastRandom  = 16
	distanceBins = 16
)

// takeRandom takes what is left if the peers of ranks look random.
func (g *graph) takeRandom() {
	bins := min(distanceBins, g.ranks-1)
	found, expected := make([]float64, bins), make([]float64, bins)
	for d := 1; d < g.ranks; d++ {
		expected[d*bins/g.ranks]++
	}
	var pairs, fresh, senders int
	var weight uint64
	bit := uint16(1) << len(g.found)
	for from := range g.ranks {
		before := pairs
		for i := g.start[from]; i < g.start[from+1]; i++ {
			if !g.open[i] {
				continue
			}
			pairs++
			if g.cover[i] == 0 {
				fresh++
			}
			weight += g.weight(g.left[i])
			found[(int(g.to[i])-from+g.ranks)%g.ranks*bins/g.ranks]++
		}
		if pairs > before {
			senders++
		}
	}
	if pairs < leastRandom || 2*fresh < pairs || 10*senders < 9*g.ranks || !g.enough(weight) || !byChance(found, expected, float64(pairs)/float64(g.ranks-1)) {
		return
	}
	for i := range g.open {
		if g.open[i] {
			g.cover[i] |= bit
			g.open[i] = false
		}
	}
	g.found = append(g.found, random{g, bit})
}

// byChance reports whether counts are as expected × scale, give or take half and three
// standard deviations.
func byChance(counts, expected []float64, scale float64) bool {
	for i, n := range counts {
		e := expected[i] * scale
		if d := max(n-e, e-n) - e/2; d > 0 && d*d > 9*e {
			return false
		}
	}
	return true
}
