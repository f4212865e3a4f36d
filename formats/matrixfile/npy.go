package matrixfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// writeNpy writes an n × n array in NumPy's format 1.0, in row-major order. Bytes and
// messages are unsigned 64-bit integers; averages, and means of both directions, are
// doubles.
//
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
func writeNpy(w io.Writer, s *Sheet, q Quantity) error {
	kind := "<u8"
	if q == Avg || s.Symmetric {
		kind = "<f8"
	}
	b := newBuffer(w)
	b.text = append(b.text, npyHeader(kind, s.N)...)
	next := 0 // number of cells written
	fill := func(end int) {
		for ; next < end && b.full(); next++ {
			b.text = append(b.text, 0, 0, 0, 0, 0, 0, 0, 0)
		}
	}
	for p, v := range s.cells() {
		fill(p.From*s.N + p.To)
		if !b.full() {
			break
		}
		n := v.Bytes
		switch {
		case kind == "<f8":
			n = math.Float64bits(s.double(q, v))
		case q == Msg:
			n = v.Messages
		}
		b.text = binary.LittleEndian.AppendUint64(b.text, n)
		next++
	}
	fill(s.N * s.N)
	return b.flush()
}

// npyHeader returns the header, padded to a multiple of 64 bytes.
func npyHeader(kind string, n int) string {
	const magic, align = "\x93NUMPY\x01\x00", 64
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", kind, n, n)
	length := len(magic) + 2 + len(dict) + 1
	dict += strings.Repeat(" ", (align-length%align)%align) + "\n"
	return magic + string(binary.LittleEndian.AppendUint16(nil, uint16(len(dict)))) + dict
}

func npyMinSize(s *Sheet) uint64 { return 8 * uint64(s.N) * uint64(s.N) }
