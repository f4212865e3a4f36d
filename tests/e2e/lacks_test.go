package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A lack is what an MPI cannot do, without mpitrace too, and the tests that
// therefore do not run with it. docs/recording.md has the same table:
// TestLacksAreDocumented compares them.
type lack struct {
	mpi    string // name of an implementation
	what   string
	reason string
	tests  []string
}

var lacks = []lack{
	{"impi", "spawned processes", "with `I_MPI_FABRICS=shm`, which the tests need, MPI_Comm_spawn fails",
		[]string{"TestSpawned", "TestSpawnedChildren"}},
	{"impi", "sends of 1 TiB that nobody receives", "it copies the data, until the memory is full", []string{"TestUnmatchedSends"}},
	{"impi", "MPI_T_ERR_INVALID_HANDLE for a handle of another session", "its MPI_T_pvar_read accepts every handle", []string{"TestServedBeside"}},
}

// lacksFor reports whether a test does not run with an MPI.
func lacksFor(t *testing.T, m implementation) bool {
	test, _, _ := strings.Cut(t.Name(), "/")
	return slices.ContainsFunc(lacks, func(l lack) bool { return l.mpi == m.name && slices.Contains(l.tests, test) })
}

// row returns the lack as a row of the documentation.
func (l lack) row() string {
	name := map[string]string{"impi": "Intel MPI 2021.19"}[l.mpi]
	return "| " + name + " | " + l.what + " | " + l.reason + " |\n"
}

func TestLacksAreDocumented(t *testing.T) {
	testenv.At(t, testenv.Quick)
	text := string(readAll(t, filepath.Join(root, "docs", "recording.md")))
	for _, l := range lacks {
		if !strings.Contains(text, l.row()) {
			t.Errorf("docs/recording.md lacks the row\n%s", l.row())
		}
	}
}
