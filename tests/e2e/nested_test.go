package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNested lets `mpitrace run` record `mpitrace run`. The program must be
// recorded once, into the directory that the user has named, with a message.
func TestNested(t *testing.T) {
	const n = 4 // number of ranks of in_place
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "in_place")
		named := filepath.Join(t.TempDir(), "inner")
		for _, test := range []struct {
			name    string
			command []string
			dir     string // empty for the outer run's directory
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

// TestNestedInScript records a script in which another `mpitrace run` records a
// job of the other MPI, and which then runs a job of its own. Each run must
// have its own job, and both must be complete. If the inner run has all jobs,
// the outer one must name the inner one's directory.
func TestNestedInScript(t *testing.T) {
	const n = 4 // number of ranks of in_place
	withEach(t, debian, func(t *testing.T, m implementation) {
		other := slices.DeleteFunc(implementations(), func(o implementation) bool { return !debian(o) || o.name == m.name })[0]
		for _, test := range []struct {
			name    string
			mine    bool
			command []string // launcher and program of the inner mpitrace run
			code    int
			says    string
		}{
			{"the other MPI, and a job beside it", true, other.launch(n, other.compile(t, "in_place")), 0, "complete: finalized, nothing lost"},
			{"all of it", false, m.launch(n, m.compile(t, "in_place")), 3, "each MPI program was recorded by another `mpitrace run` in the command"},
		} {
			t.Run(test.name, func(t *testing.T) {
				inner := filepath.Join(t.TempDir(), "inner")
				text := fmt.Sprintf("#!/bin/sh\n%s run --strict --no-report -o %s -- %s || exit\n", mpitrace, inner, strings.Join(test.command, " "))
				if test.mine {
					text += strings.Join(m.launch(n, m.compile(t, "in_place")), " ") + "\n"
				}
				script := filepath.Join(t.TempDir(), "job.sh")
				if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
				j := record(t, []string{"--strict", "--mpi", m.name}, script)
				if j.code != test.code || !strings.Contains(j.stderr, test.says) ||
					!strings.Contains(j.stderr, "another `mpitrace run` in the command recorded into "+inner+"\n") {
					t.Errorf("exit status %d, want %d, with %q\n%s", j.code, test.code, test.says, j.stderr)
				}
				if ranks := readRecordings(t, inner); len(ranks) != n {
					t.Errorf("the inner run has %d recordings, want %d", len(ranks), n)
				}
				if outer := map[bool]int{true: n}[test.mine]; len(j.ranks) != outer {
					t.Errorf("the outer run has %d recordings, want %d", len(j.ranks), outer)
				}
			})
		}
	})
}
