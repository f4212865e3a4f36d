package matrix

import (
	"iter"
)

// Entries iterates over the entries that are held one by one, by row, then by column:
// all but those of group patterns.
func (m *Matrix) Entries() iter.Seq2[Pair, Volume] {
	return func(yield func(Pair, Volume) bool) {
		m.eachEntryRow(func(from int, row *vector) bool {
			for i, to := range row.indices {
				if !yield(Pair{from, int(to)}, row.volumes[i]) {
					return false
				}
			}
			return true
		})
	}
}

// GroupTraffic is the traffic of collectives, which is not held as entries: each sender sends
// its volume, times the weight of the receiver, to each receiver but itself.
type GroupTraffic struct {
	Senders   []int32  // world ranks, or lines of a folded matrix
	Each      []Volume // by sender: what goes to a receiver of weight 1
	Receivers []int32  // as Senders; those of other jobs have no weight
	Weight    []uint64 // by receiver
	// Index is nil, or, as in MPI_Scan, only receivers of a higher index than the
	// sender's receive: this is the index of each sender in Receivers.
	Index []int32
	// Reversed is true if the data go from the receivers to the senders. This is so in
	// half of the groups of a symmetric matrix.
	Reversed bool
}

// Groups returns the traffic of collectives. Entries and Groups make up the matrix. The
// groups are in no particular order.
func (m *Matrix) Groups() []GroupTraffic {
	out := make([]GroupTraffic, 0, len(m.patterns))
	for _, g := range m.patterns {
		out = append(out, g.export())
	}
	return out
}

func (g *groupPattern) export() GroupTraffic {
	n := g.to.ranks.Len()
	out := GroupTraffic{Receivers: make([]int32, n), Weight: make([]uint64, n), Reversed: g.transposed}
	for i := range n {
		out.Receivers[i], out.Weight[i] = int32(g.to.ranks.At(i)), g.weightOf(i)
	}
	g.senders(func(index, rank int, each Volume) {
		out.Senders, out.Each = append(out.Senders, int32(rank)), append(out.Each, each)
		if g.higherOnly {
			out.Index = append(out.Index, int32(index))
		}
	})
	return out
}
