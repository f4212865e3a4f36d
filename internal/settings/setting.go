// Package settings declares all settings in one list, and determines their
// values from the command line, the environment and files. The flags, the names
// of the environment variables, the settings of the library in the application,
// `mpitrace config` and the manual are generated from the list.
package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Setting declares one setting. A value is a text in one spelling. "" means off
// or empty.
type Setting struct {
	Name    string // name in files and of the flag
	Syntax  string // for help texts: a|b, or a word in capitals for a value
	Default string
	Empty   string // the word that stands for the value ""
	Summary string // one phrase for --help
	Details string // further sentences for the manual
	// Check returns a value in its one spelling, or an error that says what is wrong. For a list,
	// it is called with each element.
	Check func(value string) (string, error)
	// Separator separates the elements of a list in the environment. It is
	// empty for settings that are not lists.
	Separator string
	Ranks     bool   // whether the processes of a job get the setting in their environment
	Agree     bool   // whether it must be equal on all ranks of a job
	Switch    bool   // whether it is on or off, and the flag alone means on
	NoFlag    bool   // whether it has no flag, because it belongs to a site or a user and not to a run
	Call      string // when the program itself may set it; empty if it may not
}

// Env returns the name of the environment variable.
func (s *Setting) Env() string {
	return "MPITRACE_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Words returns the words that a value, or an element of it, can be, if they
// can be listed.
func (s *Setting) Words() []string {
	var words []string
	for word := range strings.FieldsFuncSeq(s.Syntax, func(r rune) bool { return r == '|' || r == ',' }) {
		if word == strings.ToLower(word) && strings.Trim(word, ".") != "" {
			words = append(words, word)
		}
	}
	switch s.Name {
	case "mpi":
		words = append(words, implementations...)
	case "trace-classes":
		words = append(words, eventClasses...)
	}
	return words
}

// IsList reports whether the value is a list.
func (s *Setting) IsList() bool { return s.Separator != "" }

// Shown returns a value as it is printed.
func (s *Setting) Shown(value string) string {
	if value == "" {
		return s.Empty
	}
	if s.Separator == "\n" {
		return strings.ReplaceAll(value, "\n", " ")
	}
	return value
}

// Recorded returns a value that a process has recorded as it is printed. Values that
// mean the same, such as 1s and 1000ms, give the same text.
func (s *Setting) Recorded(value string) string {
	if parsed, err := s.Parse(value); err == nil {
		value = parsed
	}
	return s.Shown(value)
}

// elements returns the elements of a list, or the text itself if the setting is
// not a list.
func (s *Setting) elements(text string) []string {
	if !s.IsList() {
		return []string{text}
	}
	return slices.DeleteFunc(strings.Split(text, s.Separator), func(e string) bool { return e == "" })
}

// Parse returns the value for a text.
func (s *Setting) Parse(text string) (string, error) {
	if text == s.Empty && s.Empty != "" {
		return "", nil
	}
	if !s.IsList() {
		return s.Check(text)
	}
	var out []string
	for _, e := range s.elements(text) {
		e, err := s.Check(strings.TrimSpace(e))
		if err != nil {
			return "", err
		}
		out = append(out, e)
	}
	return strings.Join(out, s.Separator), nil
}

// Names returns the names of all settings.
func Names() []string {
	var names []string
	for i := range List {
		names = append(names, List[i].Name)
	}
	return names
}

// Named returns the setting with this name, or nil.
func Named(name string) *Setting {
	for i := range List {
		if List[i].Name == name {
			return &List[i]
		}
	}
	return nil
}

// Unknown returns the error for a name that is not a setting.
func Unknown(name string) error {
	if best := text.Closest(name, Names()); len(best) > 0 {
		return fmt.Errorf("there is no setting %q: did you mean %s?", name, best[0])
	}
	return fmt.Errorf("there is no setting %q: `mpitrace config` lists them", name)
}
