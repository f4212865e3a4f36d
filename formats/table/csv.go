package table

import (
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/text"
)

// CSVWriter writes a table as CSV (RFC 4180, but with Unix line ends). The
// first line has the names of the columns. Numbers are plain, nulls are empty.
// Texts are escaped by text.Cell: otherwise a spreadsheet that opens the file
// would execute a phase named =cmd().
type CSVWriter[T any] struct {
	out   io.Writer
	cols  []cells[T]
	block []T
	kind  func(T) int
	kinds [][]string // cells of the columns that are PerKind, by kind
	lines []byte     // lines that are not yet written
}

// csvBuffer is how many bytes of lines a writer collects before it writes them.
const csvBuffer = 64 << 10

// NewCSVWriter returns a writer, and writes the first line.
func NewCSVWriter[T any](w io.Writer, cols []Column[T], o Options[T]) (*CSVWriter[T], error) {
	t := &CSVWriter[T]{out: w, cols: cellsOf(cols, "", csvCell), block: make([]T, 0, blockRows), kind: o.Kind}
	for i := range cols {
		if i > 0 {
			t.lines = append(t.lines, ',')
		}
		t.lines = append(t.lines, cols[i].Name...)
	}
	t.lines = append(t.lines, '\n')
	return t, t.Close()
}

// Add writes rows.
func (t *CSVWriter[T]) Add(rows iter.Seq[T]) error {
	return inBlocks(rows, t.block, func(block []T) error {
		for i := range t.cols {
			if !t.perKind(i) {
				t.cols[i].set(block)
			}
		}
		for row := range block {
			if err := t.add(block[row], row); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *CSVWriter[T]) perKind(column int) bool { return t.kind != nil && t.cols[column].of.PerKind }

// add writes a row of the block.
func (t *CSVWriter[T]) add(row T, at int) error {
	var known []string
	if t.kind != nil {
		known = t.ofKind(row)
	}
	line := t.lines
	for i := range t.cols {
		if i > 0 {
			line = append(line, ',')
		}
		if t.perKind(i) {
			line = append(line, known[i]...)
		} else {
			line = t.cols[i].append(line, at)
		}
	}
	if t.lines = append(line, '\n'); len(t.lines) < csvBuffer {
		return nil
	}
	return t.Close()
}

// NewKinds starts a new numbering of kinds.
func (t *CSVWriter[T]) NewKinds() { t.kinds = t.kinds[:0] }

// ofKind returns the cells of the columns that are PerKind, by column.
func (t *CSVWriter[T]) ofKind(row T) []string {
	k := t.kind(row)
	for k >= len(t.kinds) {
		t.kinds = append(t.kinds, nil)
	}
	if t.kinds[k] == nil {
		t.kinds[k] = make([]string, len(t.cols))
		for i := range t.cols {
			if t.perKind(i) {
				t.cols[i].set([]T{row})
				t.kinds[k][i] = string(t.cols[i].append(nil, 0))
			}
		}
	}
	return t.kinds[k]
}

// Close writes the lines that are not yet written.
func (t *CSVWriter[T]) Close() error {
	_, err := t.out.Write(t.lines)
	t.lines = t.lines[:0]
	return err
}

// csvCell returns a text as it is written: escaped, and quoted where necessary.
func csvCell(s string) string {
	s = text.Cell(s)
	first, _ := utf8.DecodeRuneInString(s)
	if s == "" || !strings.ContainsAny(s, ",\"\r\n") && !unicode.IsSpace(first) && s != `\.` {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// appendNumber appends a number without rounding.
func appendNumber(to []byte, t Type, v uint64) []byte {
	switch t {
	case Int32, Int64, Time:
		return strconv.AppendInt(to, int64(v), 10)
	case Bool:
		return strconv.AppendBool(to, v != 0)
	case Float64:
		return strconv.AppendFloat(to, math.Float64frombits(v), 'g', -1, 64)
	case Half:
		to = strconv.AppendUint(to, v/2, 10)
		if v%2 == 1 {
			to = append(to, ".5"...)
		}
		return to
	}
	return strconv.AppendUint(to, v, 10)
}
