package views

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// hostile changes the title of a terminal's window.
const hostile = "\x1b]0;title\x07"

// ours are the texts that this package chooses: a job has no influence on them.
var ours = []string{"Section.ID", "Text.Tone", "NamedValue.Tone", "Listing.Tone", "Highlight.Rule", "Highlight.Section", "BarPart.Color",
	"Drawing.Name", "Table.ID", "Column.Key", "Column.Unit", "Row.Place", "Row.Unit", "Row.Tone"}

// eachText visits all texts in a value that a job may choose, with the type and the field.
func eachText(v reflect.Value, name string, visit func(name string, text reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		if !slices.Contains(ours, name) {
			visit(name, v)
		}
	case reflect.Pointer:
		eachText(v.Elem(), name, visit)
	case reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), name, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[profile.RankSet]() && v.Type() != reflect.TypeFor[SmallMatrix]() {
				eachText(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, visit)
			}
		}
	}
}

// TestFinish gives each text of each kind of block control characters. None may be left.
func TestFinish(t *testing.T) {
	columns := []Column{{}}
	s := Section{Blocks: []Block{
		{Text: &Text{}}, {Fact: &NamedValue{}}, {List: &Listing{Items: []ListItem{{Callers: []string{""}, Items: []ListItem{{}}}}}},
		{Table: &Table{Columns: columns, Rows: []Row{{Cells: []Cell{{}}, Callers: []string{""}}}}}, {Findings: &[]Highlight{{}}},
		{Bar: &Bar{[]BarPart{{}}}}, {Drawing: &Drawing{Series: []Series{{Bars: []ChartBar{{}}}}, Columns: []Column{{}}}},
	}}
	texts := 0
	eachText(reflect.ValueOf(&s), "", func(_ string, text reflect.Value) {
		text.SetString(hostile)
		texts++
	})
	if texts < 25 {
		t.Fatalf("%d texts", texts)
	}
	finished := Finish(s)
	eachText(reflect.ValueOf(&finished[0]), "", func(name string, text reflect.Value) {
		if strings.ContainsAny(text.String(), "\x1b\x07") {
			t.Errorf("%s: %q", name, text)
		}
	})
}
