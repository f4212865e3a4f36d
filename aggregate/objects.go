package aggregate

import (
	"cmp"
	"strings"
)

// maxObjects is how many communicators have sums of their own. There may be as
// many as ranks.
const maxObjects = 100

// byObject is sums by what communicators are called: those of the maxObjects that
// come first in their order, and one of all others. Who is among the first of
// all is among the first of any part of them: so the order in which they are
// met, and how sums are merged, makes no difference.
type byObject[T any, P interface {
	*T
	merge(P)
}] struct {
	known map[string]P
	rest  P // nil if there are no others
}

// of is the sum to which that of the object is to be added.
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

func (b *byObject[T, P]) merge(o *byObject[T, P]) {
	for label, sum := range o.known {
		b.of(label).merge(sum)
	}
	if o.rest != nil {
		b.others().merge(o.rest)
	}
}

// compareObjects puts what MPI itself made, which has no id in its label, before
// all else.
func compareObjects(a, b string) int {
	return cmp.Or(compareBools(strings.Contains(a, "#"), strings.Contains(b, "#")), cmp.Compare(a, b))
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
