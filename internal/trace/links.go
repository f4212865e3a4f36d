package trace

// request is what the event that posted an operation passes to the event that
// completes it.
type request struct {
	posted posting // of a receive
	sent   *message
	joined *instance   // the nonblocking collective
	as     participant // the process's part in it
}

// links holds the requests under way of a process, by the number of the event
// that completes them. Most are completed soon, and are found by the low bits
// of that number. Those without a slot are in a map.
type links struct {
	slots []link
	more  map[int64]request
}

type link struct {
	at int64 // the slot is free once this event has passed
	request
}

const (
	fewLinks  = 64
	manyLinks = 1 << 14
)

// put keeps the request of event now for the later event at.
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

// grow doubles the slots. Numbers in different slots stay in different slots.
func (l *links) grow(now int64) {
	old := l.slots
	l.slots = make([]link, 2*len(old))
	for _, slot := range old {
		if slot.at > now {
			l.slots[int(slot.at)&(len(l.slots)-1)] = slot
		}
	}
}

// take returns the request that the event completes. ok is false if it is
// unknown.
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
