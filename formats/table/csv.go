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
	cols  []Column[T]
	kind  func(T) int
	kinds [][]string // cells of the columns that are PerKind, by kind
	cells map[string]string
	words [][]string   // cells of the columns that have Words, by column and word
	last  []numberCell // last cell of the columns of numbers, by column
	lines []byte       // lines that are not yet written
}

// numberCell is a number and its cell. Neighboring rows often have the same
// number, and copying its cell is faster than formatting it again.
type numberCell struct {
	value uint64
	cell  []byte
}

// csvBuffer is how many bytes of lines a writer collects before it writes them.
const csvBuffer = 64 << 10

// maxTexts limits how many texts a writer caches in their written form.
const maxTexts = 64 << 10

// NewCSVWriter returns a writer, and writes the first line.
func NewCSVWriter[T any](w io.Writer, cols []Column[T], o Options[T]) (*CSVWriter[T], error) {
	t := &CSVWriter[T]{out: w, cols: cols, kind: o.Kind, cells: map[string]string{}, words: make([][]string, len(cols)), last: make([]numberCell, len(cols))}
	for i := range cols {
		if i > 0 {
			t.lines = append(t.lines, ',')
		}
		t.lines = append(t.lines, cols[i].Name...)
		for _, word := range cols[i].Words {
			t.words[i] = append(t.words[i], csvCell(word))
		}
	}
	t.lines = append(t.lines, '\n')
	return t, t.Close()
}

// Add writes rows.
func (t *CSVWriter[T]) Add(rows iter.Seq[T]) error {
	for row := range rows {
		var known []string
		if t.kind != nil {
			known = t.ofKind(row)
		}
		line := t.lines
		for i := range t.cols {
			if i > 0 {
				line = append(line, ',')
			}
			if known != nil && t.cols[i].PerKind {
				line = append(line, known[i]...)
			} else {
				line = t.append(line, i, row)
			}
		}
		t.lines = append(line, '\n')
		if len(t.lines) >= csvBuffer {
			if err := t.Close(); err != nil {
				return err
			}
		}
	}
	return nil
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
		cells := make([]string, len(t.cols))
		for i := range t.cols {
			if t.cols[i].PerKind {
				cells[i] = string(t.append(nil, i, row))
			}
		}
		t.kinds[k] = cells
	}
	return t.kinds[k]
}

// append appends the cell of column i to the line.
func (t *CSVWriter[T]) append(line []byte, i int, row T) []byte {
	c := &t.cols[i]
	if c.Text != nil {
		s, _ := c.Text(row)
		return append(line, t.cell(s)...)
	}
	v, ok := c.Number(row)
	switch {
	case !ok:
		return line
	case t.words[i] != nil:
		return append(line, t.words[i][v]...)
	}
	last := &t.last[i]
	if v != last.value || len(last.cell) == 0 {
		last.value, last.cell = v, appendNumber(last.cell[:0], c.Type, v)
	}
	return append(line, last.cell...)
}

func (t *CSVWriter[T]) cell(s string) string {
	cell, ok := t.cells[s]
	if !ok {
		if len(t.cells) == maxTexts {
			clear(t.cells)
		}
		cell = csvCell(s)
		t.cells[s] = cell
	}
	return cell
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
