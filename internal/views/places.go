package views

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
)

// leastPlace is a width of the column of places in a terminal. Other columns are left out to
// give it up to this width.
const leastPlace = 28

// waitPlace holds the waits of one pattern at one call site.
type waitPlace struct {
	pattern            trace.Pattern
	site, communicator string
	time               float64 // s
	count              uint64
	pairs              []timeOf[[2]int] // rank that waited and rank that it waited for; longest first
	partners           []timeOf[string] // call sites of the calls that it waited for; longest first
}

// timeOf is the sum of the times of all waits with one key.
type timeOf[K comparable] struct {
	key  K
	time float64 // s
}

// addTime adds a time to the entry with a key, and returns the list.
func addTime[K comparable](list []timeOf[K], key K, time float64) []timeOf[K] {
	i := slices.IndexFunc(list, func(t timeOf[K]) bool { return t.key == key })
	if i < 0 {
		return append(list, timeOf[K]{key, time})
	}
	list[i].time += time
	return list
}

func longestFirst[K comparable](list []timeOf[K]) {
	slices.SortStableFunc(list, func(a, b timeOf[K]) int { return cmp.Compare(b.time, a.time) })
}

// waitPlaces returns the sums of the wait states over the ranks, the longest time first.
func waitPlaces(r *trace.Result) (list []waitPlace) {
	type key struct {
		pattern            trace.Pattern
		site, communicator string
	}
	at := map[key]int{}              // index in list
	for _, s := range r.WaitStates { // the longest first
		k := key{s.Pattern, s.Callsite, s.Communicator}
		i, known := at[k]
		if !known {
			i = len(list)
			at[k] = i
			list = append(list, waitPlace{pattern: s.Pattern, site: s.Callsite, communicator: s.Communicator})
		}
		p := &list[i]
		p.time += s.Time
		p.count += s.Count
		p.pairs = addTime(p.pairs, [2]int{s.Rank, s.Peer}, s.Time)
		p.partners = addTime(p.partners, s.PeerCallsite, s.Time)
	}
	for i := range list {
		longestFirst(list[i].pairs)
		longestFirst(list[i].partners)
	}
	slices.SortStableFunc(list, func(a, b waitPlace) int { return cmp.Compare(b.time, a.time) })
	return list
}

// places returns the section of the waits by call site.
func (a *analysis) places() Section {
	out := Section{ID: "wait-places", Title: "Where ranks wait"}
	type R = waitPlace
	list := waitPlaces(a.Result)
	t := tableOf("wait_places", list,
		col("callsite", "where", Words, func(p *R) Cell { return siteCell(p.site) }),
		col("pattern", "waits", Words, func(p *R) Cell { return wordsCell(p.pattern.String()) }),
		col("communicator", "communicator", Words, func(p *R) Cell { return wordsCell(p.communicator) }).spare(1),
		numberColumn(func(p *R) uint64 { return p.count }).spare(2),
		secondsColumn("time_ns", "time", func(p *R) float64 { return p.time }),
		col("most", "most: rank for rank", OfColumn, func(p *R) Cell { return p.longestPair() }).spare(3),
	).top(a.top, "place", topTrace)
	t.Least = leastPlace
	for i := range list {
		t.Rows[i].Callers, t.Rows[i].Below = callersOf(list[i].site), list[i].partnerText()
	}
	out.Add(t)
	out.Detail(func() { out.Add(a.longestTable()) })
	return out
}

// longestPair returns the pair of ranks with the longest waits, and their time if there are
// other pairs.
func (p *waitPlace) longestPair() Cell {
	most := p.pairs[0]
	c := Cell{fmt.Sprintf("%d for %d", most.key[0], most.key[1]), most.time}
	if len(p.pairs) > 1 {
		return c.with(", %s", seconds(most.time))
	}
	return c
}

// partnerText returns the call site that was waited for longest. If there are other call
// sites, it adds the time and their number. It is empty if the only call site is that of the
// wait itself.
func (p *waitPlace) partnerText() string {
	most := p.partners[0]
	others := len(p.partners) - 1
	if most.key == "" || most.key == p.site && others == 0 {
		return ""
	}
	words := partner(p.pattern) + ": " + most.key
	if others > 0 {
		words += fmt.Sprintf(", %s; %s, %s", seconds(most.time), text.CountOf(others, "other place"), seconds(p.time-most.time))
	}
	return words
}

// longestTable returns the waits by rank and place.
func (a *analysis) longestTable() *Table {
	type R = trace.WaitState
	list := a.WaitStates[:min(len(a.WaitStates), mostLongestWaits)]
	t := tableOf("longest_waits", list,
		col("callsite", "where", Words, func(w *R) Cell { return siteCell(w.Callsite) }),
		col("pattern", "waits", Words, func(w *R) Cell { return wordsCell(w.Pattern.String()) }),
		col("communicator", "communicator", Words, func(w *R) Cell { return wordsCell(w.Communicator) }),
		col("rank", "rank", Rank, func(w *R) Cell { return rankCell(w.Rank) }),
		col("peer", "waits for", Rank, func(w *R) Cell { return rankCell(w.Peer) }),
		col("peer_callsite", "which is in", Words, func(w *R) Cell {
			switch w.PeerCallsite {
			case "":
				return missing
			case w.Callsite:
				return wordsCell("the same")
			}
			return wordsCell(w.PeerCallsite)
		}),
		numberColumn(func(w *R) uint64 { return w.Count }),
		secondsColumn("time_ns", "time", func(w *R) float64 { return w.Time }),
		secondsColumn("max_ns", "longest", func(w *R) float64 { return w.Max }),
	).named("the longest waits, by rank and place").top(a.top, "wait", "")
	t.Rest = len(a.WaitStates) - len(list)
	for i := range list {
		t.Rows[i].Callers = callersOf(list[i].Callsite)
	}
	return t
}
