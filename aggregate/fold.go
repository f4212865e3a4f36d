package aggregate

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
		for i, to := range row.at {
			if b := line(int(to)); a >= 0 && b >= 0 {
				out.Add(Pair{a, b}, row.volume[i])
			}
		}
	}
	for _, f := range m.fans {
		if f.higher {
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
func (f *fan) fold(out *Matrix, line func(rank int) int) {
	each, weight, self := map[int]Volume{}, map[int]uint64{}, map[int]Volume{}
	for q := range f.to.group.Len() {
		if rank := f.to.group.At(q); rank >= 0 && line(rank) >= 0 {
			weight[line(rank)] += f.weightOf(q)
		}
	}
	f.senders(func(_, rank int, v Volume) {
		a := line(rank)
		if a < 0 {
			return
		}
		sum := each[a]
		sum.plus(v)
		each[a] = sum
		if q, ok := f.to.place(rank); ok {
			own := self[a]
			own.plus(v.times(f.weightOf(q)))
			self[a] = own
		}
	})
	folded := &fan{from: newMembers(groupOf(each)), to: newMembers(groupOf(weight)), turned: f.turned}
	folded.weight = make([]uint64, len(weight))
	for q := range folded.weight {
		folded.weight[q] = weight[folded.to.group.At(q)]
	}
	for p := range len(each) {
		a := folded.from.group.At(p)
		folded.each.add(int32(p), each[a])
		inside := each[a].times(weight[a])
		inside.minus(self[a])
		if inside != (Volume{}) {
			out.Add(Pair{a, a}, inside)
		}
	}
	if len(each) > 0 && len(weight) > 0 {
		out.addFan(folded)
	}
}

func groupOf[V any](lines map[int]V) profile.Group {
	list := make([]int32, 0, len(lines))
	for _, a := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, int32(a))
	}
	return profile.Group{List: list}
}

// foldHigher goes through the group from its end, run by run of places that are
// of one line, and counts the receivers of each line that come after.
func (f *fan) foldHigher(out *Matrix, line func(rank int) int) {
	lineAt := func(place int) int {
		if rank := f.to.group.At(place); rank >= 0 {
			return line(rank)
		}
		return -1
	}
	after := map[int]uint64{}
	f.each.settle()
	for end := f.to.group.Len(); end > 0; {
		a, start := lineAt(end-1), end-1
		for start > 0 && lineAt(start-1) == a {
			start--
		}
		if a >= 0 {
			sum, inside, receivers := f.run(start, end)
			f.put(out, a, a, inside)
			for b, n := range after {
				f.put(out, a, b, sum.times(n))
			}
			after[a] += receivers
		}
		end = start
	}
}

// run sums up the places from start to before end: what its senders send to
// each receiver after them all, what they send to each other in total, and the
// weight of the receivers.
func (f *fan) run(start, end int) (sum, inside Volume, receivers uint64) {
	for q := end - 1; q >= start; q-- {
		if each, ok := f.each.get(int32(q)); ok { // of a run with a line, so of this world
			inside.plus(each.times(receivers))
			sum.plus(each)
		}
		receivers += f.weightOf(q)
	}
	return sum, inside, receivers
}

func (f *fan) put(out *Matrix, a, b int, v Volume) {
	if f.turned {
		a, b = b, a
	}
	if v != (Volume{}) {
		out.Add(Pair{a, b}, v)
	}
}
