package mpit

import (
	"fmt"
	"path"
	"strings"
)

// NamePattern selects names, ignoring case. A pattern with *, ? or [a-z] must match
// the whole name; any other pattern must be a part of it. The zero NamePattern
// selects all.
type NamePattern struct{ text string }

// ParsePattern parses a pattern.
func ParsePattern(text string) (NamePattern, error) {
	if _, err := path.Match(text, ""); err != nil {
		return NamePattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return NamePattern{strings.ToLower(text)}, nil
}

// Match reports whether the pattern selects a name.
func (p NamePattern) Match(name string) bool {
	name = strings.ToLower(name)
	if !strings.ContainsAny(p.text, `*?[\`) {
		return strings.Contains(name, p.text)
	}
	// A slash in a name is an ordinary letter, unlike in path.Match.
	ok, _ := path.Match(strings.ReplaceAll(p.text, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok
}
