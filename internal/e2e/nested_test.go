package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNested has `mpitrace run` record `mpitrace run`: the program is recorded
// once, into the directory that is named, and that is said.
func TestNested(t *testing.T) {
	const n = 4 // what in_place needs
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "in_place")
		named := filepath.Join(t.TempDir(), "inner")
		for _, test := range []struct {
			name    string
			command []string
			dir     string // empty for the outer one's
		}{
			{"in front of the launcher", slices.Concat([]string{mpitrace, "run", "--"}, m.launch(n, program)), ""},
			{"behind the launcher", m.launch(n, mpitrace, "run", "--no-report", "--", program), ""},
			{"three times", slices.Concat([]string{mpitrace, "run", "-o", named, "--"}, m.launch(n, mpitrace, "run", "--", program)), named},
		} {
			t.Run(test.name, func(t *testing.T) {
				j := record(t, []string{"--strict"}, test.command...)
				if j.code != 0 || !strings.Contains(j.stderr, "is recorded once") {
					t.Fatalf("exit status %d\n%s", j.code, j.stderr)
				}
				if test.dir != "" {
					j.ranks = readRecordings(t, test.dir)
				}
				checkWhole(t, n, j)
			})
		}
		out := execute(t, nil, mpitrace, "run", "--", mpitrace, "report", "x")
		if out.code != 2 || !strings.Contains(out.stderr, "is mpitrace itself") {
			t.Errorf("mpitrace report recorded: exit status %d\n%s", out.code, out.stderr)
		}
	})
}
