package calls

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed library.txt
var libraryText string

// Needed is an MPI function that the library needs in addition to those of
// Table.
type Needed struct {
	Name       string
	Wrapped    bool   // the library exports a function of this name
	Optional   bool   // some MPIs do not have it
	Parameters string // in C
}

// Library holds these functions.
var Library = parseLibrary()

func parseLibrary() []Needed {
	var all []Needed
	for _, line := range strings.Split(libraryText, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) != 3 {
			panic(fmt.Sprintf("library.txt: %q has %d columns, not 3", line, len(columns)))
		}
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		use := columns[1]
		all = append(all, Needed{columns[0], use != "calls", use == "wraps-4", columns[2]})
	}
	return all
}
