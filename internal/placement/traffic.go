package placement

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// A CostUnit is what of a volume the objective counts.
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

// Exchange is what the ranks of a job exchange. Both directions of a pair are added up,
// because distances are the same in both. What ranks send to themselves is left out.
type Exchange struct {
	Ranks int
	// The pairs, as a graph in compressed rows: the peers of rank r are
	// Peer[Start[r]:Start[r+1]], in ascending order, and Weight is what goes to and comes
	// from each. Each pair is in the rows of both of its ranks.
	Start  []int64
	Peer   []int32
	Weight []uint64
	// Groups is the traffic of collectives, which is not spread over pairs: in a job of
	// 100,000 ranks, one MPI_Allreduce has 10^10.
	Groups []WeightedGroup
}

// A WeightedGroup is the traffic of collectives between members of one or two groups. Member i
// sends Sent[i] × Received[j] to each other member j; if HigherOnly, only to members
// j > i.
type WeightedGroup struct {
	Members        []int32 // ranks; in the order of the group if HigherOnly
	Sent, Received []uint64
	HigherOnly     bool
}

// NewTraffic returns the traffic of a matrix among ranks 0 to ranks-1. Entries of other
// ranks are left out.
func NewTraffic(m *matrix.Matrix, ranks int, q CostUnit) *Exchange {
	t := &Exchange{Ranks: ranks}
	within := func(p matrix.Pair) bool {
		return p.From != p.To && p.From >= 0 && p.To >= 0 && p.From < ranks && p.To < ranks
	}
	start := make([]int64, ranks+1)
	for p, v := range m.Entries() {
		if within(p) && q.Of(v) > 0 {
			start[p.From+1]++
			start[p.To+1]++
		}
	}
	for r := range ranks {
		start[r+1] += start[r]
	}
	peer, weight, next := make([]int32, start[ranks]), make([]uint64, start[ranks]), slices.Clone(start)
	enter := func(a, b int, w uint64) {
		peer[next[a]], weight[next[a]] = int32(b), w
		next[a]++
	}
	for p, v := range m.Entries() {
		if w := q.Of(v); within(p) && w > 0 {
			enter(p.From, p.To, w)
			enter(p.To, p.From, w)
		}
	}
	t.compress(start, peer, weight)
	for _, g := range m.Groups() {
		if group := newGroup(&g, ranks, q); group != nil {
			t.Groups = append(t.Groups, *group)
		}
	}
	slices.SortFunc(t.Groups, compareGroups) // the matrix has them in no order
	return t
}

// compress makes rows, each in ascending order and without duplicates, of rows that may
// name a peer several times.
func (t *Exchange) compress(start []int64, peer []int32, weight []uint64) {
	type edge struct {
		peer   int32
		weight uint64
	}
	var row []edge
	t.Start = make([]int64, 1, t.Ranks+1)
	for r := range t.Ranks {
		row = row[:0]
		for i := start[r]; i < start[r+1]; i++ {
			row = append(row, edge{peer[i], weight[i]})
		}
		slices.SortFunc(row, func(a, b edge) int { return int(a.peer) - int(b.peer) })
		for i, e := range row {
			if i > 0 && row[i-1].peer == e.peer {
				t.Weight[len(t.Weight)-1] += e.weight
				continue
			}
			t.Peer, t.Weight = append(t.Peer, e.peer), append(t.Weight, e.weight)
		}
		t.Start = append(t.Start, int64(len(t.Peer)))
	}
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

// sum returns at least what all pairs exchange.
func (t *Exchange) sum() (sum float64) {
	for _, w := range t.Weight {
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
