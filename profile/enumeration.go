package profile

import (
	"fmt"
	"slices"
)

// nameOf returns the name of a value of an enumeration, whose names are in the
// order of its values.
func nameOf[V ~uint8](names []string, v V) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

// valueOf is the inverse of nameOf. It reports whether there is such a name.
func valueOf[V ~uint8](names []string, name string) (V, bool) {
	i := slices.Index(names, name)
	return V(max(i, 0)), i >= 0
}

// setNamed sets v to the value with this name. what is the enumeration, for the
// error.
func setNamed[V ~uint8](v *V, names []string, what string, name []byte) error {
	named, ok := valueOf[V](names, string(name))
	if *v = named; !ok {
		return fmt.Errorf("%s %q is not known", what, name)
	}
	return nil
}
