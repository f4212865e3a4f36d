package mpit

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// shownVar is the text of an entry that is printed.
type shownVar struct {
	name  string
	cells []string // of the kind's columns
	about string
}

// shownKind is a table of entries.
type shownKind struct {
	title string
	heads []string
	rows  []shownVar
}

// Counts returns how many entries of each kind the library has.
func (l *Catalogue) Counts() string {
	categories := "1 category"
	if n := len(l.Categories); n != 1 {
		categories = fmt.Sprintf("%d categories", n)
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s", text.CountOf(len(l.CVars), "control variable"), text.CountOf(len(l.PVars), "performance variable"),
		categories, text.CountOf(len(l.Enums), "enumeration"), text.CountOf(len(l.Events), "event type"))
}

// Failures returns the queries that failed, with their errors, and how often.
func (l *Catalogue) Failures() (lines []string) {
	failures := map[string]int{}
	for _, e := range l.Errors {
		failures[e.String()]++
	}
	for _, query := range slices.Sorted(maps.Keys(failures)) {
		lines = append(lines, fmt.Sprintf("the library does not tell: %s, %s", query, text.CountOf(failures[query], "time")))
	}
	return lines
}

// WithoutDefault returns the names of the control variables that a library leaves
// uninitialized, so that they have no default to compare with.
func (l *Catalogue) WithoutDefault() (names []string) {
	for _, v := range l.CVars {
		if v.Unsteady {
			names = append(names, v.Name)
		}
	}
	return names
}

// WriteText prints the tables that have rows: wrapped to a width, or with a line
// for each entry if that is 0.
func WriteText(w io.Writer, l *Catalogue, width int) {
	first := true
	for _, kind := range []shownKind{shownCVars(l), shownPVars(l), shownEnums(l), shownEvents(l), shownSources(l)} {
		if len(kind.rows) == 0 {
			continue
		}
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		if width > 0 {
			kind.wrap(w, width)
		} else {
			kind.table(w)
		}
	}
	if len(l.Categories) > 0 && !first {
		fmt.Fprintln(w)
	}
	printCategories(w, l.Categories, width)
}

func shownCVars(l *Catalogue) shownKind {
	changed := slices.ContainsFunc(l.CVars, func(v CVar) bool { return v.Default != nil })
	k := shownKind{title: "CONTROL VARIABLE", heads: []string{"VALUE", "TYPE", "SCOPE", "BINDING", "VERBOSITY"}}
	if changed {
		k.heads = slices.Insert(k.heads, 1, "DEFAULT")
	}
	for i := range l.CVars {
		v := &l.CVars[i]
		cells := []string{shownValue(&v.VariableInfo), shownType(&v.VariableInfo), v.Scope, v.Binding, v.Verbosity.String()}
		if changed {
			cells = slices.Insert(cells, 1, shownTexts(v.Default, v.Type))
		}
		k.rows = append(k.rows, shownVar{v.Name, cells, about(v.Description, v.Error)})
	}
	return k
}

func shownPVars(l *Catalogue) shownKind {
	k := shownKind{title: "PERFORMANCE VARIABLE", heads: []string{"VALUE", "CLASS", "TYPE", "BINDING", "VERBOSITY", "FLAGS"}}
	for i := range l.PVars {
		v := &l.PVars[i]
		var flags []string
		for _, flag := range []struct {
			is   bool
			name string
		}{{v.Readonly, "readonly"}, {v.Continuous, "continuous"}, {v.Atomic, "atomic"}} {
			if flag.is {
				flags = append(flags, flag.name)
			}
		}
		k.rows = append(k.rows, shownVar{v.Name, []string{shownValue(&v.VariableInfo), v.Class, shownType(&v.VariableInfo), v.Binding,
			v.Verbosity.String(), strings.Join(flags, ",")}, about(v.Description, v.Error)})
	}
	return k
}

func shownEnums(l *Catalogue) shownKind {
	k := shownKind{title: "ENUMERATION"}
	for i := range l.Enums {
		k.rows = append(k.rows, shownVar{l.Enums[i].Name, nil, l.Enums[i].String()})
	}
	return k
}

func shownEvents(l *Catalogue) shownKind {
	k := shownKind{title: "EVENT", heads: []string{"ELEMENTS", "BINDING", "VERBOSITY"}}
	for _, e := range l.Events {
		k.rows = append(k.rows, shownVar{e.Name, []string{strings.Join(e.Elements, ","), e.Binding, e.Verbosity.String()}, e.Description})
	}
	return k
}

func shownSources(l *Catalogue) shownKind {
	k := shownKind{title: "SOURCE OF EVENTS", heads: []string{"ORDER", "TICKS PER SECOND"}}
	for _, s := range l.Sources {
		k.rows = append(k.rows, shownVar{s.Name, []string{s.Order, fmt.Sprint(s.TicksPerSecond)}, s.Description})
	}
	return k
}

// about adds what went wrong to a description.
func about(description, failure string) string {
	if failure == "" {
		return description
	}
	return strings.TrimSpace(description + " (" + failure + ")")
}

// shownValue returns the value followed by its name, such as "1 (true)".
func shownValue(v *VariableInfo) string {
	words := shownTexts(v.Values, v.Type)
	if v.Item != "" {
		words += " (" + v.Item + ")"
	}
	return words
}

func shownTexts(values []string, typ string) string {
	switch words := strings.Join(values, ","); {
	case values == nil:
		return "-"
	case words == "" && typ == "char":
		return `""`
	default:
		return words
	}
}

// shownType returns the type followed by the number of elements, which texts do
// not have.
func shownType(v *VariableInfo) string {
	if v.Count > 1 && v.Type != "char" {
		return fmt.Sprintf("%s[%d]", v.Type, v.Count)
	}
	return v.Type
}

// oneLine returns a text of the library in one line, without repeated blanks.
func oneLine(s string) string { return text.Line(strings.Join(strings.Fields(s), " ")) }

// maxPadded limits how wide a cell can make its column. A longer cell pushes the rest of its line
// to the right.
const maxPadded = 48

// table prints a line for each entry.
func (k *shownKind) table(w io.Writer) {
	t := text.NewTextTable(slices.Concat([]string{k.title}, k.heads, []string{"DESCRIPTION"})...)
	t.Most = maxPadded
	for _, row := range k.rows {
		cells := slices.Concat([]string{row.name}, row.cells, []string{row.about})
		for i := range cells {
			cells[i] = oneLine(cells[i])
		}
		t.Add(cells...)
	}
	t.Write(w)
}

// wrap prints each entry as a paragraph: its name and first cell, then the others
// and the description.
func (k *shownKind) wrap(w io.Writer, width int) {
	for _, row := range k.rows {
		head, rest := oneLine(row.name), row.cells
		if len(rest) > 0 {
			head += " = " + oneLine(rest[0])
			rest = rest[1:]
		}
		var words []string
		for i, cell := range rest {
			switch {
			case cell == "" || cell == "none" || k.heads[i+1] == "BINDING" && cell == "none":
			case k.heads[i+1] == "DEFAULT":
				words = append(words, "default "+oneLine(cell))
			default:
				words = append(words, oneLine(cell))
			}
		}
		summary := strings.Join(words, ", ")
		if summary != "" && row.about != "" {
			summary += ": "
		}
		text.Wrap(w, head, "", "        ", width)
		text.Wrap(w, summary+oneLine(row.about), "    ", "    ", width)
	}
}
