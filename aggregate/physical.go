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

// Physical is what the MPI library of a job sent, beside the volume that the
// program asked for, which it names logical.
type Physical struct {
	Logical  []MatrixTotals `json:"logical"`  // of all ranks: all but what the library sent on its own behalf
	External MatrixTotals   `json:"external"` // messages of the program, as the library counts them
	Internal MatrixTotals   `json:"internal"` // messages of the library's own
	Sum      matrix.Volume  `json:"sum"`      // of both
	// Asked is what the ranks that are known sent point to point by their own
	// record: what External is to be.
	Asked   matrix.Volume     `json:"asked"`
	Known   int               `json:"ranks_known"`
	Unknown []PhysicalUnknown `json:"unknown"`
}

// PhysicalUnknown is why nothing is known of some ranks.
type PhysicalUnknown struct {
	Ranks profile.RankSet `json:"-"`
	Text  string          `json:"ranks"`
	Why   string          `json:"why"`
}

// physicalSums are a job's on the way to that.
type physicalSums struct {
	asked              bool // somebody asked the library
	known              int  // ranks
	external, internal MatrixTotals
	own                matrix.Volume
	unknown            map[string][]int
}

func (s *physicalSums) add(p *profile.Profile) {
	if p.Physical == nil {
		return
	}
	s.asked = true
	if why := p.Physical.Unknown; why != "" {
		s.lack(why, p.Rank)
		return
	}
	s.known++
	for i := range p.Physical.Flows {
		f := &p.Physical.Flows[i]
		to := &s.external
		if f.Kind == profile.Internal {
			to = &s.internal
		}
		to.Bytes += f.Bytes
		to.Messages += f.Messages
		to.Pairs++
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Class == profile.P2P && r.Direction == profile.Send && p.WorldRank(r.Comm, r.Peer) >= 0 {
			s.own.AddRow(r)
		}
	}
}

func (s *physicalSums) lack(why string, ranks ...int) {
	if s.unknown == nil {
		s.unknown = map[string][]int{}
	}
	s.unknown[why] = append(s.unknown[why], ranks...)
}

func (s *physicalSums) merge(o *physicalSums) {
	s.asked = s.asked || o.asked
	s.known += o.known
	for _, sum := range []struct{ to, from *MatrixTotals }{{&s.external, &o.external}, {&s.internal, &o.internal}} {
		sum.to.Add(sum.from.Volume)
		sum.to.Pairs += sum.from.Pairs
	}
	s.own.Add(o.own)
	for why, ranks := range o.unknown {
		s.lack(why, ranks...)
	}
}

// physical is nil where nobody asked.
func (s *physicalSums) physical(traffic []MatrixTotals) *Physical {
	if !s.asked {
		return nil
	}
	out := &Physical{Logical: []MatrixTotals{}, External: s.external, Internal: s.internal, Asked: s.own, Known: s.known, Unknown: s.unknowns()}
	for _, t := range traffic {
		if t.Class != matrix.Internal.String() {
			out.Logical = append(out.Logical, t)
		}
	}
	out.External.Class, out.Internal.Class = matrix.External.String(), matrix.Internal.String()
	out.Sum = out.External.Volume
	out.Sum.Add(out.Internal.Volume)
	return out
}

// unknowns has the reason of most ranks first.
func (s *physicalSums) unknowns() []PhysicalUnknown {
	out := []PhysicalUnknown{}
	for _, why := range slices.Sorted(maps.Keys(s.unknown)) {
		spans := profile.RankSetOf(s.unknown[why]...)
		out = append(out, PhysicalUnknown{spans, spans.String(), why})
	}
	slices.SortStableFunc(out, func(a, b PhysicalUnknown) int { return cmp.Compare(b.Ranks.Len(), a.Ranks.Len()) })
	return out
}

// maxUnknown is how many reasons the problems of a job name.
const maxUnknown = 4

// problems says of which ranks nobody knows what the library sent.
func (s *physicalSums) problems() []string {
	var out []string
	all := s.unknowns()
	for _, u := range all[:min(len(all), maxUnknown)] {
		out = append(out, fmt.Sprintf("what the MPI library sent is not known of %s: %s", u.Ranks, u.Why))
	}
	if more := len(all) - maxUnknown; more > 0 {
		out = append(out, fmt.Sprintf("nor is it known of other ranks, for %s", text.CountOf(more, "other reason")))
	}
	return out
}
