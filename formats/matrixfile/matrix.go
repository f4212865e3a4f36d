// Package matrixfile writes the matrices of a job, in the formats of Table.
//
// Line i, column j of the directed form is what i sent to j. The symmetric form
// has the mean of both directions in both places. It is exact in text, and
// halves are written as such, but in .mat files, which round as Open MPI's
// script profile2mat does; in binary files its means are doubles, exact below
// 2^53.
package matrixfile

import (
	"fmt"
	"io"
	"iter"
	"math/bits"
	"strconv"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// Quantity is what the numbers of a file are.
type Quantity int

const (
	Size Quantity = iota // bytes
	Msg                  // messages
	Avg                  // bytes per message, 0 where there was none
	numQuantities
)

var (
	quantityNames = [numQuantities]string{"size", "msg", "avg"}
	quantityTexts = [numQuantities]string{"bytes", "messages", "bytes per message"}
)

// String is the quantity as file names have it.
func (q Quantity) String() string { return quantityNames[q] }

// Text is the quantity in words.
func (q Quantity) Text() string { return quantityTexts[q] }

// Sheet is a matrix to be written, with what files say of it.
type Sheet struct {
	Matrix    *matrix.Matrix
	N         int  // lines, at least Matrix.Size()
	Symmetric bool // Matrix is the sum of both directions, what is written its half
	Pairs     int  // pairs with an entry, each direction counted, or a lower bound

	Program, Run string
	Class        matrix.Class
	Physical     bool     // messages that the MPI library sent, in place of what was asked for
	Selection    string   // what the matrix is made of, in words; empty if it is all
	Line         string   // what a line is: "rank", "node", "block of 64 ranks"
	Labels       []string // names of lines; nil where they go by number

	Progress func(pairs int) // told of entries that were written; may be nil

	nonzero [numQuantities]int // counted by count
	counted bool
}

// classTexts say what the classes are.
var classTexts = [...]string{
	matrix.All:        "all classes",
	matrix.External:   "point-to-point",
	matrix.Internal:   "sent by the MPI library on its own behalf",
	matrix.OneSided:   "one-sided",
	matrix.Collective: "collectives, their logical volume",
	matrix.Direct:     "point-to-point and one-sided",
}

func (s *Sheet) classText() string {
	switch {
	case s.Physical && s.Class == matrix.All:
		return "what the MPI library sent"
	case s.Physical && s.Class == matrix.External:
		return "point-to-point, as the MPI library sent it"
	}
	return classTexts[s.Class]
}

// cells goes through the entries that are written.
func (s *Sheet) cells() iter.Seq2[matrix.Pair, matrix.Volume] {
	if s.Progress == nil {
		return s.Matrix.All()
	}
	const often = 1 << 14
	return func(yield func(matrix.Pair, matrix.Volume) bool) {
		n := 0
		for p, v := range s.Matrix.All() {
			if !yield(p, v) {
				return
			}
			if n++; n == often {
				s.Progress(n)
				n = 0
			}
		}
	}
}

// title is what the numbers of a quantity are.
func (s *Sheet) title(q Quantity) string {
	ways := fmt.Sprintf("from %s to %s", s.Line, s.Line)
	if s.Symmetric {
		ways = fmt.Sprintf("between %ss, mean of both directions", s.Line)
	}
	return fmt.Sprintf("%s %s: %s", q.Text(), ways, s.classText())
}

// about is what else is known of the matrix, by name, in the order of names.
func (s *Sheet) about() [][2]string {
	var out [][2]string
	for _, pair := range [][2]string{{"class", s.Class.String()}, {"line", s.Line}, {"program", s.Program}, {"run", s.Run}, {"selection", s.Selection}} {
		if pair[1] != "" {
			out = append(out, pair)
		}
	}
	return out
}

// count is how many entries of a quantity are not 0. Those of a symmetric
// matrix are counted on and below the diagonal.
func (s *Sheet) count(q Quantity) int {
	if s.counted {
		return s.nonzero[q]
	}
	for p, v := range s.Matrix.All() {
		if s.Symmetric && p.To > p.From {
			continue
		}
		if v.Bytes > 0 {
			s.nonzero[Size]++
		}
		if v.Messages > 0 {
			s.nonzero[Msg]++
		}
		if v.Bytes > 0 && v.Messages > 0 {
			s.nonzero[Avg]++
		}
	}
	s.counted = true
	return s.nonzero[q]
}

// number prints a number of an entry.
type number func(text []byte, v matrix.Volume) []byte

// exact prints a quantity without rounding, but for averages, which are
// doubles.
func (s *Sheet) exact(q Quantity) number {
	switch {
	case q == Avg:
		return appendQuotient
	case q == Size && s.Symmetric:
		return func(text []byte, v matrix.Volume) []byte { return appendHalf(text, v.Bytes) }
	case q == Msg && s.Symmetric:
		return func(text []byte, v matrix.Volume) []byte { return appendHalf(text, v.Messages) }
	case q == Size:
		return appendSize
	}
	return appendMsg
}

func appendSize(text []byte, v matrix.Volume) []byte { return strconv.AppendUint(text, v.Bytes, 10) }

func appendMsg(text []byte, v matrix.Volume) []byte {
	return strconv.AppendUint(text, v.Messages, 10)
}

// appendHalf prints n/2: 3.5 of 7.
func appendHalf(text []byte, n uint64) []byte {
	text = strconv.AppendUint(text, n/2, 10)
	if n%2 == 1 {
		text = append(text, ".5"...)
	}
	return text
}

// appendQuotient is the same for a sum of both directions as for their mean.
func appendQuotient(text []byte, v matrix.Volume) []byte {
	return strconv.AppendFloat(text, quotient(v), 'g', -1, 64)
}

func quotient(v matrix.Volume) float64 {
	if v.Messages == 0 {
		return 0
	}
	return float64(v.Bytes) / float64(v.Messages)
}

// double is a quantity as a double.
func (s *Sheet) double(q Quantity, v matrix.Volume) float64 {
	n := float64(v.Bytes)
	switch q {
	case Avg:
		return quotient(v)
	case Msg:
		n = float64(v.Messages)
	}
	if s.Symmetric {
		n /= 2
	}
	return n
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

// buffer collects text for a writer. The first error of the writer ends the
// writing: full tells of it, and flush returns it.
type buffer struct {
	w    io.Writer
	text []byte
	err  error
}

// bufferSize is how much is written at once.
const bufferSize = 64 << 10

func newBuffer(w io.Writer) *buffer { return &buffer{w: w, text: make([]byte, 0, bufferSize+4096)} }

// full writes what there is once it is enough, and tells whether to go on.
func (b *buffer) full() bool {
	if len(b.text) >= bufferSize {
		b.flush()
	}
	return b.err == nil
}

func (b *buffer) flush() error {
	if b.err == nil && len(b.text) > 0 {
		_, b.err = b.w.Write(b.text)
	}
	b.text = b.text[:0]
	return b.err
}
