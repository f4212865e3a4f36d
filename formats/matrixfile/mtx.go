package matrixfile

import (
	"fmt"
	"io"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
)

// writeMtx writes Matrix Market's coordinate format: the entries that are not
// 0, with rows and columns counted from 1. For a symmetric matrix it writes
// those on and below the diagonal, as the format requires. Averages and means
// are real numbers.
//
// https://math.nist.gov/MatrixMarket/formats.html
func writeMtx(w io.Writer, s *Sheet, q Quantity) error {
	field, symmetry := "integer", "general"
	if s.Symmetric {
		field, symmetry = "real", "symmetric"
	}
	if q == Avg {
		field = "real"
	}
	b := newBuffer(w)
	b.text = fmt.Appendf(b.text, "%%%%MatrixMarket matrix coordinate %s %s\n%% %s\n", field, symmetry, text.Line(s.title(q)))
	if !s.Symmetric {
		b.text = fmt.Appendf(b.text, "%% line: from, column: to; %s 0 is line 1\n", s.Line)
	}
	for _, is := range s.about() {
		b.text = fmt.Appendf(b.text, "%% %s: %s\n", is[0], text.Line(is[1]))
	}
	for i, name := range s.Labels {
		b.text = fmt.Appendf(b.text, "%% line %d: %s\n", i+1, text.Line(name))
		if !b.full() {
			return b.err
		}
	}
	b.text = fmt.Appendf(b.text, "%d %d %d\n", s.N, s.N, s.count(q))
	format := s.exact(q)
	for p, v := range s.cells() {
		if s.Symmetric && p.To > p.From || q != Msg && v.Bytes == 0 || q != Size && v.Messages == 0 {
			continue
		}
		b.text = append(strconv.AppendInt(b.text, int64(p.From)+1, 10), ' ')
		b.text = append(strconv.AppendInt(b.text, int64(p.To)+1, 10), ' ')
		b.text = append(format(b.text, v), '\n')
		if !b.full() {
			break
		}
	}
	return b.flush()
}

// mtxMinSize counts the two directions of a pair once if they share an entry.
func mtxMinSize(s *Sheet) uint64 {
	pairs := s.Pairs
	if s.Symmetric {
		pairs /= 2
	}
	return uint64(len("1 1 1\n")) * uint64(pairs)
}
