package placement

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// A CostUnit is the quantity of a volume that the objective adds up.
type CostUnit string

// The quantities.
const (
	Bytes    CostUnit = "bytes"
	Messages CostUnit = "messages"
)

// Of returns the amount of the quantity in a volume.
func (q CostUnit) Of(v matrix.Volume) uint64 {
	if q == Messages {
		return v.Messages
	}
	return v.Bytes
}

// RankTraffic is what the ranks of a job exchange. Both directions of a pair are added up,
// because distances are the same in both. What ranks send to themselves is left out.
type RankTraffic struct {
	Ranks int
	// The pairs. In the row of a rank, the columns are the rank's peers, in ascending order, and
	// each value is what goes to the peer and comes from it. Each pair is in the rows of both of
	// its ranks.
	matrix.Compressed[uint64]
	// Groups is the traffic of collectives. It is not spread over pairs, because one MPI_Allreduce
	// of 100,000 ranks has 10^10 pairs.
	Groups []WeightedGroup
}

// A WeightedGroup is the traffic of collectives between members of one or two groups. Member i
// sends Sent[i] × Received[j] to each other member j or, if HigherOnly, only to members j > i.
type WeightedGroup struct {
	Members        []int32 // ranks; in the order of the group if HigherOnly
	Sent, Received []uint64
	HigherOnly     bool
}

// NewTraffic returns the traffic of a matrix among ranks 0 to ranks-1. Entries of other
// ranks are left out.
func NewTraffic(m *matrix.Matrix, ranks int, q CostUnit) *RankTraffic {
	t := &RankTraffic{Ranks: ranks}
	t.Compressed = matrix.Compress(ranks, 0, func(yield func(matrix.Pair, uint64) bool) {
		for p, v := range m.Symmetric().Entries() {
			w, within := q.Of(v), min(p.From, p.To) >= 0 && max(p.From, p.To) < ranks
			if w > 0 && within && p.From != p.To && !yield(p, w) {
				return
			}
		}
	})
	for _, g := range m.Groups() {
		if group := newGroup(&g, ranks, q); group != nil {
			t.Groups = append(t.Groups, *group)
		}
	}
	slices.SortFunc(t.Groups, compareGroups) // the matrix has them in no order
	return t
}

// newGroup returns the traffic of a group of a matrix; nil if there is none.
func newGroup(from *matrix.GroupTraffic, ranks int, q CostUnit) *WeightedGroup {
	g := &WeightedGroup{HigherOnly: from.Index != nil}
	index := make(map[int32]int, len(from.Receivers))
	enter := func(rank int32) int {
		i, known := index[rank]
		if !known {
			i = len(g.Members)
			index[rank] = i
			g.Members, g.Sent, g.Received = append(g.Members, rank), append(g.Sent, 0), append(g.Received, 0)
		}
		return i
	}
	var sent, received bool
	for i, rank := range from.Receivers {
		if w := from.Weight[i]; rank >= 0 && int(rank) < ranks && w > 0 {
			g.Received[enter(rank)] = w
			received = true
		}
	}
	for i, rank := range from.Senders {
		if w := q.Of(from.Each[i]); rank >= 0 && int(rank) < ranks && w > 0 {
			g.Sent[enter(rank)] = w
			sent = true
		}
	}
	if !sent || !received || len(g.Members) < 2 {
		return nil
	}
	return g
}

func compareGroups(a, b WeightedGroup) int {
	return cmp.Or(slices.Compare(a.Members, b.Members), slices.Compare(a.Sent, b.Sent), slices.Compare(a.Received, b.Received))
}

// sum returns an upper bound of what all pairs exchange.
func (t *RankTraffic) sum() (sum float64) {
	for _, w := range t.Value {
		sum += float64(w) / 2 // each pair is in two rows
	}
	for i := range t.Groups {
		var sent, received float64
		for j := range t.Groups[i].Members {
			sent += float64(t.Groups[i].Sent[j])
			received += float64(t.Groups[i].Received[j])
		}
		sum += sent * received
	}
	return sum
}
