package trace

// queue holds elements by number. They are added and removed mostly in order.
type queue[T any] struct {
	base  uint32 // number of list[0]
	list  []*T   // nil for removed elements
	first int    // index in list of the first element
	held  int
	more  map[uint32]*T // elements whose numbers are far from the others
}

// reach is how far beyond the others a number may be to have a place in list.
const reach = 1 << 10

func (q *queue[T]) put(n uint32, x *T) {
	q.held++
	if q.first == len(q.list) && q.first > 0 || len(q.list) == 0 {
		q.list, q.first, q.base = q.list[:0], 0, n
	}
	at := int(n) - int(q.base)
	if at < q.first || at > len(q.list)+reach {
		if q.more == nil {
			q.more = map[uint32]*T{}
		}
		q.more[n] = x
		return
	}
	for len(q.list) <= at {
		q.list = append(q.list, nil)
	}
	q.list[at] = x
}

// take removes and returns the element with this number, or nil.
func (q *queue[T]) take(n uint32) *T {
	if q.held == 0 {
		return nil
	}
	at := int(n) - int(q.base)
	if at < q.first || at >= len(q.list) || q.list[at] == nil {
		x := q.more[n]
		if x != nil {
			q.held--
			delete(q.more, n)
		}
		return x
	}
	x := q.list[at]
	q.list[at] = nil
	q.held--
	q.skip()
	return x
}

// skip advances first past removed elements. If fewer are left than were removed,
// it moves them to the front of list.
func (q *queue[T]) skip() {
	for q.first < len(q.list) && q.list[q.first] == nil {
		q.first++
	}
	const worth = 64
	if q.first < worth || 2*q.first < len(q.list) {
		return
	}
	n := copy(q.list, q.list[q.first:])
	clear(q.list[n:])
	q.list, q.base, q.first = q.list[:n], q.base+uint32(q.first), 0
}

// drain removes all elements and calls f with each, in no particular order.
func (q *queue[T]) drain(f func(*T)) {
	for _, x := range q.list[q.first:] {
		if x != nil {
			f(x)
		}
	}
	for _, x := range q.more {
		f(x)
	}
	*q = queue[T]{}
}

// halve removes the first half of list and calls f with each element.
func (q *queue[T]) halve(f func(*T)) {
	for n := q.held / 2; n > 0 && q.first < len(q.list); q.first++ {
		if x := q.list[q.first]; x != nil {
			q.list[q.first] = nil
			q.held--
			n--
			f(x)
		}
	}
	q.skip()
}
