package causes

import "math"

// noLane is the partner of a segment that is no wait.
const noLane = -1

// kind is the kind of a segment: a kind of burst, or the calls at a stop. Those of bursts are even.
type kind int32

// unknownKind is the kind of time of which the calls are not known.
const unknownKind kind = -1

func burstKind(number int32) kind { return kind(2 * number) }
func callKind(stop int32) kind    { return kind(2*stop + 1) }

func (k kind) isCall() bool  { return k&1 == 1 }
func (k kind) number() int32 { return int32(k) / 2 }

// segment is a part of a lane's time. It starts where the segment before it ends.
type segment struct {
	end  int64
	kind kind
	on   int32 // the lane that is waited for, noLane if the segment is no wait
}

// ring holds the latest segments of a lane.
type ring struct {
	segments []segment // a power of 2, or none
	most     int       // a power of 2
	added    int       // number of segments so far
	begin    int64     // of the first segment
}

// leastRing is the number of segments that a ring may hold however many lanes there are: 99 % of
// the walks on 128 ranks visit fewer, on all ranks together.
const (
	leastRing     = 1 << 9
	mostRing      = 1 << 17
	segmentMemory = 16 // bytes
)

// ringRoom returns the number of segments that each of the lanes may keep.
func ringRoom(budget, lanes int) int {
	room := mostRing
	for room > leastRing && room*segmentMemory*max(lanes, 1) > budget {
		room /= 2
	}
	return room
}

// add appends a segment, in place of the oldest if there is no room.
func (r *ring) add(s segment) {
	if r.added == len(r.segments) && r.added < r.most {
		grown := make([]segment, max(2*r.added, 64))
		copy(grown, r.segments)
		r.segments = grown
	}
	r.segments[r.added&(len(r.segments)-1)] = s
	r.added++
}

func (r *ring) at(i int) *segment { return &r.segments[i&(len(r.segments)-1)] }

// oldest returns the index of the oldest segment whose start is known.
func (r *ring) oldest() int {
	if r.added <= len(r.segments) {
		return 0
	}
	return r.added - len(r.segments) + 1
}

func (r *ring) start(i int) int64 {
	if i == 0 {
		return r.begin
	}
	return r.at(i - 1).end
}

// find returns the index of the segment that ends at t or contains t, which is later than the
// start of the oldest and not later than the end of the newest segment. It looks around an index
// first.
func (r *ring) find(t int64, around int) int {
	oldest, newest := r.oldest(), r.added-1
	low := min(max(around, oldest), newest)
	high := low
	if r.at(low).end < t {
		for step := 1; r.at(high).end < t; step *= 2 {
			low, high = high+1, min(high+step, newest)
		}
	} else {
		for step := 1; low > oldest && r.start(low) >= t; step *= 2 {
			high, low = low-1, max(low-step, oldest)
		}
	}
	for low < high {
		if middle := int(uint(low+high) / 2); r.at(middle).end < t {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// lane is the state of a lane.
type lane struct {
	RankThread
	ring
	known    int64 // end of the newest segment
	before   int32 // stop of the last call
	bursts   burstTable
	computed int64  // ns in bursts
	missing  int64  // ns of which the calls are not known
	blocked  []wait // waits whose explanation needs later segments of the lane
	needed   int64  // the earliest time that one of them needs
}

// block keeps a wait until the lane is known up to the given time.
func (l *lane) block(w wait, needed int64) {
	if len(l.blocked) == 0 || needed < l.needed {
		l.needed = needed
	}
	l.blocked = append(l.blocked, w)
}

// add appends a segment, unless it is empty.
func (l *lane) add(end int64, k kind, on int32) {
	if end > l.known {
		l.ring.add(segment{end, k, on})
		l.known = end
	}
}

// Numbers gives values numbers, from 0.
type Numbers[T comparable] struct {
	List []T // by number
	of   map[T]int32
}

// Of returns the number of a value.
func (n *Numbers[T]) Of(value T) int32 {
	number, ok := n.of[value]
	if !ok {
		if n.of == nil {
			n.of = map[T]int32{}
		}
		number = int32(len(n.List))
		n.of[value] = number
		n.List = append(n.List, value)
	}
	return number
}

func burstKey(before, after int32) uint64 { return uint64(before)<<32 | uint64(uint32(after)) }

// burstSum adds up the bursts of one kind on a lane.
type burstSum struct {
	key    uint64 // burstKey plus 1, 0 if there is none
	number int32
	count  uint32
	sum    int64   // ns
	square float64 // sum of the squares
}

func (b *burstSum) add(ns int64) {
	b.count++
	b.sum += ns
	b.square += float64(ns) * float64(ns)
}

// error returns the standard error of the sum: the spread of the bursts × √their number.
func (b *burstSum) error() float64 {
	if b.count < 2 {
		return 0
	}
	n := float64(b.count)
	mean := float64(b.sum) / n
	return math.Sqrt(n * max(b.square-n*mean*mean, 0) / (n - 1))
}

// burstTable has the sums of a lane, in a hash table.
type burstTable struct {
	slots []burstSum
	held  int
}

// at returns the sum of a kind of burst, and adds it if there is none.
func (t *burstTable) at(numbers *Numbers[[2]int32], before, after int32) *burstSum {
	if 2*t.held >= len(t.slots) {
		t.grow()
	}
	key := burstKey(before, after) + 1
	s := t.slot(key)
	if s.key == 0 {
		*s = burstSum{key: key, number: numbers.Of([2]int32{before, after})}
		t.held++
	}
	return s
}

func (t *burstTable) slot(key uint64) *burstSum {
	mask := uint64(len(t.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

func (t *burstTable) grow() {
	old := t.slots
	t.slots = make([]burstSum, max(2*len(old), 8))
	for _, s := range old {
		if s.key != 0 {
			*t.slot(s.key) = s
		}
	}
}

// of returns the sum of a kind of burst, which is empty if the lane has none.
func (t *burstTable) of(stops [2]int32) burstSum {
	if len(t.slots) == 0 {
		return burstSum{}
	}
	return *t.slot(burstKey(stops[0], stops[1]) + 1)
}
