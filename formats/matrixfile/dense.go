package matrixfile

import (
	"io"
	"strconv"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// writeMat writes n lines of n numbers, each followed by a space. For the mean
// of both directions, the file is byte for byte that of Open MPI's profile2mat,
// as long as sums are below 2^53. Averages are rounded to integers, halves to
// even; all other numbers are exact.
func writeMat(w io.Writer, s *Sheet, q Quantity) error {
	format := [...]appendNumber{appendSize, appendMsg, appendAvg}[q]
	if s.Symmetric {
		format = [...]appendNumber{appendHalfSize, appendHalfMsg, appendDoubleAvg}[q]
	}
	g := grid{buffer: newBuffer(w), n: s.N}
	for p, v := range s.cells() {
		if !g.zeros(p.From, p.To) {
			break
		}
		g.put(format, v)
	}
	g.zeros(s.N, 0)
	return g.flush()
}

// grid writes cells in row-major order. (row, column) is the next cell to
// write.
type grid struct {
	*buffer
	n           int
	row, column int
}

// zeros writes zeros up to the given cell, and reports whether to continue.
func (g *grid) zeros(row, column int) bool {
	for g.row < row {
		g.run(g.n - g.column)
		if g.err != nil {
			return false
		}
	}
	g.run(column - g.column)
	return g.err == nil
}

var manyZeros = func() (text [4096]byte) {
	for i := range text {
		text[i] = "0 "[i%2]
	}
	return text
}()

// run writes k zeros within a row.
func (g *grid) run(k int) {
	for k > 0 && g.full() {
		some := min(k, len(manyZeros)/2)
		g.text = append(g.text, manyZeros[:2*some]...)
		k -= some
		g.advance(some)
	}
}

func (g *grid) advance(cells int) {
	if g.column += cells; g.column == g.n {
		g.text = append(g.text, '\n')
		g.row, g.column = g.row+1, 0
	}
}

func (g *grid) put(format appendNumber, v matrix.Volume) {
	if g.full() {
		g.text = append(format(g.text, v), ' ')
		g.advance(1)
	}
}

// matMinSize returns the size in bytes of a file of zeros.
func matMinSize(s *Sheet) uint64 { return uint64(s.N) * (2*uint64(s.N) + 1) }

func appendAvg(line []byte, v matrix.Volume) []byte {
	return strconv.AppendUint(line, divide(v.Bytes, v.Messages), 10)
}

func appendHalfSize(line []byte, v matrix.Volume) []byte {
	return strconv.AppendUint(line, divide(v.Bytes, 2), 10)
}

func appendHalfMsg(line []byte, v matrix.Volume) []byte {
	return strconv.AppendUint(line, divide(v.Messages, 2), 10)
}

// appendDoubleAvg divides in doubles, as the script profile2mat does. From 2^52
// bytes on, a quotient close to a half may be rounded to that half first.
func appendDoubleAvg(line []byte, v matrix.Volume) []byte {
	if v.Messages == 0 {
		return append(line, '0')
	}
	return strconv.AppendFloat(line, quotient(v), 'f', 0, 64)
}
