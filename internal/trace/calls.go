package trace

import (
	"cmp"
	"slices"
	"strings"
)

// CallTotal is the time in all calls of one MPI function, and how much of it
// was waiting for other ranks.
type CallTotal struct {
	Call      string  `json:"call"` // without the prefix MPI_
	Count     uint64  `json:"count"`
	Time      float64 `json:"time_s"`      // summed over ranks and threads, between Init and Finalize
	Waiting   float64 `json:"waiting_s"`   // part of Time: until the other rank arrived
	Undecided float64 `json:"undecided_s"` // part of Time: waits that are not proven
	Share     float64 `json:"share"`       // of ranks × runtime; Time of several threads counts as in profile.Times
}

// callTimes adds up the time in calls, by the index of their names.
type callTimes []callSum

type callSum struct {
	count    uint64
	sum, own int64 // ns, see process.own
}

func (s *callTimes) add(call int32, ns, own int64) {
	for int(call) >= len(*s) {
		*s = append(*s, callSum{})
	}
	sum := &(*s)[call]
	sum.count++
	sum.sum += ns
	sum.own += own
}

// callTotals returns the calls that took time, the longest first.
func (r *replay) callTotals(all float64) []CallTotal {
	waiting, undecided := make([]int64, len(r.names.list)), make([]int64, len(r.names.list))
	for key, s := range r.waits {
		if key.pattern == Undecided {
			undecided[key.call] += s.sum
		} else {
			waiting[key.call] += s.sum
		}
	}
	list := []CallTotal{}
	for call, s := range r.calls {
		if s.sum > 0 {
			list = append(list, CallTotal{r.names.list[call], s.count, seconds(s.sum), seconds(waiting[call]), seconds(undecided[call]),
				ratio(seconds(s.own), all)})
		}
	}
	slices.SortFunc(list, func(a, b CallTotal) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Call, b.Call))
	})
	return list
}
