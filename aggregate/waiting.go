package aggregate

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// waitingSums estimates, without a trace, how long ranks wait for others. It knows only the
// collectives that no rank leaves before the last one has entered. At one call site, with one
// communicator and one size class, each call takes at least as long as the shortest call of any
// rank: what is longer is waiting.
type waitingSums struct {
	sumsBy[waitingKey, waitingSum, *waitingSum]
}

type waitingKey struct {
	source, call, comm string
	sizeClass          uint8
}

// waitingSum holds the calls of one key. Calls and times are scaled to the own time of their ranks, see
// profile.Times. noCore holds the part of them without a core.
type waitingSum struct {
	ranks       int
	last        int    // the last rank that was counted, plus 1
	least       uint64 // ns of the shortest call
	all, noCore ownCalls
}

// ownCalls are calls and their time, times a share of each process. Calls are counted in
// thousandths, so that sums of integers do not depend on their order.
type ownCalls struct{ ns, thousandths uint64 }

func (c *ownCalls) add(r *profile.Row, share float64) {
	c.ns += ownNs(r.TimeNs, share)
	c.thousandths += ownNs(1000*r.Calls, share)
}

func (c *ownCalls) merge(o *ownCalls) {
	c.ns += o.ns
	c.thousandths += o.thousandths
}

// beyond returns the time of the calls beyond a least time of each.
func (c *ownCalls) beyond(least uint64) int64 {
	return int64(max(math.Round(float64(c.ns)-float64(c.thousandths)/1000*float64(least)), 0))
}

func (s *waitingSum) merge(o *waitingSum) {
	s.ranks += o.ranks
	s.least = min(s.least, o.least)
	s.all.merge(&o.all)
	s.noCore.merge(&o.noCore)
}

// WaitsForAll reports whether no rank leaves the call before all have entered it.
func WaitsForAll(call string, class profile.Class) bool {
	const others = profile.TraitNonblocking | profile.TraitPersistent | profile.TraitScan | profile.TraitNeighbor
	return class == profile.AllToAll && !profile.TraitsOf(call).Any(others)
}

// add adds the calls of a process whose call sites have names in sites.
func (s *waitingSums) add(p *profile.Profile, sites *siteSums) {
	if p.Timing != profile.TimingExact || p.Rank < 0 {
		return
	}
	times := p.Times()
	share, noCore := times.OwnShare(), 0.0
	usage, _ := profile.TotalUsage(p.Usage)
	if none := profile.NoCoreOf(p.State, times, p.ThreadUse, usage); none != nil {
		noCore = share * none.Share
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Comm < 0 || int(r.Comm) >= len(p.Comms) || r.MaxNs == 0 || !WaitsForAll(r.Call, r.Class) {
			continue
		}
		key := waitingKey{call: r.Call, comm: p.Comms[r.Comm].ID, sizeClass: r.SizeClass}
		if name := sites.nameOf(p, r.Callsite); name != nil {
			key.source = name.source
		}
		sum := s.known[key]
		if sum == nil {
			sum = &waitingSum{least: r.MinNs}
			s.sumsBy.add(key, sum)
		}
		if sum.last != p.Rank+1 {
			sum.ranks, sum.last = sum.ranks+1, p.Rank+1
		}
		sum.least = min(sum.least, r.MinNs)
		sum.all.add(r, share)
		sum.noCore.add(r, noCore)
	}
}

// sum returns about how long ranks waited for others, and how much of that they had no core.
func (s *waitingSums) sum() (waited, noCore int64) {
	for _, of := range s.known {
		if of.ranks > 1 {
			waited += of.all.beyond(of.least)
			noCore += of.noCore.beyond(of.least)
		}
	}
	return waited, noCore
}
