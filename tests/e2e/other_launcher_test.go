package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// otherDebian returns the other of Debian's two MPIs.
func otherDebian(m implementation) implementation {
	all := slices.DeleteFunc(implementations(), func(o implementation) bool { return !debian(o) || o.name == m.name })
	return all[0]
}

// TestOtherLauncher runs a program behind env under another MPI's launcher, in job
// mode, behind a script, and in rank mode. Each of its processes is alone in its
// world, as without mpitrace, and recorded.
func TestOtherLauncher(t *testing.T) {
	needPrebuilt(t)
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "reloaded_main")
		check := func(t *testing.T, status int, out output, ranks []*profile.Profile) {
			t.Helper()
			calls := countCalls(ranks)
			if out.code != status || len(ranks) != 2 || calls["Init"] != 2 || calls["Sendrecv"] != 2 {
				t.Errorf("exit status %d (want %d), %d recordings of %v, want 2 with one Sendrecv each\n%s%s", out.code, status, len(ranks), calls, out.stdout, out.stderr)
			}
			for _, p := range ranks {
				if p.Program != program || p.Size != 1 {
					t.Errorf("recorded %s in a world of %d, want %s alone", p.Program, p.Size, program)
				}
			}
		}
		for name, command := range map[string][]string{"env": {"env", program}, "script": {writeScript(t, "exec "+program)}} {
			t.Run(name, func(t *testing.T) {
				j := record(t, []string{"--strict"}, otherDebian(m).launch(2, command...)...)
				check(t, 3, j.output, j.ranks) // --strict: they were to be one job
				if want := "2 jobs of one rank: for one job, use the launcher of the program's MPI"; !strings.Contains(j.stderr, want) {
					t.Errorf("no %q in\n%s", want, j.stderr)
				}
			})
		}
		t.Run("rank mode", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			out := execute(t, nil, otherDebian(m).launch(2, mpitrace, "run", "-o", dir, "--", "env", program)...)
			check(t, 0, out, readRecordings(t, dir))
		})
	})
}

// needPrebuilt skips a test of what the libraries beside the dispatcher record,
// if there are none. Only make test-all builds them.
func needPrebuilt(t *testing.T) {
	t.Helper()
	testenv.At(t, testenv.All)
	if !interpose.HasPrebuiltDispatcher() {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
}
