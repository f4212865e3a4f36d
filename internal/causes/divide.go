package causes

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// laneSum is the part of the late path on one lane, in one kind.
type laneSum struct {
	kind  int // number of the division that used it last
	ns    int64
	count float64
}

// divider has the room for dividing a wait.
type divider struct {
	portioner
	kinds, lanes   []int64 // excess by kind; time by lane
	parts, portion []int64
	on             []int32 // lanes of a kind
	number         int     // of the kinds divided so far
	chain          chain
}

// The late path of a chain computes more on at least chainRanks ranks, and on each of them at least
// 1/chainPart of the wait.
const (
	chainRanks = 3
	chainPart  = 50 // 2 %
)

// divide divides the wait of the last walk three times: among computing and calls, then among kinds of
// bursts and among call sites, then among lanes. Each part is that by which the late path is longer.
func (w *walker) divide(of *wait) {
	d := &w.share
	d.chain.reset()
	var longer [2]int64 // computing, calls
	for _, k := range w.kinds {
		s := &w.byKind[k]
		longer[k&1] += s.late - s.early
	}
	both := [2]int64{max(longer[0], 0), max(longer[1], 0)}
	var parts [2]int64
	d.portions(of.long(), both[:], parts[:])
	for class, part := range parts {
		if part > 0 {
			w.divideKinds(of, kind(class), part)
		}
	}
	d.chain.end(of, &w.sums)
}

// divideKinds divides a part of a wait among the kinds of bursts, or the sites, in which the late
// path is longer.
func (w *walker) divideKinds(of *wait, class kind, part int64) {
	d := &w.share
	d.kinds = d.kinds[:0]
	for _, k := range w.kinds {
		excess := int64(0)
		if s := &w.byKind[k]; k&1 == class {
			excess = max(s.late-s.early, 0)
		}
		d.kinds = append(d.kinds, excess)
	}
	d.parts = slices.Grow(d.parts[:0], len(d.kinds))[:len(d.kinds)]
	d.portions(part, d.kinds, d.parts)
	for i, k := range w.kinds {
		if d.parts[i] > 0 {
			w.divideLanes(of, k, d.parts[i])
		}
	}
}

// divideLanes divides the part of a kind into more and longer bursts, and each among the lanes on
// the late path: "more" by their time in the kind, "longer" by their time beyond the mean of the
// early path.
func (w *walker) divideLanes(of *wait, k kind, part int64) {
	s, d := &w.byKind[k], &w.share
	w.collectLanes(k)
	mean := 0.0
	if s.earlyN > 0 {
		mean = float64(s.early) / s.earlyN
	}
	more := int64(0)
	switch {
	case k.isCall():
	case s.earlyN == 0:
		more = part
	case s.lateN > s.earlyN:
		of := (s.lateN - s.earlyN) * mean / float64(s.late-s.early)
		more = min(int64(math.Round(min(of, 1)*float64(part))), part)
	}
	d.lanes = d.lanes[:0]
	for _, l := range d.on {
		d.lanes = append(d.lanes, w.byLane[l].ns)
	}
	if more > 0 {
		w.book(of, k, more, true)
	}
	if part == more {
		return
	}
	beyond := false
	for i, l := range d.on {
		d.lanes[i] = max(w.byLane[l].ns-int64(math.Round(w.byLane[l].count*mean)), 0)
		beyond = beyond || d.lanes[i] > 0
	}
	if !beyond {
		for i, l := range d.on {
			d.lanes[i] = w.byLane[l].ns
		}
	}
	w.book(of, k, part-more, false)
}

// collectLanes sums the steps of a kind by lane.
func (w *walker) collectLanes(k kind) {
	d := &w.share
	d.number++
	d.on = d.on[:0]
	for i := range w.steps {
		s := &w.steps[i]
		if s.kind != k || s.ns == 0 {
			continue
		}
		at := &w.byLane[s.lane]
		if at.kind != d.number {
			*at = laneSum{kind: d.number}
			d.on = append(d.on, s.lane)
		}
		at.ns += s.ns
		at.count += s.count
	}
}

// book divides a part among the lanes, and adds it to the sums.
func (w *walker) book(of *wait, k kind, part int64, more bool) {
	d := &w.share
	d.portion = slices.Grow(d.portion[:0], len(d.lanes))[:len(d.lanes)]
	d.portions(part, d.lanes, d.portion)
	largest := 0
	for i, ns := range d.portion {
		if ns > d.portion[largest] {
			largest = i
		}
	}
	for i, ns := range d.portion {
		if ns > 0 {
			w.sums.add(cellKey{of.lane, d.on[i], k, of.Place}, ns, more, i == largest)
			if more {
				d.chain.add(w.f.lanes[d.on[i]].Rank, k, ns)
			}
		}
	}
}

// chain finds out whether the "more" of a wait covers several ranks.
type chain struct {
	parts []chainPartOf
}

type chainPartOf struct {
	rank int32
	kind kind
	ns   int64
}

func (c *chain) reset() { c.parts = c.parts[:0] }

func (c *chain) add(rank int32, k kind, ns int64) {
	c.parts = append(c.parts, chainPartOf{rank, k, ns})
}

// end adds the parts to the sums of "more" by kind.
func (c *chain) end(of *wait, to *sums) {
	if len(c.parts) == 0 {
		return
	}
	long := len(c.parts) >= chainRanks && c.ranks(of.long()) >= chainRanks
	for _, p := range c.parts {
		to.addMore(p.kind, p.ns, long)
	}
}

// ranks returns the number of ranks that each have enough of the wait.
func (c *chain) ranks(long int64) int {
	slices.SortFunc(c.parts, func(a, b chainPartOf) int { return cmp.Compare(a.rank, b.rank) })
	n := 0
	for i := 0; i < len(c.parts); {
		rank, sum := c.parts[i].rank, int64(0)
		for ; i < len(c.parts) && c.parts[i].rank == rank; i++ {
			sum += c.parts[i].ns
		}
		if chainPart*sum >= long {
			n++
		}
	}
	return n
}

// portioner divides numbers.
type portioner struct{ rests []rest }

// rest is what is left of an element's exact portion.
type rest struct {
	index int
	part  uint64
}

// portions divides total among the weights, in whole numbers by largest remainder. Of equal
// remainders, the first gets more. It gives nothing if no weight is above 0.
func (p *portioner) portions(total int64, weights, out []int64) {
	sum, some := int64(0), 0
	for i, w := range weights {
		sum += w
		if w > 0 {
			some = i
		}
	}
	clear(out)
	switch {
	case sum == 0:
		return
	case weights[some] == sum: // the usual case
		out[some] = total
		return
	}
	left := total
	p.rests = p.rests[:0]
	for i, w := range weights {
		part, remainder := scaled(total, w, sum)
		out[i] = part
		left -= part
		p.rests = append(p.rests, rest{i, remainder})
	}
	if left > 0 {
		slices.SortStableFunc(p.rests, func(a, b rest) int { return cmp.Compare(b.part, a.part) })
		for _, r := range p.rests[:left] {
			out[r.index]++
		}
	}
}

// scaled returns total × weight ÷ sum, and the remainder.
func scaled(total, weight, sum int64) (int64, uint64) {
	high, low := bits.Mul64(uint64(total), uint64(weight))
	part, remainder := bits.Div64(high, low, uint64(sum))
	return int64(part), remainder
}
