// Package matrixfile writes the communication matrices of a job, in the formats
// of Table.
//
// Row i, column j of the directed form is what i sent to j. The symmetric form
// has the mean of both directions at (i, j) and at (j, i). Text formats write
// means exactly, with halves such as 3.5; only .mat files round them, as Open
// MPI's script profile2mat does. Binary formats write means as doubles, which
// are exact below 2^53.
package matrixfile

import (
	"fmt"
	"io"
	"iter"
	"math/bits"
	"strconv"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// Quantity is what the numbers in a file measure.
type Quantity int

const (
	Size Quantity = iota // bytes
	Msg                  // messages
	Avg                  // bytes per message; 0 if there was none
	numQuantities
)

var (
	quantityNames = [numQuantities]string{"size", "msg", "avg"}
	quantityTexts = [numQuantities]string{"bytes", "messages", "bytes per message"}
)

// String returns the quantity as in file names.
func (q Quantity) String() string { return quantityNames[q] }

// Text returns a description of the quantity.
func (q Quantity) Text() string { return quantityTexts[q] }

// Sheet is a matrix to be written, with its metadata. A line is a row and the
// column of the same index.
type Sheet struct {
	Matrix    *matrix.Matrix
	N         int  // number of lines, at least Matrix.Size()
	Symmetric bool // Matrix is the sum of both directions; files have half of each sum
	Pairs     int  // number of pairs with an entry, counting each direction, or a lower bound of it

	Program, Run string
	Class        matrix.TrafficClass
	Physical     bool     // messages that the MPI library sent, not those that the program asked for
	Selection    string   // description of what was selected; empty if everything was
	Line         string   // what a line stands for: "rank", "node", "block of 64 ranks"
	Labels       []string // names of lines; nil if lines are numbered only

	Progress func(pairs int) // called with the number of entries written since the last call; may be nil

	nonzero [numQuantities]int // cache of count
	counted bool
}

// classTexts describes the classes of matrices.
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

// cells iterates over the entries, and reports progress.
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

// title returns a sentence that describes the numbers of a quantity.
func (s *Sheet) title(q Quantity) string {
	ways := fmt.Sprintf("from %s to %s", s.Line, s.Line)
	if s.Symmetric {
		ways = fmt.Sprintf("between %ss, mean of both directions", s.Line)
	}
	return fmt.Sprintf("%s %s: %s", q.Text(), ways, s.classText())
}

// about returns the metadata of the matrix as names and values, sorted by name.
func (s *Sheet) about() [][2]string {
	var out [][2]string
	for _, pair := range [][2]string{{"class", s.Class.String()}, {"line", s.Line}, {"program", s.Program}, {"run", s.Run}, {"selection", s.Selection}} {
		if pair[1] != "" {
			out = append(out, pair)
		}
	}
	return out
}

// count returns the number of entries of a quantity that are not 0. For a
// symmetric matrix it counts those on and below the diagonal.
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

// appendNumber appends one quantity of an entry to a text.
type appendNumber func(text []byte, v matrix.Volume) []byte

// exact returns the function that appends a quantity without rounding. Averages
// are doubles.
func (s *Sheet) exact(q Quantity) appendNumber {
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

// appendHalf appends n/2, as 3.5 for 7.
func appendHalf(text []byte, n uint64) []byte {
	text = strconv.AppendUint(text, n/2, 10)
	if n%2 == 1 {
		text = append(text, ".5"...)
	}
	return text
}

// appendQuotient appends the average size of the messages. The sum of both directions and their
// mean (--symmetric) have the same average.
func appendQuotient(text []byte, v matrix.Volume) []byte {
	return strconv.AppendFloat(text, quotient(v), 'g', -1, 64)
}

func quotient(v matrix.Volume) float64 {
	if v.Messages == 0 {
		return 0
	}
	return float64(v.Bytes) / float64(v.Messages)
}

// double returns a quantity of an entry as a double.
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

// divide returns a/b rounded to the nearest integer, halves to even; 0 if b is
// 0.
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

// buffer collects text for a writer. After the writer's first error it writes
// nothing, full returns false, and flush returns that error.
type buffer struct {
	w    io.Writer
	text []byte
	err  error
}

// bufferSize is the number of bytes written at a time.
const bufferSize = 64 << 10

func newBuffer(w io.Writer) *buffer { return &buffer{w: w, text: make([]byte, 0, bufferSize+4096)} }

// full writes the text if the buffer is full, and reports whether to continue.
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
