package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// bypasses are ways to call MPI that symbol interposition does not see. Each
// makes 10 Allreduce, 10 Sendrecv and 1 Barrier on each rank.
func bypasses(t *testing.T, m implementation) map[string][]string {
	host, plugin := compilePlain(t, "bypass"), m.compile(t, "bypass_plugin", "-shared", "-fPIC")
	other := filepath.Join(t.TempDir(), "other.so") // the same again: dlopen must not find it loaded
	if err := os.WriteFile(other, readAll(t, plugin), 0o755); err != nil {
		t.Fatal(err)
	}
	early := m.compile(t, "bypass_plugin", "-shared", "-fPIC", "-DEARLY")
	return map[string][]string{
		"RTLD_DEEPBIND": {host, "deep", plugin, other},
		"constructor":   {host, "early", early},
		"handle":        {host, "handle", m.mpiLibrary(t), plugin},
	}
}

// TestBypass records calls that lead past symbol interposition, by the library of
// one MPI and through the dispatcher.
func TestBypass(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		check := func(t *testing.T, j job) {
			t.Helper()
			calls := countCalls(j.ranks)
			if calls["Allreduce"] != 20 || calls["Sendrecv"] != 20 || calls["Barrier"] != 2 || calls["Init"] != 2 || calls["Finalize"] != 2 {
				t.Errorf("recorded %v, want 20 Allreduce, 20 Sendrecv, 2 Barrier, Init and Finalize", calls)
			}
		}
		for name, command := range bypasses(t, m) {
			t.Run(name, func(t *testing.T) {
				check(t, m.dispatched(t, 2, command...))
				j := record(t, []string{"--strict"}, m.launch(2, command...)...)
				if j.code != 0 {
					t.Errorf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
				}
				check(t, j)
			})
		}
	})
}

// TestBypassFortran records a plug-in in Fortran that is opened with
// RTLD_DEEPBIND.
func TestBypassFortran(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		plugin := m.compile(t, "bypass_plugin", "-shared", "-fPIC")
		works := m.compileFortran(t, bindings()[0], "bypass_fortran", "-shared", "-fPIC")
		command := []string{compilePlain(t, "bypass"), "deep", plugin, works}
		for how, j := range map[string]job{"dispatcher": m.dispatched(t, 2, command...), "library": record(t, nil, m.launch(2, command...)...)} {
			if calls := countCalls(j.ranks); calls["Allreduce"] != 20 || calls["Barrier"] != 20 {
				t.Errorf("%s: recorded %v, want 20 Allreduce and 20 Barrier\n%s", how, calls, j.stderr)
			}
		}
	})
}

// TestBypassThreads opens and closes files in eight threads, while another
// communicates.
func TestBypassThreads(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		plugin := m.compile(t, "bypass_plugin", "-shared", "-fPIC")
		rounds := "20"
		if testenv.Runs(testenv.All) {
			rounds = "500"
		}
		program := m.compile(t, "bypass_threads", "-pthread")
		if calls := countCalls(m.dispatched(t, 2, program, plugin, m.mpiLibrary(t), rounds).ranks); calls["Allreduce"] != 200 {
			t.Errorf("recorded %v, want 200 Allreduce", calls)
		}
		if calls := countCalls(m.run(t, 2, program, plugin, m.mpiLibrary(t), rounds).ranks); calls["Allreduce"] != 200 {
			t.Errorf("recorded %v, want 200 Allreduce", calls)
		}
	})
}

// TestBypassTool preloads a library that passes a call on under the name that it
// has itself. The call passes two wrappers, and is counted once.
func TestBypassTool(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		tool := m.compile(t, "bypass_tool", "-shared", "-fPIC")
		for _, library := range []string{dispatcher(t), m.library(t)} {
			dir := filepath.Join(t.TempDir(), "run")
			out := succeed(t, nil, preload(library+":"+tool, []string{"MPITRACE_DIR=" + dir}, m.compile(t, "reloaded_main"))...)
			if calls := countCalls(readRecordings(t, dir)); calls["Barrier"] != 1 || !strings.Contains(out.stderr, "barriers: 1\n") {
				t.Errorf("recorded %v, want 1 Barrier, and the tool printed %q", calls, out.stderr)
			}
		}
	})
}

// TestDirectCalls requires that the report names calls of PMPI functions, and
// that --strict fails.
func TestDirectCalls(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "direct_calls")
		for argument, want := range map[string]string{
			"barrier": "alls of PMPI_Barrier were not recorded: the program calls the MPI itself",
			"all":     "alls of PMPI_Init, PMPI_Barrier were not recorded: the program calls the MPI itself",
		} {
			j := record(t, []string{"--strict"}, m.launch(2, program, argument)...)
			if j.code != 3 || j.stdout != "ok\n" || !strings.Contains(j.stderr, want) {
				t.Errorf("%s: exit status %d, want 3, and %q\n%s%s", argument, j.code, want, j.stdout, j.stderr)
			}
			if calls := countCalls(j.ranks); argument == "barrier" && calls["Barrier"] != 2 {
				t.Errorf("recorded %v, want 2 Barrier", calls)
			}
		}
	})
}

// TestDirectCallsAtTheEnd requires that a process that was killed names its calls
// of PMPI functions, and that a rank is known to be finalized although no wrapper
// saw the call. Plug-ins that are named like files of an MPI are the user's.
func TestDirectCallsAtTheEnd(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "direct_calls")
		killed := record(t, nil, m.launch(1, program, "killed")...)
		if want := "calls of PMPI_Barrier were not recorded"; !strings.Contains(killed.stdout+killed.stderr, want) {
			t.Errorf("killed: want %q\n%s%s", want, killed.stdout, killed.stderr)
		}
		plugin := m.compile(t, "direct_plugin", "-shared", "-fPIC", "-Wl,-soname,libmpiutil.so.1")
		component := filepath.Join(t.TempDir(), "mca_util.so")
		if err := os.WriteFile(component, readAll(t, m.compile(t, "direct_plugin", "-shared", "-fPIC", "-DBROADCAST")), 0o755); err != nil {
			t.Fatal(err)
		}
		j := record(t, []string{"--strict"}, m.launch(1, program, "finalize", m.mpiLibrary(t), plugin, component)...)
		want := "calls of PMPI_Barrier, PMPI_Bcast, MPI_Finalize were not recorded: " + plugin + " calls the MPI itself"
		if j.code != 3 || !strings.Contains(fullReport(t, j.dir), want) || strings.Contains(j.stdout+j.stderr, "did not reach") || strings.Contains(j.stdout, "without MPI_Finalize") {
			t.Errorf("exit status %d, want 3, %q, and a rank that finalized\n%s%s", j.code, want, j.stdout, j.stderr)
		}
	})
}

// TestNamespace runs an MPI in a namespace of its own, in which nothing can be
// preloaded. The report says so. (Open MPI crashes there, with mpitrace and
// without.)
func TestNamespace(t *testing.T) {
	withEach(t, func(m implementation) bool { return m.name == "mpich" }, func(t *testing.T, m implementation) {
		command := []string{compilePlain(t, "bypass"), "namespace", m.compile(t, "bypass_plugin", "-shared", "-fPIC")}
		j := record(t, []string{"--strict"}, m.launch(2, command...)...)
		if j.code != 3 || j.stdout != "ok\n" || len(j.ranks) != 0 || !strings.Contains(j.stderr, "the MPI is in a namespace of its own (dlmopen)") {
			t.Errorf("exit status %d, want 3, %d recordings\n%s%s", j.code, len(j.ranks), j.stdout, j.stderr)
		}
		want := rundir.WrongMPI{Program: command[0], Library: realPath(m.mpiLibrary(t)), Processes: 2, Reason: "namespace"}
		dir := filepath.Join(t.TempDir(), "run")
		succeed(t, []string{"LD_PRELOAD=" + dispatcher(t), "MPITRACE_DIR=" + dir}, m.launch(2, command...)...)
		for _, notes := range [][]rundir.WrongMPI{rundir.Dir(j.dir).WrongMPI(), rundir.Dir(dir).WrongMPI()} {
			for i := range notes {
				notes[i].Library = realPath(notes[i].Library)
			}
			diff(t, "notes", []rundir.WrongMPI{want}, notes)
		}
	})
}

// TestMissingNames runs programs under a library for another MPI. Names that
// their MPI lacks must be invisible, and others visible.
func TestMissingNames(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "weak_names")
		want := execute(t, nil, m.launch(1, program)...)
		for _, other := range implementations() {
			if !debian(other) {
				continue
			}
			out := execute(t, nil, m.launch(1, preload(other.library(t), nil, program)...)...)
			if out.stdout != want.stdout || out.code != want.code {
				t.Errorf("with the library for %s it printed %q, exit status %d; want %q, %d\n%s", other.name, out.stdout, out.code, want.stdout, want.code, out.stderr)
			}
		}
		if has := fmt.Sprintf("weak %d, dlsym %[1]d, sum 1\n", map[bool]int{true: 1}[m.large]); want.stdout != has {
			t.Errorf("it printed %q, want %q", want.stdout, has)
		}
	})
}
