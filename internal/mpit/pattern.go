package mpit

import (
	"fmt"
	"path"
	"strings"
)

// Pattern selects names, ignoring case. A pattern with *, ? or [a-z] must match
// the whole name; any other pattern must be a part of it. The zero Pattern
// selects all.
type Pattern struct{ text string }

// ParsePattern parses a pattern.
func ParsePattern(text string) (Pattern, error) {
	if _, err := path.Match(text, ""); err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return Pattern{strings.ToLower(text)}, nil
}

// Match reports whether the pattern selects a name.
func (p Pattern) Match(name string) bool {
	name = strings.ToLower(name)
	if !strings.ContainsAny(p.text, `*?[\`) {
		return strings.Contains(name, p.text)
	}
	// A slash in a name is an ordinary letter, unlike in path.Match.
	ok, _ := path.Match(strings.ReplaceAll(p.text, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok
}
