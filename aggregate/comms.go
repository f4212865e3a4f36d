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
	s.each(func(label string, others bool, sum *CommSums) {
		c := *sum
		c.Label = label
		out = append(out, c)
	})
	own := out[:len(s.known)] // the last one is the sum of the others
	slices.SortFunc(own, func(a, b CommSums) int {
		return cmp.Or(cmp.Compare(b.TimeNs, a.TimeNs), cmp.Compare(b.Calls, a.Calls), compareObjects(a.Label, b.Label))
	})
	return out
}

// A mergeable sum can be added to another one.
type mergeable[T any] interface {
	*T
	merge(*T)
}

// sumsBy holds sums by a key. The zero value is empty.
type sumsBy[K comparable, T any, P mergeable[T]] struct{ known map[K]P }

// of returns the sum of a key, which is new if there was none.
func (s *sumsBy[K, T, P]) of(key K) P {
	if sum := s.known[key]; sum != nil {
		return sum
	}
	sum := P(new(T))
	s.add(key, sum)
	return sum
}

// add adds a sum to that of its key. The first one of a key is kept.
func (s *sumsBy[K, T, P]) add(key K, sum P) {
	if known := s.known[key]; known != nil {
		known.merge(sum)
		return
	}
	if s.known == nil {
		s.known = map[K]P{}
	}
	s.known[key] = sum
}

// merge adds the sums of o, which must not be used afterwards.
func (s *sumsBy[K, T, P]) merge(o *sumsBy[K, T, P]) {
	for key, sum := range o.known {
		s.add(key, sum)
	}
}

// maxObjects is the largest number of communicators that have sums of their
// own. A job can have as many communicators as ranks.
const maxObjects = 100

// byObject holds sums by the label of a communicator. The first maxObjects
// labels, in the order of compareObjects, have sums of their own; rest is the
// sum of all others. A label that is among the first of the whole job is among
// the first at any time. So the result does not depend on the order in which
// labels are added.
type byObject[T any, P mergeable[T]] struct {
	sumsBy[string, T, P]
	last string // of known; empty if it is not known
	rest P      // nil if there are no others
}

// of returns the sum to which values of the object are to be added.
func (b *byObject[T, P]) of(label string) P {
	if len(b.known) == maxObjects && b.known[label] == nil {
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
	return b.sumsBy.of(label)
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

// each visits the sums in no order and, at last, with others and without a label, that of all
// objects that have no sum of their own.
func (b *byObject[T, P]) each(visit func(label string, others bool, sum P)) {
	for label, sum := range b.known {
		visit(label, false, sum)
	}
	if b.rest != nil {
		visit("", true, b.rest)
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
