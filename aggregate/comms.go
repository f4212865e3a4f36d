package aggregate

import (
	"cmp"
	"slices"
	"strings"

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

// maxObjects is the largest number of communicators that have sums of their
// own. A job can have as many communicators as ranks.
const maxObjects = 100

// byObject holds sums by the label of a communicator. The first maxObjects
// labels, in the order of compareObjects, have sums of their own; rest is the
// sum of all others. A label that is among the first of the whole job is among
// the first at any time. So the result does not depend on the order in which
// labels are added.
type byObject[T any, P interface {
	*T
	merge(P)
}] struct {
	known map[string]P
	last  string // of known; empty if it is not known
	rest  P      // nil if there are no others
}

// of returns the sum to which values of the object are to be added.
func (b *byObject[T, P]) of(label string) P {
	if sum := b.known[label]; sum != nil {
		return sum
	}
	if b.known == nil {
		b.known = map[string]P{}
	}
	if len(b.known) == maxObjects {
		if b.last == "" {
			for name := range b.known {
				if b.last == "" || compareObjects(name, b.last) > 0 {
					b.last = name
				}
			}
		}
		if compareObjects(label, b.last) > 0 {
			return b.others()
		}
		b.others().merge(b.known[b.last])
		delete(b.known, b.last)
		b.last = ""
	}
	b.known[label] = new(T)
	return b.known[label]
}

func (b *byObject[T, P]) others() P {
	if b.rest == nil {
		b.rest = new(T)
	}
	return b.rest
}

func (b *byObject[T, P]) merge(o *byObject[T, P]) {
	for label, sum := range o.known {
		b.of(label).merge(sum)
	}
	if o.rest != nil {
		b.others().merge(o.rest)
	}
}

// compareObjects orders labels. Communicators that MPI itself made, whose
// labels have no "#" and id, come first.
func compareObjects(a, b string) int {
	return cmp.Or(compareBools(strings.Contains(a, "#"), strings.Contains(b, "#")), cmp.Compare(a, b))
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
