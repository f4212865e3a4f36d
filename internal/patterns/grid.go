package patterns

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A line is one dimension of a grid: ranks stride apart, extent of them.
type line struct {
	stride, extent int
	periodic       bool
}

func (l line) at(rank int) int { return rank / l.stride % l.extent }

// step returns the rank that is d steps from a rank, and whether there is one.
func (l line) step(rank, d int) (int, bool) {
	from := l.at(rank)
	to := from + d
	if to < 0 || to >= l.extent {
		if !l.periodic {
			return 0, false
		}
		to = (to + l.extent) % l.extent
	}
	return rank + (to-from)*l.stride, true
}

// stencil is a stencil, ring or sweep: each rank sends to the ranks at offsets from it.
type stencil struct {
	ranks   int
	lines   []line  // the largest stride first
	offsets [][]int // by line
}

func (s *stencil) classes() int { return len(s.offsets) }

func (s *stencil) each(rank int, visit func(class, to int) bool) {
	for class, offset := range s.offsets {
		to, ok := rank, true
		for i := 0; i < len(s.lines) && ok; i++ {
			if offset[i] != 0 {
				to, ok = s.lines[i].step(to, offset[i])
			}
		}
		if ok && !visit(class, to) {
			return
		}
	}
}

// widest is the largest width that is looked for, by number of dimensions.
var widest = [mostLinked + 1]int{0, 16, 4, 2, 2}

// lines returns the dimensions that grids can have. A grid whose strides and extents are
// these has most of its neighbours in the matrix.
func (g *graph) lines() []line {
	var strides []int
	for s := 1; 2*s <= g.ranks; s++ {
		if g.ranks%s == 0 && (2*g.has(s) >= g.ranks || 2*g.has(-s) >= g.ranks) {
			strides = append(strides, s)
		}
	}
	var out []line
	for _, s := range strides {
		up, down := g.extents(s)
		extents := []int{up, down, gcd(up, down)}
		for _, t := range strides {
			if e := t / s; t > s && t%s == 0 && (up%e == 0 || down%e == 0) {
				extents = append(extents, e)
			}
		}
		slices.Sort(extents)
		for _, e := range slices.Compact(extents) {
			if e < 2 {
				continue
			}
			out = append(out, line{s, e, false})
			if e > 2 && (up%e == 0 && g.wraps(s, e, 1) || down%e == 0 && g.wraps(s, e, -1)) {
				out = append(out, line{s, e, true})
			}
		}
	}
	return out
}

// extents returns the largest extents of lines of a stride in which each rank but the
// last sends to the next one, and each but the first to the one before. All divisors of
// these are possible extents, too.
func (g *graph) extents(stride int) (up, down int) {
	up, down = g.ranks/stride, g.ranks/stride
	for r := range g.ranks {
		if up > 1 && (r+stride >= g.ranks || g.pair(r, r+stride) < 0) {
			up = gcd(up, r/stride+1) // r is the last of its line
		}
		if down > 1 && (r < stride || g.pair(r, r-stride) < 0) {
			down = gcd(down, r/stride) // r is the first
		}
	}
	return up, down
}

// wraps reports whether the last rank of each line sends to the first (way 1), or the
// first to the last (way -1).
func (g *graph) wraps(stride, extent, way int) bool {
	l := line{stride, extent, true}
	end := extent - 1
	if way < 0 {
		end = 0
	}
	for r := range g.ranks {
		if l.at(r) == end && g.pair(r, r-way*(extent-1)*stride) < 0 {
			return false
		}
	}
	return true
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// grids returns the grids of up to mostLinked lines that seem to explain the most, those
// of fewer dimensions first if equal.
func (g *graph) grids(lines []line) [][]line {
	type grid struct {
		lines []line
		bound float64
	}
	var found []grid
	weights := g.openWeights()
	var extend func(chain []line)
	extend = func(chain []line) {
		for _, l := range lines {
			if len(found) == mostGrids {
				return
			}
			if len(chain) > 0 && l.stride%(chain[0].stride*chain[0].extent) != 0 {
				continue
			}
			longer := append([]line{l}, chain...)
			found = append(found, grid{longer, g.bound(longer, weights)})
			if len(longer) < mostLinked {
				extend(longer)
			}
		}
	}
	extend(nil)
	slices.SortStableFunc(found, func(a, b grid) int {
		if math.Abs(a.bound-b.bound) <= 1e-9*a.bound {
			return len(a.lines) - len(b.lines)
		}
		return cmp.Compare(b.bound, a.bound)
	})
	var out [][]line
	for _, f := range found[:min(len(found), mostVerified)] {
		out = append(out, f.lines)
	}
	return out
}

// openWeights returns what is not explained, by to-from, at index to-from+ranks.
func (g *graph) openWeights() []float64 {
	out := make([]float64, len(g.count))
	for from := range g.ranks {
		for i := g.start[from]; i < g.start[from+1]; i++ {
			if g.open[i] {
				out[int(g.to[i])-from+g.ranks] += float64(g.weight(g.left[i]))
			}
		}
	}
	return out
}

// bound estimates what a grid explains from what is not explained at each offset.
func (g *graph) bound(lines []line, weights []float64) (sum float64) {
	g.eachOffset(lines, func(offset []int, apart, inside int) {
		here := weights[apart+g.ranks] * float64(inside) / float64(g.has(apart))
		for i, l := range lines {
			if l.periodic { // pairs that cross the border
				here *= float64(l.extent) / float64(l.extent-max(offset[i], -offset[i]))
			}
		}
		sum += here
	})
	return sum
}

// eachOffset visits the offsets on a grid of which enough pairs exist, with how many
// ranks apart they are and the number of pairs that do not cross a border of the grid.
func (g *graph) eachOffset(lines []line, visit func(offset []int, apart, inside int)) {
	most := widest[len(lines)]
	offset := make([]int, len(lines))
	var next func(i, apart, inside int)
	next = func(i, apart, inside int) {
		if i == len(lines) {
			if apart != 0 && g.has(apart) >= inside {
				visit(offset, apart, inside)
			}
			return
		}
		l := lines[i]
		w := min(most, l.extent-1)
		if l.periodic {
			w = min(most, (l.extent-1)/2)
		}
		for d := -w; d <= w; d++ {
			offset[i] = d
			next(i+1, apart+d*l.stride, inside/l.extent*(l.extent-max(d, -d)))
		}
	}
	next(0, 0, g.ranks)
}

// stencilOn returns the stencil on a grid that explains the most; nil if a dimension of
// the grid has no neighbours.
func (g *graph) stencilOn(lines []line) *stencil {
	type option struct {
		offset []int
		fit
	}
	var options []option
	known := map[[mostLinked]int]bool{}
	g.eachOffset(lines, func(offset []int, _, _ int) {
		one := &stencil{g.ranks, lines, [][]int{slices.Clone(offset)}}
		if f, ok := g.fit(one); ok {
			options = append(options, option{one.offsets[0], f})
			known[mirrored(offset)] = known[mirrored(offset)] || leastFresh*f.open >= f.pairs
		}
	})
	s := &stencil{ranks: g.ranks, lines: lines}
	for _, o := range options {
		// An offset whose pairs all belong to other components is one of the stencil if a
		// mirror image of it is.
		if known[mirrored(o.offset)] {
			s.offsets = append(s.offsets, o.offset)
		}
	}
	if s.isButterfly() {
		return nil
	}
	for i := range lines {
		if !slices.ContainsFunc(s.offsets, func(o []int) bool { return o[i] != 0 }) {
			return nil
		}
	}
	return s
}

// mirrored returns the same for all offsets that differ in their signs only.
func mirrored(offset []int) (key [mostLinked]int) {
	for i, d := range offset {
		key[i] = max(d, -d)
	}
	return key
}

// isButterfly reports whether the neighbours are those of a butterfly: all extents are 2,
// and there are no corners. On up to 8 ranks a stencil is more likely.
func (s *stencil) isButterfly() bool {
	for _, l := range s.lines {
		if l.extent != 2 || bits.OnesCount(uint(l.stride)) != 1 {
			return false
		}
	}
	if s.ranks == 1<<len(s.lines) && s.ranks <= 8 {
		return false
	}
	return !slices.ContainsFunc(s.offsets, func(o []int) bool { return linked(o) > 1 })
}

// linked returns the number of dimensions in which an offset is not 0.
func linked(offset []int) (n int) {
	for _, d := range offset {
		if d != 0 {
			n++
		}
	}
	return n
}

// component describes the stencil on the whole grid, with the dimensions that have no
// neighbours.
func (s *stencil) component() Component {
	c := Component{Kind: s.kind(), Offsets: make([][]int, len(s.offsets))}
	add := func(extent int, periodic bool, of func(offset []int) int) {
		if extent == 1 {
			return
		}
		width := 0
		for i, o := range s.offsets {
			c.Offsets[i] = append(c.Offsets[i], of(o))
			width = max(width, of(o), -of(o))
		}
		c.Grid, c.Periodic, c.Width = append(c.Grid, extent), append(c.Periodic, periodic), append(c.Width, width)
	}
	none := func([]int) int { return 0 }
	rest := s.ranks
	for i, l := range s.lines {
		add(rest/(l.stride*l.extent), false, none)
		add(l.extent, l.periodic, func(o []int) int { return o[i] })
		rest = l.stride
	}
	add(rest, false, none)
	return c
}

func (s *stencil) kind() Kind {
	oneWay, periodic := 0, 0
	for i, l := range s.lines {
		up := slices.ContainsFunc(s.offsets, func(o []int) bool { return o[i] > 0 })
		down := slices.ContainsFunc(s.offsets, func(o []int) bool { return o[i] < 0 })
		if up != down {
			oneWay++
		}
		if l.periodic {
			periodic++
		}
	}
	switch {
	case oneWay == 1 && periodic == 1 && len(s.offsets) == 1:
		return Ring
	case oneWay > 0 && periodic == 0:
		return Sweep
	}
	return Stencil
}
