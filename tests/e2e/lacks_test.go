package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A lack is what an MPI cannot do, without mpitrace too. Tests that need it do
// not run with that MPI: those in tests, and those that ask cannot.
// docs/recording.md has the same table: TestLacksAreDocumented compares them.
type lack struct {
	mpi    string // name of an implementation
	what   string
	reason string
	tests  []string
}

const (
	callsOfMPI4    = "calls of MPI 4"
	largeCounts    = "large counts"
	callsOfMPI41   = "calls of MPI 4.1"
	someSessions   = "sessions"
	laterSessions  = "a session after the last one"
	spawnedWorlds  = "spawned processes"
	joinedWorlds   = "MPI_Comm_join"
	queueVariables = "`--watch-unexpected`"
	scatterInit    = "MPI_Scatter_init"
	errorsReturn   = "MPI_ERRORS_RETURN of MPICH's header"
)

// lacks is sorted by MPI.
var lacks = []lack{
	{"openmpi", callsOfMPI4, "it implements MPI 3.1", nil},
	{"openmpi", largeCounts, "it implements MPI 3.1", nil},
	{"openmpi", callsOfMPI41, "it implements MPI 3.1", nil},
	{"openmpi", someSessions, "it implements MPI 3.1", nil},
	{"openmpi", laterSessions, "it has no sessions", nil},
	{"openmpi5", largeCounts, "it has no such functions", nil},
	{"openmpi5", callsOfMPI41, "it has no such functions", nil},
	{"openmpi5", laterSessions, "MPI_Session_init crashes", nil},
	{"mpich", callsOfMPI41, "it implements MPI 4.0", nil},
	{"mpich", laterSessions, "MPI_Session_init crashes", nil},
	{"mpich", spawnedWorlds, "Debian's MPI_Comm_spawn fails", nil},
	{"mpich", joinedWorlds, "Debian's build opens no port", nil},
	{"mpich", queueVariables, "Debian's build has no performance variables", nil},
	{"mpich5", queueVariables, "the wheel has no performance variables", nil},
	{"impi", laterSessions, "MPI_Session_init fails", nil},
	{"impi", spawnedWorlds, "`I_MPI_FABRICS=shm`, with which the tests run, does not support them", nil},
	{"impi", joinedWorlds, "`I_MPI_FABRICS=shm` opens no port", nil},
	{"impi", queueVariables, "it has no variable for the length of the queue", nil},
	{"impi", "sends of 1 TiB that nobody receives", "it copies the data, until the memory is full", []string{"TestUnmatchedSends"}},
	{"impi", "MPI_T_ERR_INVALID_HANDLE for a handle of another session", "its MPI_T_pvar_read accepts every handle", []string{"TestServedBeside"}},
	{"abi-mpich5", queueVariables, "the wheel has no performance variables", nil},
	{"abi-mpich5", "MPI_T_PVAR_ALL_HANDLES", "it crashes MPI_T_pvar_start", []string{"TestServed"}},
	{"abi-impi", scatterInit, "MPI_Wait of its request fails", nil},
	{"abi-impi", laterSessions, "MPI_Session_init fails", nil},
	{"abi-impi", joinedWorlds, "`I_MPI_FABRICS=shm` opens no port", nil},
	{"abi-impi", queueVariables, "it has no variable for the length of the queue", nil},
	{"abi-impi", errorsReturn, "its own header has another value", []string{"TestTruncated"}},
}

// testsOfStandardABI run under the standard ABI too: every class of call, threads,
// MPI_T, traces, ways to die.
var testsOfStandardABI = []string{
	"TestMonitoring", "TestHalo", "TestSends", "TestSendrecv", "TestPersistent", "TestMatchedReceives",
	"TestCompletion", "TestPostedOrder", "TestCancel", "TestDatatypes", "TestBlocks", "TestNeighbors",
	"TestPartitioned", "TestThreads", "TestThreadSends", "TestThreadReceives", "TestThreadEnds", "TestOneSided",
	"TestFiles", "TestKnownWaits", "TestEventsAddUp", "TestKilled", "TestAborted", "TestDeadlock",
	"TestConserved", "TestTruncated", "TestFreed", "TestUnfinished", "TestStranded", "TestCancelled",
	"TestFailing", "TestPaused", "TestSessionsOnly", "TestSessionsOneAfterTheOther",
	"TestSessionBesideTheWorld", "TestPhases", "TestMPI41", "TestLargeSends", "TestSizes", "TestCallbacks",
	"TestMatched", "TestCvarOfEnvironment", "TestServed", "TestServedScopes",
	"TestServedSettings",
}

// cannot reports whether the MPI cannot do something.
func (m implementation) cannot(what string) bool {
	return slices.ContainsFunc(lacks, func(l lack) bool { return l.mpi == m.name && l.what == what })
}

// can returns a filter that accepts the MPIs that can do something.
func can(what string) func(implementation) bool {
	return func(m implementation) bool { return !m.cannot(what) }
}

// lacksFor reports whether a test does not run with an MPI.
func lacksFor(t *testing.T, m implementation) bool {
	test, _, _ := strings.Cut(t.Name(), "/")
	return slices.ContainsFunc(lacks, func(l lack) bool { return l.mpi == m.name && slices.Contains(l.tests, test) })
}

// row returns the lack as a row of the documentation.
func (l lack) row() string {
	name := map[string]string{"openmpi": "Open MPI 4.1.4", "openmpi5": "Open MPI 5.0.11", "mpich": "MPICH 4.0.2",
		"mpich5": "MPICH 5.0.2", "impi": "Intel MPI 2021.19",
		"abi-mpich5": "MPICH 5.0.2, standard ABI", "abi-impi": "Intel MPI 2021.19, standard ABI"}[l.mpi]
	return "| " + name + " | " + l.what + " | " + l.reason + " |\n"
}

func TestLacksAreDocumented(t *testing.T) {
	testenv.At(t, testenv.Quick)
	var rows strings.Builder
	for _, l := range lacks {
		rows.WriteString(l.row())
	}
	if !strings.Contains(string(readAll(t, filepath.Join(root, "docs", "recording.md"))), rows.String()) {
		t.Errorf("docs/recording.md lacks\n%s", rows.String())
	}
	for _, m := range append(implementations(), intelMPI()) {
		if m.mpi4 == m.cannot(callsOfMPI4) || m.large == m.cannot(largeCounts) {
			t.Errorf("%s is described as %+v", m.name, m)
		}
	}
}
