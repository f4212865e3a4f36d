package mpit

import "slices"

// Selection selects entries by name and verbosity.
type Selection struct {
	Pattern Pattern
	UpTo    Verbosity // 0 for all; entries without a level are always selected
}

// Above counts the entries that match the pattern but are above the level.
type Above struct{ CVars, PVars, Events int }

// Select returns the selected entries, and counts those that only the level
// left out. Categories and enumerations are selected by their own name or by
// that of a variable in them, and categories also with a category in them.
// Errors are always included.
func (l *List) Select(s Selection) (chosen *List, above Above) {
	out := *l
	shows := func(name string, level Verbosity, above *int) bool {
		switch {
		case !s.Pattern.Match(name):
			return false
		case s.UpTo > 0 && level > s.UpTo:
			*above++
			return false
		}
		return true
	}
	out.CVars = keep(l.CVars, func(v CVar) bool { return shows(v.Name, v.Verbosity, &above.CVars) })
	out.PVars = keep(l.PVars, func(v PVar) bool { return shows(v.Name, v.Verbosity, &above.PVars) })
	out.Events = keep(l.Events, func(e Event) bool { return shows(e.Name, e.Verbosity, &above.Events) })
	out.Sources = keep(l.Sources, func(src Source) bool { return s.Pattern.Match(src.Name) })
	used, held := map[int]bool{}, map[string]bool{}
	note := func(v *Variable) {
		used[v.EnumID] = true
		for _, name := range v.Categories {
			held[name] = true
		}
	}
	for i := range out.CVars {
		note(&out.CVars[i].Variable)
	}
	for i := range out.PVars {
		note(&out.PVars[i].Variable)
	}
	out.Enums = keep(l.Enums, func(e Enum) bool { return used[e.ID] || s.Pattern.Match(e.Name) })
	out.Categories = withAncestors(l.Categories, func(c Category) bool { return held[c.Name] || s.Pattern.Match(c.Name) })
	return &out, above
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
