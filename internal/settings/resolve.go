package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Source is where a value comes from: the later are stronger.
type Source int

const (
	Default Source = iota
	SiteFile
	UserFile
	Environment
	CommandLine
	Process // the program itself, or the environment that it was started in
)

var sourceNames = []string{"default", "site file", "user file", "environment", "command line", "process"}

func (s Source) String() string { return sourceNames[s] }

// MarshalText is for JSON.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse.
func (s *Source) UnmarshalText(text []byte) error {
	for i, name := range sourceNames {
		if name == string(text) {
			*s = Source(i)
			return nil
		}
	}
	return fmt.Errorf("source %q is not known", text)
}

// Value is what a setting is, and who says so.
type Value struct {
	*Setting
	Text   string
	Source Source
	SetBy  string  // --timing, MPITRACE_TIMING, FILE:LINE
	Weaker []Value // what else is said, the stronger first, but for the default
}

// Shown is the value as people see it.
func (v Value) Shown() string { return v.Setting.Shown(v.Text) }

// Elements are those of a list.
func (v Value) Elements() []string { return v.elements(v.Text) }

// On tells whether a switch is on.
func (v Value) On() bool { return v.Text == "on" }

// Values are all settings, in the order of List.
type Values []Value

// Of is the value of a setting that is in the list: its default where the values
// are only those that somebody made.
func (v Values) Of(name string) Value {
	for i := range v {
		if v[i].Name == name {
			return v[i]
		}
	}
	s := Named(name)
	if s == nil {
		panic("no setting " + name)
	}
	return Value{Setting: s, Text: s.Default}
}

// Without has the default of a setting, whatever is said of it.
func (v Values) Without(name string) Values {
	out := slices.Clone(v)
	for i := range out {
		if out[i].Name == name {
			out[i] = Value{Setting: out[i].Setting, Text: out[i].Default}
		}
	}
	return out
}

// Told are the values that the processes of a job are to be given: what nobody has
// set is left to their own environment.
func (v Values) Told() Values {
	var out Values
	for i := range v {
		if v[i].Ranks && v[i].Source != Default {
			out = append(out, v[i])
		}
	}
	return out
}

// Words are flags for `mpitrace rank`, in which Parse reads them back. Each
// element of a list is its own, as a word with a line end in it might not reach
// the other nodes.
func (v Values) Words() []string {
	var out []string
	for _, told := range v.Told() {
		elements := told.Elements()
		if len(elements) == 0 {
			elements = []string{""}
		}
		for _, e := range elements {
			out = append(out, "--set", told.Name+"="+e)
		}
	}
	return out
}

// ParseWords makes values of what follows each --set of Words.
func ParseWords(words []string) (Values, error) {
	var out Values
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		s := Named(name)
		if s == nil {
			return nil, Unknown(name)
		}
		if n := len(out); n > 0 && out[n-1].Setting == s && s.IsList() {
			out[n-1].Text += s.Separator + text
			continue
		}
		out = append(out, Value{Setting: s, Text: text, Source: CommandLine})
	}
	return out, nil
}

// Given says what a command line and an environment have.
type Given struct {
	Flag   func(name string) (text string, given bool)
	Getenv func(name string) string
	Files  []*File // the stronger first
}

// Resolve finds out what each setting is. A value that a stronger one replaces may
// be wrong, unless it is in a file.
func Resolve(in Given) (Values, error) {
	out := make(Values, len(List))
	for i := range List {
		s := &List[i]
		var said []Value
		if text, given := in.Flag(s.Name); given {
			said = append(said, Value{Setting: s, Text: text, Source: CommandLine, SetBy: "--" + s.Name})
		}
		if text := in.Getenv(s.Env()); text != "" {
			said = append(said, Value{Setting: s, Text: text, Source: Environment, SetBy: s.Env()})
		}
		for _, f := range in.Files {
			if v, ok := f.given(s); ok {
				said = append(said, v)
			}
		}
		if len(said) == 0 {
			out[i] = Value{Setting: s, Text: s.Default}
			continue
		}
		value, err := s.Parse(said[0].Text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", said[0].SetBy, said[0].Text, err)
		}
		out[i] = said[0]
		out[i].Text, out[i].Weaker = value, said[1:]
	}
	return out, nil
}
