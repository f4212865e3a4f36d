package mpit

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// field is a key and its value.
type field struct{ key, value string }

// entry is one line of the lister's output (see interpose/mpit/line.h).
type entry struct {
	kind   string
	fields []field
}

func parseEntry(line string) (entry, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return entry{}, fmt.Errorf("an empty line")
	}
	e := entry{kind: words[0]}
	for _, word := range words[1:] {
		key, escaped, ok := strings.Cut(word, "=")
		if !ok {
			return entry{}, fmt.Errorf("%q is no key=value", word)
		}
		value, err := url.PathUnescape(escaped)
		if err != nil {
			return entry{}, err
		}
		e.fields = append(e.fields, field{key, value})
	}
	return e, nil
}

// text returns the value of a key, or "".
func (e entry) text(key string) string {
	for _, f := range e.fields {
		if f.key == key {
			return f.value
		}
	}
	return ""
}

// texts returns all values of a key.
func (e entry) texts(key string) []string {
	var all []string
	for _, f := range e.fields {
		if f.key == key {
			all = append(all, f.value)
		}
	}
	return all
}

// number returns the value of a key, or otherwise if the key is missing.
func (e entry) number(key string, otherwise int) (int, error) {
	if e.texts(key) == nil {
		return otherwise, nil
	}
	n, err := strconv.Atoi(e.text(key))
	if err != nil {
		return 0, fmt.Errorf("%s=%q is no number", key, e.text(key))
	}
	return n, nil
}

func (e entry) numbers(key string) ([]int, error) {
	var all []int
	for _, text := range e.texts(key) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%s=%q is no number", key, text)
		}
		all = append(all, n)
	}
	return all, nil
}

// reader builds a List from entries. Enumerations come before the variables
// that use them. Categories name their members by index.
type reader struct {
	list    *List
	enums   map[string]int // index in list.Enums, by the library's id
	members []members      // of each of list.Categories
}

type members struct{ cvars, pvars, events []int }

// Parse parses the output of interpose/mpit. A list without its last line is an
// error.
func Parse(text []byte) (*List, error) {
	r := reader{enums: map[string]int{}, list: &List{CVars: []CVar{}, PVars: []PVar{}, Categories: []Category{},
		Enums: []Enum{}, Events: []Event{}, Sources: []Source{}, Errors: []Error{}}} // in JSON empty lists instead of null
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
			var lines int
			if lines, err = e.number("lines", -1); err == nil && lines != n-1 {
				err = fmt.Errorf("%d lines of %d", n-1, lines)
			}
		} else if err == nil {
			err = r.add(e)
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

func (r *reader) add(e entry) (err error) {
	l := r.list
	switch e.kind {
	case "library":
		l.Library, l.Standard = e.text("version"), e.text("standard")
	case "enum":
		return r.addEnum(e)
	case "cvar":
		v := CVar{Scope: e.text("scope"), Unsteady: e.text("unsteady") != ""}
		v.Variable, err = r.variable(e)
		l.CVars = append(l.CVars, v)
	case "pvar":
		v := PVar{Class: e.text("class"), Readonly: isSet(e, "readonly"), Continuous: isSet(e, "continuous"), Atomic: isSet(e, "atomic")}
		v.Variable, err = r.variable(e)
		l.PVars = append(l.PVars, v)
	case "category":
		return r.addCategory(e)
	case "event":
		return r.addEvent(e)
	case "source":
		return r.addSource(e)
	case "error":
		return r.addError(e)
	default:
		return fmt.Errorf("a line of an unknown kind, %q", e.kind)
	}
	return err
}

// isSet parses a flag, which is an int in MPI_T.
func isSet(e entry, key string) bool { return e.text(key) != "" && e.text(key) != "0" }

func (r *reader) variable(e entry) (v Variable, err error) {
	v = Variable{Name: e.text("name"), Description: e.text("about"), Type: e.text("type"), Binding: e.text("bind"), Values: e.texts("value"),
		Verbosity: verbosityOf(e)}
	if v.Index, err = e.number("index", -1); err != nil {
		return v, err
	}
	if v.Count, err = e.number("count", -1); err != nil {
		return v, err
	}
	v.EnumID, err = r.enumID(e)
	return v, err
}

// verbosityOf returns 0 for an unknown number.
func verbosityOf(e entry) Verbosity {
	v, _ := ParseVerbosity(e.text("verbosity"))
	return v
}

func (r *reader) enumID(e entry) (int, error) {
	handle := e.text("enum")
	if handle == "" {
		return 0, nil
	}
	i, ok := r.enums[handle]
	if !ok {
		return 0, nil // the library did not describe it; list.Errors says so
	}
	return r.list.Enums[i].ID, nil
}

// addEnum adds an enumeration unless it is known: after a crash, the next
// process lists enumerations again.
func (r *reader) addEnum(e entry) error {
	if _, ok := r.enums[e.text("id")]; ok {
		return nil
	}
	values, err := e.numbers("value")
	if err != nil {
		return err
	}
	names := e.texts("item")
	if len(names) != len(values) {
		return fmt.Errorf("an enumeration of %d values with %d names", len(values), len(names))
	}
	enum := Enum{ID: len(r.list.Enums) + 1, Name: e.text("name")}
	for i := range values {
		enum.Items = append(enum.Items, Item{values[i], names[i]})
	}
	r.enums[e.text("id")] = len(r.list.Enums)
	r.list.Enums = append(r.list.Enums, enum)
	return nil
}

func (r *reader) addCategory(e entry) (err error) {
	c := Category{Name: e.text("name"), Description: e.text("about")}
	var m members
	for _, part := range []struct {
		key string
		to  *[]int
	}{{"cvar", &m.cvars}, {"pvar", &m.pvars}, {"event", &m.events}, {"category", &c.Categories}} {
		if *part.to, err = e.numbers(part.key); err != nil {
			return err
		}
	}
	if c.Index, err = e.number("index", -1); err != nil {
		return err
	}
	r.list.Categories = append(r.list.Categories, c)
	r.members = append(r.members, m)
	return nil
}

func (r *reader) addEvent(e entry) (err error) {
	v := Event{Name: e.text("name"), Verbosity: verbosityOf(e), Binding: e.text("bind"), Elements: e.texts("type"), Description: e.text("about")}
	if v.Index, err = e.number("index", -1); err != nil {
		return err
	}
	v.EnumID, err = r.enumID(e)
	r.list.Events = append(r.list.Events, v)
	return err
}

func (r *reader) addSource(e entry) (err error) {
	s := Source{Name: e.text("name"), Order: e.text("order"), Description: e.text("about")}
	if s.Index, err = e.number("index", -1); err != nil {
		return err
	}
	ticks, err := e.number("ticks_per_second", 0)
	if err != nil {
		return err
	}
	last, err := e.number("max_ticks", 0)
	s.TicksPerSecond, s.MaxTicks = int64(ticks), int64(last)
	r.list.Sources = append(r.list.Sources, s)
	return err
}

func (r *reader) addError(e entry) (err error) {
	v := Error{Kind: e.text("kind"), Call: e.text("call"), Reason: e.text("reason")}
	if v.Index, err = e.number("index", -1); err != nil {
		return err
	}
	if v.Code, err = e.number("code", 0); err != nil {
		return err
	}
	v.Signal, err = e.number("signal", 0)
	r.list.Errors = append(r.list.Errors, v)
	return err
}

// link connects variables with their categories and enumerations.
func (r *reader) link() {
	l := r.list
	cvars, pvars, events := map[int]*Variable{}, map[int]*Variable{}, map[int]*Event{}
	for i := range l.CVars {
		l.name(&l.CVars[i].Variable)
		cvars[l.CVars[i].Index] = &l.CVars[i].Variable
	}
	for i := range l.PVars {
		l.name(&l.PVars[i].Variable)
		pvars[l.PVars[i].Index] = &l.PVars[i].Variable
	}
	for i := range l.Events {
		events[l.Events[i].Index] = &l.Events[i]
	}
	for _, e := range l.Errors {
		if v := map[string]map[int]*Variable{"cvar": cvars, "pvar": pvars}[e.Kind][e.Index]; v != nil && v.Error == "" {
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
func into(category string, indices []int, of map[int]*Variable) (names []string) {
	for _, index := range indices {
		if v := of[index]; v != nil {
			v.Categories = append(v.Categories, category)
			names = append(names, v.Name)
		}
	}
	return names
}

// name sets a variable's enumeration and the name of its value.
func (l *List) name(v *Variable) {
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

// flags reports whether a value may combine several items: there are at least
// three items, and each is a different bit. MPI_T does not say it.
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
