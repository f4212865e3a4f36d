package matrix

import (
	"cmp"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Volume is an amount of data: bytes, and the messages that carried them. For
// collectives it is the logical volume: what the definition of the call moves
// between the members, no matter how the MPI library does it.
type Volume struct {
	Bytes    uint64 `json:"bytes"`
	Messages uint64 `json:"messages"`
}

// Add adds w, modulo 2^64.
func (v *Volume) Add(w Volume) {
	v.Bytes += w.Bytes
	v.Messages += w.Messages
}

// Subtract subtracts w, modulo 2^64.
func (v *Volume) Subtract(w Volume) {
	v.Bytes -= w.Bytes
	v.Messages -= w.Messages
}

func (v Volume) times(n uint64) Volume { return Volume{v.Bytes * n, v.Messages * n} }

// AddRow adds the bytes and messages of a row.
func (v *Volume) AddRow(r *profile.Row) { v.Add(Volume{r.Bytes, r.Messages}) }

// vector is a sparse vector of volumes of 20 bytes each: volumes[i] is at
// indices[i]. The first `sorted` entries are in ascending order of their
// indices, without duplicates. The others are in any order until settle sorts
// them in. Additions mostly come in ascending order, as neighbours and members
// of a communicator do; these only append. Other additions are sorted in
// batches.
type vector struct {
	indices []int32
	volumes []Volume
	sorted  int
}

// add adds v at an index.
func (x *vector) add(at int32, v Volume) {
	n := len(x.indices)
	if n > 0 && x.indices[n-1] == at {
		x.volumes[n-1].Add(v)
		return
	}
	if n == x.sorted && (n == 0 || x.indices[n-1] < at) {
		x.sorted++
	}
	x.indices, x.volumes = append(x.indices, at), append(x.volumes, v)
	if late := len(x.indices) - x.sorted; late > x.sorted+32 {
		x.settle()
	}
}

// append is like add, but never settles. It is for many additions in a row.
func (x *vector) append(at int32, v Volume) {
	if n := len(x.indices); n == x.sorted && (n == 0 || x.indices[n-1] < at) {
		x.sorted++
	}
	x.indices, x.volumes = append(x.indices, at), append(x.volumes, v)
}

// appendAll appends all of o, which settle sorts in later.
func (x *vector) appendAll(o *vector) {
	x.indices, x.volumes = append(x.indices, o.indices...), append(x.volumes, o.volumes...)
}

// settle sorts all entries and adds up duplicates. It merges in place, from the end,
// so it needs memory only for the entries that were not sorted.
func (x *vector) settle() {
	if x.sorted == len(x.indices) {
		return
	}
	late := sortedEntries(x.indices[x.sorted:], x.volumes[x.sorted:])
	fresh := 0 // number of late entries with a new index
	for i, k := 0, 0; k < len(late); k++ {
		for i < x.sorted && x.indices[i] < late[k].index {
			i++
		}
		if i == x.sorted || x.indices[i] != late[k].index {
			fresh++
		}
	}
	from, to := x.sorted-1, x.sorted+fresh-1
	x.indices, x.volumes = x.indices[:to+1], x.volumes[:to+1]
	for k := len(late) - 1; k >= 0; {
		switch {
		case from >= 0 && x.indices[from] == late[k].index:
			x.volumes[from].Add(late[k].volume)
			k--
			continue
		case from >= 0 && x.indices[from] > late[k].index:
			x.indices[to], x.volumes[to] = x.indices[from], x.volumes[from]
			from--
		default:
			x.indices[to], x.volumes[to] = late[k].index, late[k].volume
			k--
		}
		to--
	}
	x.sorted = len(x.indices)
}

type entry struct {
	index  int32
	volume Volume
}

// sortedEntries returns the entries in ascending order, with duplicates added up.
func sortedEntries(at []int32, volume []Volume) []entry {
	all := make([]entry, len(at))
	for i := range all {
		all[i] = entry{at[i], volume[i]}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	out := all[:0]
	for _, e := range all {
		if n := len(out); n > 0 && out[n-1].index == e.index {
			out[n-1].volume.Add(e.volume)
			continue
		}
		out = append(out, e)
	}
	return out
}

// get returns the volume at an index of a settled vector.
func (x *vector) get(at int32) (Volume, bool) {
	if i, ok := slices.BinarySearch(x.indices, at); ok {
		return x.volumes[i], true
	}
	return Volume{}, false
}

// merge adds all entries of o.
func (x *vector) merge(o *vector) {
	if len(x.indices) == 0 { // usual, since most rows come from one profile: an exact copy
		x.indices, x.volumes, x.sorted = slices.Clone(o.indices), slices.Clone(o.volumes), o.sorted
		return
	}
	for i, at := range o.indices {
		x.add(at, o.volumes[i])
	}
}

// appendSum appends the sum of two settled vectors to x, which is empty.
func (x *vector) appendSum(a, b *vector) {
	i := 0
	for k, at := range b.indices {
		for ; i < len(a.indices) && a.indices[i] <= at; i++ {
			x.append(a.indices[i], a.volumes[i])
		}
		if last := len(x.indices) - 1; last >= 0 && x.indices[last] == at {
			x.volumes[last].Add(b.volumes[k])
			continue
		}
		x.append(at, b.volumes[k])
	}
	for ; i < len(a.indices); i++ {
		x.append(a.indices[i], a.volumes[i])
	}
}

// clear removes all entries, and keeps their memory.
func (x *vector) clear() { *x = vector{indices: x.indices[:0], volumes: x.volumes[:0]} }

// size returns the largest rank of any entry of the settled row of a rank, plus 1; 0 if it
// is empty.
func (x *vector) size(from int) int {
	if n := len(x.indices); n > 0 {
		return max(from, int(x.indices[n-1])) + 1
	}
	return 0
}

func (x *vector) sumOfAll() (sum Volume) {
	for _, v := range x.volumes {
		sum.Add(v)
	}
	return sum
}
