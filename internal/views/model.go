// Package views says what mpitrace shows people: sections of sentences, facts and tables.
// The terminal (package terminal), the page (package page) and --json show the same sections,
// and decide nothing about them: words, units and rules are here, once.
//
// To add a view, or a table to one:
//   - Write a function that returns a Section of the computed structs (aggregate, trace, …).
//     Section.Say, Fact, List and Add append its blocks. A block without content is left out.
//   - Describe each column of a table once, in a list of column[R]: key, head, unit, help text,
//     and the function that makes the cell of a row. tableOf makes the table.
//   - Write texts in Unicode. The terminal replaces characters for ASCII, shortens the first
//     column and leaves out columns (Column.Spare) where the terminal is narrow.
//   - Mark what only readers of the page and of --json want as Detail.
//   - What only a script can draw is a Drawing: `drawings` in app/render.js has a function with
//     its name. The bars of a chart are Series; a table of the page's columns of ranks is a
//     Drawing with Columns.
//   - A section that belongs to the one before it is a Sub.
//
// Names that a job chooses may hold any character: Finish escapes them, in all sections at once.
package views

import (
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Section is a part of a view, under a heading.
type Section struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Blocks []Block `json:"blocks"`
	// Sub is whether the section is a part of the last one before it that is none.
	Sub bool `json:"sub,omitempty"`
	// Headed is whether the terminal shows the title.
	Headed bool `json:"headed,omitempty"`
	// Joined is whether the terminal continues the section before without an empty line.
	Joined bool `json:"-"`
}

// Block is one part of a section: exactly one field is set, and Detail.
type Block struct {
	Text     *Text        `json:"text,omitempty"`
	Fact     *NamedValue  `json:"fact,omitempty"`
	List     *Listing     `json:"list,omitempty"`
	Table    *Table       `json:"table,omitempty"`
	Findings *[]Highlight `json:"findings,omitempty"`
	Bar      *Bar         `json:"bar,omitempty"`
	Drawing  *Drawing     `json:"drawing,omitempty"`
	// Detail is whether the terminal leaves the block out.
	Detail bool `json:"detail,omitempty"`
}

// Text is a sentence.
type Text struct {
	Text string `json:"text"`
	Tone Tone   `json:"tone,omitempty"`
	// Lines is how many lines a short report may take for it; one if 0.
	Lines int `json:"-"`
}

// Tone is how a text is meant. Most texts have none.
type Tone string

// The tones.
const (
	Good Tone = "good"
	Bad  Tone = "bad"
	Code Tone = "code" // a command line, which is not broken
)

// NamedValue is a value with its name.
type NamedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Tone  Tone   `json:"tone,omitempty"`
}

// Listing is a sentence with items below it.
type Listing struct {
	Head  string     `json:"head,omitempty"`
	Items []ListItem `json:"items"`
	Limit int        `json:"-"` // items that the terminal shows; all if negative
	More  string     `json:"-"` // what the others are
	Tone  Tone       `json:"tone,omitempty"`
}

// ListItem is a line of a list, with the callers of the call site that it names and items below it.
type ListItem struct {
	Text    string     `json:"text"`
	Callers []string   `json:"callers,omitempty"`
	Items   []ListItem `json:"items,omitempty"`
}

// Highlight is what stands out, with what the page offers to show of it.
type Highlight struct {
	Rule      string          `json:"rule"`
	Share     string          `json:"share"`
	Text      string          `json:"text"`
	Try       string          `json:"try"`
	Uncertain string          `json:"uncertain,omitempty"`
	Ranks     profile.RankSet `json:"ranks"` // that it is about
	Callsite  string          `json:"callsite,omitempty"`
	Section   string          `json:"section,omitempty"` // which has the details
}

// Bar is a whole that is divided into parts.
type Bar struct {
	Parts []BarPart `json:"parts"`
}

// BarPart is a part of a bar.
type BarPart struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	Text  string  `json:"text"`  // the share
	Color string  `json:"color"` // variable of the page's theme
	// Hatched is whether the part is an estimate that is taken off the others.
	Hatched bool `json:"hatched,omitempty"`
}

// Drawing is what a script draws from data of the page. The terminal shows Heatmaps.
type Drawing struct {
	Name    string   `json:"name"`
	Title   string   `json:"title,omitempty"`
	Series  []Series `json:"series,omitempty"`  // of a chart of bars
	Columns []Column `json:"columns,omitempty"` // of a table of numbers that the data have in columns
	Table   *Table   `json:"table,omitempty"`   // of the numbers that are drawn
	Ticks   []Cell   `json:"ticks,omitempty"`   // of the vertical axis, the first and the last at its ends
	// Logarithmic is whether the vertical axis is.
	Logarithmic bool          `json:"logarithmic,omitempty"`
	Heatmaps    []SmallMatrix `json:"-"`
}

// Say adds a sentence.
func (s *Section) Say(text string) { s.Toned("", text) }

// Toned adds a sentence with a tone.
func (s *Section) Toned(tone Tone, text string) {
	if text != "" {
		s.Blocks = append(s.Blocks, Block{Text: &Text{Text: text, Tone: tone}})
	}
}

// Fact adds a named value, unless the value is empty.
func (s *Section) Fact(name, value string) {
	if value != "" {
		s.Blocks = append(s.Blocks, Block{Fact: &NamedValue{Name: name, Value: value}})
	}
}

// List adds a list, unless it has no items.
func (s *Section) List(l Listing) {
	if len(l.Items) > 0 {
		s.Blocks = append(s.Blocks, Block{List: &l})
	}
}

// Add adds a table, unless it is nil or has no rows.
func (s *Section) Add(t *Table) {
	if t != nil && len(t.Rows) > 0 {
		shown := t.Limit != 0 && slices.ContainsFunc(t.Rows, func(r Row) bool { return !r.Detail })
		s.Blocks = append(s.Blocks, Block{Table: t, Detail: !shown})
	}
}

// Draw adds a drawing of a script.
func (s *Section) Draw(name string) {
	s.Blocks = append(s.Blocks, Block{Drawing: &Drawing{Name: name}, Detail: true})
}

// Detail adds the blocks of a function, which the terminal leaves out.
func (s *Section) Detail(add func()) {
	n := len(s.Blocks)
	add()
	details(s.Blocks[n:])
}

// allDetails makes the terminal leave the section out.
func (s *Section) allDetails() { details(s.Blocks) }

func details(blocks []Block) {
	for i := range blocks {
		blocks[i].Detail = true
	}
}
