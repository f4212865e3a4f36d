package patterns

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A dimension is a line of a grid: `extent` ranks that are `stride` apart.
type dimension struct {
	stride, extent int
	periodic       bool
}

func (l dimension) at(rank int) int { return rank / l.stride % l.extent }

// step returns the rank that is d steps from a rank, and whether there is one.
func (l dimension) step(rank, d int) (int, bool) {
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
	lines   []dimension // the largest stride first
	offsets [][]int     // by line
	regular bool        // see variants
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
var widest = [mostLinked + 1]int{0, 16, 4, 2, 1}

// lines returns the dimensions that grids can have: strides and extents with which most of a grid's
// neighbours are in the matrix.
func (g *graph) lines() []dimension {
	var strides []int
	for s := 1; 2*s <= g.ranks; s++ {
		if g.ranks%s == 0 && (2*g.has(s) >= g.ranks || 2*g.has(-s) >= g.ranks) {
			strides = append(strides, s)
		}
	}
	var out []dimension
	for _, s := range strides {
		up, down := g.extents(s)
		extents := []int{up, down, gcd(up, down)}
		for _, t := range strides {
			if e := t / s; t > s && t%s == 0 && (up%e == 0 || down%e == 0) {
				extents = append(extents, e)
			}
		}
		for _, e := range divisorsOf(g.ranks / s) {
			if far := (e - 1) * s; up%e == 0 && e*g.has(-far) >= g.ranks || down%e == 0 && e*g.has(far) >= g.ranks {
				extents = append(extents, e) // perhaps periodic
			}
		}
		slices.Sort(extents)
		for _, e := range slices.Compact(extents) {
			if e < 2 {
				continue
			}
			out = append(out, dimension{s, e, false})
			if e > 2 && (up%e == 0 && g.wraps(s, e, 1) || down%e == 0 && g.wraps(s, e, -1)) {
				out = append(out, dimension{s, e, true})
			}
		}
	}
	return out
}

// extents returns the largest extents of lines of a stride in which each rank but the last sends to
// the next one (up), and each but the first to the one before (down). All divisors of these extents
// are possible too.
func (g *graph) extents(stride int) (up, down int) {
	up, down = g.ranks/stride, g.ranks/stride
	for r := range g.ranks {
		if up > 1 && (r+stride >= g.ranks || g.Find(r, r+stride) < 0) {
			up = gcd(up, r/stride+1) // r is the last of its line
		}
		if down > 1 && (r < stride || g.Find(r, r-stride) < 0) {
			down = gcd(down, r/stride) // r is the first
		}
	}
	return up, down
}

// wraps reports whether the last rank of each line sends to the first (way 1), or the
// first to the last (way -1).
func (g *graph) wraps(stride, extent, way int) bool {
	l := dimension{stride, extent, true}
	end := extent - 1
	if way < 0 {
		end = 0
	}
	for r := range g.ranks {
		if l.at(r) == end && g.Find(r, r-way*(extent-1)*stride) < 0 {
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

// grids returns the grids of up to mostLinked lines that seem to explain the most. Of grids that
// explain equally much, those of fewer dimensions come first, then those with more periodic
// dimensions.
func (g *graph) grids(lines []dimension) [][]dimension {
	type grid struct {
		lines []dimension
		bound float64
	}
	var found []grid
	weights := g.openWeights()
	var extend func(chain []dimension)
	extend = func(chain []dimension) {
		for _, l := range lines {
			if len(found) == mostGrids {
				return
			}
			if len(chain) > 0 && l.stride%(chain[0].stride*chain[0].extent) != 0 {
				continue
			}
			longer := append([]dimension{l}, chain...)
			found = append(found, grid{longer, g.bound(longer, weights)})
			if len(longer) < mostLinked {
				extend(longer)
			}
		}
	}
	extend(nil)
	slices.SortStableFunc(found, func(a, b grid) int {
		if math.Abs(a.bound-b.bound) <= 1e-9*a.bound {
			return cmp.Or(len(a.lines)-len(b.lines), periodic(b.lines)-periodic(a.lines))
		}
		return cmp.Compare(b.bound, a.bound)
	})
	var out [][]dimension
	for _, f := range found[:min(len(found), max(mostVerified, min(100, verifiedRanks/g.ranks)))] {
		out = append(out, f.lines)
	}
	return out
}

func periodic(lines []dimension) (n int) {
	for _, l := range lines {
		if l.periodic {
			n++
		}
	}
	return n
}

// openWeights returns the weight that is not explained yet for each difference to-from, at index
// to-from+ranks.
func (g *graph) openWeights() []float64 {
	out := make([]float64, len(g.count))
	for from := range g.ranks {
		for i := g.Start[from]; i < g.Start[from+1]; i++ {
			if g.open[i] {
				out[int(g.Column[i])-from+g.ranks] += float64(g.weight(g.left[i]))
			}
		}
	}
	return out
}

// bound estimates how much a grid explains, from what is not explained at each offset.
func (g *graph) bound(lines []dimension, weights []float64) (sum float64) {
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

// eachOffset visits the offsets on a grid of which enough pairs exist. apart is the difference of
// the two ranks, and inside the number of pairs that do not cross a border of the grid.
func (g *graph) eachOffset(lines []dimension, visit func(offset []int, apart, inside int)) {
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
		// with a larger width, the neighbours would be all ranks of a line: that is all-to-all
		w := max(1, min(most, (l.extent-2)/2))
		for d := -w; d <= w; d++ {
			offset[i] = d
			next(i+1, apart+d*l.stride, inside/l.extent*(l.extent-max(d, -d)))
		}
	}
	next(0, 0, g.ranks)
}

// stencilsOn returns the stencils on a grid that explain the most: one with all offsets
// of which all pairs exist, and the regular ones among these offsets.
func (g *graph) stencilsOn(lines []dimension) (out []*stencil) {
	type option struct {
		offset []int
		fit
	}
	var options []option
	fresh := map[[mostLinked]int]bool{} // by mirrored offset
	g.eachOffset(lines, func(offset []int, _, _ int) {
		one := &stencil{ranks: g.ranks, lines: lines, offsets: [][]int{slices.Clone(offset)}}
		if f, ok := g.fit(one); ok {
			options = append(options, option{one.offsets[0], f})
			fresh[mirrored(offset)] = fresh[mirrored(offset)] || leastFresh*f.open >= f.pairs
		}
	})
	slices.SortStableFunc(options, func(a, b option) int { return distance(a.offset) - distance(b.offset) })
	// The stencil is tried in two forms. In the first, an offset whose pairs all belong to other
	// components is part of the stencil if its mirror image is; in the second it is not.
	for _, mirrors := range []bool{true, false} {
		s := &stencil{ranks: g.ranks, lines: lines}
		chosen := map[[mostLinked]int]bool{}
		for _, o := range options {
			// Offsets of width 2 need those of width 1, and so on.
			if open := leastFresh*o.open >= o.pairs; (open || mirrors && fresh[mirrored(o.offset)]) && hasNearer(chosen, o.offset) {
				s.offsets = append(s.offsets, o.offset)
				chosen[keyOf(o.offset)] = true
			}
		}
		if len(out) > 0 && len(s.offsets) == len(out[0].offsets) {
			break // no mirrors
		}
		out = append(out, s.variants(chosen)...)
	}
	return slices.DeleteFunc(out, func(s *stencil) bool { return s.isOther() || !s.linksAll() })
}

// shifts returns the stencil in one line, of any width, in which all ranks send to ranks at the
// same distances; if periodic, distances are modulo the number of ranks. It also returns regular
// stencils of a single distance whose pairs no grid has.
func (g *graph) shifts(periodic bool) []*stencil {
	s := &stencil{ranks: g.ranks, lines: []dimension{{1, g.ranks, periodic}}}
	for d := 1 - g.ranks; d < g.ranks; d++ {
		pairs, all := g.has(d), g.ranks-max(d, -d)
		if periodic && d > 0 {
			pairs, all = pairs+g.has(d-g.ranks), g.ranks
		} else if periodic && d < 0 {
			pairs, all = pairs+g.has(d+g.ranks), g.ranks
		}
		if far := 2 * max(d, -d); d == 0 || pairs < all || far > g.ranks || far == g.ranks && periodic && d < 0 {
			continue
		}
		one := &stencil{ranks: g.ranks, lines: s.lines, offsets: [][]int{{d}}}
		if f, ok := g.fit(one); ok && leastFresh*f.open >= f.pairs {
			s.offsets = append(s.offsets, one.offsets[0])
		}
		if len(s.offsets) > mostShifts {
			return nil
		}
	}
	switch len(s.offsets) {
	case 0:
		return nil
	case 1:
		s.regular = g.ranks%s.offsets[0][0] != 0
	}
	return []*stencil{s}
}

// linksAll reports whether there are neighbours in all dimensions.
func (s *stencil) linksAll() bool {
	for i := range s.lines {
		if !slices.ContainsFunc(s.offsets, func(o []int) bool { return o[i] != 0 }) {
			return false
		}
	}
	return true
}

// variants returns a stencil, and simpler stencils that have a regular part of its offsets:
// all offsets that differ from 0 in at most k dimensions, for k = 1, 2, and so on. Their
// directions and widths are those of the stencil's neighbours across faces, or the width is 1.
func (s *stencil) variants(chosen map[[mostLinked]int]bool) []*stencil {
	out := []*stencil{s}
	low, high := s.reach()
	for _, most := range []int{widest[1], 1} {
		for k := range len(s.lines) {
			v := &stencil{ranks: s.ranks, lines: s.lines, regular: true}
			if v.offsets = regularOffsets(low, high, most, k+1, chosen); v.offsets == nil {
				break
			}
			if len(v.offsets) == len(s.offsets) {
				s.regular = true
				return out[:1]
			}
			out = append(out, v)
		}
	}
	return out
}

// reach returns how far the neighbours across faces are in each line and direction.
func (s *stencil) reach() (low, high []int) {
	low, high = make([]int, len(s.lines)), make([]int, len(s.lines))
	for _, o := range s.offsets {
		for i, d := range o {
			if linked(o) == 1 {
				low[i], high[i] = min(low[i], d), max(high[i], d)
			}
		}
	}
	return low, high
}

// regularOffsets returns all offsets within limits that differ from 0 in at most k
// dimensions; nil if one of them is not chosen.
func regularOffsets(low, high []int, most, k int, chosen map[[mostLinked]int]bool) (out [][]int) {
	from, to := slices.Clone(low), slices.Clone(high)
	for i := range from {
		from[i], to[i] = max(from[i], -most), min(to[i], most)
	}
	complete := true
	eachOffsetWithin(from, to, func(offset []int) {
		if n := linked(offset); n > 0 && n <= k {
			out = append(out, slices.Clone(offset))
			complete = complete && chosen[keyOf(offset)]
		}
	})
	if !complete {
		return nil
	}
	return out
}

// eachOffsetWithin visits all offsets from low to high in each dimension.
func eachOffsetWithin(low, high []int, visit func(offset []int)) {
	offset := make([]int, len(low))
	var next func(i int)
	next = func(i int) {
		if i == len(low) {
			visit(offset)
			return
		}
		for d := low[i]; d <= high[i]; d++ {
			offset[i] = d
			next(i + 1)
		}
		offset[i] = 0
	}
	next(0)
}

func distance(offset []int) (sum int) {
	for _, d := range offset {
		sum += max(d, -d)
	}
	return sum
}

func keyOf(offset []int) (key [mostLinked]int) {
	copy(key[:], offset)
	return key
}

// hasNearer reports whether the offset one step nearer is chosen, in each line in
// which an offset is more than 1.
func hasNearer(chosen map[[mostLinked]int]bool, offset []int) bool {
	for i, d := range offset {
		nearer := keyOf(offset)
		switch {
		case d > 1:
			nearer[i]--
		case d < -1:
			nearer[i]++
		default:
			continue
		}
		if !chosen[nearer] {
			return false
		}
	}
	return true
}

// mirrored returns a key that is equal for offsets which differ in their signs only.
func mirrored(offset []int) (key [mostLinked]int) {
	for i, d := range offset {
		key[i] = max(d, -d)
	}
	return key
}

// without returns the stencil without the offsets that are not used, and without the
// dimensions in which it then has no neighbours.
func (s *stencil) without(used func(class int) bool) *stencil {
	out := &stencil{ranks: s.ranks}
	kept := make([]bool, len(s.lines))
	for class, o := range s.offsets {
		for i, d := range o {
			kept[i] = kept[i] || used(class) && d != 0
		}
	}
	for i, l := range s.lines {
		if kept[i] {
			out.lines = append(out.lines, l)
		}
	}
	for class, o := range s.offsets {
		if used(class) {
			var offset []int
			for i, d := range o {
				if kept[i] {
					offset = append(offset, d)
				}
			}
			out.offsets = append(out.offsets, offset)
		}
	}
	return out
}

// with joins two stencils into one. It returns nil if no grid has the dimensions of both.
func (s *stencil) with(o *stencil) *stencil {
	lines := slices.Concat(s.lines, o.lines)
	slices.SortFunc(lines, func(a, b dimension) int { return b.stride - a.stride })
	lines = slices.Compact(lines)
	for i := range len(lines) - 1 {
		if lines[i].stride%(lines[i+1].stride*lines[i+1].extent) != 0 {
			return nil
		}
	}
	both := &stencil{ranks: s.ranks, lines: lines}
	for _, part := range []*stencil{s, o} {
		for _, offset := range part.offsets {
			whole := make([]int, len(lines))
			for i, d := range offset {
				whole[slices.Index(lines, part.lines[i])] = d
			}
			if !slices.ContainsFunc(both.offsets, func(known []int) bool { return slices.Equal(known, whole) }) {
				both.offsets = append(both.offsets, whole)
			}
		}
	}
	return both
}

// isOther reports whether the pairs of the stencil are also those of another kind of pattern, which
// is preferred: a butterfly if all extents are 2, except on all ranks of a small job; or all-to-all
// in groups if all extents are 2, or 3 and periodic, and no neighbour is missing.
func (s *stencil) isOther() bool {
	full, cube, box := true, true, 1
	for _, l := range s.lines {
		cube = cube && l.extent == 2 && bits.OnesCount(uint(l.stride)) == 1
		full = full && (l.extent == 2 || l.extent == 3 && l.periodic)
		box *= 3
	}
	return full && len(s.lines) > 1 && len(s.offsets) == box-1 || cube && (len(s.lines) > mostCube || s.ranks != 1<<len(s.lines))
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

func (s *stencil) kind() PatternKind {
	oneWay := 0
	for i := range s.lines {
		up := slices.ContainsFunc(s.offsets, func(o []int) bool { return o[i] > 0 })
		down := slices.ContainsFunc(s.offsets, func(o []int) bool { return o[i] < 0 })
		if up != down {
			oneWay++
		}
	}
	switch {
	case oneWay == 1 && periodic(s.lines) == 1 && len(s.offsets) == 1:
		return Ring
	case oneWay > 0 && periodic(s.lines) == 0:
		return Sweep
	}
	return Stencil
}
