package aggregate

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// A Gap says why a rank's record of its sends or receives is incomplete. Pairs with
// such a rank are not checked.
type Gap string

const (
	gapNotRecorded  Gap = "not recorded"
	gapDuplicate    Gap = "recorded more than once"
	gapNotFinalized Gap = "not finalized"
	gapDamaged      Gap = "damaged recording"
	gapPaused       Gap = "recording was off part of the time"
	gapCalls        Gap = "calls not recorded"
	gapPeers        Gap = "calls counted without their peer"
	gapRequests     Gap = "requests not followed"
	gapLeft         Gap = "calls with requests were left by an exception or longjmp"
	gapUnfollowed   Gap = "nonblocking receives were not followed (--receives off)"
)

// gaps lists all gaps. If a rank has several, the first of them is reported.
var gaps = []Gap{gapNotRecorded, gapDuplicate, gapNotFinalized, gapDamaged, gapPaused, gapCalls, gapPeers, gapRequests,
	gapLeft, gapUnfollowed}

// completeness collects which ranks have an incomplete record, and the messages that
// may be in the rows of the sender only or of the receiver only. From this it says
// for which pairs of ranks sent and received must be equal, and by how much they may
// differ.
type completeness struct {
	sendGaps, receiveGaps map[int]Gap                              // by rank
	counts                [profile.NumAbnormalKinds]map[int]uint64 // by rank
	left                  map[string]map[int]uint64                // calls that were left: by call and rank

	pairs sumsBy[matrix.Pair, unmatched, *unmatched]
	// Unmatched messages whose peer is not known, by rank: receives from any source,
	// and cancelled sends. Each can explain one message of one pair.
	anySource, anyDest map[int]uint64

	// Set by of:
	recorded profile.RankSet
	complete bool // all ranks are recorded
	size     int  // of the job
}

// unmatched is messages from one rank to another that only one of the two has in a
// row.
type unmatched struct {
	gone      uint64        // sent, but not counted as received; their sizes are not known
	cancelled matrix.Volume // counted as sent, but not received
	maybeGone uint64        // like gone, but perhaps not sent either
	maybeSent uint64        // perhaps sent and received, but not counted as sent
}

func newCompleteness() completeness {
	c := completeness{sendGaps: map[int]Gap{}, receiveGaps: map[int]Gap{}, left: map[string]map[int]uint64{},
		anySource: map[int]uint64{}, anyDest: map[int]uint64{}}
	for k := range c.counts {
		c.counts[k] = map[int]uint64{}
	}
	return c
}

func (c *completeness) add(p *profile.Profile) {
	if p.Rank < 0 {
		return
	}
	c.addGaps(p)
	for i := range p.Abnormal {
		c.counts[p.Abnormal[i].Kind][p.Rank] += p.Abnormal[i].Count
		if p.Abnormal[i].Kind == profile.LeftCall {
			c.addLeft(p, &p.Abnormal[i])
		} else {
			c.addUnmatched(p, &p.Abnormal[i])
		}
	}
}

func (c *completeness) merge(o *completeness) {
	for r, gap := range o.sendGaps {
		noteGap(c.sendGaps, r, gap)
	}
	for r, gap := range o.receiveGaps {
		noteGap(c.receiveGaps, r, gap)
	}
	addAll(c.anySource, o.anySource)
	addAll(c.anyDest, o.anyDest)
	for k := range c.counts {
		addAll(c.counts[k], o.counts[k])
	}
	for call, byRank := range o.left {
		addAll(c.leftRanks(call), byRank)
	}
	c.pairs.merge(&o.pairs)
}

// addAll adds the numbers of more to sums, by rank.
func addAll(sums, more map[int]uint64) {
	for k, n := range more {
		sums[k] += n
	}
}

func (s *unmatched) merge(o *unmatched) {
	s.gone += o.gone
	s.cancelled.Add(o.cancelled)
	s.maybeGone += o.maybeGone
	s.maybeSent += o.maybeSent
}

// of returns a copy for the check of a whole job. explains uses it up.
func (c *completeness) of(j *Job) *completeness {
	out := &completeness{sendGaps: maps.Clone(c.sendGaps), receiveGaps: maps.Clone(c.receiveGaps), counts: c.counts, pairs: c.pairs,
		anySource: maps.Clone(c.anySource), anyDest: maps.Clone(c.anyDest), recorded: profile.RankSetOf(j.Recorded()...), size: j.Size()}
	out.complete = out.recorded.Len() == out.size
	for _, r := range j.Ranks.Duplicated() {
		out.sendGaps[r], out.receiveGaps[r] = gapDuplicate, gapDuplicate
	}
	return out
}

// noteGap records a gap of a rank, unless a gap that comes first in gaps is
// already recorded.
func noteGap(of map[int]Gap, rank int, gap Gap) {
	if known, ok := of[rank]; !ok || slices.Index(gaps, gap) < slices.Index(gaps, known) {
		of[rank] = gap
	}
}

// addGaps records the gaps in the record of a process.
func (c *completeness) addGaps(p *profile.Profile) {
	for _, check := range []struct {
		found bool
		gap   Gap
	}{{p.State != profile.Finalized, gapNotFinalized}, {p.Losses.Damaged > 0, gapDamaged}, {p.Pauses > 0, gapPaused},
		{p.Losses.Calls > 0, gapCalls}} {
		if check.found {
			noteGap(c.sendGaps, p.Rank, check.gap)
			noteGap(c.receiveGaps, p.Rank, check.gap)
		}
	}
	if p.Losses.Requests > 0 {
		noteGap(c.receiveGaps, p.Rank, gapRequests)
	}
	if p.Unfollowed && slices.ContainsFunc(p.Rows, func(r profile.Row) bool { return profile.PostsReceive(r.Call) }) {
		noteGap(c.receiveGaps, p.Rank, gapUnfollowed) // blocking receives are complete
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Class != profile.P2P || r.Messages == 0 || p.WorldRank(r.Comm, r.Peer) != profile.PeerLost {
			continue
		}
		switch r.Direction {
		case profile.Send:
			noteGap(c.sendGaps, p.Rank, gapPeers)
		case profile.Recv:
			noteGap(c.receiveGaps, p.Rank, gapPeers)
		}
	}
}

// addUnmatched adds messages of a process that are in no row.
func (c *completeness) addUnmatched(p *profile.Profile, a *profile.AbnormalOps) {
	if a.Kind == profile.CancelledReceive {
		return // no message was meant for it
	}
	peer := p.WorldRank(a.Comm, a.Peer)
	switch {
	case peer == profile.PeerElsewhere:
		return
	case peer < 0 && a.Kind.OfSend():
		c.anyDest[p.Rank] += a.Count
		return
	case peer < 0:
		c.anySource[p.Rank] += a.Count
		return
	}
	pair := matrix.Pair{From: peer, To: p.Rank}
	if a.Kind.OfSend() {
		pair = matrix.Pair{From: p.Rank, To: peer}
	}
	c.pairs.of(pair).add(a)
}

// leftRanks returns how often each rank left a call.
func (c *completeness) leftRanks(call string) map[int]uint64 {
	if c.left[call] == nil {
		c.left[call] = map[int]uint64{}
	}
	return c.left[call]
}

// addLeft adds calls that a process left, and the messages that they may have sent and
// received. What they did with requests is not known.
func (c *completeness) addLeft(p *profile.Profile, a *profile.AbnormalOps) {
	c.leftRanks(a.Call)[p.Rank] += a.Count
	traits, peer := profile.TraitsOf(a.Call), p.WorldRank(a.Comm, a.Peer)
	sends := traits.Any(profile.TraitSends) && !traits.Any(profile.TraitPersistent)
	switch {
	case traits.Any(profile.TraitCompletes | profile.TraitTests | profile.TraitStarts | profile.TraitFrees), sends && a.Comm < 0:
		noteGap(c.sendGaps, p.Rank, gapLeft)
		noteGap(c.receiveGaps, p.Rank, gapLeft)
		return
	case sends && peer >= 0:
		c.pairs.of(matrix.Pair{From: p.Rank, To: peer}).maybeSent += a.Count
	}
	switch {
	case !traits.All(profile.TraitReceives | profile.TraitBlocks):
	case sends || peer < 0: // the source of a Sendrecv is not recorded
		c.anySource[p.Rank] += a.Count
	default:
		c.pairs.of(matrix.Pair{From: peer, To: p.Rank}).maybeGone += a.Count
	}
}

func (s *unmatched) add(a *profile.AbnormalOps) {
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

// pairsThatSent returns a matrix with an entry of zeros for each pair that must have
// sent something, according to unmatched messages.
func (c *completeness) pairsThatSent() *matrix.Matrix {
	m := new(matrix.Matrix)
	for p, s := range c.pairs.known {
		if s.gone > 0 || s.cancelled != (matrix.Volume{}) {
			m.Add(p, matrix.Volume{})
		}
	}
	return m
}

// gapOf returns why a pair cannot be checked; empty if it can.
func (c *completeness) gapOf(p matrix.Pair) Gap {
	if !c.has(p.From) || !c.has(p.To) {
		return gapNotRecorded
	}
	if gap := c.sendGaps[p.From]; gap != "" {
		return gap
	}
	return c.receiveGaps[p.To]
}

// has reports whether a rank is recorded.
func (c *completeness) has(rank int) bool {
	return c.complete && rank < c.size || c.recorded.Contains(rank)
}

// ranksIn returns the ranks that have a gap.
func (c *completeness) ranksIn(gap Gap) profile.RankSet {
	if gap == gapNotRecorded {
		return c.recorded.Complement(c.size)
	}
	var out []int
	for _, of := range []map[int]Gap{c.sendGaps, c.receiveGaps} {
		for r, g := range of {
			if g == gap {
				out = append(out, r)
			}
		}
	}
	return profile.RankSetOf(out...)
}

// explains reports whether the unmatched messages account for the difference between
// sent and received of a pair. It must be called for all pairs in order: each takes
// the messages that it needs of those whose peer is not known, first the receiver's,
// then the sender's. (If both have some, another order could explain more pairs, but
// no known program both cancels sends and frees receives from any source.)
func (c *completeness) explains(p matrix.Pair, x Exchange) bool {
	if x.Sent == x.Received && c.pairs.known[p] == nil {
		return true
	}
	s := unmatched{}
	if known := c.pairs.known[p]; known != nil {
		s = *known
	}
	messages := int64(x.Sent.Messages-x.Received.Messages) - int64(s.cancelled.Messages) - int64(s.gone)
	bytes := int64(x.Sent.Bytes-x.Received.Bytes) - int64(s.cancelled.Bytes)
	if messages < 0 {
		return -messages <= int64(s.maybeSent) // of unknown sizes
	}
	unsized := s.gone + uint64(messages)
	messages -= min(messages, int64(s.maybeGone))
	if !c.take(p, uint64(messages)) {
		return false
	}
	if s.maybeSent > 0 {
		return true
	}
	return bytes == 0 || unsized > 0 && bytes > 0
}

// take uses up n of the messages whose peer is not known. If there are fewer it uses
// none and returns false.
func (c *completeness) take(p matrix.Pair, n uint64) bool {
	if c.anySource[p.To]+c.anyDest[p.From] < n {
		return false
	}
	fromReceiver := min(n, c.anySource[p.To])
	c.anySource[p.To] -= fromReceiver
	c.anyDest[p.From] -= n - fromReceiver
	return true
}
