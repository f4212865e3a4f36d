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

// takenOver runs a program on n ranks with the library for another MPI
// preloaded, and with the libraries for all MPIs at hand. If n is 0, it runs one
// process without a launcher.
func (m implementation) takenOver(t *testing.T, n int, program ...string) job {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_LIBRARIES=" + filepath.Dir(dispatcher(t))}
	command := preload(otherDebian(m).library(t), env, program...)
	if n > 0 {
		command = m.launch(n, command...)
	}
	out := execute(t, nil, command...)
	j := job{output: out, dir: dir, ranks: readRecordings(t, dir)}
	if j.code != 0 || !strings.HasPrefix(strings.TrimSpace(j.stdout), "ok") || j.stderr != "" {
		t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
	}
	checkWhole(t, max(n, 1), j)
	return j
}

// TestTakenOver compares what is recorded in processes that were started with the
// library for another MPI with what the right library records.
func TestTakenOver(t *testing.T) {
	needPrebuilt(t)
	withEach(t, debian, func(t *testing.T, m implementation) {
		for name, n := range map[string]int{"sendrecv": 3, "constructors": 4, "threads": 2} {
			t.Run(name, func(t *testing.T) {
				program := m.compile(t, name)
				got, want := m.takenOver(t, n, program), m.run(t, n, program)
				diff(t, "messages", pointToPoint(want.ranks), pointToPoint(got.ranks))
				diff(t, "calls", countCalls(want.ranks), countCalls(got.ranks))
			})
		}
		t.Run("RTLD_LOCAL", func(t *testing.T) {
			j := m.takenOver(t, 2, compilePlain(t, "host"), m.compile(t, "plugin", "-shared", "-fPIC"))
			diff(t, "messages", message(0, 1, 77), pointToPoint(j.ranks))
		})
		t.Run("unloaded and opened again", func(t *testing.T) {
			plugin := m.compile(t, "reloaded_plugin", "-shared", "-fPIC")
			j := m.takenOver(t, 0, compilePlain(t, "reloaded"), plugin, "local", "3")
			if n := countCalls(j.ranks)["Sendrecv"]; n != 3 {
				t.Errorf("recorded %d Sendrecv, want 3", n)
			}
		})
	})
}

// TestTakenOverFortran does the same with each binding of Fortran.
func TestTakenOverFortran(t *testing.T) {
	testenv.At(t, testenv.All)
	needPrebuilt(t)
	withEach(t, debian, func(t *testing.T, m implementation) {
		withBindings(t, func(t *testing.T, b binding) {
			program := m.compileFortran(t, b, "fortran_p2p")
			got, want := m.takenOver(t, 2, program), m.run(t, 2, program)
			diff(t, "messages", pointToPoint(want.ranks), pointToPoint(got.ranks))
			calls := countCalls(got.ranks)
			calls["Test"] = countCalls(want.ranks)["Test"] // varies: the program polls
			diff(t, "calls", countCalls(want.ranks), calls)
		})
	})
}

// TestOtherLauncher runs a program behind env under another MPI's launcher, in job
// mode, behind a script, and in rank mode. Each of its processes is alone in its
// world, as without mpitrace, and recorded.
func TestOtherLauncher(t *testing.T) {
	needPrebuilt(t)
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "reloaded_main")
		check := func(t *testing.T, out output, ranks []*profile.Profile) {
			t.Helper()
			calls := countCalls(ranks)
			if out.code != 0 || len(ranks) != 2 || calls["Init"] != 2 || calls["Sendrecv"] != 2 {
				t.Errorf("exit status %d, %d recordings of %v, want 2 with one Sendrecv each\n%s%s", out.code, len(ranks), calls, out.stdout, out.stderr)
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
				check(t, j.output, j.ranks)
			})
		}
		t.Run("rank mode", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			out := execute(t, nil, otherDebian(m).launch(2, mpitrace, "run", "-o", dir, "--", "env", program)...)
			check(t, out, readRecordings(t, dir))
		})
	})
}

// needPrebuilt skips a test of what the libraries beside the dispatcher record,
// if there are none.
func needPrebuilt(t *testing.T) {
	t.Helper()
	if !interpose.HasPrebuiltDispatcher() {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
}
