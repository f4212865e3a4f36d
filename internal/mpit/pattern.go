package mpit

import (
	"fmt"
	"path"
	"strings"
)

// Pattern chooses names, without regard to case: a glob (*, ?, [a-z]) that is of
// the whole name, or a part of it. The zero Pattern is every name.
type Pattern struct{ text string }

// ParsePattern reads a pattern.
func ParsePattern(text string) (Pattern, error) {
	if _, err := path.Match(text, ""); err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return Pattern{strings.ToLower(text)}, nil
}

// Match tells whether a name is chosen.
func (p Pattern) Match(name string) bool {
	name = strings.ToLower(name)
	if !strings.ContainsAny(p.text, `*?[\`) {
		return strings.Contains(name, p.text)
	}
	// A name with a slash in it is no path.
	ok, _ := path.Match(strings.ReplaceAll(p.text, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok
}
