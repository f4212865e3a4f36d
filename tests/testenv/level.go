package testenv

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A Level determines which make target runs a test. The environment variable
// MPITRACE_TEST_LEVEL lists the levels to run, separated by commas; the default
// is quick. Each target but check adds one level to those of the targets before it: `make
// test-all` runs quick and then all, so that no test runs twice.
type Level string

// Levels, in ascending order of thoroughness.
const (
	Check Level = "check" // make check: what needs no MPI and takes a second; the levels below include it
	Quick Level = "quick" // make test: each behaviour once, with Debian's Open MPI and MPICH
	All   Level = "all"   // make test-all: adds the other MPIs, sanitizers and short sweeps
	Sweep Level = "sweep" // make test-sweep, by hand before a release: the parts of scripts/sweep.sh
)

// Runs reports whether tests of the level run.
func Runs(level Level) bool {
	levels := strings.Split(cmp.Or(os.Getenv("MPITRACE_TEST_LEVEL"), string(Quick)), ",")
	for _, l := range levels {
		if !slices.Contains([]Level{Check, Quick, All, Sweep}, Level(l)) {
			panic(fmt.Sprintf("MPITRACE_TEST_LEVEL: %q is none of check, quick, all and sweep", l))
		}
	}
	return slices.Contains(levels, string(level))
}

// At skips the test unless tests of its level run. It skips under CI too.
func At(t testing.TB, level Level) {
	t.Helper()
	if !Runs(level) {
		t.Skipf("runs at level %s: set MPITRACE_TEST_LEVEL", level)
	}
}

// Highest returns the most thorough level that runs. Tests derive their number
// of repetitions from it.
func Highest() Level {
	for _, level := range []Level{Sweep, All, Quick} {
		if Runs(level) {
			return level
		}
	}
	return Check
}

// Step is for loops that try everything, such as each bit of a file. It returns n at
// level check, where every n-th is tried, and 1 at all other levels.
func Step(n int) int {
	if Highest() == Check {
		return n
	}
	return 1
}
