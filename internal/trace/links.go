package trace

// request is what an event that posted something leaves to the one that tells
// that it completed.
type request struct {
	posted posting // of a receive
	sent   *message
	joined *instance   // the collective that was started
	as     participant // of it
}

// links are the requests under way of a process, by the number of the event that
// completes them. Most are completed soon, so that the low bits of the number
// find them; what has no room that way is in a map.
type links struct {
	slots []link
	more  map[int64]request
}

type link struct {
	at int64 // the slot is free if that event has been
	request
}

const (
	fewLinks  = 64
	manyLinks = 1 << 14
)

// put keeps the request of event now for event at, which comes later.
func (l *links) put(now, at int64, q request) {
	if l.slots == nil {
		l.slots = make([]link, fewLinks)
	}
	for {
		slot := &l.slots[int(at)&(len(l.slots)-1)]
		if slot.at <= now {
			*slot = link{at, q}
			return
		}
		if len(l.slots) == manyLinks {
			break
		}
		l.grow(now)
	}
	if l.more == nil {
		l.more = map[int64]request{}
	}
	l.more[at] = q
}

// grow keeps each number in a slot of its own: two that differ below do so above.
func (l *links) grow(now int64) {
	old := l.slots
	l.slots = make([]link, 2*len(old))
	for _, slot := range old {
		if slot.at > now {
			l.slots[int(slot.at)&(len(l.slots)-1)] = slot
		}
	}
}

// take gives the request that the event completes, if it is known.
func (l *links) take(at int64) (request, bool) {
	if l.slots != nil {
		if slot := &l.slots[int(at)&(len(l.slots)-1)]; slot.at == at && at > 0 {
			q := slot.request
			*slot = link{}
			return q, true
		}
	}
	q, ok := l.more[at]
	if ok {
		delete(l.more, at)
	}
	return q, ok
}
