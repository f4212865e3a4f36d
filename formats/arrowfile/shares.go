package arrowfile

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// share is a row of vectors.arrow.
type share struct {
	vectorKey
	peer            int32 // world rank, -1 for a process of another world
	messages, bytes uint64
}

// vectorKey identifies a vector: all rows of vectors.arrow with equal keys belong to one vector.
type vectorKey struct {
	thread                  int32
	comm, call, site, slice string
}

func decodeShares(c *columns) func(int) (share, error) {
	thread, comm, call, site, slice := c.number("thread"), c.word("comm"), c.word("call"), c.word("callsite"), c.text("slice")
	peer, messages, bytes := c.integers("peer", math.MinInt32, math.MaxInt32), c.count("messages"), c.count("bytes")
	return func(i int) (share, error) {
		s := share{vectorKey: vectorKey{thread: thread(i), comm: comm(i), call: call(i), site: site(i), slice: runSlice}, peer: -1, messages: messages(i), bytes: bytes(i)}
		if name, ok := slice(i); ok {
			s.slice = name
		}
		if rank, ok := peer(i); ok {
			s.peer = int32(rank)
		}
		return s, nil
	}
}

// vector makes a vector of rows with the same key. of is the communicator of the call. If several
// vectors have this key, their rows are added up. The result is nil if a receiver has no row, which
// means that another program has removed rows.
func vector(of profile.Comm, call *profile.Call, rows []share) *profile.Vector {
	v := &profile.Vector{Call: call.Name, Class: call.Class, Spread: call.Spread}
	size := of.Peers().Len()
	if call.Spread == profile.ToEdgeVector {
		size = len(of.Edges)
	} else if v.OwnGroup(&of) {
		size = of.Members.Len()
	}
	v.Bytes = make([]uint64, size)
	messages := make([]uint64, size)
	places := map[int32][]int{} // indices in Bytes, by world rank of the receiver
	for i := range v.Bytes {
		if to, ok := v.Receiver(&of, i); ok {
			to = max(to, -1)
			places[to] = append(places[to], i)
		}
	}
	for _, r := range rows {
		next := places[r.peer]
		if len(next) == 0 {
			return nil
		}
		i := next[0]
		copy(next, next[1:])
		next[len(next)-1] = i
		v.Bytes[i] += r.bytes
		messages[i] += r.messages
	}
	for _, indices := range places {
		for _, i := range indices {
			if v.Calls == 0 {
				v.Calls = messages[i]
			}
			if messages[i] != v.Calls || v.Calls == 0 {
				return nil
			}
		}
	}
	return v
}
