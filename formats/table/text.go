package table

import (
	"encoding/json"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/text"
)

// TextWriter writes a table as lines of text, one for each row. Numbers are plain. It goes row
// by row: values would not become texts faster from a batch.
type TextWriter[T any] struct {
	out   io.Writer
	cols  []*cells[T]
	end   string // of a line
	kind  func(T) int
	kinds [][][]byte // cells of the columns that are PerKind, by kind
	lines []byte     // lines that are not yet written
}

// textBuffer is how many bytes of lines a writer collects before it writes them.
const textBuffer = 64 << 10

// NewCSVWriter returns a writer of CSV (RFC 4180, but with Unix line ends). The
// first line has the names of the columns. Nulls are empty.
// Texts are escaped by text.Cell: otherwise a spreadsheet that opens the file
// would execute a phase named =cmd().
func NewCSVWriter[T any](w io.Writer, cols []Column[T], o Options[T]) *TextWriter[T] {
	t := &TextWriter[T]{out: w, end: "\n", kind: o.Kind}
	separator := ""
	for i := range cols {
		t.cols = append(t.cols, cellsOf(&cols[i], separator, "", csvCell))
		t.lines = append(append(t.lines, separator...), cols[i].Name...)
		separator = ","
	}
	t.lines = append(t.lines, t.end...)
	return t
}

// NewJSONWriter returns a writer of JSON lines: one object per row. The keys are the
// names of the columns, in order. Nulls are null.
//
// pandas.read_json(lines=True), polars.scan_ndjson, DuckDB's read_json, jq and
// line tools read this format directly. Files can be cut, joined and streamed.
// The alternative, one large document with a list of processes, was rejected:
// most readers would have to load all of it into memory.
func NewJSONWriter[T any](w io.Writer, cols []Column[T]) *TextWriter[T] {
	t := &TextWriter[T]{out: w, end: "}\n"}
	separator := "{"
	for i := range cols {
		t.cols = append(t.cols, cellsOf(&cols[i], separator+strconv.Quote(cols[i].Name)+":", "null", quoted))
		separator = ","
	}
	return t
}

// Add writes rows.
func (t *TextWriter[T]) Add(rows iter.Seq[T]) error {
	for row := range rows {
		var known [][]byte
		if t.kind != nil {
			known = t.ofKind(row)
		}
		line := t.lines
		for i, c := range t.cols {
			if known != nil && c.of.PerKind {
				line = append(line, known[i]...)
			} else {
				line = c.append(line, row)
			}
		}
		if t.lines = append(line, t.end...); len(t.lines) < textBuffer {
			continue
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}

// NewKinds starts a new numbering of kinds.
func (t *TextWriter[T]) NewKinds() { t.kinds = t.kinds[:0] }

// ofKind returns the cells of the columns that are PerKind, by column.
func (t *TextWriter[T]) ofKind(row T) [][]byte {
	k := t.kind(row)
	for k >= len(t.kinds) {
		t.kinds = append(t.kinds, nil)
	}
	if t.kinds[k] == nil {
		t.kinds[k] = make([][]byte, len(t.cols))
		for i, c := range t.cols {
			if c.of.PerKind {
				t.kinds[k][i] = c.append(nil, row)
			}
		}
	}
	return t.kinds[k]
}

func (t *TextWriter[T]) flush() error {
	_, err := t.out.Write(t.lines)
	t.lines = t.lines[:0]
	return err
}

// Close writes the lines that are not yet written. These formats have no metadata.
func (t *TextWriter[T]) Close(map[string]string) error { return t.flush() }

// cells writes the values of a column as cells of lines.
type cells[T any] struct {
	of     *Column[T]
	before string // starts each cell
	null   string
	quote  func(string) string
	quoted map[string]string // cells of texts
	words  []string          // cells of Column.Words

	// The last value and its cell. Neighboring rows often have the same value, and
	// copying its cell is faster than making it again.
	number uint64
	text   string
	cell   []byte // nil before the first
}

// maxTexts limits how many texts of a column are kept in their written form.
const maxTexts = 64 << 10

// cellsOf returns the cells of a column. quote returns the written form of a text.
func cellsOf[T any](c *Column[T], before, null string, quote func(string) string) *cells[T] {
	out := &cells[T]{of: c, before: before, null: before + null, quote: quote, quoted: map[string]string{}}
	for _, word := range c.Words {
		out.words = append(out.words, before+quote(word))
	}
	return out
}

// append appends the cell of a row.
func (c *cells[T]) append(to []byte, row T) []byte {
	if c.of.Text != nil {
		s, ok := c.of.Text(row)
		switch {
		case !ok:
			return append(to, c.null...)
		case s != c.text || c.cell == nil:
			c.text, c.cell = s, append(c.cell[:0], c.textCell(s)...)
		}
		return append(to, c.cell...)
	}
	v, ok := c.of.Number(row)
	switch {
	case !ok:
		return append(to, c.null...)
	case c.words != nil:
		return append(to, c.words[v]...)
	case v != c.number || c.cell == nil:
		c.number, c.cell = v, appendNumber(append(c.cell[:0], c.before...), c.of.Type, v)
	}
	return append(to, c.cell...)
}

func (c *cells[T]) textCell(s string) string {
	written, known := c.quoted[s]
	if !known {
		if len(c.quoted) == maxTexts {
			clear(c.quoted)
		}
		written = c.before + c.quote(s)
		c.quoted[s] = written
	}
	return written
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

func quoted(s string) string {
	q, _ := json.Marshal(s) // cannot fail for a string
	return string(text.JSON(q))
}
