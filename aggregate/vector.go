package aggregate

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Volume is what went from one process to another.
type Volume struct {
	Bytes    uint64 `json:"bytes"`
	Messages uint64 `json:"messages"`
}

func (v *Volume) plus(w Volume) {
	v.Bytes += w.Bytes
	v.Messages += w.Messages
}

func (v *Volume) minus(w Volume) {
	v.Bytes -= w.Bytes
	v.Messages -= w.Messages
}

func (v Volume) times(n uint64) Volume { return Volume{v.Bytes * n, v.Messages * n} }

func (v *Volume) add(r *profile.Row) { v.plus(Volume{r.Bytes, r.Messages}) }

// vector is volumes by place, those that there are: 20 bytes each. The first
// `sorted` are in the order of their places, each once; the rest came later, in
// any order, until settle sorts them in. So additions in order, as a process's
// neighbours and the members of a communicator come, cost nothing but their
// room, and any others the sorting of a batch.
type vector struct {
	at     []int32
	volume []Volume
	sorted int
}

func (x *vector) add(at int32, v Volume) {
	n := len(x.at)
	if n > 0 && x.at[n-1] == at {
		x.volume[n-1].plus(v)
		return
	}
	if n == x.sorted && (n == 0 || x.at[n-1] < at) {
		x.sorted++
	}
	x.at, x.volume = append(x.at, at), append(x.volume, v)
	if late := len(x.at) - x.sorted; late > x.sorted+32 {
		x.settle()
	}
}

// append is add without settling in between, for many at once.
func (x *vector) append(at int32, v Volume) {
	if n := len(x.at); n == x.sorted && (n == 0 || x.at[n-1] < at) {
		x.sorted++
	}
	x.at, x.volume = append(x.at, at), append(x.volume, v)
}

// late appends all of o, to be settled.
func (x *vector) late(o *vector) {
	x.at, x.volume = append(x.at, o.at...), append(x.volume, o.volume...)
}

// settle puts all entries in order: those that came late are sorted, added up,
// and merged in from the end, which takes no room but theirs.
func (x *vector) settle() {
	if x.sorted == len(x.at) {
		return
	}
	late := sortedEntries(x.at[x.sorted:], x.volume[x.sorted:])
	fresh := 0 // of them are at new places
	for i, k := 0, 0; k < len(late); k++ {
		for i < x.sorted && x.at[i] < late[k].at {
			i++
		}
		if i == x.sorted || x.at[i] != late[k].at {
			fresh++
		}
	}
	from, to := x.sorted-1, x.sorted+fresh-1
	x.at, x.volume = x.at[:to+1], x.volume[:to+1]
	for k := len(late) - 1; k >= 0; {
		switch {
		case from >= 0 && x.at[from] == late[k].at:
			x.volume[from].plus(late[k].v)
			k--
			continue
		case from >= 0 && x.at[from] > late[k].at:
			x.at[to], x.volume[to] = x.at[from], x.volume[from]
			from--
		default:
			x.at[to], x.volume[to] = late[k].at, late[k].v
			k--
		}
		to--
	}
	x.sorted = len(x.at)
}

type entry struct {
	at int32
	v  Volume
}

// sortedEntries is each place once, in order.
func sortedEntries(at []int32, volume []Volume) []entry {
	all := make([]entry, len(at))
	for i := range all {
		all[i] = entry{at[i], volume[i]}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	out := all[:0]
	for _, e := range all {
		if n := len(out); n > 0 && out[n-1].at == e.at {
			out[n-1].v.plus(e.v)
			continue
		}
		out = append(out, e)
	}
	return out
}

// get is the volume at a place of a settled vector.
func (x *vector) get(at int32) (Volume, bool) {
	if i, ok := slices.BinarySearch(x.at, at); ok {
		return x.volume[i], true
	}
	return Volume{}, false
}

func (x *vector) merge(o *vector) {
	if len(x.at) == 0 { // most rows come from one place: no more room than they need
		x.at, x.volume, x.sorted = slices.Clone(o.at), slices.Clone(o.volume), o.sorted
		return
	}
	for i, at := range o.at {
		x.add(at, o.volume[i])
	}
}

// sum is both, settled, in a vector of no more room than it needs; one may be
// nil.
func (x *vector) sum(o *vector) *vector {
	if x == nil || o == nil {
		out := new(vector)
		out.merge(cmp.Or(x, o))
		return out
	}
	n := len(x.at) + len(o.at)
	for i, k := 0, 0; i < len(x.at) && k < len(o.at); {
		switch order := cmp.Compare(x.at[i], o.at[k]); {
		case order < 0:
			i++
		case order > 0:
			k++
		default:
			i, k, n = i+1, k+1, n-1
		}
	}
	out := &vector{at: make([]int32, 0, n), volume: make([]Volume, 0, n)}
	i := 0
	for k, at := range o.at {
		for ; i < len(x.at) && x.at[i] <= at; i++ {
			out.append(x.at[i], x.volume[i])
		}
		if last := len(out.at) - 1; last >= 0 && out.at[last] == at {
			out.volume[last].plus(o.volume[k])
			continue
		}
		out.append(at, o.volume[k])
	}
	for ; i < len(x.at); i++ {
		out.append(x.at[i], x.volume[i])
	}
	return out
}

// keep leaves the entries of some places, of a settled vector.
func (x *vector) keep(wanted func(at int) bool) *vector {
	out := new(vector)
	for i, at := range x.at {
		if wanted(int(at)) {
			out.add(at, x.volume[i])
		}
	}
	return out
}
