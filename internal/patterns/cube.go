package patterns

import (
	"math/bits"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// steeper is how many times more a pair of a cube exchanges than each pair that is one dimension
// farther apart. Halos of 2 points in each dimension have it.
const steeper = 2

// cube returns the stencil of 2 × 2 or 2 × 2 × 2 ranks with all neighbours, whose pairs are those of
// all-to-all, if the weights show it: each pair exchanges at least `steeper` times more across a
// face than across an edge, and more there than across a corner. Otherwise it returns nil.
func (p *parts) cube(m *matrix.Matrix) *Component {
	n := bits.Len(uint(p.ranks)) - 1
	if n < 2 || n > mostCube || p.ranks != 1<<n || p.pairs != p.ranks*(p.ranks-1) {
		return nil
	}
	least, most := make([]uint64, n+1), make([]uint64, n+1) // by the number of dimensions apart
	for pair, v := range m.Entries() {
		if p.within(pair) && pair.From != pair.To {
			d, w := bits.OnesCount(uint(pair.From^pair.To)), p.weight(v)
			if most[d] == 0 {
				least[d] = w
			}
			least[d], most[d] = min(least[d], w), max(most[d], w)
		}
	}
	for d := 1; d < n; d++ {
		if most[d+1] == 0 || least[d] < steeper*most[d+1] {
			return nil
		}
	}
	c := &Component{Kind: Stencil, Grid: slices.Repeat([]int{2}, n), Periodic: make([]bool, n), Width: slices.Repeat([]int{1}, n)}
	low, high := slices.Repeat([]int{-1}, n), c.Width
	eachOffsetWithin(low, high, func(offset []int) {
		if linked(offset) > 0 {
			c.Offsets = append(c.Offsets, slices.Clone(offset))
		}
	})
	return c
}
