// Package terminal writes sections (package views) as text.
package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/views"
)

// Options say for what terminal the text is.
type Options struct {
	ASCII bool   // print ASCII only
	Width int    // characters in a line, to which tables are fitted; 0 for no limit
	Whole string // how to see the columns that a narrow terminal leaves out
	// Short cuts lines at Width, or at shortWidth if that is less, instead of breaking them, and
	// writes a finding in two lines. It does not name the columns that do not fit.
	Short bool
}

// nameWidth is the usual width of the first column, for whose sake other columns are left out.
const nameWidth = 40

// shortWidth is the largest width of a short report.
const shortWidth = 100

// callersWidth is the width of lines of callers if the width of lines is not
// limited.
const callersWidth = 110

type writer struct {
	Options
	w       text.Wrapper
	omitted []string // heads of columns that did not fit
}

// Write writes sections as text.
func Write(w io.Writer, sections []views.Section, o Options) error {
	if o.Short {
		o.Width = min(cmp.Or(o.Width, shortWidth), shortWidth)
	}
	out := &writer{Options: o, w: text.Wrapper{W: bufio.NewWriter(w), Width: o.Width}}
	if o.Short {
		out.w.Cut = func(line string) string { return text.First(line, o.Width, o.ASCII) }
	}
	first := true
	for i := range sections {
		if out.section(&sections[i], !first && !sections[i].Joined) {
			first = false
		}
	}
	if len(out.omitted) > 0 && !o.Short {
		out.line("left out to fit %d characters: %s (to see them: %s)", o.Width, strings.Join(out.omitted, ", "), o.Whole)
	}
	return out.w.Flush()
}

// section writes a section, after an empty line if it is apart from the one before. It
// reports whether the terminal shows any of it.
func (o *writer) section(s *views.Section, apart bool) bool {
	shown := false
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Detail {
			continue
		}
		if !shown && apart || shown && b.Table != nil && s.Blocks[i-1].Text == nil {
			o.line("")
		}
		if !shown && s.Headed {
			o.line("%s", s.Title)
		}
		shown = true
		o.block(b)
	}
	return shown
}

func (o *writer) block(b *views.Block) {
	switch {
	case b.Text != nil && b.Text.Tone == views.Code:
		fmt.Fprintf(o.w.W, "  %s\n", o.ascii(b.Text.Text))
	case b.Text != nil && o.Short && b.Text.Lines > 1:
		for _, line := range text.FirstLines(o.ascii(b.Text.Text), b.Text.Lines, o.Width, o.ASCII) {
			o.line("%s", line)
		}
	case b.Text != nil:
		o.line("%s", b.Text.Text)
	case b.Fact != nil:
		o.line("%s: %s", b.Fact.Name, b.Fact.Value)
	case b.List != nil:
		o.list(b.List)
	case b.Table != nil:
		o.table(b.Table)
	case b.Findings != nil:
		o.findings(*b.Findings)
	case b.Drawing != nil:
		o.heatmaps(b.Drawing)
	}
}

// line writes a line.
func (o *writer) line(format string, args ...any) {
	fmt.Fprintln(&o.w, o.ascii(fmt.Sprintf(format, args...)))
}

// asciiOf holds what replaces the characters that sections use beyond ASCII.
var asciiOf = strings.NewReplacer("→", "->", "←", "<-", "–", "-", "±", "+-", "µ", "u", "×", "x", "…", "...", "├", "|", "└", "`")

// ascii returns a text as the terminal can show it. Other characters, of names that a job
// chose, are escaped.
func (o *writer) ascii(s string) string {
	if o.ASCII {
		return text.ASCII(asciiOf.Replace(s))
	}
	return s
}

func (o *writer) findings(list []views.Highlight) {
	for i, f := range list {
		if f.Share != "" {
			f.Share = ", " + f.Share
		}
		switch {
		case f.Uncertain != "" && o.Short:
			f.Share += " (uncertain)"
		case f.Uncertain != "":
			f.Share += fmt.Sprintf(" (uncertain: %s)", f.Uncertain)
		}
		head := fmt.Sprintf("%d. %s%s", i+1, f.Rule, f.Share)
		if o.Short {
			o.sentences(head+": ", f.Text)
			o.sentences("   Try: ", f.Try)
			continue
		}
		o.line("%s", head)
		o.line("   %s", f.Text)
		o.line("   Try: %s", f.Try)
	}
}

// sentences writes a line that begins with head, with the sentences that fit.
func (o *writer) sentences(head, words string) {
	head = o.ascii(head)
	o.line("%s%s", head, text.Sentences(o.ascii(words), o.Width-text.Columns(head), o.ASCII))
}

func (o *writer) list(l *views.Listing) {
	indent := ""
	if l.Head != "" {
		o.line("%s", l.Head)
		indent = "  "
	}
	items, more := shownItems(l)
	o.items(items, indent)
	if more != "" {
		o.line("%sand %s", indent, more)
	}
}

// shownItems returns the items that the terminal shows, and what it leaves out.
func shownItems(l *views.Listing) (items []views.ListItem, more string) {
	if l.More == "" || l.Limit < 0 || l.Limit >= len(l.Items) {
		return l.Items, ""
	}
	return l.Items[:l.Limit], l.More
}

func (o *writer) items(items []views.ListItem, indent string) {
	for i := range items {
		o.line("%s%s", indent, items[i].Text)
		for _, line := range o.callers(indent+" ", items[i].Callers) {
			o.line("%s", line)
		}
		o.items(items[i].Items, indent+"  ")
	}
}

// table writes a table: the columns and rows that are no details, fitted to the width.
func (o *writer) table(t *views.Table) {
	var heads []string
	var spare []views.Column
	var texts []int
	for _, c := range t.Columns {
		if c.Detail {
			continue
		}
		if c.Unit == views.Words {
			texts = append(texts, len(heads))
		}
		heads = append(heads, o.ascii(c.Head))
		if c.Spare > 0 {
			spare = append(spare, c)
		}
	}
	if t.Name != "" {
		heads[0] = o.ascii(t.Name)
	}
	out := text.NewTable(heads...)
	out.AlignLeft(texts...)
	shown, more := shownRows(t)
	for i, row := range shown {
		o.row(out, t, row, i+1 == len(shown) || shown[i+1].Same == 0)
	}
	if o.Width > 0 && len(spare)+t.Least > 0 {
		o.fit(out, spare, cmp.Or(t.Least, nameWidth))
	}
	out.Write(&o.w)
	if more > 0 {
		o.line("and %s%s", text.CountOf(more, "more "+t.Noun), t.How)
	}
}

// shownRows returns the rows that the terminal shows, and how many entries it leaves out.
func shownRows(t *views.Table) (rows []*views.Row, more int) {
	entries, within := 0, false // whether the entry of a row is within the limit
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Detail {
			continue
		}
		if row.Same == 0 {
			if within = t.Limit < 0 || entries < t.Limit; !within {
				more++
			}
			entries++
		}
		if within {
			rows = append(rows, row)
		}
	}
	return rows, more + t.Rest
}

// row adds a row, which may be the last one of an entry.
func (o *writer) row(out *text.Table, t *views.Table, row *views.Row, last bool) {
	var cells []string
	for k, c := range row.Cells {
		if t.Columns[k].Detail {
			continue
		}
		if k < row.Same {
			c.Text = ""
		}
		cells = append(cells, o.ascii(o.cut(&t.Columns[k], c.Text)))
	}
	out.Add(cells...)
	if last {
		out.Below(o.callers(" ", row.Callers)...)
	}
	if row.Below != "" {
		out.Below("  " + o.ascii(row.Below))
	}
}

// cut shortens a cell to what its column may have.
func (o *writer) cut(c *views.Column, words string) string {
	if c.Cut == 0 {
		return words
	}
	return text.Last(words, c.Cut, o.ASCII)
}

// fit removes spare columns until a table fits the width, and remembers their heads.
func (o *writer) fit(t *text.Table, spare []views.Column, least int) {
	slices.SortStableFunc(spare, func(a, b views.Column) int { return cmp.Compare(a.Spare, b.Spare) })
	var heads []string
	for _, c := range spare {
		heads = append(heads, o.ascii(c.Head))
	}
	shorten := func(label string, width int) string { return text.Site(label, width, o.ASCII) }
	for _, head := range t.Fit(o.Width, least, shorten, heads...) {
		if !slices.Contains(o.omitted, head) {
			o.omitted = append(o.omitted, head)
		}
	}
}

// callers returns lines of callers, with as many in a line as fit.
func (o *writer) callers(indent string, callers []string) (lines []string) {
	line, width := "", cmp.Or(o.Width, callersWidth)
	arrow := o.ascii(" ← ")
	for _, c := range callers {
		part := arrow + text.Site(o.ascii(c), width-len(indent)-utf8.RuneCountInString(arrow), o.ASCII)
		if line != "" && utf8.RuneCountInString(indent+line+part) > width {
			lines = append(lines, indent+line)
			line = ""
		}
		line += part
	}
	if line != "" {
		lines = append(lines, indent+line)
	}
	return lines
}
