package mpit

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// listerLine is one line of the lister's output (see interpose/mpit/line.h).
type listerLine struct {
	kind   string
	fields url.Values
	err    error // the error of the first invalid value
}

func parseEntry(line string) (*listerLine, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil, fmt.Errorf("an empty line")
	}
	e := &listerLine{kind: words[0], fields: url.Values{}}
	for _, word := range words[1:] {
		key, escaped, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not key=value", word)
		}
		value, err := url.PathUnescape(escaped)
		if err != nil {
			return nil, err
		}
		e.fields.Add(key, value)
	}
	return e, nil
}

// text returns the value of a key, or "".
func (e *listerLine) text(key string) string { return e.fields.Get(key) }

// texts returns all values of a key.
func (e *listerLine) texts(key string) []string { return e.fields[key] }

// number returns the value of a key, or otherwise if the key is missing.
func (e *listerLine) number(key string, otherwise int) int {
	if n := e.numbers(key); len(n) > 0 {
		return n[0]
	}
	return otherwise
}

func (e *listerLine) numbers(key string) []int {
	var all []int
	for _, text := range e.texts(key) {
		n, err := strconv.Atoi(text)
		if err != nil {
			e.fail("%s=%q is not a number", key, text)
		}
		all = append(all, n)
	}
	return all
}

func (e *listerLine) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// reader builds a List from entries. Enumerations come before the variables
// that use them. Categories name their members by index.
type reader struct {
	list    *Catalogue
	enums   map[string]int // Enum.ID, by the library's id
	members []members      // of each of list.Categories
}

type members struct{ cvars, pvars, events []int }

// Parse parses the output of interpose/mpit. A list without its last line is an
// error.
func Parse(text []byte) (*Catalogue, error) {
	r := reader{enums: map[string]int{}, list: &Catalogue{CVars: []CVar{}, PVars: []PVar{}, Categories: []Category{},
		Enums: []Enum{}, Events: []EventType{}, Sources: []ClockedSource{}, Errors: []Error{}}} // in JSON empty lists instead of null
	ended := false
	n := 0
	for line := range bytes.Lines(text) {
		n++
		e, err := parseEntry(string(line))
		if err == nil && ended {
			err = fmt.Errorf("text behind the end")
		}
		if err == nil && e.kind == "end" {
			ended = true
			if lines := e.number("lines", -1); lines != n-1 {
				e.fail("%d lines of %d", n-1, lines)
			}
			err = e.err
		} else if err == nil {
			r.add(e)
			err = e.err
		}
		if err != nil {
			return nil, fmt.Errorf("list of variables: line %d: %w", n, err)
		}
	}
	if !ended {
		return nil, fmt.Errorf("list of variables: ends after %d lines, in the middle", n)
	}
	r.link()
	return r.list, nil
}

func (r *reader) add(e *listerLine) {
	l := r.list
	switch e.kind {
	case "library":
		l.Library, l.Standard = e.text("version"), e.text("standard")
	case "enum":
		r.addEnum(e)
	case "cvar":
		l.CVars = append(l.CVars, CVar{VariableInfo: r.variable(e), Scope: e.text("scope"), Unsteady: e.text("unsteady") != ""})
	case "pvar":
		l.PVars = append(l.PVars, PVar{VariableInfo: r.variable(e), Class: e.text("class"),
			Readonly: isSet(e, "readonly"), Continuous: isSet(e, "continuous"), Atomic: isSet(e, "atomic")})
	case "category":
		r.members = append(r.members, members{e.numbers("cvar"), e.numbers("pvar"), e.numbers("event")})
		l.Categories = append(l.Categories, Category{Name: e.text("name"), Description: e.text("about"),
			Categories: e.numbers("category"), Index: e.number("index", -1)})
	case "event":
		l.Events = append(l.Events, EventType{Name: e.text("name"), Verbosity: verbosityOf(e), Binding: e.text("bind"),
			Elements: e.texts("type"), Description: e.text("about"), Index: e.number("index", -1), EnumID: r.enumID(e)})
	case "source":
		l.Sources = append(l.Sources, ClockedSource{Name: e.text("name"), Order: e.text("order"), Description: e.text("about"),
			Index: e.number("index", -1), TicksPerSecond: int64(e.number("ticks_per_second", 0)), MaxTicks: int64(e.number("max_ticks", 0))})
	case "error":
		l.Errors = append(l.Errors, Error{Kind: e.text("kind"), Call: e.text("call"), Reason: e.text("reason"),
			Index: e.number("index", -1), Code: e.number("code", 0), Signal: e.number("signal", 0)})
	default:
		e.fail("a line of an unknown kind, %q", e.kind)
	}
}

// isSet parses a flag, which is an int in MPI_T.
func isSet(e *listerLine, key string) bool { return e.text(key) != "" && e.text(key) != "0" }

func (r *reader) variable(e *listerLine) VariableInfo {
	return VariableInfo{Name: e.text("name"), Description: e.text("about"), Type: e.text("type"), Binding: e.text("bind"), Values: e.texts("value"),
		Verbosity: verbosityOf(e), Index: e.number("index", -1), Count: e.number("count", -1), EnumID: r.enumID(e)}
}

// verbosityOf returns 0 for an unknown number.
func verbosityOf(e *listerLine) Verbosity {
	v, _ := ParseVerbosity(e.text("verbosity"))
	return v
}

// enumID returns 0 for an enumeration that the library did not describe;
// list.Errors says so.
func (r *reader) enumID(e *listerLine) int { return r.enums[e.text("enum")] }

// addEnum adds an enumeration unless it is known: after a crash, the next
// process lists enumerations again.
func (r *reader) addEnum(e *listerLine) {
	if r.enums[e.text("id")] != 0 {
		return
	}
	values, names := e.numbers("value"), e.texts("item")
	if len(names) != len(values) {
		e.fail("an enumeration of %d values with %d names", len(values), len(names))
		return
	}
	enum := Enum{ID: len(r.list.Enums) + 1, Name: e.text("name")}
	for i := range values {
		enum.Items = append(enum.Items, Item{values[i], names[i]})
	}
	r.enums[e.text("id")] = enum.ID
	r.list.Enums = append(r.list.Enums, enum)
}

// link connects variables with their categories and enumerations.
func (r *reader) link() {
	l := r.list
	cvars, pvars, events := map[int]*VariableInfo{}, map[int]*VariableInfo{}, map[int]*EventType{}
	for i := range l.CVars {
		l.name(&l.CVars[i].VariableInfo)
		cvars[l.CVars[i].Index] = &l.CVars[i].VariableInfo
	}
	for i := range l.PVars {
		l.name(&l.PVars[i].VariableInfo)
		pvars[l.PVars[i].Index] = &l.PVars[i].VariableInfo
	}
	for i := range l.Events {
		events[l.Events[i].Index] = &l.Events[i]
	}
	for _, e := range l.Errors {
		if v := map[string]map[int]*VariableInfo{"cvar": cvars, "pvar": pvars}[e.Kind][e.Index]; v != nil && v.Error == "" {
			v.Error = e.String()
		}
	}
	for i, m := range r.members {
		c := &l.Categories[i]
		c.CVars, c.PVars = into(c.Name, m.cvars, cvars), into(c.Name, m.pvars, pvars)
		for _, index := range m.events {
			if event := events[index]; event != nil {
				event.Categories = append(event.Categories, c.Name)
				c.Events = append(c.Events, event.Name)
			}
		}
	}
}

// into adds the category to the variables with these indices and returns their
// names. Variables that the library did not describe are in list.Errors.
func into(category string, indices []int, of map[int]*VariableInfo) (names []string) {
	for _, index := range indices {
		if v := of[index]; v != nil {
			v.Categories = append(v.Categories, category)
			names = append(names, v.Name)
		}
	}
	return names
}

// name sets a variable's enumeration and the name of its value.
func (l *Catalogue) name(v *VariableInfo) {
	if v.EnumID == 0 {
		return
	}
	v.Enum = &l.Enums[v.EnumID-1]
	if len(v.Values) == 1 {
		v.Item = v.Enum.call(v.Values[0])
	}
}

// call returns the name of a value, or, for flags, of several.
func (e *Enum) call(value string) string {
	n, err := strconv.Atoi(value)
	if err != nil {
		return ""
	}
	if i := slices.IndexFunc(e.Items, func(item Item) bool { return item.Value == n }); i >= 0 {
		return e.Items[i].Name
	}
	if !e.flags() {
		return ""
	}
	var names []string
	for _, item := range e.Items {
		if n&item.Value != 0 {
			names = append(names, item.Name)
			n &^= item.Value
		}
	}
	if n != 0 {
		return ""
	}
	return strings.Join(names, ",")
}

// flags reports whether a value may combine several items: there are at least three items, and each
// is a different bit. (MPI_T does not tell.)
func (e *Enum) flags() bool {
	seen := 0
	for _, item := range e.Items {
		if item.Value <= 0 || item.Value&(item.Value-1) != 0 || seen&item.Value != 0 {
			return false
		}
		seen |= item.Value
	}
	return len(e.Items) >= 3
}
