package mpit

import (
	"fmt"
	"slices"
	"strings"
)

// Verbosity is whom an entry is for and how much detail it is: from 1, basic for
// users, to 9, all for MPI's developers. These are the levels of ompi_info. 0 is
// that the library does not say.
type Verbosity int

// TunerBasic is the level to show where none is asked for: what is there for
// users, and the basics for those who tune.
const TunerBasic Verbosity = 4

// verbosities are the levels' names, of 1 first.
var verbosities = []string{
	"user-basic", "user-detail", "user-all",
	"tuner-basic", "tuner-detail", "tuner-all",
	"mpidev-basic", "mpidev-detail", "mpidev-all",
}

// Verbosities are the names of the levels, least detail first.
func Verbosities() []string { return slices.Clone(verbosities) }

// ParseVerbosity reads a name.
func ParseVerbosity(name string) (Verbosity, error) {
	i := slices.Index(verbosities, strings.ToLower(name))
	if i < 0 {
		return 0, fmt.Errorf("unknown verbosity %q: the levels are %s", name, strings.Join(verbosities, ", "))
	}
	return Verbosity(i + 1), nil
}

func (v Verbosity) String() string {
	if v < 1 || int(v) > len(verbosities) {
		return ""
	}
	return verbosities[v-1]
}

// MarshalText gives the name.
func (v Verbosity) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
