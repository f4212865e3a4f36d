package mpit

import (
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/formats/varsfile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// WriteArrow writes a list as an Arrow IPC file with one row for each entry.
func WriteArrow(w io.Writer, l *List) error { return varsfile.Write(w, l.Library, l.rows()) }

// WriteArrowFile writes the file whole or not at all.
func WriteArrowFile(path string, l *List) error {
	return atomicfile.Write(path, func(w io.Writer) error { return WriteArrow(w, l) })
}

// rows returns the list as rows of a table.
func (l *List) rows() []varsfile.Row {
	var out []varsfile.Row
	for i := range l.CVars {
		r := variableRow("cvar", &l.CVars[i].Variable)
		r.Scope = l.CVars[i].Scope
		if was := l.CVars[i].Default; was != nil {
			text := strings.Join(was, ",")
			r.Default = &text
		}
		out = append(out, r)
	}
	for i := range l.PVars {
		v := &l.PVars[i]
		r := variableRow("pvar", &v.Variable)
		r.Class, r.Readonly, r.Continuous, r.Atomic = v.Class, &v.Readonly, &v.Continuous, &v.Atomic
		out = append(out, r)
	}
	for _, c := range l.Categories {
		out = append(out, varsfile.Row{Kind: "category", Name: c.Name, Count: -1, Description: c.Description})
	}
	for i := range l.Enums {
		out = append(out, varsfile.Row{Kind: "enum", Name: l.Enums[i].Name, Count: int32(len(l.Enums[i].Items)), Enum: l.Enums[i].String()})
	}
	for _, e := range l.Events {
		out = append(out, varsfile.Row{Kind: "event", Name: e.Name, Count: int32(len(e.Elements)), Type: strings.Join(e.Elements, ","),
			Binding: e.Binding, Verbosity: e.Verbosity.String(), Description: e.Description, Category: strings.Join(e.Categories, ",")})
	}
	for _, s := range l.Sources {
		out = append(out, varsfile.Row{Kind: "source", Name: s.Name, Count: -1, Description: s.Description})
	}
	for _, e := range l.Errors {
		if e.Untold() {
			out = append(out, varsfile.Row{Kind: e.Kind, Count: -1, Error: e.String()})
		}
	}
	return out
}

func variableRow(kind string, v *Variable) varsfile.Row {
	r := varsfile.Row{Kind: kind, Name: v.Name, Type: v.Type, Count: int32(v.Count), Binding: v.Binding, Verbosity: v.Verbosity.String(),
		Description: v.Description, Category: strings.Join(v.Categories, ","), Error: v.Error}
	if value, ok := v.Value(); ok {
		r.Value = &value
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
