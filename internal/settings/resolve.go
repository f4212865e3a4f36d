package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Origin is where a value comes from, in increasing precedence.
type Origin int

const (
	Default Origin = iota
	SiteFile
	UserFile
	Environment
	CommandLine
	Process // a call in the program, or the environment that it was started in
)

var sourceNames = []string{"default", "site file", "user file", "environment", "command line", "process"}

func (s Origin) String() string { return sourceNames[s] }

// MarshalText returns the name, for JSON.
func (s Origin) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (s *Origin) UnmarshalText(text []byte) error {
	i := slices.Index(sourceNames, string(text))
	if i < 0 {
		return fmt.Errorf("source %q is not known", text)
	}
	*s = Origin(i)
	return nil
}

// Value is the value of a setting and where it comes from.
type Value struct {
	*Setting
	Text   string
	Source Origin
	SetBy  string // --timing, MPITRACE_TIMING, or FILE:LINE
	// values that this one overrides, in decreasing precedence; the default is not among them
	Weaker []Value
}

// Shown returns the value as it is printed.
func (v Value) Shown() string { return v.Setting.Shown(v.Text) }

// Elements returns the elements of a list.
func (v Value) Elements() []string { return v.elements(v.Text) }

// On reports whether a switch is on.
func (v Value) On() bool { return v.Text == "on" }

// Values holds values of settings, in the order of List.
type Values []Value

// Of returns the value of a setting, or its default if v does not contain it.
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

// Without returns v with the default for one setting.
func (v Values) Without(name string) Values {
	out := slices.Clone(v)
	for i := range out {
		if out[i].Name == name {
			out[i] = Value{Setting: out[i].Setting, Text: out[i].Default}
		}
	}
	return out
}

// Told returns the values to pass to the processes of a job. Settings that nobody set are not
// passed, so that the environment of the processes applies.
func (v Values) Told() Values {
	var out Values
	for i := range v {
		if v[i].Ranks && v[i].Source != Default {
			out = append(out, v[i])
		}
	}
	return out
}

// Words returns the values as flags of `mpitrace rank`, for ParseWords. Each
// element of a list is a separate word, because a word with a line end might
// not reach other nodes.
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

// ParseWords parses the arguments of --set that Words returned: NAME=VALUE.
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

// Given holds everything that sets values.
type Given struct {
	Flag   func(name string) (text string, given bool)
	Getenv func(name string) string
	Files  []*SettingsFile // in decreasing precedence
}

// Resolve returns the value of each setting. It accepts an invalid value that another value
// overrides, unless the invalid value is in a file.
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
