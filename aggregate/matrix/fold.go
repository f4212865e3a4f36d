package matrix

import (
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Fold adds up lines: entry (a, b) of the result is the sum over the pairs of
// ranks whose lines are a and b. Ranks whose line is negative are left out. A
// collective stays one fan, of lines instead of ranks.
func (m *Matrix) Fold(line func(rank int) int) *Matrix {
	out := new(Matrix)
	for _, from := range slices.Sorted(maps.Keys(m.rows)) {
		a, row := line(from), m.rows[from]
		row.settle()
		for i, to := range row.indices {
			if b := line(int(to)); a >= 0 && b >= 0 {
				out.Add(Pair{a, b}, row.volumes[i])
			}
		}
	}
	for _, f := range m.patterns {
		if f.higherOnly {
			f.foldHigher(out, line)
		} else {
			f.fold(out, line)
		}
	}
	return out
}

// fold is an outer product: what the senders of a line send to a receiver,
// times the receivers of a line. A line may send to itself, its ranks to each
// other, which no fan says: that is an entry.
func (f *groupPattern) fold(out *Matrix, line func(rank int) int) {
	each, weight, self := map[int]Volume{}, map[int]uint64{}, map[int]Volume{}
	for q := range f.to.ranks.Len() {
		if rank := f.to.ranks.At(q); rank >= 0 && line(rank) >= 0 {
			weight[line(rank)] += f.weightOf(q)
		}
	}
	f.senders(func(_, rank int, v Volume) {
		a := line(rank)
		if a < 0 {
			return
		}
		sum := each[a]
		sum.Add(v)
		each[a] = sum
		if q, ok := f.to.indexOf(rank); ok {
			own := self[a]
			own.Add(v.times(f.weightOf(q)))
			self[a] = own
		}
	})
	folded := &groupPattern{from: newGroup(groupOf(each)), to: newGroup(groupOf(weight)), transposed: f.transposed}
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

func groupOf[V any](lines map[int]V) profile.Group {
	list := make([]int32, 0, len(lines))
	for _, a := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, int32(a))
	}
	return profile.Group{List: list}
}

// foldHigher is fold of a fan that reaches the higher places only. Where each
// line is one run of places, as blocks of ranks in order are, it stays such a
// fan, of lines; what a line's ranks send to each other is an entry. Else which
// line is the higher one differs from rank to rank, and the sums are entries.
func (f *groupPattern) foldHigher(out *Matrix, line func(rank int) int) {
	at := make([]int, f.to.ranks.Len()) // the line of each place
	for q := range at {
		at[q] = -1
		if rank := f.to.ranks.At(q); rank >= 0 {
			at[q] = line(rank)
		}
	}
	if runs, ok := runsOf(at); ok {
		f.foldRuns(out, runs)
	} else {
		f.foldScattered(out, at)
	}
}

// run is the places from start to before end, all of one line.
type run struct{ line, start, end int }

// runsOf are the runs of the lines that are not negative, unless a line has
// several.
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

func (f *groupPattern) foldRuns(out *Matrix, runs []run) {
	lines := profile.Group{List: make([]int32, len(runs))}
	folded := &groupPattern{higherOnly: true, transposed: f.transposed, weight: make([]uint64, len(runs))}
	f.each.settle()
	for i, r := range runs {
		sum, inside, receivers := f.sumRun(r)
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

// sumRun is what the senders of a run send to each receiver after them all, what
// they send to each other in total, and the weight of the receivers.
func (f *groupPattern) sumRun(r run) (sum, inside Volume, receivers uint64) {
	for q := r.end - 1; q >= r.start; q-- {
		if each, ok := f.each.get(int32(q)); ok { // of a run with a line, so of this world
			inside.Add(each.times(receivers))
			sum.Add(each)
		}
		receivers += f.weightOf(q)
	}
	return sum, inside, receivers
}

// foldScattered goes through the places once for each line that sends: a
// receiver gets what the senders of the line at lower places send.
func (f *groupPattern) foldScattered(out *Matrix, at []int) {
	each, weight := make([]Volume, len(at)), make([]uint64, len(at))
	first := map[int]int{} // place of each line that sends
	f.senders(func(place, _ int, v Volume) {
		each[place] = v
		if _, ok := first[at[place]]; !ok && at[place] >= 0 {
			first[at[place]] = place
		}
	})
	lines := slices.Sorted(slices.Values(at))
	lines = slices.Compact(lines)
	column := make([]int, len(at)) // of each place in lines
	for q := range at {
		weight[q] = f.weightOf(q)
		column[q], _ = slices.BinarySearch(lines, at[q])
	}
	row := make([]Volume, len(lines))
	for _, a := range slices.Sorted(maps.Keys(first)) {
		clear(row)
		var sum Volume // of the line's senders so far
		for q := first[a]; q < len(at); q++ {
			row[column[q]].Add(sum.times(weight[q]))
			if at[q] == a {
				sum.Add(each[q])
			}
		}
		for i, v := range row {
			if lines[i] >= 0 {
				f.put(out, a, lines[i], v)
			}
		}
	}
}

func (f *groupPattern) put(out *Matrix, a, b int, v Volume) {
	if f.transposed {
		a, b = b, a
	}
	if v != (Volume{}) {
		out.Add(Pair{a, b}, v)
	}
}
