package aggregate

import (
	"cmp"
	"strings"
)

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
	rest  P // nil if there are no others
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
		last := ""
		for name := range b.known {
			if last == "" || compareObjects(name, last) > 0 {
				last = name
			}
		}
		if compareObjects(label, last) > 0 {
			return b.others()
		}
		b.others().merge(b.known[last])
		delete(b.known, last)
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
