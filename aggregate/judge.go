package aggregate

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// doubt is why the record of a rank is not enough to say what it sent or
// received. What others recorded of it proves nothing then.
type doubt string

const (
	notRecorded  doubt = "not recorded"
	twice        doubt = "recorded more than once"
	notFinal     doubt = "not finalized"
	isDamaged    doubt = "damaged recording"
	wasOff       doubt = "recording was off part of the time"
	lostCalls    doubt = "calls not recorded"
	lostPeers    doubt = "calls counted without their peer"
	lostRequests doubt = "requests not followed"
	unfollowed   doubt = "nonblocking receives were not followed (--receives off)"
)

// doubts are all of them, the one that says most first.
var doubts = []doubt{notRecorded, twice, notFinal, isDamaged, wasOff, lostCalls, lostPeers, lostRequests, unfollowed}

// judge knows what may be concluded about a pair of ranks.
type judge struct {
	sends, receives map[int]doubt // of the ranks in doubt
	setAside        [profile.NumAsideKinds]map[int]uint64

	asides map[matrix.Pair]*asides
	// What is set aside without its peer, by rank: receives from any source,
	// and sends that were cancelled. Each may stand for a message once.
	anySource, anyDest map[int]uint64

	// While it judges:
	recorded []int
	size     int // of the job
}

// asides are messages between two ranks that are in no row of the one or of the
// other.
type asides struct {
	gone      uint64        // sent, and not counted as received; sizes not known
	cancelled matrix.Volume // counted as sent, and never received
	maybeGone uint64        // as gone, but perhaps not even sent
	maybeSent uint64        // perhaps sent and received, but not counted as sent
}

func (g *judge) make() {
	if g.sends != nil {
		return
	}
	g.sends, g.receives, g.asides = map[int]doubt{}, map[int]doubt{}, map[matrix.Pair]*asides{}
	g.anySource, g.anyDest = map[int]uint64{}, map[int]uint64{}
	for k := range g.setAside {
		g.setAside[k] = map[int]uint64{}
	}
}

func (g *judge) addProcess(p *profile.Profile) {
	if g.make(); p.Rank < 0 {
		return
	}
	g.doubt(p)
	for i := range p.Asides {
		g.setAside[p.Asides[i].Kind][p.Rank] += p.Asides[i].Count
		g.add(p, &p.Asides[i])
	}
}

func (g *judge) merge(o *judge) {
	g.make()
	for r, d := range o.sends {
		note(g.sends, r, d)
	}
	for r, d := range o.receives {
		note(g.receives, r, d)
	}
	addAll(g.anySource, o.anySource)
	addAll(g.anyDest, o.anyDest)
	for k := range g.setAside {
		addAll(g.setAside[k], o.setAside[k])
	}
	for p, s := range o.asides {
		if g.asides[p] == nil {
			g.asides[p] = new(asides)
		}
		g.asides[p].merge(s)
	}
}

func addAll(sums, more map[int]uint64) {
	for k, n := range more {
		sums[k] += n
	}
}

func (s *asides) merge(o *asides) {
	s.gone += o.gone
	s.cancelled.Add(o.cancelled)
	s.maybeGone += o.maybeGone
	s.maybeSent += o.maybeSent
}

// of is one that knows the whole job. It uses up what is set aside, in copies.
func (g *judge) of(j *Job) *judge {
	g.make()
	out := &judge{sends: maps.Clone(g.sends), receives: maps.Clone(g.receives), setAside: g.setAside, asides: g.asides,
		anySource: maps.Clone(g.anySource), anyDest: maps.Clone(g.anyDest), recorded: j.Recorded(), size: j.Size()}
	for _, r := range j.Duplicated() {
		out.sends[r], out.receives[r] = twice, twice
	}
	return out
}

// note keeps the doubt that says most.
func note(of map[int]doubt, rank int, d doubt) {
	if was, ok := of[rank]; !ok || slices.Index(doubts, d) < slices.Index(doubts, was) {
		of[rank] = d
	}
}

func (g *judge) doubt(p *profile.Profile) {
	for _, c := range []struct {
		is bool
		d  doubt
	}{{p.State != profile.Finalized, notFinal}, {p.Losses.Damaged > 0, isDamaged}, {p.Pauses > 0, wasOff},
		{p.Losses.Calls > 0, lostCalls}} {
		if c.is {
			note(g.sends, p.Rank, c.d)
			note(g.receives, p.Rank, c.d)
		}
	}
	if p.Losses.Requests > 0 {
		note(g.receives, p.Rank, lostRequests)
	}
	if p.Unfollowed && slices.ContainsFunc(p.Rows, func(r profile.Row) bool { return profile.PostsReceive(r.Call) }) {
		note(g.receives, p.Rank, unfollowed) // of blocking receives all is known
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Class != profile.P2P || r.Messages == 0 || p.WorldRank(r.Comm, r.Peer) != profile.PeerLost {
			continue
		}
		switch r.Direction {
		case profile.Send:
			note(g.sends, p.Rank, lostPeers)
		case profile.Recv:
			note(g.receives, p.Rank, lostPeers)
		}
	}
}

func (g *judge) add(p *profile.Profile, a *profile.Aside) {
	if a.Kind == profile.CancelledReceive {
		return // no message was meant for it
	}
	peer := p.WorldRank(a.Comm, a.Peer)
	switch {
	case peer == profile.PeerElsewhere:
		return
	case peer < 0 && a.Kind.OfSend():
		g.anyDest[p.Rank] += a.Count
		return
	case peer < 0:
		g.anySource[p.Rank] += a.Count
		return
	}
	pair := matrix.Pair{From: peer, To: p.Rank}
	if a.Kind.OfSend() {
		pair = matrix.Pair{From: p.Rank, To: peer}
	}
	if g.asides[pair] == nil {
		g.asides[pair] = new(asides)
	}
	g.asides[pair].add(a)
}

func (s *asides) add(a *profile.Aside) {
	switch a.Kind {
	case profile.TruncatedReceive, profile.UntoldReceive:
		s.gone += a.Count
	case profile.CancelledSend:
		s.cancelled.Messages += a.Count
		s.cancelled.Bytes += a.Bytes
	case profile.FailedSend:
		s.maybeSent += a.Count
	default:
		s.maybeGone += a.Count
	}
}

// spokenOf are the pairs that must have sent something, since it was set aside
// by the receiver.
func (g *judge) spokenOf() *matrix.Matrix {
	m := new(matrix.Matrix)
	for p, s := range g.asides {
		if s.gone > 0 || s.cancelled != (matrix.Volume{}) {
			m.Add(p, matrix.Volume{})
		}
	}
	return m
}

// doubtOf is why a pair cannot be judged, empty if it can.
func (g *judge) doubtOf(p matrix.Pair) doubt {
	for _, r := range []int{p.From, p.To} {
		if _, ok := slices.BinarySearch(g.recorded, r); !ok {
			return notRecorded
		}
	}
	if d := g.sends[p.From]; d != "" {
		return d
	}
	return g.receives[p.To]
}

// ranksIn lists the ranks in a kind of doubt.
func (g *judge) ranksIn(d doubt) profile.RankSet {
	if d == notRecorded {
		return profile.RankSetOf(g.recorded...).Complement(g.size)
	}
	var out []int
	for _, of := range []map[int]doubt{g.sends, g.receives} {
		for r, is := range maps.All(of) {
			if is == d {
				out = append(out, r)
			}
		}
	}
	slices.Sort(out)
	return profile.RankSetOf(out...)
}

// agrees tells whether what was set aside accounts for the difference. Pairs
// come in order, and each takes what it needs of the messages whose peer is not
// known, first the receiver's, then the sender's. (Where both have some, another
// order could suit more pairs; nobody cancels sends and frees receives from any
// source in one program.)
func (g *judge) agrees(p matrix.Pair, x Exchange) bool {
	if x.Sent == x.Received && g.asides[p] == nil {
		return true
	}
	s := asides{}
	if known := g.asides[p]; known != nil {
		s = *known
	}
	messages := int64(x.Sent.Messages-x.Received.Messages) - int64(s.cancelled.Messages) - int64(s.gone)
	bytes := int64(x.Sent.Bytes-x.Received.Bytes) - int64(s.cancelled.Bytes)
	if messages < 0 {
		return -messages <= int64(s.maybeSent) // nobody knows how large these were
	}
	unsized := s.gone + uint64(messages)
	messages -= min(messages, int64(s.maybeGone))
	if !g.take(p, uint64(messages)) {
		return false
	}
	if s.maybeSent > 0 {
		return true
	}
	return bytes == 0 || unsized > 0 && bytes > 0
}

// take uses up n of the messages whose peer is not known, or none.
func (g *judge) take(p matrix.Pair, n uint64) bool {
	if g.anySource[p.To]+g.anyDest[p.From] < n {
		return false
	}
	fromReceiver := min(n, g.anySource[p.To])
	g.anySource[p.To] -= fromReceiver
	g.anyDest[p.From] -= n - fromReceiver
	return true
}
