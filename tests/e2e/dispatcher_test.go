package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// dispatcher returns the library that is preloaded for all MPIs.
func dispatcher(t *testing.T) string {
	t.Helper()
	out := succeed(t, nil, mpitrace, "preload")
	return strings.TrimSpace(out.stdout)
}

// dispatched runs a program on n ranks with the dispatcher preloaded by hand.
// The program must succeed, and its recordings must be complete.
func (m implementation) dispatched(t *testing.T, n int, program ...string) job {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	out := execute(t, []string{"LD_PRELOAD=" + dispatcher(t), "MPITRACE_DIR=" + dir}, m.launch(n, program...)...)
	j := job{output: out, dir: dir, ranks: readRecordings(t, dir)}
	if j.code != 0 || !strings.HasPrefix(j.stdout, "ok") || strings.Contains(j.stderr, "mpitrace") { // Open MPI 5 has messages of its own
		t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
	}
	checkWhole(t, n, j)
	return j
}

// countCalls returns how often each call was made, by all ranks.
func countCalls(ranks []*profile.Profile) map[string]uint64 {
	sum := map[string]uint64{}
	for _, p := range ranks {
		for i := range p.Rows {
			sum[p.Rows[i].Call] += p.Rows[i].Calls
		}
	}
	return sum
}

// countedCalls does what countCalls does, without the calls that programs repeat until
// something has happened.
func countedCalls(ranks []*profile.Profile) map[string]uint64 {
	calls := countCalls(ranks)
	for _, call := range []string{"Test", "Testany", "Testsome", "Testall", "Waitsome", "Request_get_status", "Win_test"} {
		delete(calls, call)
	}
	return calls
}

// TestDispatcher compares what is recorded by the dispatcher with what is
// recorded by the library itself.
func TestDispatcher(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		compare := func(name string, got, want job) {
			t.Run(name, func(t *testing.T) {
				diff(t, "messages", sentIn(want.ranks), sentIn(got.ranks))
				diff(t, "calls", countedCalls(want.ranks), countedCalls(got.ranks))
			})
		}
		for n := 3; n <= 4; n++ {
			compare(fmt.Sprint(n, " ranks"), m.dispatched(t, n, m.compileTogether(t, n)), m.together(t, n))
		}
		compare("threads", m.dispatched(t, 2, m.compile(t, "threads")), m.recorded(t, "threads"))
		t.Run("RTLD_LOCAL", func(t *testing.T) {
			plugin := m.compile(t, "plugin", "-shared", "-fPIC")
			j := m.dispatched(t, 2, compilePlain(t, "host"), plugin)
			diff(t, "messages", message(0, 1, 77), pointToPoint(j.ranks))
		})
		t.Run("reloaded", func(t *testing.T) {
			plugin := m.compile(t, "reloaded_plugin", "-shared", "-fPIC")
			dir := filepath.Join(t.TempDir(), "run")
			out := succeed(t, nil, preload(dispatcher(t), []string{"MPITRACE_DIR=" + dir}, compilePlain(t, "reloaded"), plugin, "local", "3")...)
			if ranks := readRecordings(t, dir); out.stdout != "ok\n" || len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 3 {
				t.Errorf("it printed %q and %q; %d recordings", out.stdout, out.stderr, len(ranks))
			}
		})
	})
}

// TestDispatcherFortran records each binding of Fortran through the dispatcher.
func TestDispatcherFortran(t *testing.T) {
	testenv.At(t, testenv.All)
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, b := range bindings() {
			t.Run(b.name, func(t *testing.T) {
				program := m.compileFortran(t, b, "fortran_p2p")
				got, want := m.dispatched(t, 2, program), m.run(t, 2, program)
				diff(t, "messages", pointToPoint(want.ranks), pointToPoint(got.ranks))
				diff(t, "calls", countedCalls(want.ranks), countedCalls(got.ranks))
			})
		}
	})
}

// TestDispatcherFirstCalls makes the first call in eight threads at once, or in
// a constructor, and calls functions by their addresses.
func TestDispatcherFirstCalls(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, flags := range [][]string{nil, {"-DEARLY"}} {
			t.Run(strings.Join(flags, ""), func(t *testing.T) {
				for range 5 {
					j := m.dispatched(t, 1, m.compile(t, "first_calls", flags...))
					calls := countCalls(j.ranks)
					if calls["Sendrecv"] != 8 || calls["Comm_dup"] != 8 || calls["Barrier"] != 2 {
						t.Errorf("recorded %v, want 8 Sendrecv, 8 Comm_dup and 2 Barriers", calls)
					}
				}
			})
		}
	})
}

// TestDispatcherThreadLocal opens 40 libraries with 64 bytes of thread-local data
// each before the MPI. They use up the room for such data.
func TestDispatcherThreadLocal(t *testing.T) {
	testenv.At(t, testenv.All)
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := t.TempDir()
		source, first := filepath.Join(dir, "block.c"), filepath.Join(dir, "block.so")
		text := "__thread char block[64] __attribute__((tls_model(\"initial-exec\")));\nchar *at(void) { return block; }\n"
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		succeed(t, nil, "gcc", "-shared", "-fPIC", "-o", first, source)
		args := []string{compilePlain(t, "opens")}
		for i := range 40 {
			file := filepath.Join(dir, fmt.Sprintf("block%d.so", i))
			if err := os.WriteFile(file, readAll(t, first), 0o755); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		j := m.dispatched(t, 1, append(args, m.compile(t, "reloaded_plugin", "-shared", "-fPIC"))...)
		if strings.HasSuffix(j.stdout, " 0 skipped\n") {
			t.Errorf("the room was not used up: %s", j.stdout)
		}
		if calls := countCalls(j.ranks); calls["Sendrecv"] != 1 {
			t.Errorf("recorded %v, want 1 Sendrecv", calls)
		}
	})
}

// TestDispatcherTwoMPIs opens two MPIs in one process. The first is recorded, and
// the report names the other. Open MPI cannot be the first: it makes its
// functions visible to the whole process, with mpitrace or without.
func TestDispatcherTwoMPIs(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "mpicc.mpich", "mpicc.openmpi")
	first, second := implementations()[1], implementations()[0]
	args := []string{compilePlain(t, "opens")}
	for _, m := range []implementation{first, second} {
		args = append(args, m.compile(t, "reloaded_plugin", "-shared", "-fPIC"))
	}
	dir := filepath.Join(t.TempDir(), "run")
	out := succeed(t, nil, preload(dispatcher(t), []string{"MPITRACE_DIR=" + dir}, args...)...)
	ranks := readRecordings(t, dir)
	if !strings.HasPrefix(out.stdout, "ok 2 runs") || len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 1 {
		t.Fatalf("it printed %q and %q; %d recordings", out.stdout, out.stderr, len(ranks))
	}
	report := succeed(t, nil, mpitrace, "report", "--full", dir)
	named := regexp.MustCompile(`not recorded: 1 process of \S+, which uses another MPI \((\S+)\)`).FindStringSubmatch(report.stdout + report.stderr)
	if named == nil || realPath(named[1]) != realPath(second.mpiLibrary(t)) {
		t.Errorf("the report does not name %s:\n%s%s", second.mpiLibrary(t), report.stdout, report.stderr)
	}
}

// TestDispatcherTwoHandles calls an MPI by its handle while another MPI is in the
// global scope, where the dispatcher's entries find it. The calls stay those of the
// first, and are recorded.
func TestDispatcherTwoHandles(t *testing.T) {
	testenv.At(t, testenv.Quick)
	testenv.Need(t, "mpicc.mpich", "mpicc.openmpi")
	both, program := implementations()[:2], compilePlain(t, "two_handles")
	for i, first := range both {
		for _, when := range []string{"before", "after"} {
			t.Run(first.name+" "+when, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				out := executeWithin(t, time.Minute, nil, preload(dispatcher(t), []string{"MPITRACE_DIR=" + dir}, program,
					first.mpiLibrary(t), both[1-i].mpiLibrary(t), when)...)
				ranks := readRecordings(t, dir)
				calls := countCalls(ranks)
				if out.code != 0 || out.stdout != "ok\n" || len(ranks) != 1 || calls["Init"] != 1 || calls["Buffer_attach"] != 3 || calls["Buffer_detach"] != 3 {
					t.Errorf("exit status %d, %q, %q; %d recordings, calls %v", out.code, out.stdout, out.stderr, len(ranks), calls)
				}
			})
		}
	}
}

// TestDispatcherTwoMPIsInTurn opens a second MPI after the first was unloaded. As
// if both were open, the first is recorded, and the report names the other.
func TestDispatcherTwoMPIsInTurn(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "mpicc.mpich", "mpicc.openmpi")
	both := implementations()[:2]
	program := compilePlain(t, "reloaded")
	for i, first := range both {
		second := both[1-i]
		t.Run(first.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			out := executeWithin(t, time.Minute, nil, preload(dispatcher(t), []string{"MPITRACE_DIR=" + dir}, program,
				first.compile(t, "reloaded_plugin", "-shared", "-fPIC"), "local", "1",
				second.compile(t, "reloaded_plugin", "-shared", "-fPIC"))...)
			ranks := readRecordings(t, dir)
			if out.code != 0 || out.stdout != "ok\n" || len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 1 {
				t.Fatalf("exit status %d, printed %q and %q; %d recordings", out.code, out.stdout, out.stderr, len(ranks))
			}
			report := succeed(t, nil, mpitrace, "report", "--full", dir)
			if !strings.Contains(report.stdout+report.stderr, "which uses another MPI ("+second.mpiLibrary(t)) {
				t.Errorf("the report does not name %s:\n%s%s", second.mpiLibrary(t), report.stdout, report.stderr)
			}
		})
	}
}

// TestDispatcherUnderTools runs a program under the dispatcher and under gdb and
// valgrind. The dispatcher must not be in the way of the stack.
func TestDispatcherUnderTools(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "gdb", "valgrind", "mpicc.mpich")
	m := implementations()[1]
	program := m.compile(t, "first_calls")
	for name, tool := range map[string][]string{
		"gdb": {"gdb", "-q", "-batch", "-ex", "set breakpoint pending on", "-ex", "break PMPI_Comm_dup", "-ex", "run", "-ex", "backtrace",
			"-ex", "delete", "-ex", "continue", "--args", program},
		"valgrind": {"valgrind", "-q", program},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			out := succeed(t, nil, preload(dispatcher(t), []string{"MPITRACE_DIR=" + dir}, tool...)...)
			ranks := readRecordings(t, dir)
			if !strings.Contains(out.stdout, "ok\n") || len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 8 {
				t.Fatalf("%d recordings\n%s%s", len(ranks), out.stdout, out.stderr)
			}
			if name == "gdb" && !regexp.MustCompile(`(?m)^#[0-9]+ .* main \(`).MatchString(out.stdout) {
				t.Errorf("no stack up to main:\n%s", out.stdout)
			}
			if name == "valgrind" && strings.Contains(out.stderr, "libmpitrace") {
				t.Errorf("valgrind reports:\n%s", out.stderr)
			}
		})
	}
}

// TestDispatcherPython records Python programs, which open MPI with RTLD_LOCAL.
func TestDispatcherPython(t *testing.T) {
	testenv.At(t, testenv.All)
	python := filepath.Join(root, "build", "venv", "bin", "python")
	testenv.Need(t, python, "mpirun.openmpi")
	m := implementations()[0]
	t.Run("ctypes", func(t *testing.T) {
		plugin := m.compile(t, "reloaded_plugin", "-shared", "-fPIC")
		j := m.dispatched(t, 1, python, "-c", "import ctypes; print('ok' if ctypes.CDLL('"+plugin+"').run() == 0 else 'error')")
		if calls := countCalls(j.ranks); calls["Sendrecv"] != 1 {
			t.Errorf("recorded %v, want 1 Sendrecv", calls)
		}
	})
	t.Run("mpi4py", func(t *testing.T) {
		program := "from mpi4py import MPI; c = MPI.COMM_WORLD; c.Barrier(); s = c.allreduce(c.rank + 1); c.rank or print('ok', s)"
		j := m.dispatched(t, 2, python, "-c", program)
		if calls := countCalls(j.ranks); calls["Barrier"] != 2 || j.stdout != "ok 3\n" {
			t.Errorf("recorded %v and printed %q, want 2 Barrier and ok 3", calls, j.stdout)
		}
	})
}

// TestDispatcherNewerFunctions runs a script with mpi4py under an MPI of version
// 4. The wheel calls functions that are newer than MPI 3.1, which the dispatcher
// does not define. They are recorded all the same, as with the MPI named.
func TestDispatcherNewerFunctions(t *testing.T) {
	testenv.At(t, testenv.All)
	python := filepath.Join(root, "build", "venv", "bin", "python")
	mpich5 := filepath.Join(root, "build", "mpich5")
	launcher := filepath.Join(mpich5, "bin", "mpiexec")
	testenv.Need(t, python, launcher)
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(mpich5, "lib"))
	script := writeScript(t, launcher+" -n 2 "+python+" -c \"from mpi4py import MPI; c = MPI.COMM_WORLD; c.Bcast(bytearray(8)); c.rank or print('ok')\"")
	for _, flags := range [][]string{{"--strict"}, {"--strict", "--mpi", mpich5}} {
		j := record(t, flags, script)
		if j.code != 0 || j.stdout != "ok\n" || len(j.ranks) != 2 || countCalls(j.ranks)["Bcast"] != 2 {
			t.Errorf("%v: exit status %d, %d recordings, calls %v; want 0, 2 and 2 Bcast\n%s%s", flags, j.code, len(j.ranks), countCalls(j.ranks), j.stdout, j.stderr)
		}
	}
}

// TestModuleOfStandardABI runs a Python program that opens a module with the
// standard ABI, under the launcher of an MPI that has two ABIs. The launcher does
// not tell which one is used: the dispatcher sees it. With --mpi, no compiler
// wrapper is needed.
func TestModuleOfStandardABI(t *testing.T) {
	testenv.At(t, testenv.All)
	python := filepath.Join(root, "build", "venv", "bin", "python")
	m := standardABIs()[0]
	testenv.Need(t, python, m.cc, m.launcher[0])
	if !interpose.HasPrebuiltDispatcher() {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
	plugin := m.compile(t, "reloaded_plugin", "-shared", "-fPIC")
	command := m.launch(1, python, "-c", "import ctypes; print('ok' if ctypes.CDLL('"+plugin+"').run() == 0 else 'error')")
	library := filepath.Join(root, "build", "mpich5", "lib", "libmpi_abi.so.1")
	for _, flags := range [][]string{nil, {"--mpi", "mpi-abi"}, {"--mpi", library}} {
		j := record(t, append([]string{"--strict"}, flags...), command...)
		if calls := countCalls(j.ranks); j.code != 0 || j.stdout != "ok\n" || calls["Sendrecv"] != 1 {
			t.Errorf("%v: exit status %d, recorded %v, want 0 and 1 Sendrecv\n%s%s", flags, j.code, calls, j.stdout, j.stderr)
		}
	}
}

// TestDispatcherNames checks that every MPI has the C functions that the
// dispatcher defines: a program that tests for a function must not find one that
// its MPI lacks.
func TestDispatcherNames(t *testing.T) {
	testenv.At(t, testenv.All)
	defined := func(file string) []string {
		out := succeed(t, nil, "nm", "-D", "--defined-only", "--format=just-symbols", file)
		names := strings.Fields(out.stdout)
		for i, name := range names {
			names[i], _, _ = strings.Cut(name, "@")
		}
		return names
	}
	function := regexp.MustCompile(`^P?MPIX?_[A-Z]\w*[a-z]\w*$`)
	ours := slices.DeleteFunc(defined(dispatcher(t)), func(name string) bool { return !function.MatchString(name) })
	if len(ours) < 600 {
		t.Errorf("the dispatcher defines %d functions of MPI, want at least 600", len(ours))
	}
	check := func(t *testing.T, mpi string) {
		theirs := defined(mpi)
		for _, name := range ours {
			if !slices.Contains(theirs, name) {
				t.Errorf("%s has no %s", mpi, name)
			}
		}
	}
	withEachAt(t, testenv.All, anyMPI, func(t *testing.T, m implementation) { check(t, m.mpiLibrary(t)) })
	for _, other := range []string{"impi/lib/libmpi.so.12", "impi/lib/libmpi_abi.so.1", "mpich5/lib/libmpi_abi.so.1"} {
		t.Run(other, func(t *testing.T) {
			mpi := filepath.Join(root, "build", filepath.FromSlash(other))
			testenv.Need(t, mpi)
			check(t, mpi)
		})
	}
}

// TestDispatcherRank starts a script by each rank of a launcher whose MPI is not
// known.
func TestDispatcherRank(t *testing.T) {
	dispatcher(t) // ranks do not compile it
	withEach(t, debian, func(t *testing.T, m implementation) {
		script := writeScript(t, m.compile(t, "reloaded_main"))
		dir := filepath.Join(t.TempDir(), "run")
		out := succeed(t, []string{"SLURM_PROCID=0", "SLURM_STEP_ID=1", "SLURM_STEP_NUM_TASKS=2"}, mpitrace, "run", "-o", dir, "--", script)
		if ranks := readRecordings(t, dir); len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 1 {
			t.Errorf("%d recordings\n%s%s", len(ranks), out.stdout, out.stderr)
		}
	})
}

// TestDispatcherWithoutLibrary runs a program whose MPI the dispatcher has no
// library for, and a program with another library of mpitrace's.
func TestDispatcherWithoutLibrary(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "reloaded_main")
		for _, order := range []string{"%s:%s", "%[2]s:%[1]s"} {
			dir := filepath.Join(t.TempDir(), "run")
			succeed(t, nil, preload(fmt.Sprintf(order, dispatcher(t), m.library(t)), []string{"MPITRACE_DIR=" + dir}, program)...)
			if ranks := readRecordings(t, dir); len(ranks) != 1 || countCalls(ranks)["Sendrecv"] != 1 {
				t.Errorf("%s: %d recordings, of %v, want one", order, len(ranks), countCalls(ranks))
			}
		}
		alone := filepath.Join(t.TempDir(), "libmpitrace.so")
		if err := os.WriteFile(alone, readAll(t, dispatcher(t)), 0o755); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		out := succeed(t, nil, preload(alone, []string{"MPITRACE_DIR=" + dir}, program)...)
		if !strings.Contains(out.stderr, "nothing is recorded") || len(readRecordings(t, dir)) != 0 {
			t.Errorf("it printed %q", out.stderr)
		}
		notes := rundir.WrongMPIs(filepath.Join(dir, "recordings"))
		if len(notes) != 1 || notes[0].Program != program || realPath(notes[0].Library) != realPath(m.mpiLibrary(t)) {
			t.Errorf("the notes are %+v", notes)
		}
	})
}

// TestDispatcherScript runs a script with a job of each MPI, under `mpitrace run`
// and with LD_PRELOAD set by hand.
func TestDispatcherScript(t *testing.T) {
	testenv.At(t, testenv.All)
	if !interpose.HasPrebuiltDispatcher() {
		testenv.Skip(t, "needs libraries of these sources: make prebuilt")
	}
	setIntelMPI(t)
	var lines, programs, libraries []string
	for _, m := range append(implementations(), intelMPI()) {
		libraries = append(libraries, map[string]string{"openmpi": "Open MPI v4", "openmpi5": "Open MPI v5",
			"mpich": "MPICH Version: 4", "mpich5": "MPICH Version: 5", "impi": "Intel(R) MPI Library 2021"}[m.name])
		testenv.Need(t, m.cc, m.launcher[0])
		program := m.compile(t, "sendrecv")
		programs = append(programs, program)
		lines = append(lines, strings.Join(m.launch(3, program), " ")+" || exit 1")
	}
	script := writeScript(t, lines...)
	t.Setenv("MPITRACE_CACHE", filepath.Join(t.TempDir(), "cache")) // no library is compiled
	check := func(t *testing.T, j job) {
		if j.code != 0 || strings.Count(j.stdout, "ok\n") != len(programs) || strings.Contains(j.stderr, "building") {
			t.Errorf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		of := map[string][]string{} // MPIs of the ranks of each program
		for _, p := range j.ranks {
			of[p.Program] = append(of[p.Program], p.LibraryLine())
		}
		for i, program := range programs {
			ours := slices.DeleteFunc(slices.Clone(of[program]), func(line string) bool { return !strings.HasPrefix(line, libraries[i]) })
			if len(of[program]) != 3 || len(ours) != 3 || libraries[i] == "" {
				t.Errorf("%s: recorded under %q, want 3 ranks under %s", program, of[program], libraries[i])
			}
		}
	}
	t.Run("mpitrace run", func(t *testing.T) {
		check(t, record(t, []string{"--strict"}, script))
	})
	t.Run("by hand", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "run")
		out := execute(t, []string{"LD_PRELOAD=" + dispatcher(t), "MPITRACE_DIR=" + dir}, script)
		j := job{output: out, dir: dir, ranks: readRecordings(t, dir)}
		check(t, j)
		if report := succeed(t, nil, mpitrace, "report", "--full", dir); strings.Contains(report.stdout, "incomplete") || strings.Count(report.stdout, "complete:") != len(programs) {
			t.Errorf("the report does not say that all jobs are complete:\n%s%s", report.stdout, report.stderr)
		}
	})
}
