package matrix

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Fold returns the matrix of groups of ranks, called lines: nodes, or blocks of
// ranks. line returns the line of a rank; a rank with a negative one is left out.
// Entry (a, b) of the result is the sum over the pairs of ranks with lines a and b. A
// group pattern stays one, of lines instead of ranks.
func (m *Matrix) Fold(line func(rank int) int) *Matrix {
	out := &Matrix{scratch: m.scratch}
	m.eachEntryRow(func(from int, row *vector) bool {
		a := line(from)
		for i, to := range row.indices {
			if b := line(int(to)); a >= 0 && b >= 0 {
				out.Add(Pair{a, b}, row.volumes[i])
			}
		}
		return true
	})
	for _, g := range m.patterns {
		if g.higherOnly {
			g.foldHigher(out, line)
		} else {
			g.fold(out, line)
		}
	}
	return out
}

// fold adds a pattern to out as an outer product: what the senders of a line send to
// one receiver, times the number of receivers in a line. What ranks of one line send
// to each other is added as an entry, since a pattern has no diagonal.
func (g *groupPattern) fold(out *Matrix, line func(rank int) int) {
	each, weight, self := map[int]Volume{}, map[int]uint64{}, map[int]Volume{}
	for q := range g.to.ranks.Len() {
		if rank := g.to.ranks.At(q); rank >= 0 && line(rank) >= 0 {
			weight[line(rank)] += g.weightOf(q)
		}
	}
	g.senders(func(_, rank int, v Volume) {
		a := line(rank)
		if a < 0 {
			return
		}
		sum := each[a]
		sum.Add(v)
		each[a] = sum
		if q, ok := g.to.indexOf(rank); ok {
			own := self[a]
			own.Add(v.times(g.weightOf(q)))
			self[a] = own
		}
	})
	folded := &groupPattern{from: newGroup(groupOf(each)), to: newGroup(groupOf(weight)), transposed: g.transposed}
	folded.weight = make([]uint64, len(weight))
	for q := range folded.weight {
		folded.weight[q] = weight[folded.to.ranks.At(q)]
	}
	for p := range len(each) {
		a := folded.from.ranks.At(p)
		folded.each.add(int32(p), each[a])
		inside := each[a].times(weight[a])
		inside.Subtract(self[a])
		if inside != (Volume{}) {
			out.Add(Pair{a, a}, inside)
		}
	}
	if len(each) > 0 && len(weight) > 0 {
		out.addPattern(folded)
	}
}

// groupOf returns the lines in ascending order.
func groupOf[V any](lines map[int]V) profile.Group {
	list := make([]int32, 0, len(lines))
	for _, a := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, int32(a))
	}
	return profile.Group{List: list}
}

// foldHigher does what fold does, for a pattern with higherOnly. If each line
// is one run of adjacent members, as blocks of ranks are, the result is a
// higherOnly pattern of lines, plus entries for messages between ranks of one
// line. Otherwise lines have no order, and the sums become entries.
func (g *groupPattern) foldHigher(out *Matrix, line func(rank int) int) {
	at := make([]int, g.to.ranks.Len()) // the line of each member
	for q := range at {
		at[q] = -1
		if rank := g.to.ranks.At(q); rank >= 0 {
			at[q] = line(rank)
		}
	}
	if runs, ok := runsOf(at); ok {
		g.foldRuns(out, runs)
	} else {
		g.foldScattered(out, at)
	}
}

// run is the range of members from index start to before end, all of one line.
type run struct{ line, start, end int }

// runsOf returns the runs of the lines that are not negative. ok is false if a line
// has more than one run.
func runsOf(at []int) (runs []run, ok bool) {
	seen := map[int]bool{}
	for q, a := range at {
		switch {
		case a < 0:
		case q > 0 && at[q-1] == a:
			runs[len(runs)-1].end++
		case seen[a]:
			return nil, false
		default:
			seen[a] = true
			runs = append(runs, run{a, q, q + 1})
		}
	}
	return runs, true
}

// foldRuns folds a pattern whose lines are runs of adjacent members.
func (g *groupPattern) foldRuns(out *Matrix, runs []run) {
	lines := profile.Group{List: make([]int32, len(runs))}
	folded := &groupPattern{higherOnly: true, transposed: g.transposed, weight: make([]uint64, len(runs))}
	g.each.settle()
	for i, r := range runs {
		sum, inside, receivers := g.sumRun(r)
		lines.List[i], folded.weight[i] = int32(r.line), receivers
		if sum != (Volume{}) {
			folded.each.add(int32(i), sum)
		}
		if inside != (Volume{}) {
			out.Add(Pair{r.line, r.line}, inside)
		}
	}
	folded.from = newGroup(lines)
	folded.to = folded.from
	if len(folded.each.indices) > 0 {
		out.addPattern(folded)
	}
}

// sumRun returns what the senders of a run send to one receiver behind the run, the
// total of what they send to each other, and the weight of the run's receivers.
func (g *groupPattern) sumRun(r run) (sum, inside Volume, receivers uint64) {
	for q := r.end - 1; q >= r.start; q-- {
		if each, ok := g.each.get(int32(q)); ok {
			inside.Add(each.times(receivers))
			sum.Add(each)
		}
		receivers += g.weightOf(q)
	}
	return sum, inside, receivers
}

// foldScattered folds a higherOnly pattern whose lines are not runs. It goes through all members
// once for each line that sends. A receiver gets what senders of the line with lower indices send.
func (g *groupPattern) foldScattered(out *Matrix, at []int) {
	each, weight := make([]Volume, len(at)), make([]uint64, len(at))
	first := map[int]int{} // lowest index of a sender, by line
	g.senders(func(index, _ int, v Volume) {
		each[index] = v
		if _, ok := first[at[index]]; !ok && at[index] >= 0 {
			first[at[index]] = index
		}
	})
	lines := slices.Sorted(slices.Values(at))
	lines = slices.Compact(lines)
	column := make([]int, len(at)) // index in lines of each member's line
	for q := range at {
		weight[q] = g.weightOf(q)
		column[q], _ = slices.BinarySearch(lines, at[q])
	}
	row := make([]Volume, len(lines))
	for _, a := range slices.Sorted(maps.Keys(first)) {
		clear(row)
		var sum Volume // what the line's senders so far send to one receiver
		for q := first[a]; q < len(at); q++ {
			row[column[q]].Add(sum.times(weight[q]))
			if at[q] == a {
				sum.Add(each[q])
			}
		}
		for i, v := range row {
			if lines[i] >= 0 {
				g.put(out, a, lines[i], v)
			}
		}
	}
}

// put adds the sum of two lines to out, unless it is zero.
func (g *groupPattern) put(out *Matrix, a, b int, v Volume) {
	if g.transposed {
		a, b = b, a
	}
	if v != (Volume{}) {
		out.Add(Pair{a, b}, v)
	}
}
