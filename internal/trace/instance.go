package trace

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// instance is one collective operation of a communicator.
type instance struct {
	in      *communicator
	number  uint32
	call    int32 // index of the name
	differ  bool  // whether members called different functions
	arrived int
	all     arrivals
	root    arrivals
	others  arrivals // members other than the root
	scan    *scan
	around  *neighbors
	window  *communicator // the window that it creates, if any
	waiting []participant // members that wait for others
}

// arrivals summarises the members that have reached a collective.
type arrivals struct {
	time int64  // when the last one arrived, Unix ns
	lane *lane  // lane of the last one, nil if there is none
	site int32  // call site of the last one
	now  clocks // the latest of all
}

func (a *arrivals) add(b arrivals) {
	a.now.wait(&b.now)
	if a.lane == nil || b.time > a.time || b.time == a.time && b.lane.process.rank < a.lane.process.rank {
		a.time, a.lane, a.site = b.time, b.lane, b.site
	}
}

// scan is the state of a Scan or Exscan: which ranks have arrived below each
// rank.
type scan struct {
	came  []arrivals // by rank
	below []arrivals // by rank, of all lower ranks
	first int        // lowest rank that has not arrived
}

func (s *scan) add(rank int32, a arrivals) {
	if int(rank) >= len(s.came) {
		return
	}
	s.came[rank] = a
	for s.first < len(s.came) && s.came[s.first].lane != nil {
		all := s.below[s.first]
		all.add(s.came[s.first])
		s.first++
		s.below[s.first] = all
	}
}

// participant is a member of an instance that waits in a call.
type participant struct {
	call    *call
	pattern Pattern
	rank    int32
	root    bool
	needed  bool
}

// waitsFor returns the arrivals that the participant depends on. known is false
// if some of them are still missing.
func (i *instance) waitsFor(p *participant) (arrivals, bool) {
	full := i.arrived == i.in.size
	switch p.pattern {
	case WaitAtBarrier, WaitAtNxN, WaitAtCommCreate, WaitAtWinCreate, WaitAtWinFree, WaitAtFence:
		return i.all, full
	case EarlyReduce:
		return i.others, full
	case LateBroadcast:
		return i.root, i.root.lane != nil
	case EarlyScan:
		if int(p.rank) > i.scan.first {
			return arrivals{}, false
		}
		return i.scan.below[p.rank], true
	case LateNeighbor:
		return i.around.waitsFor(p.rank)
	}
	return arrivals{}, true
}

// collective records that a member reached a collective at the given time.
func (r *replay) collective(e *event, c *call, time int64) {
	k := e.kind
	if k.pattern == WaitAtFence || k.pattern == WaitAtWinFree {
		if k.windowOf() == nil { // the creation of the window is not in the trace
			return
		}
		k.member = &k.win.membership
		clear(k.win.pending) // a fence completes all operations
	}
	if until := k.lane.process.trace.WholeUntil; until > 0 && time >= until { // earlier ones may be missing
		return
	}
	k.member.called++
	n := k.member.called
	if e.seq > 0 {
		n = e.seq
	} else if k.member.in.gaps { // its number is unknown
		k.member.in.beyond = max(k.member.in.beyond, n)
		return
	}
	p := participant{call: c, rank: k.member.rank, root: k.peer == k.lane.process.rank || k.peer == profile.PeerRoot}
	if k.peer != profile.PeerProcNull {
		p.pattern = k.pattern.of(p.root)
	}
	i := r.instance(k, n)
	if k.pattern == WaitAtWinCreate {
		r.windowMade(i, k)
	}
	if p.pattern == LateNeighbor && i.around == nil {
		p.pattern = NoPattern
	}
	r.arrive(i, k, &p, arrivals{time, k.lane, k.site, k.lane.now})
	switch {
	case k.blocks:
		r.await(i, p)
	case e.link > 0:
		k.lane.process.links.put(e.index, e.completion(), request{joined: i, as: p})
	}
}

// instance returns the nth collective of a communicator, and creates it if
// needed.
func (r *replay) instance(k *kind, n uint32) *instance {
	in := k.member.in
	i := in.open[n]
	if i == nil {
		i = &instance{in: in, number: n, call: k.call}
		if k.pattern == EarlyScan {
			i.scan = &scan{came: make([]arrivals, in.size), below: make([]arrivals, in.size+1)}
		}
		if k.pattern == LateNeighbor && in.topology != nil {
			i.around = newNeighbors(in.topology)
		}
		in.open[n] = i
	}
	i.differ = i.differ || i.call != k.call
	return i
}

// arrive counts a member, and informs the members that waited for it.
func (r *replay) arrive(i *instance, k *kind, p *participant, a arrivals) {
	i.arrived++
	if k.peer != profile.PeerProcNull {
		i.all.add(a)
		if p.root {
			i.root.add(a)
		} else {
			i.others.add(a)
		}
	}
	full := i.arrived == i.in.size
	if i.scan != nil {
		i.scan.add(p.rank, a)
	}
	if i.around != nil {
		i.around.add(p.rank, a, func(place int) { i.tellOne(r, place) })
	}
	if full || p.root || i.scan != nil {
		i.tell(r)
	}
	if full {
		delete(i.in.open, i.number)
		r.whole(i)
	}
}

// tell ends the wait of the members whose causes are now known.
func (i *instance) tell(r *replay) {
	kept := i.waiting[:0]
	for _, p := range i.waiting {
		if p.call == nil { // its wait has ended already
			continue
		}
		if a, ok := i.waitsFor(&p); ok {
			r.got(p.call, i.cause(&p, a), &a.now, p.needed)
		} else {
			kept = append(kept, p)
		}
	}
	i.waiting = kept
}

// tellOne ends the wait of one member. Its entry stays empty, because the
// others are found by their position.
func (i *instance) tellOne(r *replay, place int) {
	p := &i.waiting[place]
	if a, ok := i.waitsFor(p); ok && p.call != nil {
		r.got(p.call, i.cause(p, a), &a.now, p.needed)
		p.call = nil
	}
}

func (i *instance) cause(p *participant, a arrivals) cause {
	return cause{a.time, p.pattern, a.site, a.lane, i.in}
}

// await lets the participant's call wait for the arrivals that it depends on.
func (r *replay) await(i *instance, p participant) {
	if p.pattern == NoPattern || i.differ || p.call == nil {
		return
	}
	p.call.open++
	if a, ok := i.waitsFor(&p); ok {
		r.got(p.call, i.cause(&p, a), &a.now, false)
		return
	}
	if p.needed = i.in.known == i.in.size; p.needed {
		p.call.needs++
	}
	i.waiting = append(i.waiting, p)
	if i.around != nil && p.rank >= 0 && int(p.rank) < len(i.around.waiting) {
		i.around.waiting[p.rank] = int32(len(i.waiting))
	}
}

// whole counts an instance that all members reached.
func (r *replay) whole(i *instance) {
	r.matching.Collectives.Instances++
	if i.differ {
		r.matching.Collectives.add(Mismatch, 1)
		return
	}
	r.matching.Collectives.Complete++
}

// leftCollectives counts the instances that not all members reached.
func (r *replay) leftCollectives() {
	for _, in := range slices.Concat(r.comms, r.windows) {
		for _, i := range in.open {
			r.matching.Collectives.Instances++
			r.matching.Collectives.add(in.missing(), 1)
			for _, p := range i.waiting {
				if p.call != nil {
					r.got(p.call, cause{}, nil, p.needed)
				}
			}
		}
		if n := uint64(in.beyond); n > 0 {
			r.matching.Collectives.Instances += n
			r.matching.Collectives.add(Gaps, n)
		}
		clear(in.open)
	}
}

// missing returns why a collective is not complete.
func (c *communicator) missing() Reason {
	switch {
	case c.known < c.size:
		return NotTraced
	case c.unfinished:
		return Cut
	}
	return NeverCalled
}
