package matrix

import "iter"

// Differences calls visit for each entry that differs between a and b, by row and
// column. A pair without an entry counts as zeros.
func Differences(a, b *Matrix, visit func(p Pair, a, b Volume)) {
	Join(a, b, func(p Pair, v, w Volume) {
		if v != w {
			visit(p, v, w)
		}
	})
}

// Join calls visit for each pair that has an entry in a or b, by row and column. A pair
// without an entry counts as zeros. It needs memory for one row of each matrix.
func Join(a, b *Matrix, visit func(p Pair, a, b Volume)) {
	nextA, stopA := iter.Pull(a.eachRow)
	defer stopA()
	nextB, stopB := iter.Pull(b.eachRow)
	defer stopB()
	x, y := vector{}, vector{}
	r, moreA := nextA()
	s, moreB := nextB()
	for moreA || moreB {
		from := s.from
		if moreA && (!moreB || r.from < s.from) {
			from = r.from
		}
		left, right := new(vector), new(vector)
		fromA, fromB := moreA && r.from == from, moreB && s.from == from
		if fromA {
			left = r.sum(&x)
		}
		if fromB {
			right = s.sum(&y)
		}
		joinRows(left, right, func(to int32, v, w Volume) { visit(Pair{from, int(to)}, v, w) })
		if fromA {
			r, moreA = nextA()
		}
		if fromB {
			s, moreB = nextB()
		}
	}
}

// joinRows visits the columns of two settled rows.
func joinRows(a, b *vector, visit func(to int32, a, b Volume)) {
	i, k := 0, 0
	for i < len(a.indices) || k < len(b.indices) {
		switch {
		case k == len(b.indices) || i < len(a.indices) && a.indices[i] < b.indices[k]:
			visit(a.indices[i], a.volumes[i], Volume{})
			i++
		case i == len(a.indices) || b.indices[k] < a.indices[i]:
			visit(b.indices[k], Volume{}, b.volumes[k])
			k++
		default:
			visit(a.indices[i], a.volumes[i], b.volumes[k])
			i, k = i+1, k+1
		}
	}
}
