package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// SiteUsage says how a call site is used: how often, on which communicators, and with
// which sizes.
type SiteUsage struct {
	FewestCalls uint64 `json:"fewest_calls"` // of the ranks that called here
	MostCalls   uint64 `json:"most_calls"`
	// Sizes are the sizes of one message, smallest first. Each call of an irregular
	// collective counts with the mean size of its messages.
	Sizes []SizeCount `json:"sizes"`
	// Communicator is the label of the communicator: Mixed if there are several, empty
	// if the call has none.
	Communicator string `json:"communicator"`
	CallsAlone   uint64 `json:"calls_alone"` // calls of collectives on a communicator of one process
	// PairWaits is the number of a rank's receivers times the number of its calls that
	// wait for other ranks, added up over ranks. If it is far below the number of
	// messages, many of them go to one receiver between two waits.
	PairWaits uint64 `json:"pair_waits"`
	// Destinations is the number of other ranks that the calls of an irregular
	// all-to-all could send to, added up over calls, and DestinationsUsed the number of
	// those that got data in any call with the same communicator.
	Destinations     uint64 `json:"destinations"`
	DestinationsUsed uint64 `json:"destinations_used"`
}

// add adds a row of a process, whose communicators have these labels.
func (u *SiteUsage) add(p *profile.Profile, r *profile.Row, labels []string) {
	if r.SizeClass < profile.NumSizeClasses {
		u.addSize(sizeOf(r))
	}
	if r.Comm < 0 || int(r.Comm) >= len(p.Comms) {
		return
	}
	c := &p.Comms[r.Comm]
	u.Communicator = commonOf(u.Communicator, labels[r.Comm])
	if r.Class.Collective() && !c.Inter && c.Members.Len() == 1 {
		u.CallsAlone += r.Calls
	}
}

// sizeOf returns the count of a row. Receives count as calls without messages.
func sizeOf(r *profile.Row) SizeCount {
	n := SizeCount{SizeClass: r.SizeClass, Calls: r.Calls}
	n.Least, n.Most = sizesIn(int(r.SizeClass))
	if r.Direction != profile.Recv {
		n.AddRow(r)
	}
	return n
}

func (u *SiteUsage) addSize(n SizeCount) {
	i, known := slices.BinarySearchFunc(u.Sizes, n.SizeClass, func(s SizeCount, class uint8) int { return cmp.Compare(s.SizeClass, class) })
	if !known {
		u.Sizes = slices.Insert(u.Sizes, i, n)
		return
	}
	u.Sizes[i].Calls += n.Calls
	u.Sizes[i].Add(n.Volume)
}

// addVector adds an all-to-all operation that sends a different amount to each rank.
func (u *SiteUsage) addVector(p *profile.Profile, v *profile.Vector) {
	if v.Class != profile.AllToAll || v.Spread != profile.ToVector || profile.TraitsOf(v.Call).Any(profile.TraitReduceScatter) ||
		v.Comm < 0 || int(v.Comm) >= len(p.Comms) {
		return
	}
	c := &p.Comms[v.Comm]
	for i, bytes := range v.Bytes {
		if i == c.Rank && !c.Inter {
			continue
		}
		u.Destinations += v.Calls
		if bytes > 0 {
			u.DestinationsUsed += v.Calls
		}
	}
}

// ofRank completes the usage by one rank: calls is its calls at this site, peers its receivers, and
// waits the number of its calls anywhere that wait.
func (u *SiteUsage) ofRank(calls uint64, peers []int32, waits uint64) {
	u.FewestCalls, u.MostCalls = calls, calls
	slices.Sort(peers)
	u.PairWaits = uint64(len(slices.Compact(peers))) * max(waits, 1)
}

func (u *SiteUsage) merge(o *SiteUsage) {
	u.FewestCalls, u.MostCalls = min(u.FewestCalls, o.FewestCalls), max(u.MostCalls, o.MostCalls)
	for _, n := range o.Sizes {
		u.addSize(n)
	}
	u.Communicator = commonOf(u.Communicator, o.Communicator)
	u.CallsAlone += o.CallsAlone
	u.PairWaits += o.PairWaits
	u.Destinations += o.Destinations
	u.DestinationsUsed += o.DestinationsUsed
}

// commonOf returns the value of both, or Mixed if they differ. An empty text means no value.
func commonOf(a, b string) string {
	if a == "" || b == "" || a == b {
		return cmp.Or(a, b)
	}
	return Mixed
}

// CallsBelow returns the number of calls whose message is of a size class below that
// of bytes, which must be a power of two.
func (u *SiteUsage) CallsBelow(bytes uint64) (sum uint64) {
	for _, n := range u.Sizes {
		if n.Most < bytes {
			sum += n.Calls
		}
	}
	return sum
}

// MessagesBelow returns the number of messages sent of a size class below that of
// bytes, which must be a power of two.
func (u *SiteUsage) MessagesBelow(bytes uint64) (sum uint64) {
	for _, n := range u.Sizes {
		if n.Most < bytes {
			sum += n.Messages
		}
	}
	return sum
}
