package text

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// leastFirst is the smallest width, in characters, to which Fit shortens the
// cells of the first column.
const leastFirst = 16

// Table is a text table. Its columns are two spaces apart, below a line of
// heads if it has any.
type Table struct {
	Left int // number of left-aligned columns, which hold texts; the others are right-aligned
	Most int // a cell of more characters does not widen its column; 0 for no limit

	texts []int // other left-aligned columns
	heads []string
	rows  []tableRow
}

type tableRow struct {
	cells []string
	below []string // lines of text below the row
}

// NewTable returns a table with a first column of texts and further columns of
// numbers.
func NewTable(heads ...string) *Table { return &Table{Left: 1, heads: heads} }

// NewTextTable returns a table whose columns are all of texts.
func NewTextTable(heads ...string) *Table { return &Table{Left: math.MaxInt, heads: heads} }

// AlignLeft makes columns left-aligned, besides the first.
func (t *Table) AlignLeft(columns ...int) { t.texts = columns }

// Add adds a row, with a cell for each column.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, tableRow{cells: cells}) }

// Below adds lines of text below the last row.
func (t *Table) Below(lines ...string) {
	last := &t.rows[len(t.rows)-1]
	last.below = append(last.below, lines...)
}

func (t *Table) drop(column int) {
	if column < t.Left {
		t.Left--
	}
	for i, text := range t.texts {
		if text > column {
			t.texts[i]--
		} else if text == column {
			t.texts[i] = 0 // which is aligned to the left in any case
		}
	}
	t.heads = slices.Delete(slices.Clone(t.heads), column, column+1)
	for i := range t.rows {
		t.rows[i].cells = slices.Delete(slices.Clone(t.rows[i].cells), column, column+1)
	}
}

// Fit fits the table to a width. It removes the spare columns, named by their
// heads and in the order given, until the rest leaves enough room for the cells
// of the first column, or for `least` characters of them. Then it shortens
// these cells, unless shorten is nil. It returns the heads of the columns that
// it removed.
func (t *Table) Fit(width, least int, shorten func(cell string, width int) string, spare ...string) (omitted []string) {
	widest := t.widths()[0]
	for {
		room := width
		for _, n := range t.widths()[1:] {
			room -= n + 2
		}
		short, used := t.firsts(shorten, max(room, leastFirst))
		i := -1
		for i < 0 && len(spare) > 0 && (used > room || room < min(widest, least)) {
			i = slices.Index(t.heads, spare[0])
			if i >= 0 {
				omitted = append(omitted, spare[0])
			}
			spare = spare[1:]
		}
		if i < 0 {
			for k := range t.rows {
				t.rows[k].cells[0] = short[k]
			}
			return omitted
		}
		t.drop(i)
	}
}

// firsts returns the cells of the first column, shortened to a width, and the
// width that the column then has.
func (t *Table) firsts(shorten func(string, int) string, width int) (cells []string, used int) {
	if len(t.heads) > 0 {
		used = utf8.RuneCountInString(t.heads[0])
	}
	for _, row := range t.rows {
		cell := row.cells[0]
		if shorten != nil {
			cell = shorten(cell, width)
		}
		cells, used = append(cells, cell), max(used, utf8.RuneCountInString(cell))
	}
	return cells, used
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.heads))
	widen := func(cells []string) {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := utf8.RuneCountInString(cell); t.Most == 0 || n <= t.Most {
				widths[i] = max(widths[i], n)
			}
		}
	}
	widen(t.heads)
	for _, row := range t.rows {
		widen(row.cells)
	}
	return widths
}

// Write prints the table, without spaces at the ends of lines.
func (t *Table) Write(w io.Writer) {
	widths := t.widths()
	if len(t.heads) > 0 {
		t.writeLine(w, t.heads, widths)
	}
	for _, row := range t.rows {
		t.writeLine(w, row.cells, widths)
		for _, line := range row.below {
			fmt.Fprintln(w, line)
		}
	}
}

func (t *Table) writeLine(w io.Writer, cells []string, widths []int) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(cell), 0))
		if i < t.Left || slices.Contains(t.texts, i) {
			line.WriteString(cell + pad)
		} else {
			line.WriteString(pad + cell)
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}
