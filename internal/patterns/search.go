package patterns

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// search finds the components of what all-to-all does not explain. If it finds several components,
// it searches again with other first components. The best search is the one that explains the most
// and, of those that explain the same, the simplest.
func (p *parts) search(m *matrix.Matrix) {
	g := newGraph(p, m)
	starts := g.candidates()
	best := g.clone()
	if len(starts) > 0 {
		best.take(starts[0].shape)
	}
	best.searchOn()
	if len(best.found) > 1 && len(g.Column) <= mostStarted {
		starts = slices.CompactFunc(starts, func(a, b candidate) bool { return a.fit == b.fit }) // most likely the same pairs
		for _, s := range starts[:min(len(starts), mostStarts)] {
			next := g.clone()
			next.take(s.shape)
			next.searchOn()
			if next.betterThan(best) {
				best = next
			}
		}
	}
	best.attribute()
}

// searchOn takes the best candidate again and again, until nothing explains enough.
func (g *graph) searchOn() {
	for len(g.found) < mostParts-1 && g.enough(g.openWeight()) {
		found := g.candidates()
		if len(found) == 0 {
			break
		}
		g.take(found[0].shape)
	}
	g.takeRandom()
}

func (g *graph) clone() *graph {
	c := *g
	c.left, c.open, c.cover, c.found = slices.Clone(g.left), slices.Clone(g.open), slices.Clone(g.cover), slices.Clone(g.found)
	return &c
}

// betterThan reports whether a search has found a better explanation than another.
func (g *graph) betterThan(o *graph) bool {
	left, other := g.openWeight(), o.openWeight()
	if g.enough(left) || g.enough(other) {
		return left < other
	}
	if c := cmp.Or(g.complexity()-o.complexity(), cmp.Compare(left, other)); c != 0 {
		return c < 0
	}
	return cmp.Or(g.deviations()-o.deviations(), g.periodic()-o.periodic()) < 0
}

// periodic counts the periodic dimensions of all components.
func (g *graph) periodic() (n int) {
	for _, s := range g.found {
		if st, ok := s.(*stencil); ok {
			n += periodic(st.lines)
		}
	}
	return n
}

// complexity counts the components. Each offset of an irregular stencil, and each further
// rank of the width of a regular one, is one more.
func (g *graph) complexity() (n int) {
	for _, s := range g.found {
		n++
		if st, ok := s.(*stencil); ok && !st.regular {
			n += len(st.offsets) - 1
		} else if ok && len(st.offsets) > 1 {
			low, high := st.reach()
			n += max(slices.Max(high), -slices.Min(low)) - 1
		}
	}
	return n
}

func (g *graph) openWeight() (sum uint64) {
	for i, open := range g.open {
		if open {
			sum += g.weight(g.left[i])
		}
	}
	return sum
}

// A candidate is a shape that explains enough.
type candidate struct {
	shape
	fit
}

// candidates returns the shapes that explain enough, the best first: the one that explains the most
// and, of those that explain the same, the simplest. There are two exceptions. All-to-all in large
// groups comes before shapes that explain more, but not everything, because its many pairs hardly
// exist by chance. Irregular stencils come last, unless they explain twice as much.
func (g *graph) candidates() (out []candidate) {
	try := func(s shape) {
		if f, ok := g.fit(s); ok && g.worth(f) {
			out = append(out, candidate{s, f})
		}
	}
	lines := g.lines()
	g.groups(lines, try)
	g.masters(try)
	g.stencils(lines, try)
	g.butterflies(lines, try)
	g.transposes(try)
	g.trees(try)
	all := g.openWeight()
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.rank(all), a.rank(all)), a.complexity()-b.complexity())
	})
	return out
}

// rank returns a number by which candidates are ordered. all is the weight that is not explained
// yet.
func (c *candidate) rank(all uint64) float64 {
	switch s := c.shape.(type) {
	case groups:
		if s.extent >= leastClique && c.weight < all {
			return float64(all-1) + float64(c.weight)/float64(all)
		}
	case *stencil:
		if !s.regular {
			return float64(c.weight) / 2
		}
	}
	return float64(c.weight)
}

// complexity returns roughly how many numbers describe the shape.
func (c *candidate) complexity() int {
	switch s := c.shape.(type) {
	case *stencil:
		return len(s.offsets) + len(s.component().Grid)
	case transpose:
		return 2 + bits.Len(uint(s.block)) + bits.Len(uint(s.ranks/(s.rows*s.columns*s.block)))
	case tree:
		return 4
	}
	return 1
}

// groups tries all-to-all in the lines of grids.
func (g *graph) groups(lines []dimension, try func(shape)) {
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
		for i := g.Start[from]; i < g.Start[from+1]; i++ {
			to := int(g.Column[i])
			in[to]++
			if g.open[i] {
				weight[to] += g.weight(g.left[i])
				weight[from] += g.weight(g.left[i])
			}
		}
	}
	var full []int
	for r := range g.ranks {
		if g.Start[r+1]-g.Start[r] == g.ranks-1 || in[r] == g.ranks-1 {
			full = append(full, r)
		}
	}
	slices.SortStableFunc(full, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	for _, r := range full[:min(len(full), mostMasters)] {
		if g.ranks > 3 || r != 1 { // a chain of 3 ranks
			try(hub{g.ranks, r, true, true})
		}
		try(hub{g.ranks, r, true, false})
		try(hub{g.ranks, r, false, true})
	}
}

// stencils tries the stencils on the most likely grids, those with the fewest neighbours
// and the fewest dimensions first.
func (g *graph) stencils(lines []dimension, try func(shape)) {
	var found []*stencil
	for _, lines := range g.grids(lines) {
		found = append(found, g.stencilsOn(lines)...)
	}
	found = append(found, g.shifts(false)...)
	found = append(found, g.shifts(true)...)
	slices.SortStableFunc(found, func(a, b *stencil) int {
		return cmp.Or(len(a.offsets)-len(b.offsets), len(a.lines)-len(b.lines), periodic(a.lines)-periodic(b.lines))
	})
	for _, s := range found {
		try(s)
	}
}

// butterflies tries one butterfly with all stages in which all ranks exchange. In a small job, a
// stencil is preferred if these are all stages.
func (g *graph) butterflies(lines []dimension, try func(shape)) {
	var s butterfly
	for stage := 1; g.ranks%(2*stage) == 0; stage *= 2 {
		if slices.ContainsFunc(lines, func(l dimension) bool { return l.stride == stage }) {
			if up, down := g.extents(stage); up%2 == 0 && down%2 == 0 {
				s.stages = append(s.stages, stage)
			}
		}
	}
	if n := len(s.stages); n > 0 && (n > mostCube || g.ranks != 1<<n) {
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

// trees tries all kinds of trees with each rank as the root.
func (g *graph) trees(try func(shape)) {
	for root := range g.ranks {
		for arity := highestBit; arity <= mostArity; arity++ {
			if arity == 1 {
				continue // a sweep in one line
			}
			s := tree{ranks: g.ranks, root: root, arity: arity}
			down, up := g.topOf(s)
			for _, s.down = range []bool{true, false} {
				for _, s.up = range []bool{true, false} {
					if (s.down || s.up) && (down || !s.down) && (up || !s.up) {
						try(s)
					}
				}
			}
		}
	}
}

// topMembers is the number of members near the root of which topOf checks the children. Without
// this check, a tree would be compared pair by pair with each rank as the root.
const topMembers = 64

// topOf reports whether the members at the top of a tree send to their children (down), and the
// children to them (up).
func (g *graph) topOf(s tree) (down, up bool) {
	down, up = true, true
	for member := 0; member < min(topMembers, s.ranks) && (down || up); member++ {
		from := (member + s.root) % s.ranks
		s.children(member, func(child int) bool {
			to := (child + s.root) % s.ranks
			down, up = down && g.Find(from, to) >= 0, up && g.Find(to, from) >= 0
			return down || up
		})
	}
	return down, up
}

// Random traffic has at least leastRandom pairs. Its distances, modulo the number of ranks and in
// up to distanceBins ranges, are as frequent as in random pairs.
const (
	leastRandom  = 16
	distanceBins = 16
)

// takeRandom takes the rest as random traffic, if the peers of ranks look random.
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
		for i := g.Start[from]; i < g.Start[from+1]; i++ {
			if !g.open[i] {
				continue
			}
			pairs++
			if g.cover[i] == 0 {
				fresh++
			}
			weight += g.weight(g.left[i])
			found[(int(g.Column[i])-from+g.ranks)%g.ranks*bins/g.ranks]++
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

// byChance reports whether counts agree with expected × scale within half of it and three standard
// deviations.
func byChance(counts, expected []float64, scale float64) bool {
	for i, n := range counts {
		e := expected[i] * scale
		if d := max(n-e, e-n) - e/2; d > 0 && d*d > 9*e {
			return false
		}
	}
	return true
}
