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

// PhysicalComparison compares what the MPI library of a job sent (physical traffic) with
// what the program asked for (logical volume).
type PhysicalComparison struct {
	Logical  []MatrixTotals `json:"logical"`  // of all ranks, by class of matrix, without Internal
	External MatrixTotals   `json:"external"` // messages of the program, as counted by the MPI library
	Internal MatrixTotals   `json:"internal"` // messages that the MPI library sent on its own behalf
	Sum      matrix.Volume  `json:"sum"`      // External and Internal added up
	// Asked is what the ranks with known physical traffic sent point to point
	// according to the profiles. External should equal it.
	Asked   matrix.Volume     `json:"asked"`
	Known   int               `json:"ranks_known"`
	Unknown []PhysicalUnknown `json:"unknown"`
}

// PhysicalUnknown holds the ranks whose physical traffic is not known for one
// reason.
type PhysicalUnknown struct {
	Ranks profile.RankSet `json:"-"`
	Text  string          `json:"ranks"`
	Why   string          `json:"why"`
}

// physicalSums collects the physical traffic of a job.
type physicalSums struct {
	asked              bool // whether physical traffic was to be recorded
	known              int  // number of ranks
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

// physical returns the physical traffic; nil if it was not to be recorded.
func (s *physicalSums) physical(traffic []MatrixTotals) *PhysicalComparison {
	if !s.asked {
		return nil
	}
	out := &PhysicalComparison{Logical: []MatrixTotals{}, External: s.external, Internal: s.internal, Asked: s.own, Known: s.known, Unknown: s.unknowns()}
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

// unknowns returns the reasons why physical traffic is not known, the reason of
// the most ranks first.
func (s *physicalSums) unknowns() []PhysicalUnknown {
	out := []PhysicalUnknown{}
	for _, why := range slices.Sorted(maps.Keys(s.unknown)) {
		spans := profile.RankSetOf(s.unknown[why]...)
		out = append(out, PhysicalUnknown{spans, spans.String(), why})
	}
	slices.SortStableFunc(out, func(a, b PhysicalUnknown) int { return cmp.Compare(b.Ranks.Len(), a.Ranks.Len()) })
	return out
}

// maxUnknown is the largest number of reasons that the problems of a job list.
const maxUnknown = 4

// problems returns a text for each reason why the physical traffic of ranks is
// not known.
func (s *physicalSums) problems() []string {
	var out []string
	all := s.unknowns()
	for _, u := range all[:min(len(all), maxUnknown)] {
		out = append(out, fmt.Sprintf("what the MPI library sent on %s is unknown: %s", u.Ranks, u.Why))
	}
	if more := len(all) - maxUnknown; more > 0 {
		out = append(out, fmt.Sprintf("nor is it known of other ranks, for %s", text.CountOf(more, "other reason")))
	}
	return out
}
