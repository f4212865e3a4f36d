package aggregate

import (
	"cmp"
	"slices"
)

// SettingChange is what was set differently in A and in B: nil where it was not
// set.
type SettingChange struct {
	Name string  `json:"name"`
	A    *string `json:"a"`
	B    *string `json:"b"`
}

func compareSettings(a, b map[string]string) []SettingChange {
	out := []SettingChange{}
	for name, x := range a {
		if y, both := b[name]; !both {
			out = append(out, SettingChange{name, &x, nil})
		} else if x != y {
			out = append(out, SettingChange{name, &x, &y})
		}
	}
	for name, y := range b {
		if _, both := a[name]; !both {
			out = append(out, SettingChange{name, nil, &y})
		}
	}
	slices.SortFunc(out, func(a, b SettingChange) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
