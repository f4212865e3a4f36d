package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// watchUnexpected is the name of the setting that makes the recorder count late
// receives.
const watchUnexpected = "watch-unexpected"

// watchedFor returns a process's value of the setting watch-unexpected; empty if it was off.
func watchedFor(p *profile.Profile) string {
	if value := p.Settings[watchUnexpected]; value != "off" {
		return value
	}
	return ""
}

func (p *processFacts) lateOver() string { return p.watched }

// LateReceives are the receives of one call site and communicator, over all ranks,
// that were posted while the MPI library's queue of unexpected messages was longer
// than the setting watch-unexpected allows. Unexpected messages arrived before their
// receive was posted, so they had to be buffered and copied.
type LateReceives struct {
	Site
	Call         string `json:"call"` // without MPI_
	Communicator string `json:"communicator,omitempty"`
	Others       bool   `json:"others,omitempty"` // whether this is the sum of all communicators that have no entry of their own
	Late         uint64 `json:"late"`
	// Receives is the number of all receives posted at the site, on any communicator. For
	// persistent receives it is the number of those that received something. Nil if not known.
	Receives *uint64  `json:"receives"`
	Share    *float64 `json:"share"`             // Late / Receives
	Queue    float64  `json:"mean_queue_length"` // mean over the late receives; includes messages from all senders
	Ranks    int      `json:"ranks"`             // number of ranks that posted late ones
	Pairs    int      `json:"pairs"`             // number of pairs of sender and receiver
	// Most holds the pairs with the most late receives, at most 10.
	Most []LatePair `json:"most"`
}

// LatePair holds the late receives of rank To from rank From.
type LatePair struct {
	From  int     `json:"from"` // world rank or a constant of profile: -3 for any source, -6 for a process of another world
	To    int     `json:"to"`
	Late  uint64  `json:"late"`
	Queue float64 `json:"mean_queue_length"`
}

// lateReceiveSums collects the late receives of a job.
type lateReceiveSums struct {
	sumsBy[siteKey, lateSite, *lateSite]
}

type lateSite struct {
	Site
	comms byObject[lateReceiveSum, *lateReceiveSum]
}

func (s *lateSite) merge(o *lateSite) {
	s.Offset = min(s.Offset, o.Offset)
	s.comms.merge(&o.comms)
}

type lateReceiveSum struct {
	late, queued uint64
	ranks, pairs int
	most         []latePair // those with the most late receives first
}

type latePair struct {
	from, to     int
	late, queued uint64
}

const maxLatePairs = 10

// add adds the late receives of a process.
func (s *lateReceiveSums) add(p *profile.Profile) {
	type place struct {
		siteKey
		communicator string
	}
	parts := map[place]map[int]*latePair{} // by sender
	program := programKeyOf(p)
	for i := range p.Late {
		l := &p.Late[i]
		frames := p.Frames(l.Callsite)
		at := place{siteKey{sourceKey(frames), shared(l.Call), program}, labelOf(p, l.Comm)}
		s.sumsBy.add(at.siteKey, &lateSite{Site: siteOf(frames)})
		if parts[at] == nil {
			parts[at] = map[int]*latePair{}
		}
		from := openPeer(p, l.Comm, l.Peer)
		pair := parts[at][from]
		if pair == nil {
			pair = &latePair{from: from, to: p.Rank}
			parts[at][from] = pair
		}
		pair.late += l.Count
		pair.queued += l.Queued
	}
	for at, pairs := range parts {
		sum := lateReceiveSum{ranks: 1}
		for _, pair := range pairs {
			sum.merge(&lateReceiveSum{late: pair.late, queued: pair.queued, pairs: 1, most: []latePair{*pair}})
		}
		s.known[at.siteKey].comms.of(at.communicator).merge(&sum)
	}
}

// merge adds o and keeps the pairs with the most late receives. A pair is
// recorded by one process only. So a pair that is not among the first of a part
// of the job is not among the first of the job.
func (s *lateReceiveSum) merge(o *lateReceiveSum) {
	s.late += o.late
	s.queued += o.queued
	s.ranks += o.ranks
	s.pairs += o.pairs
	s.most = append(s.most[:len(s.most):len(s.most)], o.most...)
	slices.SortFunc(s.most, func(a, b latePair) int {
		return cmp.Or(cmp.Compare(b.late, a.late), cmp.Compare(b.queued, a.queued), cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	s.most = s.most[:min(len(s.most), maxLatePairs)]
}

// sites returns the call sites, those with the most late receives first.
func (s *lateReceiveSums) sites(all *siteSums, programs *programSums) []LateReceives {
	unifySites(&s.sumsBy, programs)
	out := []LateReceives{}
	for k, site := range s.known {
		site.comms.each(func(label string, others bool, sum *lateReceiveSum) {
			l := site.result(k, sum, all.known[k])
			l.Program, l.Communicator, l.Others = programs.nameOf(k.program), label, others
			out = append(out, l)
		})
	}
	slices.SortFunc(out, func(a, b LateReceives) int {
		return cmp.Or(cmp.Compare(b.Late, a.Late), cmp.Compare(b.Queue, a.Queue), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Module, b.Module), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Call, b.Call),
			slices.CompareFunc(a.Callers, b.Callers, func(x, y NamedPlace) int { return cmp.Compare(x.Offset, y.Offset) }),
			cmp.Compare(a.Program, b.Program), compareBools(a.Others, b.Others), compareObjects(a.Communicator, b.Communicator))
	})
	return out
}

func (s *lateSite) result(k siteKey, sum *lateReceiveSum, all *CallSite) LateReceives {
	l := LateReceives{Site: s.Site, Call: k.call, Late: sum.late, Queue: mean(sum.queued, sum.late),
		Ranks: sum.ranks, Pairs: sum.pairs, Most: make([]LatePair, len(sum.most))}
	for i, pair := range sum.most {
		l.Most[i] = LatePair{pair.from, pair.to, pair.late, mean(pair.queued, pair.late)}
	}
	if all == nil {
		return l
	}
	receives := all.Calls
	if profile.TraitsOf(k.call).Any(profile.TraitStarts) { // these calls also start sends, and several requests at once
		receives = all.Received.Messages
	}
	if receives >= sum.late {
		share := float64(sum.late) / float64(receives)
		l.Receives, l.Share = &receives, &share
	}
	return l
}

// mean returns sum / n; 0 if n is 0.
func mean(sum, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
