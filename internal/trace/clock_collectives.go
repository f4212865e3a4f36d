package trace

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// Collectives limit clocks, too: nobody leaves a Barrier before all have entered
// it. For each collective, the pairing of flights keeps when the last process of
// a host entered, and when the first one left. Then a host that others wait for,
// and one that waits, are like the sender and the receiver of a message.
//
// Used are blocking collectives in which all wait for all (Barrier, Allreduce,
// Allgather, Alltoall, …), all for the root (Bcast, Scatter), or the root for all
// (Reduce, Gather). A process that moves no data need not wait for others, nor
// they for it. So the forms with a count for each rank are used if they have a
// root only: of an Alltoallv, the event does not show which counts are 0.

// collectiveKey identifies a collective.
type collectiveKey struct {
	comm, call int32 // index of the communicator's label; number of the call
	number     uint32
}

// collectiveTimes has the times of a collective by host, in the order of
// span.hosts.
type collectiveTimes struct {
	entered []int64 // when the last of the host's processes entered that others wait for
	left    []int64 // when the first of the host's processes left that waits for others
	rooted  bool    // whether all wait for one, or one for all
	halves  int     // number of halves that are in these times
}

// notSeen is the time of a host of which no half was seen.
const notSeen = math.MinInt64

// hostSpan is the hosts of a communicator.
type hostSpan struct {
	hosts   []int32         // indices of the hosts
	index   map[int32]int32 // index in hosts, by host
	members int             // number of members that have a trace
}

// allPairs is the largest number of hosts whose times in a collective are all
// compared. If there are more, they are compared with the first host's.
const allPairs = 16

// openCollectives is the number of collectives that wait for members before
// they are used without them.
const openCollectives = 1 << 14

// spans returns the hosts of each communicator, by the index of its label.
func (fs *flights) spans(labels map[string]int32) []hostSpan {
	spans := make([]hostSpan, len(labels))
	for i, src := range fs.sources {
		met := make(map[int32]bool)
		for _, c := range src.Trace().Comms {
			label, host := labels[c.Label], fs.host[i]
			if met[label] {
				continue
			}
			met[label] = true
			s := &spans[label]
			s.members++
			if s.index == nil {
				s.index = make(map[int32]int32)
			}
			if _, known := s.index[host]; !known {
				s.index[host] = int32(len(s.hosts))
				s.hosts = append(s.hosts, host)
			}
		}
	}
	return spans
}

// gather adds a half of a collective. When all halves have come, it uses them.
func (p *pairing) gather(h half) {
	key, s := collectiveKey{h.comm, h.tag, h.seq}, &p.spans[h.comm]
	times := p.open[key]
	if times == nil {
		if len(p.open) >= openCollectives {
			p.useOpen()
		}
		times = p.newTimes(len(s.hosts))
		p.open[key] = times
	}
	at := s.index[p.host[h.from]]
	if h.role == halfEntered && (times.entered[at] == notSeen || h.time > times.entered[at]) {
		times.entered[at] = h.time
	}
	if h.role == halfLeft && (times.left[at] == notSeen || h.time < times.left[at]) {
		times.left[at] = h.time
	}
	times.rooted = h.to == 1
	if times.halves++; times.halves == s.members*int(h.to) {
		delete(p.open, key)
		p.use(s, times)
	}
}

func (p *pairing) newTimes(hosts int) *collectiveTimes {
	times := p.freeTimes.get()
	times.entered, times.left, times.halves = times.entered[:0], times.left[:0], 0
	for range hosts {
		times.entered, times.left = append(times.entered, notSeen), append(times.left, notSeen)
	}
	return times
}

// useOpen uses the collectives of which halves are missing. What was seen of
// them limits clocks all the same.
func (p *pairing) useOpen() {
	for key, times := range p.open {
		p.use(&p.spans[key.comm], times)
	}
	clear(p.open)
}

// use calls f with the limits that a collective gives.
func (p *pairing) use(s *hostSpan, times *collectiveTimes) {
	used := false
	for a, entered := range times.entered {
		for b, left := range times.left {
			if a == b || entered == notSeen || left == notSeen || !times.rooted && len(s.hosts) > allPairs && a > 0 && b > 0 {
				continue
			}
			p.f(flight{s.hosts[a], s.hosts[b], entered, left, true})
			used = true
		}
	}
	if used {
		p.collectives++
	}
	p.freeTimes.put(times)
}

// collectiveKind returns what events of a kind show of collectives between
// hosts. If earlier events may be missing, collectives cannot be numbered.
func (s *spotter) collectiveKind(k *profile.EventKind, comms []profile.TraceComm) spotted {
	trace := s.fs.sources[s.source].Trace()
	if calledOperation(k) != collectiveCall || !mayBlock(k) || int(k.Comm) >= len(comms) || comms[k.Comm].Inter || trace.Gaps {
		return spotted{}
	}
	label, root := s.labels[comms[k.Comm].Label], trace.Rank == int(k.Peer)
	found := spotted{comm: label, call: int32(profile.CallNamed(k.Call).ID), empty: root}
	switch pattern := collectivePattern(k); {
	case pattern == WaitAtBarrier:
		found.entered, found.left, found.empty = true, true, true
	case pattern == WaitAtNxN:
		all := !profile.TraitsOf(k.Call).Any(profile.TraitIrregular | profile.TraitReduceScatter)
		found.entered, found.left = all, all
	case pattern == EarlyReduce:
		found.entered, found.left = !root, root
	case pattern == LateBroadcast:
		found.entered, found.left = root, !root
	}
	if (found.entered || found.left) && len(s.spans[label].hosts) > 1 {
		found.role = spotCollective
	}
	return found
}

// takePart appends the halves of a collective. start is when event i started.
func (s *spotter) takePart(k *spotted, start int64, e *profile.Events, i int) {
	if until := s.fs.sources[s.source].Trace().WholeUntil; until > 0 && e.Start[i] >= until { // earlier ones may be missing
		return
	}
	on := calledOn{k.comm, k.call}
	s.called[on]++
	if e.Bytes[i] == 0 && !k.empty {
		return
	}
	h := half{flightKey: flightKey{k.comm, s.source, 1, k.call, s.called[on]}}
	if k.entered && k.left {
		h.to = 2
	}
	if k.entered {
		h.seen = seen{start, halfEntered}
		s.halves = append(s.halves, h)
	}
	if k.left {
		h.seen = seen{start + e.Duration[i], halfLeft}
		s.halves = append(s.halves, h)
	}
}
