package causes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Names are the names of the numbers that a Finder was given.
type Names struct {
	Stops  []Stop // those of InitStop and FinalizeStop come first
	Places []WaitPlace
	Ranks  []Rank // by RankThread.Rank
	// Total is ranks × run time, in ns.
	Total float64
	// Sliced says that the job has several slices.
	Sliced bool
}

// WaitPlace is where lanes wait.
type WaitPlace struct {
	Stop    int32
	Pattern string
	Slice   string
}

// Rank is a rank.
type Rank struct {
	Number  int
	Program string // "" if the job has one program
	// Own is the rank's own time as a part of its threads' time, see profile.Times.
	Own float64
}

// chainOf is the part of a kind's order cost that makes it a chain: a third.
const chainOf = 3

// certain is how many standard errors a difference of two times must have.
const certain = 2

// causeKey is what the waits of one cause have in common.
type causeKey struct {
	class    Class
	kind     kind
	from, to string // programs
}

// causeSum adds up a cause.
type causeSum struct {
	cost    int64
	waits   uint64
	pairs   int
	waiting map[int32]waiting  // by rank that waits
	ranks   map[int32]int64    // ns, by rank that causes it
	seen    map[int32]*seenSum // by place
	pair    [2]int32           // the last pair of ranks
}

// waiting is for how long a rank waits: in calls, and at its end.
type waiting struct{ calls, end int64 }

type seenSum struct {
	cost  int64
	ranks map[int32]bool
}

// classes puts the parts of waits into classes.
type classes struct {
	portioner
	f      *Finder
	names  Names
	sums   map[causeKey]*causeSum
	chains []moreSum // by kind
	cells  []cell    // of one pair of lanes
	// Room that is used for one pair after the other.
	more, out []int64
}

// Causes returns the causes of all waits, the largest cost first.
func (f *Finder) Causes(names Names) ([]Cause, error) {
	c := &classes{f: f, names: names, sums: map[causeKey]*causeSum{}}
	var all []*sums
	for _, w := range f.walkers {
		all = append(all, &w.sums)
		for k, m := range w.sums.more {
			for k >= len(c.chains) {
				c.chains = append(c.chains, moreSum{})
			}
			c.chains[k].all += m.all
			c.chains[k].chain += m.chain
		}
	}
	err := eachCell(all, func(next *cell) {
		if n := len(c.cells); n > 0 && (c.cells[0].waits != next.waits || c.cells[0].causes != next.causes) {
			c.pair()
		}
		c.cells = append(c.cells, *next)
	})
	if err != nil {
		return nil, err
	}
	c.pair()
	return c.list(), nil
}

// pair decides about the waits of one lane that another one causes. A lane that computes longer than
// the other in a kind of burst, in the whole run, causes imbalance up to that difference: first of
// what longer bursts cost, then of what more bursts cost, up to the difference of all bursts.
func (c *classes) pair() {
	if len(c.cells) == 0 {
		return
	}
	waits, causes := c.cells[0].waits, c.cells[0].causes
	left := int64(0)
	if causes != noLane {
		left = max(c.f.lanes[causes].computed-c.f.lanes[waits].computed, 0)
	}
	c.more = c.more[:0]
	kinds := slices.Collect(sameKind(c.cells))
	for _, cells := range kinds {
		left -= c.longer(cells)
		more := int64(0)
		for i := range cells {
			more += cells[i].more
		}
		c.more = append(c.more, more)
	}
	sum := int64(0)
	for _, more := range c.more {
		sum += more
	}
	imbalance := make([]int64, len(kinds))
	c.portions(min(max(left, 0), sum), c.more, imbalance)
	for i, cells := range kinds {
		c.splitMore(cells, imbalance[i])
	}
	c.cells = c.cells[:0]
}

// sameKind divides the cells of a pair by kind.
func sameKind(cells []cell) func(yield func([]cell) bool) {
	return func(yield func([]cell) bool) {
		for len(cells) > 0 {
			n := 1
			for n < len(cells) && cells[n].kind == cells[0].kind {
				n++
			}
			if !yield(cells[:n]) {
				return
			}
			cells = cells[n:]
		}
	}
}

// longer puts the cost of longer bursts of one kind, of calls or of unknown time into classes, and
// returns which part of this cost is imbalance.
func (c *classes) longer(cells []cell) int64 {
	first := &cells[0]
	switch {
	case first.kind == unknownKind:
		c.put(Unknown, cells)
		return 0
	case first.kind.isCall():
		c.put(InCall, cells)
		return 0
	}
	sum := int64(0)
	for i := range cells {
		sum += cells[i].longer
	}
	stops := c.f.bursts.List[first.kind.number()]
	causes, waits := c.f.lanes[first.causes].bursts.of(stops), c.f.lanes[first.waits].bursts.of(stops)
	difference := causes.sum - waits.sum
	if difference <= 0 || float64(difference) < certain*causes.error() {
		difference = 0
	}
	imbalance := min(sum, difference)
	c.split(cells, func(x *cell) (int64, uint64) { return x.longer, x.longerWaits }, imbalance, Varying)
	return imbalance
}

// splitMore puts the cost of more bursts of one kind into classes.
func (c *classes) splitMore(cells []cell, imbalance int64) {
	k := cells[0].kind
	if k == unknownKind || k.isCall() {
		return
	}
	rest := Order
	if int(k) < len(c.chains) {
		if m := c.chains[k]; m.chain > 0 && chainOf*m.chain >= m.all {
			rest = Chain
		}
	}
	c.split(cells, func(x *cell) (int64, uint64) { return x.more, x.moreWaits }, imbalance, rest)
}

// split divides a cost of several places among imbalance and another class.
func (c *classes) split(cells []cell, cost func(*cell) (int64, uint64), imbalance int64, rest Class) {
	c.out = c.out[:0]
	for i := range cells {
		ns, _ := cost(&cells[i])
		c.out = append(c.out, ns)
	}
	part := make([]int64, len(cells))
	c.portions(imbalance, c.out, part)
	for i := range cells {
		ns, n := cost(&cells[i])
		c.book(Imbalance, &cells[i], part[i], n)
		c.book(rest, &cells[i], ns-part[i], n)
	}
}

func (c *classes) put(class Class, cells []cell) {
	for i := range cells {
		c.book(class, &cells[i], cells[i].longer, cells[i].longerWaits)
	}
}

// book adds a cost to a cause.
func (c *classes) book(class Class, at *cell, ns int64, waits uint64) {
	if ns == 0 {
		return
	}
	a, r := rankOf(c.f.lanes, at.waits), rankOf(c.f.lanes, at.causes)
	key := causeKey{class: class, kind: at.kind, from: c.names.Ranks[a].Program}
	if r >= 0 {
		key.to = c.names.Ranks[r].Program
	}
	s := c.sums[key]
	if s == nil {
		s = &causeSum{waiting: map[int32]waiting{}, ranks: map[int32]int64{}, seen: map[int32]*seenSum{}, pair: [2]int32{-1, -1}}
		c.sums[key] = s
	}
	s.cost += ns
	s.waits += waits
	if pair := [2]int32{a, r}; pair != s.pair {
		s.pair = pair
		s.pairs++
	}
	w := s.waiting[a]
	if c.names.Places[at.place].Pattern == EndedEarly {
		w.end += ns
	} else {
		w.calls += ns
	}
	s.waiting[a] = w
	if class != Unknown {
		s.ranks[r] += ns
	}
	seen := s.seen[at.place]
	if seen == nil {
		seen = &seenSum{ranks: map[int32]bool{}}
		s.seen[at.place] = seen
	}
	seen.cost += ns
	seen.ranks[a] = true
}

// list returns the causes, the largest first.
func (c *classes) list() []Cause {
	list := make([]Cause, 0, len(c.sums))
	times := burstTimes{}
	for i := range c.f.lanes {
		times.add(&c.f.lanes[i], len(c.names.Ranks))
	}
	for key, s := range c.sums {
		list = append(list, c.cause(key, s, times))
	}
	slices.SortFunc(list, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.CostNs, a.CostNs), cmp.Compare(a.Class, b.Class), strings.Compare(a.place(), b.place()),
			strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return list
}

// place returns a text that distinguishes the causes of a class.
func (c *Cause) place() string {
	at := ""
	if c.Call != nil {
		at = c.Call.Call + " " + c.Call.Callsite
	}
	if b := c.Burst; b != nil {
		at = strings.Join([]string{b.Before.Call, b.Before.Callsite, b.After.Call, b.After.Callsite}, " ")
	}
	return at
}

func (c *classes) cause(key causeKey, s *causeSum, times burstTimes) Cause {
	out := Cause{Class: key.class, CostNs: s.cost, Waits: max(s.waits, 1), Pairs: s.pairs, From: key.from, To: key.to, Ranks: []RankCost{}}
	switch {
	case key.kind == unknownKind:
	case key.kind.isCall():
		stop := c.names.Stops[key.kind.number()]
		out.Call = &stop
	default:
		stops := c.f.bursts.List[key.kind.number()]
		out.Burst = &Burst{c.names.Stops[stops[0]], c.names.Stops[stops[1]]}
	}
	weighted := 0.0
	for _, a := range slices.Sorted(maps.Keys(s.waiting)) {
		w := s.waiting[a]
		weighted += float64(w.calls)*c.names.Ranks[a].Own + float64(w.end)
	}
	if c.names.Total > 0 {
		out.Share = weighted / c.names.Total
	}
	for r, ns := range s.ranks {
		out.Ranks = append(out.Ranks, RankCost{c.names.Ranks[r].Number, ns})
	}
	slices.SortFunc(out.Ranks, func(a, b RankCost) int { return cmp.Or(cmp.Compare(b.CostNs, a.CostNs), cmp.Compare(a.Rank, b.Rank)) })
	out.Named, out.Alone = c.named(&out, key, times)
	c.places(&out, s)
	return out
}

// named returns the ranks that are named for a cause. alone reports whether only these ranks have bursts
// of its kind.
func (c *classes) named(out *Cause, key causeKey, times burstTimes) (profile.RankSet, bool) {
	var named []int
	var by []int64 // time in such bursts, by rank
	if out.Burst != nil {
		by = times[key.kind]
	}
	if key.class == Imbalance {
		named = c.aboveMean(by, key.to)
	}
	for _, r := range out.Ranks {
		if len(named) > 0 && key.class == Imbalance || 2*r.CostNs < out.Ranks[0].CostNs {
			break
		}
		named = append(named, r.Rank)
	}
	slices.Sort(named)
	alone := by != nil
	for r, ns := range by {
		if _, found := slices.BinarySearch(named, c.names.Ranks[r].Number); ns > 0 && !found && c.names.Ranks[r].Program == key.to {
			alone = false
		}
	}
	return profile.RankSetOf(named...), alone
}

// aboveMean returns the ranks of a program that compute longer than its ranks do in the mean.
func (c *classes) aboveMean(by []int64, program string) []int {
	n, sum := int64(0), int64(0)
	for r, ns := range by {
		if c.names.Ranks[r].Program == program {
			n++
			sum += ns
		}
	}
	var above []int
	for r, ns := range by {
		if c.names.Ranks[r].Program == program && float64(ns) > float64(sum)/float64(n) {
			above = append(above, c.names.Ranks[r].Number)
		}
	}
	return above
}

// places adds where others wait because of a cause, and the slices of these waits.
func (c *classes) places(out *Cause, s *causeSum) {
	type where struct {
		stop    int32
		pattern string
	}
	at := map[where]*seenSum{}
	bySlice := map[string]int64{}
	for place, sum := range s.seen {
		p := c.names.Places[place]
		bySlice[p.Slice] += sum.cost
		w := where{p.Stop, p.Pattern}
		if at[w] == nil {
			at[w] = &seenSum{ranks: map[int32]bool{}}
		}
		at[w].cost += sum.cost
		maps.Copy(at[w].ranks, sum.ranks)
	}
	out.Seen = make([]Seen, 0, len(at))
	for w, sum := range at {
		ranks := make([]int, 0, len(sum.ranks))
		for r := range sum.ranks {
			ranks = append(ranks, c.names.Ranks[r].Number)
		}
		slices.Sort(ranks)
		out.Seen = append(out.Seen, Seen{c.names.Stops[w.stop], w.pattern, profile.RankSetOf(ranks...), sum.cost})
	}
	slices.SortFunc(out.Seen, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(b.CostNs, a.CostNs), strings.Compare(a.Call, b.Call), strings.Compare(a.Callsite, b.Callsite), strings.Compare(a.Pattern, b.Pattern))
	})
	if c.names.Sliced {
		out.Slices = bySlice
	}
}

// burstTimes are the times in bursts by kind, then by rank.
type burstTimes map[kind][]int64

func (t burstTimes) add(l *lane, ranks int) {
	for i := range l.bursts.slots {
		b := &l.bursts.slots[i]
		if b.key == 0 {
			continue
		}
		by := t[burstKind(b.number)]
		if by == nil {
			by = make([]int64, ranks)
			t[burstKind(b.number)] = by
		}
		by[l.Rank] += b.sum
	}
}
