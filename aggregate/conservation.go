package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// maxListed is the largest number of differing pairs that are listed.
const maxListed = 10

// AllRanks, given to Job.Conservation as the rank, checks the whole job.
const AllRanks = -1

// Verdict is the result of the check.
type Verdict string

const (
	Conserved   Verdict = "ok"      // all pairs were compared, and each received what was sent
	PartlyKnown Verdict = "partial" // the pairs that could be compared agree
	Differs     Verdict = "differs"
	NoMessages  Verdict = "none" // there is nothing to compare
)

// Conservation compares, for each ordered pair of ranks, the point-to-point
// messages that the one sent with those that the other received from it.
//
// Messages and receives that did not complete normally (profile.AbnormalOps) are taken
// into account: a pair may differ by them. If such a message was certainly sent, the
// pair must differ by it.
type Conservation struct {
	Verdict  Verdict       `json:"verdict"`
	Pairs    int           `json:"pairs"`    // number of compared pairs
	Sent     matrix.Volume `json:"sent"`     // by the senders of these pairs
	Received matrix.Volume `json:"received"` // by the receivers of these pairs
	// Explained is the number of pairs that differ only by messages in Abnormal.
	Explained   int             `json:"pairs_explained"`
	Unequal     int             `json:"pairs_differing"`
	Differing   []Imbalance     `json:"differing"` // at most 10, largest difference first
	Abnormal    []AbnormalCount `json:"abnormal"`
	NotCompared []NotCompared   `json:"not_compared"`
	OtherWorlds Exchange        `json:"other_worlds"` // exchanged with processes of other jobs, which are not compared
}

// Imbalance is a pair of ranks that received less or more than was sent.
type Imbalance struct {
	matrix.Pair
	Exchange
}

// Exchange is what one rank sent to another, and what the other received from it.
type Exchange struct {
	Sent     matrix.Volume `json:"sent"`
	Received matrix.Volume `json:"received"`
}

// AbnormalCount is the number of operations of one kind, over all ranks.
type AbnormalCount struct {
	Kind  string `json:"kind"` // name of a profile.AbnormalKind
	Count uint64 `json:"count"`
	Ranks string `json:"ranks"` // "rank 3", "ranks 0-2, 5"
}

// NotCompared are ranks whose record is too incomplete to compare.
type NotCompared struct {
	Reason Gap    `json:"reason"`
	Ranks  string `json:"ranks"`
	Pairs  int    `json:"pairs"` // pairs with known messages
}

// check is a Conservation while it is computed.
type check struct {
	*Conservation
	completeness *completeness
	rank         int
	unequal      []Imbalance
	gaps         map[Gap]int // number of pairs that were not compared
}

// exchange is what ranks received from each other (row: sender, column:
// receiver), and what they exchanged with other worlds.
type exchange struct {
	received  matrix.Matrix
	elsewhere map[int]Exchange // by rank
}

func (x *exchange) add(p *profile.Profile) {
	var elsewhere Exchange
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Class != profile.P2P || p.Rank < 0 || r.Direction != profile.Send && r.Direction != profile.Recv {
			continue
		}
		switch peer := p.WorldRank(r.Comm, r.Peer); {
		case r.Direction == profile.Recv && peer >= 0:
			x.received.Add(matrix.Pair{From: peer, To: p.Rank}, matrix.Volume{Bytes: r.Bytes, Messages: r.Messages})
		case peer == profile.PeerElsewhere && r.Direction == profile.Send:
			elsewhere.Sent.AddRow(r)
		case peer == profile.PeerElsewhere:
			elsewhere.Received.AddRow(r)
		}
	}
	x.addElsewhere(p.Rank, elsewhere)
}

func (x *exchange) addElsewhere(rank int, e Exchange) {
	if e == (Exchange{}) {
		return
	}
	if x.elsewhere == nil {
		x.elsewhere = map[int]Exchange{}
	}
	sum := x.elsewhere[rank]
	sum.plus(e)
	x.elsewhere[rank] = sum
}

func (e *Exchange) plus(o Exchange) {
	e.Sent.Add(o.Sent)
	e.Received.Add(o.Received)
}

func (x *exchange) merge(o *exchange) {
	x.received.Merge(&o.received)
	for rank, e := range o.elsewhere {
		x.addElsewhere(rank, e)
	}
}

// Conservation checks the pairs of one rank, or of the whole job if rank is AllRanks.
func (j *Job) Conservation(rank int) *Conservation {
	c := &check{completeness: j.completeness.of(j), rank: rank, gaps: map[Gap]int{},
		Conservation: &Conservation{Abnormal: j.completeness.abnormal(rank), NotCompared: []NotCompared{}}}
	for r, e := range j.exchange.elsewhere {
		if rank < 0 || r == rank {
			c.OtherWorlds.plus(e)
		}
	}
	sent, received := &j.Matrices()[matrix.External], &j.exchange.received
	if more := c.completeness.pairsThatSent(); !more.Empty() {
		more.Merge(sent)
		sent = more
	}
	matrix.Join(sent, received, func(p matrix.Pair, v, w matrix.Volume) { c.compare(p, Exchange{v, w}) })
	c.conclude()
	return c.Conservation
}

func (c *check) compare(p matrix.Pair, x Exchange) {
	if c.rank >= 0 && p.From != c.rank && p.To != c.rank {
		return
	}
	if gap := c.completeness.gapOf(p); gap != "" {
		c.gaps[gap]++
		return
	}
	c.Pairs++
	c.Sent.Add(x.Sent)
	c.Received.Add(x.Received)
	switch {
	case !c.completeness.explains(p, x):
		c.unequal = append(c.unequal, Imbalance{p, x})
	case x.Sent != x.Received:
		c.Explained++
	}
}

func (c *check) conclude() {
	for _, gap := range gaps {
		ranks := c.completeness.ranksIn(gap)
		if c.gaps[gap] > 0 || ranks.Len() > 0 && (c.rank < 0 || ranks.Contains(c.rank)) {
			c.NotCompared = append(c.NotCompared, NotCompared{gap, ranks.String(), c.gaps[gap]})
		}
	}
	slices.SortFunc(c.unequal, compareImbalances)
	c.Unequal = len(c.unequal)
	c.Differing = append([]Imbalance{}, c.unequal[:min(len(c.unequal), maxListed)]...)
	switch {
	case c.Unequal > 0:
		c.Verdict = Differs
	case len(c.NotCompared) > 0 || c.OtherWorlds != Exchange{}:
		c.Verdict = PartlyKnown
	case c.Pairs == 0:
		c.Verdict = NoMessages
	default:
		c.Verdict = Conserved
	}
}

// problems returns a text if the check failed. A partial check is not a
// problem.
func (c *Conservation) problems() []Loss {
	if c.Unequal == 0 {
		return nil
	}
	return []Loss{{"pairs whose messages differ", uint64(c.Unequal), 1, fmt.Sprintf("sent and received differ for %s of ranks", text.CountOf(c.Unequal, "pair"))}}
}

// compareImbalances sorts by the difference in bytes, then in messages, the
// largest first.
func compareImbalances(a, b Imbalance) int {
	return cmp.Or(
		cmp.Compare(distance(b.Sent.Bytes, b.Received.Bytes), distance(a.Sent.Bytes, a.Received.Bytes)),
		cmp.Compare(distance(b.Sent.Messages, b.Received.Messages), distance(a.Sent.Messages, a.Received.Messages)),
		a.Pair.Compare(b.Pair))
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// abnormal returns the number of operations that did not complete normally, by
// kind.
func (c *completeness) abnormal(rank int) []AbnormalCount {
	out := []AbnormalCount{}
	for k, byRank := range c.counts {
		s := AbnormalCount{Kind: profile.AbnormalKind(k).String()}
		var ranks []int
		for _, r := range slices.Sorted(maps.Keys(byRank)) {
			if rank < 0 || r == rank {
				s.Count += byRank[r]
				ranks = append(ranks, r)
			}
		}
		if s.Count > 0 {
			s.Ranks = profile.RankSetOf(ranks...).String()
			out = append(out, s)
		}
	}
	return out
}
