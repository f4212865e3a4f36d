package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// unsanitized lists the programs of tests/programs that do not run with the
// compiler's checks, and the reason.
var unsanitized = map[string]string{
	"announce":        "runs until it is killed",
	"ends":            "does not finalize",
	"faults":          "is no MPI program",
	"bypass":          "is no MPI program",
	"bypass_plugin":   "is a library",
	"bypass_threads":  "needs plugins: see TestBypassThreads",
	"bypass_tool":     "is a library",
	"direct_calls":    "needs an argument: see TestDirectCalls",
	"direct_plugin":   "is a library",
	"halves":          "needs a directory: see TestReportWhileRunning",
	"oneway":          "is bound to the clock",
	"own_stderr":      "has its data in descriptor 2",
	"two_handles":     "is no MPI program",
	"faulty_mpit":     "is a library",
	"couple":          "is made of two executables, with MODEL 0 and 1: see TestPrograms",
	"fortran_mixed":   "is a part of fortran_mixed.F90",
	"deleted":         "deletes its recording",
	"dying":           "is killed",
	"full":            "limits the size of files, which the runtime needs",
	"hangs":           "does not end",
	"host":            "is no MPI program",
	"initialized":     "opens a plugin that it is given",
	"imaginary":       "is a library",
	"inflight":        "is killed",
	"init_library":    "is built in two parts",
	"intervals":       "is bound to the clock",
	"lasting":         "is killed",
	"lock_order":      "is no MPI program",
	"mpit_counts":     "counts what MPI_T has, and does nothing else",
	"namesakes":       "is built in two parts",
	"no_init":         "does not start MPI",
	"no_mpi":          "is no MPI program",
	"opens":           "is no MPI program",
	"phase_part":      "is a part of phase_parts",
	"phase_parts":     "is built in several parts",
	"plugin":          "is a library",
	"readings":        "needs imaginary: see TestSanitizedVariables",
	"reloaded":        "is no MPI program",
	"reloaded_plugin": "is a library",
	"sizes":           "moves 3 GiB, which takes minutes so",
	"spawned":         "has children that a launcher gives no environment",
	"stranded":        "is killed",
	"thunks":          "is no MPI program",
	"together":        "is compiled with other programs: see compileTogether",
	"unheard_of":      "is a library",
	"unloaded":        "needs plugins: see TestUnloadedPlugins",
	"unloaded_plugin": "is a library",
	"unloaded_unseen": "needs plugins: see TestUnloadedUnseen",
	"unmatched":       "does not finalize",
}

// lacks returns the reason why an MPI cannot run a program, even without the
// library, or "".
func (m implementation) lacks(program string) string {
	needs := map[string]string{
		"isendrecv": callsOfMPI4, "partitioned": callsOfMPI4, "sessions": someSessions, "sessions_again": laterSessions,
		"sessions_beside": someSessions, "large": largeCounts, "large_sends": largeCounts, "mpi41": callsOfMPI41, "joined": joinedWorlds,
	}
	if program == "early_persistent" && m.name != "openmpi" {
		return "has persistent collectives as MPI_, or none"
	}
	if what := needs[program]; m.cannot(what) {
		return what
	}
	return ""
}

var ranksOf = regexp.MustCompile(`begin\(argc, argv, (\d)\)|\((\d) ranks?\)`)

// ranksNeeded returns how many ranks a program takes, as its source says.
func ranksNeeded(t *testing.T, program string) int {
	t.Helper()
	found := ranksOf.FindStringSubmatch(string(readAll(t, filepath.Join(root, "tests", "programs", program+".c"))))
	if found == nil {
		t.Fatalf("%s.c does not say how many ranks it takes", program)
	}
	n, _ := strconv.Atoi(found[1] + found[2])
	return n
}

// checkLocks makes the library abort where a thread takes locks in another order
// than that of interpose/src/base/lock.h.
const checkLocks = "-DMT_CHECK_LOCKS"

// TestSanitized runs the test programs and the library with the compiler's
// checks of addresses and of undefined behaviour. With one MPI it also records
// events, which must agree with the profile.
func TestSanitized(t *testing.T) {
	const sanitize = "-fsanitize=address,undefined"
	paths, err := filepath.Glob(filepath.Join(root, "tests", "programs", "*.c"))
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d programs, %v", len(paths), err)
	}
	withEachAt(t, testenv.All, debian, func(t *testing.T, m implementation) {
		lib := m.library(t, sanitize, checkLocks, "-fno-sanitize-recover=all", "-O1", "-g")
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".c")
			if unsanitized[name] != "" || m.lacks(name) != "" || slices.ContainsFunc(allParts(), func(p part) bool { return p.program == name }) {
				continue
			}
			n := ranksNeeded(t, name)
			t.Run(name, func(t *testing.T) { m.runSanitized(t, lib, n, name, m.compile(t, name, sanitize)) })
		}
		for _, n := range togetherRanks {
			name := fmt.Sprint("together ", n)
			t.Run(name, func(t *testing.T) { m.runSanitized(t, lib, n, name, m.compileTogether(t, n, sanitize)) })
		}
	})
}

func (m implementation) runSanitized(t *testing.T, lib string, n int, name, program string) {
	dir := filepath.Join(t.TempDir(), "run")
	// The MPIs leak memory, and the runtime requires by default that it is
	// loaded first.
	options := "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"
	if strings.HasSuffix(name, "reuse") || strings.HasPrefix(name, "together") { // the runtime would delay the reuse of freed memory
		options += ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
	}
	arguments := map[string]string{"together 2": filepath.Join(t.TempDir(), "data"), "many_phases": "1000",
		"thread_sends": "1000", "thread_receives": "100", "mpit_threads": "30", "stands_out": "polling", "seeded": "halo", "sleeps": "world"}
	env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_PROF=" + filepath.Join(t.TempDir(), "p"), options}
	if m.name == "mpich" { // the fast path of calls differs when they are traced
		env = append(env, "MPITRACE_TRACE=on")
	}
	out := succeed(t, nil, m.launch(n, preload(lib, env, program, arguments[name])...)...)
	if report := out.stdout + out.stderr; strings.Contains(report, "Sanitizer") || strings.Contains(report, "runtime error") {
		t.Errorf("%s", report)
	}
	ranks := readRecordings(t, dir)
	if len(ranks) != n {
		t.Errorf("%d recordings of %d ranks\n%s", len(ranks), n, out.stderr)
	}
	if m.name == "mpich" {
		checkEventsBeside(t, ranks)
	}
}
