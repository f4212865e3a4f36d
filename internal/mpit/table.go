package mpit

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/table"
)

// WriteArrow writes a list as an Arrow IPC file with one row for each entry.
func WriteArrow(w io.Writer, l *Catalogue) error {
	return table.WriteArrow(w, Columns, slices.Values(l.rows()), table.Options[*row]{Metadata: map[string]string{
		table.KeyFormat: "1", table.KeyTool: table.Tool, table.KeyTable: "vars",
		"mpitrace.library": strings.ToValidUTF8(l.Library, "\uFFFD")}})
}

// row is an entry of the table of variables. An empty text is null, but in Value and
// Default.
type row struct {
	Kind        string // cvar, pvar, category, enum, event, source
	Name        string
	Class       string // of pvars
	Type        string
	Count       int32 // elements; null if negative
	Binding     string
	Scope       string // of cvars
	Verbosity   string
	Readonly    *bool // of pvars, as Continuous and Atomic
	Continuous  *bool
	Atomic      *bool
	Value       *string // elements separated by commas
	Default     *string
	Enum        string // "0=false, 1=true"
	Description string
	Category    string // names separated by commas
	Error       string
}

// Columns are the columns of the table of variables: a row for each variable, category,
// enumeration, event and source, and for each entry that the library does not describe.
var Columns = []table.Column[*row]{
	table.OptionalWords("kind", "cvar, pvar, category, enum, event or source", func(r *row) (string, bool) { return r.Kind, r.Kind != "" }),
	table.OptionalTexts("name", "name of the entry; null if the library does not describe it", func(r *row) (string, bool) { return r.Name, r.Name != "" }),
	table.OptionalWords("class", "class of a performance variable", func(r *row) (string, bool) { return r.Class, r.Class != "" }),
	table.OptionalWords("type", "datatype of an element", func(r *row) (string, bool) { return r.Type, r.Type != "" }),
	table.OptionalNumbers("count", "elements", "number of elements", func(r *row) (int32, bool) { return r.Count, r.Count >= 0 }),
	table.OptionalWords("binding", "kind of object that a handle is bound to", func(r *row) (string, bool) { return r.Binding, r.Binding != "" }),
	table.OptionalWords("scope", "processes on which a control variable must have the same value", func(r *row) (string, bool) { return r.Scope, r.Scope != "" }),
	table.OptionalWords("verbosity", "verbosity level", func(r *row) (string, bool) { return r.Verbosity, r.Verbosity != "" }),
	table.OptionalFlags("readonly", "whether a performance variable cannot be written", func(r *row) *bool { return r.Readonly }),
	table.OptionalFlags("continuous", "whether a performance variable always runs", func(r *row) *bool { return r.Continuous }),
	table.OptionalFlags("atomic", "whether a performance variable can be read and reset in one step", func(r *row) *bool { return r.Atomic }),
	table.OptionalTexts("value", "current value, with commas between elements; null if it cannot be read", func(r *row) (string, bool) { return given(r.Value) }),
	table.OptionalTexts("default", "value if nothing sets it; null if the default was not requested", func(r *row) (string, bool) { return given(r.Default) }),
	table.OptionalTexts("enum", "names of the values", func(r *row) (string, bool) { return r.Enum, r.Enum != "" }),
	table.OptionalTexts("description", "description by the library", func(r *row) (string, bool) { return r.Description, r.Description != "" }),
	table.OptionalTexts("category", "categories that contain it, separated by commas", func(r *row) (string, bool) { return r.Category, r.Category != "" }),
	table.OptionalTexts("error", "why the entry is not complete", func(r *row) (string, bool) { return r.Error, r.Error != "" }),
}

func given(s *string) (string, bool) {
	if s == nil {
		return "", false
	}
	return *s, true
}

// rows returns the list as rows of a table.
func (l *Catalogue) rows() []*row {
	var out []*row
	for i := range l.CVars {
		r := variableRow("cvar", &l.CVars[i].VariableInfo)
		r.Scope = l.CVars[i].Scope
		if was := l.CVars[i].Default; was != nil {
			r.Default = new(strings.Join(was, ","))
		}
		out = append(out, r)
	}
	for i := range l.PVars {
		v := &l.PVars[i]
		r := variableRow("pvar", &v.VariableInfo)
		r.Class, r.Readonly, r.Continuous, r.Atomic = v.Class, &v.Readonly, &v.Continuous, &v.Atomic
		out = append(out, r)
	}
	for _, c := range l.Categories {
		out = append(out, &row{Kind: "category", Name: c.Name, Count: -1, Description: c.Description})
	}
	for i := range l.Enums {
		out = append(out, &row{Kind: "enum", Name: l.Enums[i].Name, Count: int32(len(l.Enums[i].Items)), Enum: l.Enums[i].String()})
	}
	for _, e := range l.Events {
		out = append(out, &row{Kind: "event", Name: e.Name, Count: int32(len(e.Elements)), Type: strings.Join(e.Elements, ","),
			Binding: e.Binding, Verbosity: e.Verbosity.String(), Description: e.Description, Category: strings.Join(e.Categories, ",")})
	}
	for _, s := range l.Sources {
		out = append(out, &row{Kind: "source", Name: s.Name, Count: -1, Description: s.Description})
	}
	for _, e := range l.Errors {
		if e.Untold() {
			out = append(out, &row{Kind: e.Kind, Count: -1, Error: e.String()})
		}
	}
	return out
}

func variableRow(kind string, v *VariableInfo) *row {
	r := &row{Kind: kind, Name: v.Name, Type: v.Type, Count: int32(v.Count), Binding: v.Binding, Verbosity: v.Verbosity.String(),
		Description: v.Description, Category: strings.Join(v.Categories, ","), Error: v.Error}
	if v.Values != nil {
		r.Value = new(strings.Join(v.Values, ","))
	}
	if v.Enum != nil {
		r.Enum = v.Enum.String()
	}
	return r
}

// String returns the items as text: "0=false, 1=true".
func (e *Enum) String() string {
	var items []string
	for _, item := range e.Items {
		items = append(items, fmt.Sprintf("%d=%s", item.Value, item.Name))
	}
	return strings.Join(items, ", ")
}
