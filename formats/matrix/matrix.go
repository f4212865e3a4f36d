// Package matrix writes dense .mat files: n lines of n numbers, each followed
// by a space, as Open MPI's script profile2mat does.
//
// Line i, column j of the directed form is what process i sent to process j.
// The symmetric form has the mean of both directions in both places.
package matrix

import (
	"bufio"
	"io"
	"math/bits"
	"strconv"

	"github.com/mpitrace/mpitrace/aggregate"
)

// Quantity is what the numbers of a file are.
type Quantity int

const (
	Size Quantity = iota // bytes
	Msg                  // messages
	Avg                  // bytes per message, 0 where there was none
	numQuantities
)

var quantityNames = [numQuantities]string{"size", "msg", "avg"}

// String is the quantity as file names have it.
func (q Quantity) String() string { return quantityNames[q] }

// Quantities lists them, in the order in which files are written.
func Quantities() []Quantity { return []Quantity{Size, Msg, Avg} }

// format prints a number of an entry.
type format func(line []byte, v aggregate.Volume) []byte

// Write writes the directed n × n matrix of a quantity; n is at least m.Size().
// Averages are rounded to integers, halves to the even one. All numbers are
// exact.
func Write(w io.Writer, m *aggregate.Matrix, n int, q Quantity) error {
	return write(w, m, n, [...]format{appendSize, appendMsg, appendAvg}[q])
}

// WriteSymmetric writes the mean of both directions, byte for byte what Open
// MPI's profile2mat writes while sums stay below 2^53. Above, sizes and
// messages are still exact here.
func WriteSymmetric(w io.Writer, m *aggregate.Matrix, n int, q Quantity) error {
	return write(w, m.Symmetric(), n, [...]format{appendHalfSize, appendHalfMsg, appendDoubleAvg}[q])
}

func write(w io.Writer, m *aggregate.Matrix, n int, number format) error {
	g := grid{w: bufio.NewWriterSize(w, 64<<10), n: n}
	for p, v := range m.All() {
		g.zeros(p.From, p.To)
		g.put(number(g.cell[:0], v))
	}
	g.zeros(n, 0)
	return g.w.Flush() // which also reports an earlier failure
}

// grid writes cells in order; (row, column) is the next one.
type grid struct {
	w           *bufio.Writer
	n           int
	row, column int
	cell        []byte
}

func (g *grid) zeros(row, column int) {
	for g.row < row || g.row == row && g.column < column {
		g.put(append(g.cell[:0], '0'))
	}
}

func (g *grid) put(cell []byte) {
	g.cell = append(cell, ' ')
	if g.column++; g.column == g.n {
		g.cell = append(g.cell, '\n')
		g.row, g.column = g.row+1, 0
	}
	g.w.Write(g.cell)
}

// Bytes is a lower bound of the length of a file.
func Bytes(n int) uint64 { return uint64(n) * (2*uint64(n) + 1) }

func appendSize(line []byte, v aggregate.Volume) []byte {
	return strconv.AppendUint(line, v.Bytes, 10)
}

func appendMsg(line []byte, v aggregate.Volume) []byte {
	return strconv.AppendUint(line, v.Messages, 10)
}

func appendAvg(line []byte, v aggregate.Volume) []byte {
	return strconv.AppendUint(line, divide(v.Bytes, v.Messages), 10)
}

func appendHalfSize(line []byte, v aggregate.Volume) []byte {
	return strconv.AppendUint(line, divide(v.Bytes, 2), 10)
}

func appendHalfMsg(line []byte, v aggregate.Volume) []byte {
	return strconv.AppendUint(line, divide(v.Messages, 2), 10)
}

// appendDoubleAvg divides as the script does, in doubles: from 2^52 bytes on,
// a quotient just beside a half may become that half.
func appendDoubleAvg(line []byte, v aggregate.Volume) []byte {
	if v.Messages == 0 {
		return append(line, '0')
	}
	return strconv.AppendFloat(line, float64(v.Bytes)/float64(v.Messages), 'f', 0, 64)
}

// divide is a/b to the nearest integer, halves to the even one; 0 for b = 0.
func divide(a, b uint64) uint64 {
	if b == 0 {
		return 0
	}
	q, r := a/b, a%b
	carry, twice := bits.Mul64(r, 2)
	if carry > 0 || twice > b || twice == b && q%2 == 1 {
		q++
	}
	return q
}
