package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// CommSums holds the sums of the calls on the communicators with one label, over all
// ranks. Calls that name no communicator, such as waits, are in none.
type CommSums struct {
	Label string `json:"label"` // empty for the sum of all communicators that are not listed
	Ranks int    `json:"ranks"` // processes that have the communicator
	Size  int    `json:"size"`  // of the local group; the largest, if several share the label
	Inter bool   `json:"intercommunicator"`
	Totals
	Sent matrix.Volume `json:"sent"` // sends and remote writes
}

func (c *CommSums) merge(o *CommSums) {
	c.Ranks += o.Ranks
	c.Size = max(c.Size, o.Size)
	c.Inter = c.Inter || o.Inter
	c.plus(o.Totals)
	c.Sent.Add(o.Sent)
}

// communicatorSums collects the communicators of a job by label.
type communicatorSums struct{ byObject[CommSums, *CommSums] }

func (s *communicatorSums) add(p *profile.Profile) {
	for _, own := range commTotals([]*profile.Profile{p}) {
		if own.Calls > 0 {
			s.of(own.Label).merge(&CommSums{Ranks: 1, Size: own.Size, Inter: own.Inter, Totals: own.Totals, Sent: own.Sent})
		}
	}
}

// communicators returns the sums by label, the longest time first.
func (s *communicatorSums) communicators() []CommSums {
	out := make([]CommSums, 0, len(s.known)+1)
	for label, sum := range s.known {
		c := *sum
		c.Label = label
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b CommSums) int {
		return cmp.Or(cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(b.Calls, a.Calls), compareObjects(a.Label, b.Label))
	})
	if s.rest != nil {
		out = append(out, *s.rest)
	}
	return out
}
