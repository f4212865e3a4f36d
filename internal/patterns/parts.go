package patterns

import (
	"cmp"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// parts collects the components of one matrix.
type parts struct {
	ranks      int
	part       Part
	byMessages bool // shares are of messages, because there are no bytes

	pairs     int           // of different ranks
	least     matrix.Volume // of a pair
	withLeast int           // pairs that have just this volume
	base      matrix.Volume // what all-to-all explains of each pair
	explained int           // pairs that have no more than base
}

func newParts(m *matrix.Matrix, ranks int) *parts {
	p := &parts{ranks: ranks, part: Part{Components: []Component{}}}
	var self matrix.Volume
	for pair, v := range m.Entries() {
		switch {
		case !p.within(pair):
		case pair.From == pair.To:
			self.Add(v)
		default:
			p.pairs++
			if c := compareVolumes(v, p.least); p.pairs == 1 || c < 0 {
				p.least, p.withLeast = v, 1
			} else if c == 0 {
				p.withLeast++
			}
			p.part.Total.Add(v)
		}
	}
	p.part.Total.Add(self)
	p.byMessages = p.part.Total.Bytes == 0
	if self != (matrix.Volume{}) {
		p.add(Component{Kind: Self, Volume: self})
	}
	return p
}

func (p *parts) within(pair matrix.Pair) bool {
	return pair.From >= 0 && pair.To >= 0 && pair.From < p.ranks && pair.To < p.ranks
}

func compareVolumes(a, b matrix.Volume) int {
	return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Messages, b.Messages))
}

// weight is what shares are shares of.
func (p *parts) weight(v matrix.Volume) uint64 {
	if p.byMessages {
		return v.Messages
	}
	return v.Bytes
}

// enough reports whether a weight is large enough for a component: leastShare of the total.
func (p *parts) enough(weight uint64) bool {
	return weight > 0 && float64(weight) >= leastShare*float64(p.weight(p.part.Total))
}

func (p *parts) add(c Component) { p.part.Components = append(p.part.Components, c) }

// allToAll finds out whether all ranks send to all others. If many pairs exchange the
// same volume, and none less, this volume is all-to-all, and the rest of the other
// pairs belongs to other patterns. Otherwise everything is all-to-all.
func (p *parts) allToAll(m *matrix.Matrix) {
	all := p.ranks * (p.ranks - 1)
	if p.pairs == 0 || 100*p.pairs < densePercent*all || p.weight(p.part.Total) == 0 {
		p.part.TooLarge = p.pairs > mostPairs
		return
	}
	c := Component{Kind: AllToAll, Size: p.ranks, Groups: 1, Stride: 1}
	cube := p.cube(m)
	if cube != nil {
		c = *cube
	}
	uniform := p.pairs == all && uniformDense*p.withLeast >= p.pairs && p.weight(p.least) > 0
	if uniform && cube == nil && p.pairs-p.withLeast <= mostPairs {
		p.base = p.least
	} else {
		p.base = matrix.Volume{Bytes: math.MaxUint64, Messages: math.MaxUint64}
	}
	for pair, v := range m.Entries() {
		if p.within(pair) && pair.From != pair.To {
			left := minus(v, p.base)
			c.Volume.Add(minus(v, left))
			if left == (matrix.Volume{}) {
				p.explained++
			}
		}
	}
	p.add(c)
}

// finish computes the shares and the residual.
func (p *parts) finish() Part {
	out := &p.part
	out.Residual = out.Total
	total := float64(max(p.weight(out.Total), 1))
	for i := range out.Components {
		c := &out.Components[i]
		out.Residual.Subtract(c.Volume)
		c.Share = float64(p.weight(c.Volume)) / total
		c.Text = c.text(p.ranks)
	}
	out.ResidualShare = float64(p.weight(out.Residual)) / total
	slices.SortStableFunc(out.Components, func(a, b Component) int {
		return cmp.Compare(p.weight(b.Volume), p.weight(a.Volume))
	})
	return *out
}
