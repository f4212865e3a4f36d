package mpit

import "slices"

// Selection chooses entries by name and level.
type Selection struct {
	Pattern Pattern
	UpTo    Verbosity // 0 for all; an entry without a level is shown at each
}

// Above is how many entries a pattern chooses that are above the level.
type Above struct{ CVars, PVars, Events int }

// Select gives what a selection has of a list, and what it leaves out for its
// level. Categories and
// enumerations are chosen by their own name, or with a variable that is, and
// categories with those that they are in. Errors are of the whole library.
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

// withAncestors keeps the categories that a condition holds for, and those that
// these are in.
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

// keep copies those that a condition holds for.
func keep[T any](all []T, holds func(T) bool) []T {
	out := []T{}
	return append(out, slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !holds(v) })...)
}
