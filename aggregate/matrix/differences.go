package matrix

import "slices"

// Differences calls visit for each entry that differs between a and b, by row and
// column. A pair without an entry counts as zeros. It needs memory for one row of
// each matrix.
func Differences(a, b *Matrix, visit func(p Pair, a, b Volume)) {
	var senders []int
	for _, m := range []*Matrix{a, b} {
		m.eachRow(func(r fullRow) bool {
			senders = append(senders, r.from)
			return true
		})
	}
	slices.Sort(senders)
	x, y, room := []entry{}, []entry{}, new(vector)
	for _, from := range slices.Compact(senders) {
		x, y = a.copyRow(from, room, x), b.copyRow(from, room, y)
		compareRows(x, y, func(to int32, v, w Volume) { visit(Pair{from, int(to)}, v, w) })
	}
}

// copyRow returns the entries of a row in the memory of out. room is scratch
// memory for expand.
func (m *Matrix) copyRow(from int, room *vector, out []entry) []entry {
	out = out[:0]
	for to, v := range m.rowAt(from).expand(room) {
		out = append(out, entry{int32(to), v})
	}
	return out
}

// compareRows visits the columns in which two rows differ.
func compareRows(a, b []entry, visit func(to int32, a, b Volume)) {
	for len(a) > 0 || len(b) > 0 {
		var to int32
		var v, w Volume
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].index < b[0].index:
			to, v, a = a[0].index, a[0].volume, a[1:]
		case len(a) == 0 || b[0].index < a[0].index:
			to, w, b = b[0].index, b[0].volume, b[1:]
		default:
			to, v, w, a, b = a[0].index, a[0].volume, b[0].volume, a[1:], b[1:]
		}
		if v != w {
			visit(to, v, w)
		}
	}
}
