package calls

import (
	_ "embed"
	"strings"
)

//go:embed library.txt
var libraryText string

// Needed is an MPI function that the library needs in addition to those of
// Table.
type Needed struct {
	Name     string
	Wrapped  bool // the library exports a function of this name
	Optional bool // some MPIs do not have it
}

// Library holds these functions.
var Library = parseLibrary()

func parseLibrary() []Needed {
	var all []Needed
	for _, line := range strings.Split(libraryText, "\n") {
		use, names, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(names) {
			all = append(all, Needed{name, strings.HasPrefix(use, "wraps"), strings.Contains(use, "where")})
		}
	}
	return all
}
