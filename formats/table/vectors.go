package table

import (
	"iter"

	"github.com/mpitrace/mpitrace/profile"
)

// Share is a row of vectors.arrow: what calls of an irregular collective with the same key sent to
// one member.
type Share struct {
	*profile.Vector
	of   *namedProfile
	peer int32 // world rank, or a Peer constant
	sent uint64
}

// Shares returns the rows of a profile, vector by vector and in the order of
// the members or of the edges.
func Shares(p *profile.Profile) iter.Seq[Share] {
	return func(yield func(Share) bool) {
		if len(p.Vectors) == 0 {
			return
		}
		of := newProcess(p)
		for i := range p.Vectors {
			v := &p.Vectors[i]
			if v.Comm < 0 || int(v.Comm) >= len(p.Comms) {
				continue
			}
			for k, sent := range v.Bytes {
				peer, ok := v.Receiver(&p.Comms[v.Comm], k)
				if ok && !yield(Share{v, of, peer, sent}) {
					return
				}
			}
		}
	}
}

// VectorColumns are the columns of vectors.arrow, in order.
var VectorColumns = []Column[Share]{
	Run(func(s Share) string { return s.of.Run }),
	Numbers("rank", "world rank", "rank in MPI_COMM_WORLD of the process that made the calls", func(s Share) int32 { return int32(s.of.Rank) }).absent(Required),
	Numbers("thread", "index", "number of the thread, as in profile.arrow", func(s Share) int32 { return s.Thread }),
	Words("comm", "label of the communicator, as in profile.arrow", func(s Share) string { return s.of.comms[s.Comm] }).absent(Required),
	Words("call", "MPI function, without MPI_", func(s Share) string { return s.Call }).absent(Required),
	Words("callsite", "function and line of the calls, as in profile.arrow", func(s Share) string { return s.of.site(s.Callsite).label }),
	Words("slice", "part of the run in which the calls began", func(s Share) string { return s.of.sliceName(s.Slice) }).absent("run"),
	OptionalNumbers("peer", "world rank", "rank in MPI_COMM_WORLD of the receiver; of Reduce_scatter on an intercommunicator, whose counts are those of the own group, of a member of that group; null for a process of another world",
		func(s Share) (int32, bool) { return s.peer, s.peer >= 0 }).absent(Required),
	Numbers("messages", "messages", "number of messages to the peer: one for each operation", func(s Share) uint64 { return s.Calls }).absent(Required),
	Numbers("bytes", "bytes", "data in these messages, without the gaps of datatypes", func(s Share) uint64 { return s.sent }).absent(Required),
}
