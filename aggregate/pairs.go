package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// PairTotals holds what one rank sent to another: the messages that the program
// addressed to it and, separately, its share of collectives.
type PairTotals struct {
	matrix.Cell               // point-to-point and one-sided
	Collective  matrix.Volume `json:"collective"` // logical volume
}

// matricesOf fills in the parts of the summary that are made of matrices.
// Collectives are kept separate. Otherwise an Allreduce of 8 bytes would make
// all ranks partners of each other.
func (s *Summary) matricesOf(ms *matrix.ByClass) {
	direct, collective := ms.Direct(), &ms[matrix.Collective]
	s.Traffic = matrixTotals(ms)
	s.Direct = s.directTotals(ms, direct)
	s.Pairs = []PairTotals{}
	for _, c := range direct.Top(topPairs) {
		s.Pairs = append(s.Pairs, PairTotals{c, collective.At(c.From, c.To)})
	}
	if direct.Empty() {
		for _, c := range collective.Top(topPairs) {
			s.Pairs = append(s.Pairs, PairTotals{matrix.Cell{Pair: c.Pair, Volume: matrix.Volume{}}, c.Volume})
		}
	}
	s.Heatmap = newHeatmap(direct, s.RanksExpected)
	if !collective.Empty() {
		s.CollectiveHeatmap = newHeatmap(collective, s.RanksExpected)
	}
}

// directTotals returns the sums of direct. Those of a class that is the same matrix are in
// Traffic already.
func (s *Summary) directTotals(ms *matrix.ByClass, direct *matrix.Matrix) MatrixTotals {
	out := MatrixTotals{Class: matrix.Direct.String()}
	if direct != &ms[matrix.External] {
		out.Volume, out.Pairs = direct.Total(), direct.Len()
		return out
	}
	for _, t := range s.Traffic {
		if t.Class == matrix.External.String() {
			out.Volume, out.Pairs = t.Volume, t.Pairs
		}
	}
	return out
}

// maxBins is the largest number of rows and columns of a heatmap.
const maxBins = 32

// BinnedMatrix is a size matrix reduced to at most maxBins × maxBins entries. Each
// entry is the sum of a block of RanksPerBin × RanksPerBin pairs.
type BinnedMatrix struct {
	Ranks       int        `json:"ranks"`
	RanksPerBin int        `json:"ranks_per_bin"`
	Bytes       [][]uint64 `json:"bytes"` // [from][to]
}

// Heatmap returns the heatmap of point-to-point and one-sided traffic; of collectives if there
// is no other. It returns nil if the job has no ranks.
func (j *Job) Heatmap() *BinnedMatrix {
	ms := j.Matrices()
	m := ms.Direct()
	if m.Empty() {
		m = &ms[matrix.Collective]
	}
	return newHeatmap(m, j.Size())
}

// newHeatmap returns the heatmap of the n × n matrix m; nil for n = 0.
func newHeatmap(m *matrix.Matrix, n int) *BinnedMatrix {
	n = max(n, m.Size())
	if n == 0 {
		return nil
	}
	per := (n + maxBins - 1) / maxBins
	bins := (n + per - 1) / per
	h := &BinnedMatrix{Ranks: n, RanksPerBin: per, Bytes: make([][]uint64, bins)}
	for i := range h.Bytes {
		h.Bytes[i] = make([]uint64, bins)
	}
	for p, v := range m.Entries() {
		h.Bytes[p.From/per][p.To/per] += v.Bytes
	}
	for p, v := range m.GroupsOnly().Fold(func(rank int) int { return rank / per }).All() {
		h.Bytes[p.From][p.To] += v.Bytes
	}
	return h
}

// PairDetail holds the messages of one pair that agree in everything but their number
// and bytes.
type PairDetail struct {
	matrix.Pair
	Call      string
	Site      string // label of the call site with its callers; empty if not known
	Slice     string
	SizeClass uint8
	matrix.Volume
}

// mostDetails is the largest number of rows of pairs: with many slices, each pair has many.
const mostDetails = 200_000

// pairDetails collects the point-to-point and one-sided messages of a job by pair, call,
// call site, slice and size. It gives up beyond a number of pairs or rows.
type pairDetails struct {
	most  int                    // pairs; 0 collects nothing
	only  func(matrix.Pair) bool // nil for all pairs
	pairs map[matrix.Pair]bool
	rows  map[PairDetail]matrix.Volume // by a PairDetail without volume
}

func (d *pairDetails) add(p *profile.Profile) {
	if d.most == 0 {
		return
	}
	sliceNames := map[uint32]string{}
	for _, s := range p.Slices {
		sliceNames[s.Index] = s.Name
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Messages == 0 || r.Class != profile.P2P && r.Class != profile.OneSided || r.Direction == profile.Recv {
			continue
		}
		key := PairDetail{Call: r.Call, Site: profile.StackText(p.Frames(r.Callsite)), Slice: sliceNames[r.Slice], SizeClass: r.SizeClass}
		p.RowFlows(r, func(f profile.Flow) { d.addFlow(f, key) })
	}
}

func (d *pairDetails) addFlow(f profile.Flow, key PairDetail) {
	key.Pair = matrix.FlowPair(f)
	if d.most == 0 || key.From < 0 || key.To < 0 || d.only != nil && !d.only(key.Pair) {
		return
	}
	d.addVolume(key, matrix.Volume{Bytes: f.Bytes, Messages: f.Messages})
}

// addVolume adds up the messages of one row.
func (d *pairDetails) addVolume(key PairDetail, v matrix.Volume) {
	if d.rows == nil {
		d.pairs, d.rows = map[matrix.Pair]bool{}, map[PairDetail]matrix.Volume{}
	}
	sum := d.rows[key]
	sum.Add(v)
	d.pairs[key.Pair], d.rows[key] = true, sum
	if len(d.pairs) > d.most || len(d.rows) > mostDetails {
		*d = pairDetails{}
	}
}

func (d *pairDetails) merge(o *pairDetails) {
	if o.most == 0 {
		*d = pairDetails{} // too much for a part is too much for the whole
	}
	for key, v := range o.rows {
		if d.most == 0 {
			return
		}
		d.addVolume(key, v)
	}
}

// PairDetails returns what each pair of ranks sent, by pair, the most bytes first; nil
// if there are more pairs than Options.PairDetails, or more than mostDetails rows.
func (j *Job) PairDetails() []PairDetail {
	if j.details.most == 0 {
		return nil
	}
	out := []PairDetail{}
	for row, v := range j.details.rows {
		row.Volume = v
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b PairDetail) int {
		return cmp.Or(a.Pair.Compare(b.Pair), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Call, b.Call),
			cmp.Compare(a.Site, b.Site), cmp.Compare(a.Slice, b.Slice), cmp.Compare(a.SizeClass, b.SizeClass))
	})
	return out
}
