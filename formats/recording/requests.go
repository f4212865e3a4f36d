package recording

// requests holds the requests that have not completed, with the latest event of
// each. Requests are numbered in the order of their creation, so that most open
// ones have consecutive numbers and are found by their low bits. The few others
// are in a map.
type requests struct {
	near [nearRequests]requestLink
	far  map[uint32]int32
}

const nearRequests = 1 << 14

type requestLink struct {
	number uint32 // 0 for none
	latest int32
}

func newRequests() *requests { return &requests{far: map[uint32]int32{}} }

func (r *requests) get(number uint32) (latest int32, open bool) {
	if at := &r.near[number%nearRequests]; at.number == number {
		return at.latest, number != 0
	}
	if len(r.far) == 0 {
		return 0, false
	}
	latest, open = r.far[number]
	return latest, open
}

func (r *requests) put(number uint32, latest int32) {
	at := &r.near[number%nearRequests]
	if at.number != number {
		if at.number != 0 {
			r.far[at.number] = at.latest
		}
		if len(r.far) > 0 {
			delete(r.far, number)
		}
	}
	*at = requestLink{number, latest}
}

func (r *requests) delete(number uint32) {
	if at := &r.near[number%nearRequests]; at.number == number {
		at.number = 0
	} else if len(r.far) > 0 {
		delete(r.far, number)
	}
}
