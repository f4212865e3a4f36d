// Package settings has the one list of what can be set, and finds out what is:
// by the command line, the environment, or a file. The flags, the names in the
// environment, what the library in the application reads, `mpitrace config` and
// the manual come from this list.
package settings

import (
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Setting is one of the list. A value is a text in one spelling; "" is that of
// one that is off, or has nothing in it.
type Setting struct {
	Name    string // in files, and of the flag
	Short   string // one letter, of the flag
	Syntax  string // for people: a|b, or a word in capitals for what is to be put there
	Default string
	Empty   string // what the value "" is called, and may be given as
	Summary string // what it is for: a phrase
	Details string // sentences, for whoever asks
	// Check gives a value its one spelling, or says what is wrong with it: of a
	// list, one element.
	Check func(value string) (string, error)
	// Separator stands between the elements of a list in the environment. Other
	// settings have none, and one value.
	Separator string
	Ranks     bool   // the processes of a job are given it, in their environment
	Agree     bool   // it is to be the same on all ranks of a job
	Switch    bool   // it is on or off, and its flag alone says on
	NoFlag    bool   // it has no flag: it is of a place or a person, not of a run
	Call      string // when the program itself may set it, if it may
}

// Env is its name in the environment.
func (s *Setting) Env() string {
	return "MPITRACE_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Words returns the words that a value, or an element of it, can be, as far as they
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

// IsList tells whether it is a list.
func (s *Setting) IsList() bool { return s.Separator != "" }

// Shown is a value as people see it.
func (s *Setting) Shown(value string) string {
	if value == "" {
		return s.Empty
	}
	if s.Separator == "\n" {
		return strings.ReplaceAll(value, "\n", " ")
	}
	return value
}

// elements cuts a list into those that it has; of a setting that is none, it is
// the one.
func (s *Setting) elements(text string) []string {
	if !s.IsList() {
		return []string{text}
	}
	return slices.DeleteFunc(strings.Split(text, s.Separator), func(e string) bool { return e == "" })
}

// Parse gives the value that a text stands for.
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

// Named is the setting of a name, nil if there is none.
func Named(name string) *Setting {
	for i := range List {
		if List[i].Name == name {
			return &List[i]
		}
	}
	return nil
}

// Nearest is the name that was probably meant by one that is none, "" if there is
// no telling.
func Nearest(name string) string {
	best, least := "", 3 // more letters than these are another word
	for i := range List {
		if d := text.Distance(strings.ToLower(name), List[i].Name); d < least {
			best, least = List[i].Name, d
		}
	}
	return best
}
