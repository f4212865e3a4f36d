package placement

import (
	"cmp"
	"slices"
)

// maxDimensions is how many dimensions of Cartesian grids are recognised.
const maxDimensions = 4

// A gridSize is the extent of a Cartesian grid of ranks in each dimension, or of a block
// of it; 1 in dimensions that it does not have. The last dimension varies fastest.
type gridSize [maxDimensions]int

func (s gridSize) volume() int { return s[0] * s[1] * s[2] * s[3] }

func (s gridSize) coordinates(rank int) (c gridSize) {
	for d := maxDimensions - 1; d >= 0; d-- {
		c[d] = rank % s[d]
		rank /= s[d]
	}
	return c
}

// A gridClass is the edges of a grid whose two ranks have the same distance, apart, in each
// dimension, counting the shorter way around.
type gridClass struct {
	apart  gridSize
	weight float64
}

// A cartesian is a grid that explains a graph.
type cartesian struct {
	size     gridSize
	periodic [maxDimensions]bool
	classes  []gridClass
}

const (
	gridSamples = 500 // edges by which grids are compared
	gridReach   = 3   // largest mean distance of the two ranks of an edge in a grid
	gridsTried  = 3
)

// grids returns the Cartesian grids in which the edges are short, the best first.
func (g *graph) grids() []cartesian {
	type edge struct {
		a, b   int
		weight float64
	}
	var samples []edge
	var total float64
	v := 0
	for i := 0; i < len(g.Column); i += max(1, len(g.Column)/gridSamples) {
		for g.Start[v+1] <= i {
			v++
		}
		samples = append(samples, edge{v, int(g.Column[i]), float64(g.Value[i])})
		total += float64(g.Value[i])
	}
	type rated struct {
		size  gridSize
		reach float64
	}
	var found []rated
	for _, size := range factorisations(g.Len()) {
		if !size.leadingOnes() {
			continue
		}
		var reach float64
		for _, e := range samples {
			apart, _ := size.apart(e.a, e.b)
			reach += e.weight * float64(apart[0]+apart[1]+apart[2]+apart[3])
		}
		if len(samples) > 0 && reach <= gridReach*total {
			found = append(found, rated{size, reach})
		}
	}
	slices.SortStableFunc(found, func(a, b rated) int { return cmp.Compare(a.reach, b.reach) })
	var grids []cartesian
	for _, f := range found[:min(len(found), gridsTried)] {
		grids = append(grids, g.classify(f.size))
	}
	return grids
}

// leadingOnes reports whether no dimension but the first ones has the extent 1.
func (s gridSize) leadingOnes() bool {
	for d := 1; d < maxDimensions; d++ {
		if s[d] == 1 && s[d-1] != 1 {
			return false
		}
	}
	return true
}

// apart returns the distance of two ranks of a grid in each dimension. around has the dimensions in
// which the shorter way crosses the border.
func (s gridSize) apart(a, b int) (apart gridSize, around [maxDimensions]bool) {
	at, to := s.coordinates(a), s.coordinates(b)
	for d := range s {
		n := at[d] - to[d]
		if n < 0 {
			n = -n
		}
		apart[d], around[d] = min(n, s[d]-n), s[d]-n < n
	}
	return apart, around
}

func (g *graph) classify(size gridSize) cartesian {
	c := cartesian{size: size}
	weight := map[gridSize]float64{}
	for v := range g.Len() {
		peers, weights := g.Row(v)
		for i, p := range peers {
			apart, around := size.apart(v, int(p))
			weight[apart] += float64(weights[i])
			for d := range around {
				c.periodic[d] = c.periodic[d] || around[d]
			}
		}
	}
	for apart, w := range weight {
		c.classes = append(c.classes, gridClass{apart, w})
	}
	slices.SortFunc(c.classes, func(a, b gridClass) int { return slices.Compare(a.apart[:], b.apart[:]) })
	return c
}

// factorisations returns all ways to write n as a product of an ordered list of factors,
// one for each dimension.
func factorisations(n int) []gridSize {
	var divisors []int
	for f := 1; f <= n; f++ {
		if n%f == 0 {
			divisors = append(divisors, f)
		}
	}
	var found []gridSize
	var factor func(size gridSize, d, left int)
	factor = func(size gridSize, d, left int) {
		if d == maxDimensions-1 {
			size[d] = left
			found = append(found, size)
			return
		}
		for _, f := range divisors {
			if left%f == 0 {
				size[d] = f
				factor(size, d+1, left/f)
			}
		}
	}
	factor(gridSize{}, 0, n)
	return found
}

// inside returns the weight of the edges within blocks of a size. It is exact if all
// edges of a class have the same weight.
func (c *cartesian) inside(block gridSize) float64 {
	var sum float64
	for _, class := range c.classes {
		share := 1.0
		for d, apart := range class.apart {
			if block[d] == c.size[d] {
				continue
			}
			places := c.size[d] - apart
			if c.periodic[d] {
				places = c.size[d]
			}
			blocks := c.size[d] / block[d]
			share *= float64(max(0, block[d]-apart)*blocks) / float64(places)
		}
		sum += share * class.weight
	}
	return sum
}

// uniform returns how many slots the domains of each level have; ok is false if those of
// one level differ.
func (h *hierarchy) uniform() (capacity []int, ok bool) {
	for l := range h.levels() {
		for d := range h.domains(l) {
			if h.capacity(l, int32(d)) != h.capacity(l, 0) {
				return nil, false
			}
		}
		capacity = append(capacity, h.capacity(l, 0))
	}
	return capacity, true
}

// blocking returns the block of each rank if each domain is a block of the grid, with the block
// sizes that cost the least. It returns nil if there are no such sizes.
func (c *cartesian) blocking(h *hierarchy) []int32 {
	capacity, ok := h.uniform()
	if !ok || h.slots() != c.size.volume() {
		return nil
	}
	sizes := c.bestSizes(h, capacity)
	if sizes == nil {
		return nil
	}
	block := make([]int32, h.slots())
	for r := range block {
		at := c.size.coordinates(r)
		for l := len(sizes) - 1; l > 0; l-- {
			inner, outer := sizes[l-1], sizes[l]
			for d := range at {
				block[r] = block[r]*int32(outer[d]/inner[d]) + int32(at[d]%outer[d]/inner[d])
			}
		}
	}
	return block
}

// A gridStep is the best way to reach a block size at one level.
type gridStep struct {
	saved float64
	from  gridSize
}

// bestSizes returns the block size of each level. It considers all combinations, which is possible
// because the saving is a sum over the levels.
func (c *cartesian) bestSizes(h *hierarchy, capacity []int) []gridSize {
	steps := []map[gridSize]gridStep{{gridSize{1, 1, 1, 1}: {}}}
	below := 1
	for l, slots := range capacity {
		next := map[gridSize]gridStep{}
		for _, f := range factorisations(slots / below) {
			for from, step := range steps[l] {
				var to gridSize
				fits := true
				for d := range to {
					to[d] = from[d] * f[d]
					fits = fits && c.size[d]%to[d] == 0
				}
				if !fits {
					continue
				}
				saved := step.saved
				if l < len(capacity)-1 {
					saved += c.inside(to) * float64(h.distance[l+1]-h.distance[l])
				}
				known, seen := next[to]
				if !seen || saved > known.saved || saved == known.saved && slices.Compare(from[:], known.from[:]) < 0 {
					next[to] = gridStep{saved, from}
				}
			}
		}
		steps, below = append(steps, next), slots
	}
	if _, found := steps[len(capacity)][c.size]; !found {
		return nil
	}
	sizes := make([]gridSize, len(capacity))
	at := c.size
	for l := len(capacity) - 1; l >= 0; l-- {
		sizes[l] = at
		at = steps[l+1][at].from
	}
	return sizes
}
