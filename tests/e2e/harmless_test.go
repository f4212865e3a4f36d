package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestHarmless makes calls that fail or that must leave their arguments
// unchanged, and compares everything that the program can see with and without
// the library. MPICH numbers its errors, so that a failed call of the library
// would show, too.
func TestHarmless(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "failures")
		alone := succeed(t, nil, m.launch(1, program)...)
		if n := strings.Count(alone.stdout, "errno"); n != 64 {
			t.Fatalf("%d calls were tried, want 64\n%s", n, alone.stdout)
		}
		for _, setting := range []string{"MPITRACE_PROF=", "MPITRACE_INTERVAL=1ms"} {
			dir := filepath.Join(t.TempDir(), "run")
			command := preload(m.library(t), []string{"MPITRACE_DIR=" + dir, setting}, program)
			under := succeed(t, nil, m.launch(1, command...)...)
			diff(t, "what the program prints, "+setting, alone.stdout, under.stdout)
			ranks := readRecordings(t, dir)
			if len(ranks) != 1 {
				t.Fatalf("%d recordings", len(ranks))
			}
			// Three messages to itself for statuses and three for truncations.
			// The sends that failed are not counted.
			diff(t, "sent", messages(0, 0, 3, 2, 2, 8, 1, 8), pointToPoint(ranks))
		}
	})
}
