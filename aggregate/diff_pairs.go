package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// MaxAllPairs is the largest number of ranks with which collectives are
// compared pair by pair: with 4096 ranks, each collective has 16 million pairs.
const MaxAllPairs = 4096

// PairChanges is the change between pairs of ranks.
type PairChanges struct {
	Of      string       `json:"of"`      // the calls that are compared: all, or p2p and one-sided
	Changed int          `json:"changed"` // number of pairs
	Most    []PairChange `json:"top"`     // the largest changes
}

// PairChange is the change from one rank to another.
type PairChange struct {
	matrix.Pair
	Status DiffStatus `json:"status"`
	Transfers
}

const (
	AllPairs    = "all"
	directPairs = "p2p and one-sided"
)

// comparePairsOf compares all entries of the jobs' matrices. In large jobs it
// leaves out collectives, which are compared by call, call site and
// communicator.
func comparePairsOf(a, b *Job, o DiffOptions) PairChanges {
	x, y := a.Matrices(), b.Matrices()
	if max(a.Size(), b.Size()) <= MaxAllPairs {
		return diffMatrices(AllPairs, &x[matrix.All], &y[matrix.All], o)
	}
	return diffMatrices(directPairs, x.Direct(), y.Direct(), o)
}

// diffMatrices compares two matrices row by row. Memory is one row of each, and
// twice the number of changes that are kept.
func diffMatrices(of string, a, b *matrix.Matrix, o DiffOptions) PairChanges {
	most := mostPairs{DiffOptions: o, pairs: []PairChange{}}
	changed := 0
	matrix.Differences(a, b, func(p matrix.Pair, v, w matrix.Volume) {
		changed++
		most.add(pairChange(p, v, w))
	})
	most.cut()
	return PairChanges{Of: of, Changed: changed, Most: most.pairs}
}

// mostPairs keeps the largest of the changes that are added.
type mostPairs struct {
	DiffOptions
	pairs []PairChange
	least *PairChange // the smallest change kept so far; smaller ones are dropped
}

// pairsRoom is how many changes more than needed may be held before the
// smallest are dropped.
const pairsRoom = 1000

func (m *mostPairs) add(c PairChange) {
	if m.Pairs == 0 || m.least != nil && m.orderPairs(&c, m.least) > 0 {
		return
	}
	m.pairs = append(m.pairs, c)
	if m.Pairs > 0 && len(m.pairs) >= 2*m.Pairs+pairsRoom {
		m.cut()
	}
}

func (m *mostPairs) cut() {
	slices.SortFunc(m.pairs, func(a, b PairChange) int { return m.orderPairs(&a, &b) })
	if m.Pairs > 0 && len(m.pairs) >= m.Pairs {
		m.pairs = m.pairs[:m.Pairs]
		m.least = new(m.pairs[m.Pairs-1])
	}
}

// orderPairs compares two changes of pairs, as order does for other changes.
func (o DiffOptions) orderPairs(a, b *PairChange) int {
	bytes, messages := cmp.Compare(b.Bytes.Size(), a.Bytes.Size()), cmp.Compare(b.Messages.Size(), a.Messages.Size())
	if o.Sort == InMessages {
		bytes, messages = messages, bytes
	}
	return cmp.Or(bytes, messages, a.Pair.Compare(b.Pair))
}

func pairChange(p matrix.Pair, a, b matrix.Volume) PairChange {
	c := PairChange{p, StatusChanged, trafficOf(a, b)}
	switch {
	case a == matrix.Volume{}:
		c.Status = StatusNew
	case b == matrix.Volume{}:
		c.Status = StatusGone
	}
	return c
}
