package e2e

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// A pair is an ordered pair of world ranks.
type pair struct{ From, To int }

// volumes holds bytes and messages by pair.
type volumes map[pair]profile.FlowVolume

func (v volumes) add(from, to int, bytes, messages uint64) {
	sum := v[pair{from, to}]
	sum.Add(profile.FlowVolume{Bytes: bytes, Count: messages})
	v[pair{from, to}] = sum
}

// plus returns the sum of v and w.
func (v volumes) plus(w volumes) volumes {
	sum := maps.Clone(v)
	for p, vol := range w {
		sum.add(p.From, p.To, vol.Bytes, vol.Count)
	}
	return sum
}

// times returns v multiplied by k.
func (v volumes) times(k uint64) volumes {
	out := volumes{}
	for p, vol := range v {
		out.add(p.From, p.To, k*vol.Bytes, k*vol.Count)
	}
	return out
}

// message returns one message between two ranks.
func message(from, to, bytes int) volumes {
	return volumes{pair{from, to}: {Bytes: uint64(bytes), Count: 1}}
}

// messages returns one message of each size.
func messages(from, to int, bytes ...int) volumes {
	v := volumes{}
	for _, b := range bytes {
		v.add(from, to, uint64(b), 1)
	}
	return v
}

// eachPair returns one message for each ordered pair of n ranks for which bytes
// does not return -1.
func eachPair(n int, bytes func(from, to int) int) volumes {
	v := volumes{}
	for from := range n {
		for to := range n {
			if b := bytes(from, to); b >= 0 {
				v.add(from, to, uint64(b), 1)
			}
		}
	}
	return v
}

// toOthers returns one message from each of n ranks to each other rank.
func toOthers(n int, bytes func(from, to int) int) volumes {
	return eachPair(n, func(from, to int) int {
		if from == to {
			return -1
		}
		return bytes(from, to)
	})
}

// fromRoot returns one message from the root to each other of n ranks.
func fromRoot(n, root int, bytes func(to int) int) volumes {
	return toOthers(n, func(from, to int) int {
		if from != root {
			return -1
		}
		return bytes(to)
	})
}

// toRoot returns one message from each other of n ranks to the root.
func toRoot(n, root int, bytes func(from int) int) volumes {
	return toOthers(n, func(from, to int) int {
		if to != root {
			return -1
		}
		return bytes(from)
	})
}

// sentBy returns what was sent, by call.
func sentBy(ranks []*profile.Profile) map[string]volumes {
	sent := map[string]volumes{}
	for _, p := range ranks {
		p.EachFlow(func(row *profile.Row, f profile.Flow) {
			if sent[row.Call] == nil {
				sent[row.Call] = volumes{}
			}
			sent[row.Call].add(f.From, f.To, f.Bytes, f.Messages)
		})
	}
	return sent
}

// receivedBy returns what was received point to point, by call.
func receivedBy(ranks []*profile.Profile) map[string]volumes {
	received := map[string]volumes{}
	for _, p := range ranks {
		for _, row := range p.Rows {
			if row.Class != profile.P2P || row.Direction != profile.Recv || row.Messages == 0 {
				continue
			}
			if received[row.Call] == nil {
				received[row.Call] = volumes{}
			}
			received[row.Call].add(p.Comms[row.Comm].WorldRank(row.Peer), p.Rank, row.Bytes, row.Messages)
		}
	}
	return received
}

// callsBy returns the number of calls on each rank, by call.
func callsBy(ranks []*profile.Profile) map[string][]uint64 {
	calls := map[string][]uint64{}
	for r, p := range ranks {
		for _, row := range p.Rows {
			if calls[row.Call] == nil {
				calls[row.Call] = make([]uint64, len(ranks))
			}
			calls[row.Call][r] += row.Calls
		}
	}
	return calls
}

// pointToPoint returns what was sent point to point, summed over all calls.
func pointToPoint(ranks []*profile.Profile) volumes {
	sum := volumes{}
	for _, p := range ranks {
		p.EachFlow(func(row *profile.Row, f profile.Flow) {
			if f.Kind == profile.External {
				sum.add(f.From, f.To, f.Bytes, f.Messages)
			}
		})
	}
	return sum
}

// want is what a test program does, as known from its source. All that was sent
// and received is compared; calls are compared only if named here.
type want struct {
	sent, received map[string]volumes
	calls          map[string][]uint64
}

// check compares a job with w, and what was sent with what was received.
func (w want) check(t *testing.T, ranks []*profile.Profile) {
	t.Helper()
	diff(t, "sent", w.sent, sentBy(ranks))
	diff(t, "received", w.received, receivedBy(ranks))
	all := callsBy(ranks)
	for call, counts := range w.calls {
		diff(t, "calls of "+call, counts, all[call])
	}
	checkReceived(t, ranks)
}

// checkReceived requires for each ordered pair that as much was received as was
// sent.
func checkReceived(t *testing.T, ranks []*profile.Profile) {
	t.Helper()
	received := volumes{}
	for _, v := range receivedBy(ranks) {
		received = received.plus(v)
	}
	diff(t, "received as sent", pointToPoint(ranks), received)
}

// diff reports the differences between want and got. A nil map equals an empty
// one.
func diff[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if d := cmp.Diff(want, got, emptyIsNil); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

var emptyIsNil = cmp.FilterValues(
	func(a, b map[string]volumes) bool { return len(a) == 0 && len(b) == 0 },
	cmp.Comparer(func(a, b map[string]volumes) bool { return true }))
