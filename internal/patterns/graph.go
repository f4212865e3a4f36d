package patterns

import (
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// graph holds the pairs of a matrix that all-to-all does not explain. Its other slices
// have an element for each entry.
type graph struct {
	*parts
	matrix.Compressed[matrix.Volume]
	left  []matrix.Volume // what no component explains so far
	open  []bool          // whether no component explains all of the pair
	cover []uint16        // bit i: the pair belongs to found[i]
	count []int32         // pairs by to-from, at index to-from+ranks
	found []shape

	first []matrix.Volume // room for fit
	seen  []bool
}

// newGraph returns the pairs of a matrix with more than base.
func newGraph(p *parts, m *matrix.Matrix) *graph {
	n := p.pairs - p.explained
	g := &graph{parts: p, count: make([]int32, 2*p.ranks)}
	g.Compressed = matrix.Compress(p.ranks, n, func(yield func(matrix.Pair, matrix.Volume) bool) {
		for pair, v := range m.Entries() {
			left := minus(v, p.base)
			if !p.within(pair) || pair.From == pair.To || p.explained > 0 && left == (matrix.Volume{}) {
				continue
			}
			g.count[pair.To-pair.From+p.ranks]++
			if !yield(pair, left) {
				return
			}
		}
	})
	g.left, g.cover, g.open = slices.Clone(g.Value), make([]uint16, n), make([]bool, n)
	for i := range g.open {
		g.open[i] = true
	}
	return g
}

// has returns how many pairs are a number of ranks apart.
func (g *graph) has(offset int) int { return int(g.count[offset+g.ranks]) }

// A shape is a set of pairs. They are in classes: the pairs of a class often exchange
// the same volume.
type shape interface {
	classes() int
	// each visits the pairs that a rank sends to, until visit returns false.
	each(rank int, visit func(class, to int) bool)
	component() Component
}

// A fit says how a shape agrees with a graph.
type fit struct {
	pairs   int    // of the shape
	open    int    // pairs of which something is not explained yet
	fresh   int    // pairs that are in no component yet
	weight  uint64 // of what is not explained yet
	uniform bool   // the same is left of all open pairs of a class
}

// fit compares a shape with the graph. ok is false if a pair of the shape does not exist.
func (g *graph) fit(s shape) (f fit, ok bool) {
	first := slices.Grow(g.first[:0], s.classes())[:s.classes()]
	seen := slices.Grow(g.seen[:0], s.classes())[:s.classes()]
	clear(seen)
	g.first, g.seen = first, seen
	f.uniform, ok = true, true
	rank := 0
	visit := func(class, to int) bool {
		i := g.Find(rank, to)
		if i < 0 {
			ok = false
			return false
		}
		f.pairs++
		if !g.open[i] {
			return true
		}
		f.open++
		f.weight += g.weight(g.left[i])
		if g.cover[i] == 0 {
			f.fresh++
		}
		if !seen[class] {
			first[class], seen[class] = g.left[i], true
		}
		f.uniform = f.uniform && first[class] == g.left[i]
		return true
	}
	for ; rank < g.ranks && ok; rank++ {
		s.each(rank, visit)
	}
	return f, ok && f.pairs > 0
}

// worth reports whether a fit is good enough for a component. If all pairs belong to
// other components, which took the volume that most pairs have, it must be the same
// everywhere.
func (g *graph) worth(f fit) bool {
	return g.enough(f.weight) && leastFresh*f.open >= f.pairs && (f.fresh > 0 || f.open == f.pairs && f.uniform)
}

// take marks what a shape explains. In each class this is the least volume if many pairs
// have it, so that other components can have the rest; otherwise everything.
func (g *graph) take(s shape) {
	bit := uint16(1) << len(g.found)
	g.found = append(g.found, s)
	least, count, open := make([]matrix.Volume, s.classes()), make([]int, s.classes()), make([]int, s.classes())
	g.eachPair(s, func(class, i int) {
		if !g.open[i] {
			return
		}
		open[class]++
		c := compareVolumes(g.left[i], least[class])
		if count[class] == 0 || c < 0 {
			least[class], count[class] = g.left[i], 1
		} else if c == 0 {
			count[class]++
		}
	})
	g.eachPair(s, func(class, i int) {
		g.cover[i] |= bit
		switch {
		case !g.open[i]:
		case uniformShare*count[class] >= open[class] && g.left[i] != least[class]:
			g.left[i] = minus(g.left[i], least[class])
		default:
			g.left[i], g.open[i] = matrix.Volume{}, false
		}
	})
}

// eachPair visits the pairs of a shape that exist, by their index.
func (g *graph) eachPair(s shape, visit func(class, i int)) {
	for rank := range g.ranks {
		s.each(rank, func(class, to int) bool {
			if i := g.Find(rank, to); i >= 0 {
				visit(class, i)
			}
			return true
		})
	}
}

// minus returns v without w, at least 0.
func minus(v, w matrix.Volume) matrix.Volume {
	return matrix.Volume{Bytes: v.Bytes - min(v.Bytes, w.Bytes), Messages: v.Messages - min(v.Messages, w.Messages)}
}
