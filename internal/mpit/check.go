package mpit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// CVar returns the control variable with this name. If there is none, the error
// suggests similar names.
func (l *Catalogue) CVar(name string) (*CVar, error) {
	for i := range l.CVars {
		if l.CVars[i].Name == name {
			return &l.CVars[i], nil
		}
	}
	var names []string
	for i := range l.CVars {
		names = append(names, l.CVars[i].Name)
	}
	if near := text.Closest(name, names); len(near) > 0 {
		return nil, fmt.Errorf("no control variable is named %s: is it %s?", name, strings.Join(near, ", "))
	}
	return nil, fmt.Errorf("no control variable is named %s: mpitrace vars lists them", name)
}

// ReadOnlyError means that MPI_T cannot set a variable. Many read-only
// variables of Open MPI are settings nevertheless: Open MPI reads them from the
// environment (OMPI_MCA_name) when it starts.
type ReadOnlyError struct{ Name, Scope string }

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("%s is read-only (its scope is %s)", e.Name, e.Scope)
}

// Check returns an error if the variable cannot have the value, as far as its
// description says. The library may still refuse the value. After a
// ReadOnlyError the value itself is valid.
func (v *CVar) Check(value string) error {
	if _, err := v.Parse(value); err != nil {
		return err
	}
	if v.Scope == "constant" || v.Scope == "readonly" {
		return &ReadOnlyError{v.Name, v.Scope}
	}
	return nil
}

// Parse returns the elements of a value, with numbers instead of names of the
// enumeration.
func (v *CVar) Parse(value string) ([]string, error) {
	switch {
	case v.Binding != "none" && v.Binding != "":
		return nil, fmt.Errorf("%s belongs to one object (%s) each time, and not to the whole process", v.Name, v.Binding)
	case v.Type == "char":
		return []string{value}, nil
	}
	texts := []string{value}
	if v.Count > 1 {
		if texts = strings.Split(value, ","); len(texts) != v.Count {
			return nil, fmt.Errorf("%s=%s: %d values, and it takes %d, separated by commas", v.Name, value, len(texts), v.Count)
		}
	}
	for i := range texts {
		var err error
		if texts[i], err = v.element(texts[i]); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", v.Name, value, err)
		}
	}
	return texts, nil
}

// element parses one element, which may be a name of the enumeration.
func (v *CVar) element(text string) (string, error) {
	if v.Enum != nil {
		n, err := v.Enum.Number(text)
		return strconv.Itoa(n), err
	}
	parse, ok := parsers[v.Type]
	if !ok {
		return "", fmt.Errorf("its type, %s, is one that values cannot be written as", cmp.Or(v.Type, "unknown"))
	}
	if err := parse(text); err != nil {
		return "", fmt.Errorf("not of its type, %s", v.Type)
	}
	return text, nil
}

// parsers check texts for each type of MPI_T. C types have the sizes of 64-bit
// Linux.
var parsers = map[string]func(string) error{
	"int": signed(32), "int8": signed(8), "int16": signed(16), "int32": signed(32), "int64": signed(64),
	"short": signed(16), "long": signed(64), "long long": signed(64), "count": signed(64), "aint": signed(64),
	"unsigned": unsigned(32), "uint8": unsigned(8), "uint16": unsigned(16), "uint32": unsigned(32), "uint64": unsigned(64),
	"unsigned short": unsigned(16), "unsigned long": unsigned(64), "unsigned long long": unsigned(64),
	"byte": unsigned(8), "bool": unsigned(1), "double": floating, "float": floating,
}

// baseOf returns 16 for a number that starts with 0x and 10 otherwise. The library in the
// application parses numbers in the same way.
func baseOf(s string) int {
	digits := strings.ToLower(strings.TrimLeft(s, "+-"))
	if strings.HasPrefix(digits, "0x") {
		return 0
	}
	return 10
}

func signed(bits int) func(string) error {
	return func(s string) error { _, err := strconv.ParseInt(s, baseOf(s), bits); return err }
}

func unsigned(bits int) func(string) error {
	return func(s string) error {
		_, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), baseOf(s), bits)
		return err
	}
}

func floating(s string) error { _, err := strconv.ParseFloat(s, 64); return err }

// Number returns the value of a text: the name or the number of an item or, if items are flags,
// several of these separated by commas.
func (e *Enum) Number(text string) (int, error) {
	if n, ok := e.number(text); ok {
		return n, nil
	}
	if e.flags() {
		all := 0
		for _, part := range strings.Split(text, ",") {
			n, ok := e.number(part)
			if !ok {
				return 0, e.refuse(part)
			}
			all |= n
		}
		return all, nil
	}
	return 0, e.refuse(text)
}

func (e *Enum) number(text string) (int, bool) {
	i := slices.IndexFunc(e.Items, func(item Item) bool { return item.Name == text })
	if i < 0 {
		i = slices.IndexFunc(e.Items, func(item Item) bool { return strings.EqualFold(item.Name, text) })
	}
	if i >= 0 {
		return e.Items[i].Value, true
	}
	n, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		return 0, false
	}
	return int(n), e.has(int(n))
}

// has reports whether a number is a value of the enumeration.
func (e *Enum) has(n int) bool {
	if slices.ContainsFunc(e.Items, func(item Item) bool { return item.Value == n }) {
		return true
	}
	if e.Name == "verbosity" && len(e.Items) > 0 { // in Open MPI the values between the items are valid, too
		return n >= e.Items[0].Value && n <= e.Items[len(e.Items)-1].Value
	}
	return n == 0 && e.flags() || n != 0 && e.call(strconv.Itoa(n)) != ""
}

// shownItems is the largest number of items that an error lists.
const shownItems = 20

func (e *Enum) refuse(text string) error {
	var names []string
	for _, item := range e.Items[:min(len(e.Items), shownItems)] {
		names = append(names, fmt.Sprintf("%s (%d)", item.Name, item.Value))
	}
	if len(e.Items) > shownItems {
		names = append(names, "…")
	}
	return fmt.Errorf("%q is not a value of this variable: %s", text, strings.Join(names, ", "))
}
