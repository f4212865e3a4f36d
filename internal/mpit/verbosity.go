package mpit

import (
	"fmt"
	"slices"
	"strings"
)

// Verbosity is the level of detail of an entry and the people it is for: from
// 1, basic for users, to 9, everything for developers of the MPI. The levels
// are those of ompi_info. 0 means that the library does not say.
type Verbosity int

// TunerBasic is the default level: everything for users and the basics for
// tuners.
const TunerBasic Verbosity = 4

// verbosities are the names of the levels 1 to 9.
var verbosities = []string{
	"user-basic", "user-detail", "user-all",
	"tuner-basic", "tuner-detail", "tuner-all",
	"mpidev-basic", "mpidev-detail", "mpidev-all",
}

// Verbosities returns the names of the levels, in increasing detail.
func Verbosities() []string { return slices.Clone(verbosities) }

// ParseVerbosity returns the level with this name.
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

// MarshalText returns the name.
func (v Verbosity) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
