package views

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Table is a table. Its first column names the row.
type Table struct {
	ID      string   `json:"id"`
	Name    string   `json:"name,omitempty"` // the caption; the terminal shows it as the first head
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Limit   int      `json:"limit"` // rows that are shown at first; all if negative
	// Rest is the number of entries that are not among the rows.
	Rest int    `json:"rest,omitempty"`
	Noun string `json:"noun,omitempty"` // of an entry
	How  string `json:"-"`              // tells the user of a terminal how to see all; follows "and 3 more calls"
	// Least is a width of the first column. A terminal leaves other columns out to give it up
	// to this width. 0: what is usual.
	Least int `json:"-"`
}

// Column describes a column.
type Column struct {
	Key    string   `json:"key"`
	Head   string   `json:"head"`
	Unit   CellUnit `json:"unit"`
	Help   string   `json:"help,omitempty"`
	Detail bool     `json:"detail,omitempty"` // whether the terminal leaves the column out
	// Cut is the width to which the terminal shortens the cells, at their beginning; 0: it does not.
	Cut int `json:"-"`
	// Spare is the order in which a narrow terminal leaves columns out, from 1; 0: never.
	Spare int `json:"-"`
}

// CellUnit is what the cells of a column hold.
type CellUnit string

// The quantities.
const (
	Words    CellUnit = ""
	Count    CellUnit = "count"
	Bytes    CellUnit = "bytes"
	Ns       CellUnit = "ns"
	Share    CellUnit = "share"
	Number   CellUnit = "number"
	Rank     CellUnit = "rank"  // a number that names something
	OfColumn CellUnit = "mixed" // numbers of several units: Row.Unit says which a row has
)

// Row is a row of a table.
type Row struct {
	Cells   []Cell   `json:"cells"`
	Callers []string `json:"callers,omitempty"` // of the call site that the row is about, innermost first
	Below   string   `json:"below,omitempty"`   // a sentence about the row
	Place   string   `json:"place,omitempty"`   // FILE:LINE of the call site
	Detail  bool     `json:"detail,omitempty"`  // whether the terminal leaves the row out
	Unit    CellUnit `json:"unit,omitempty"`    // of the cells in columns of several units
	// Same is above 0 if this row and the row before are parts of one entry: so many of the first
	// cells repeat that row. The terminal leaves these cells empty, and shows the callers below the
	// last row of the entry.
	Same  int             `json:"same,omitempty"`
	Ranks profile.RankSet `json:"ranks,omitempty"` // that the row is about, which the page offers to show
	Tone  Tone            `json:"tone,omitempty"`
}

// Cell is a cell: what it shows, and the number by which it is sorted.
type Cell struct {
	Text  string
	Value any // uint64, int, float64, or nil for none
}

// MarshalJSON returns {"text", "value"}. A value above 2^53 is a string of digits, since
// JavaScript's numbers cannot hold it.
func (c Cell) MarshalJSON() ([]byte, error) {
	value := c.Value
	if n, ok := value.(uint64); ok && n > 1<<53 {
		value = fmt.Sprint(n)
	}
	if f, ok := value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		value = nil
	}
	return json.Marshal(struct {
		Text  string `json:"text"`
		Value any    `json:"value,omitempty"`
	}{c.Text, value})
}

// unknown is the text of a number that is not known.
const unknown = "–"

var missing = Cell{Text: unknown}

// Cells of each unit.
func wordsCell(s string) Cell      { return Cell{Text: s} }
func bytesCell(n uint64) Cell      { return Cell{text.Bytes(n), n} }
func shareCell(share float64) Cell { return Cell{text.Percent(share), share} }
func nsCell(ns float64) Cell       { return Cell{text.Duration(ns, false), ns} }
func secondsCell(s float64) Cell   { return nsCell(math.Round(1e9 * s)) }
func numberCell(v float64) Cell    { return Cell{text.Number(v), v} }

func rankCell(rank int) Cell { return Cell{fmt.Sprint(rank), rank} }

func countCell[N ~int | ~int64 | ~uint64](n N) Cell { return Cell{text.Count(n), uint64(n)} }

// ratioCell returns a / b as a share; 0 if b is 0.
func ratioCell(a, b float64) Cell {
	if b == 0 {
		return shareCell(0)
	}
	return shareCell(a / b)
}

// estimateCell returns a time with its standard error.
func estimateCell(ns, stderr float64) Cell { return Cell{estimate(ns, stderr), ns} }

// estimate returns a time, with its standard error if that is not 0.
func estimate(ns, stderr float64) string {
	if stderr == 0 {
		return text.Duration(ns, false)
	}
	return text.Estimate(ns, stderr, false)
}

// Heads of columns with the extremes of ranks. Their cells name the rank.
const (
	minOfRank = "min of a rank"
	maxOfRank = "max of a rank"
)

// with appends words to a cell.
func (c Cell) with(format string, args ...any) Cell {
	c.Text += fmt.Sprintf(format, args...)
	return c
}

// ofRank appends the rank of an extreme to a cell.
func (c Cell) ofRank(rank int) Cell { return c.with(" (rank %d)", rank) }

// column describes a column of a table whose rows are made of an R each.
type column[R any] struct {
	Column
	cell func(*R) Cell
}

// col returns a column.
func col[R any](key, head string, unit CellUnit, cell func(*R) Cell) column[R] {
	return column[R]{Column{Key: key, Head: head, Unit: unit}, cell}
}

// spare makes a narrow terminal leave the column out, those with lower numbers first.
func (c column[R]) spare(order int) column[R] {
	c.Spare = order
	return c
}

// help adds a text that explains the column.
func (c column[R]) help(text string) column[R] {
	c.Help = text
	return c
}

// detail makes the terminal leave the column out.
func (c column[R]) detail() column[R] {
	c.Detail = true
	return c
}

// when returns a column if it is to be shown.
func (c column[R]) when(shown bool) column[R] {
	if !shown {
		c.cell = nil
	}
	return c
}

// tableOf returns the table of a list with the columns that are to be shown.
func tableOf[R any](id string, list []R, columns ...column[R]) *Table {
	t := &Table{ID: id, Limit: -1, Rows: make([]Row, len(list))}
	for _, c := range columns {
		if c.cell == nil {
			continue
		}
		t.Columns = append(t.Columns, c.Column)
		for i := range list {
			t.Rows[i].Cells = append(t.Rows[i].Cells, c.cell(&list[i]))
		}
	}
	return t
}

// top limits the rows that are shown at first. noun names an entry, and how tells the user of
// a terminal how to see all.
func (t *Table) top(limit int, noun, how string) *Table {
	t.Limit, t.Noun, t.How = limit, noun, how
	return t
}

// named gives the table a caption.
func (t *Table) named(name string) *Table {
	t.Name = name
	return t
}
