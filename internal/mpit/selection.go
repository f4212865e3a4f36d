package mpit

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// EntrySelection selects entries by name, verbosity and kind.
type EntrySelection struct {
	Pattern NamePattern
	UpTo    Verbosity // 0 for all; entries without a level are always selected
	Kinds   Kinds
}

// Kinds are the kinds of entries that are selected.
type Kinds struct{ CVars, PVars, Categories, Enums, Events bool }

// AllKinds selects entries of all kinds.
var AllKinds = Kinds{true, true, true, true, true}

// Select returns the selected entries, and counts those that only the level
// left out. Categories and enumerations are selected by their own name or by
// that of a variable in them, and categories also with a category in them.
// Errors are always included.
func (l *Catalogue) Select(s EntrySelection) (chosen *Catalogue, above int) {
	out := *l
	shows := func(kind bool, name string, level Verbosity) bool {
		if !s.Pattern.Match(name) {
			return false
		}
		shown := s.UpTo == 0 || level <= s.UpTo
		if kind && !shown {
			above++
		}
		return shown
	}
	out.CVars = keep(l.CVars, func(v CVar) bool { return shows(s.Kinds.CVars, v.Name, v.Verbosity) })
	out.PVars = keep(l.PVars, func(v PVar) bool { return shows(s.Kinds.PVars, v.Name, v.Verbosity) })
	out.Events = keep(l.Events, func(e EventType) bool { return shows(s.Kinds.Events, e.Name, e.Verbosity) })
	out.Sources = keep(l.Sources, func(src ClockedSource) bool { return s.Pattern.Match(src.Name) })
	used, held := map[int]bool{}, map[string]bool{}
	note := func(v *VariableInfo) {
		used[v.EnumID] = true
		for _, name := range v.Categories {
			held[name] = true
		}
	}
	for i := range out.CVars {
		note(&out.CVars[i].VariableInfo)
	}
	for i := range out.PVars {
		note(&out.PVars[i].VariableInfo)
	}
	out.Enums = keep(l.Enums, func(e Enum) bool { return used[e.ID] || s.Pattern.Match(e.Name) })
	out.Categories = withAncestors(l.Categories, func(c Category) bool { return held[c.Name] || s.Pattern.Match(c.Name) })
	out.limit(s.Kinds)
	return &out, above
}

// limit removes the entries of other kinds.
func (l *Catalogue) limit(k Kinds) {
	if !k.CVars {
		l.CVars = []CVar{}
	}
	if !k.PVars {
		l.PVars = []PVar{}
	}
	if !k.Categories {
		l.Categories = []Category{}
	}
	if !k.Enums {
		l.Enums = []Enum{}
	}
	if !k.Events {
		l.Events, l.Sources = []EventType{}, []ClockedSource{}
	}
}

// Empty reports whether the list has no entries.
func (l *Catalogue) Empty() bool {
	return len(l.CVars)+len(l.PVars)+len(l.Categories)+len(l.Enums)+len(l.Events)+len(l.Sources) == 0
}

// withAncestors returns the categories for which holds is true, and the
// categories that contain them.
func withAncestors(all []Category, holds func(Category) bool) []Category {
	kept := map[int]bool{}
	for _, c := range all {
		kept[c.Index] = holds(c)
	}
	for again := true; again; {
		again = false
		for _, c := range all {
			if !kept[c.Index] && slices.ContainsFunc(c.Categories, func(i int) bool { return kept[i] }) {
				kept[c.Index], again = true, true
			}
		}
	}
	return keep(all, func(c Category) bool { return kept[c.Index] })
}

// keep returns the elements for which holds is true.
func keep[T any](all []T, holds func(T) bool) []T {
	out := []T{}
	return append(out, slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !holds(v) })...)
}

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
