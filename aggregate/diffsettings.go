package aggregate

import (
	"cmp"
	"fmt"
	"io"
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

// changesText says what was set differently; what `none` is called was not set.
func changesText(w io.Writer, o DiffText, of string, changes []SettingChange, none string) {
	value := func(v *string) string {
		if v == nil {
			return none
		}
		return o.clean(shortValue(*v))
	}
	for i, c := range changes {
		if i == o.Top {
			fmt.Fprintf(w, "and %s\n", CountOf(uint64(len(changes)-i), "more "+of))
			return
		}
		fmt.Fprintf(w, "%s %s: %s in A, %s in B\n", of, o.clean(c.Name), value(c.A), value(c.B))
	}
}
