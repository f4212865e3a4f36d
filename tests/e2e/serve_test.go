package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// A rowKind holds the fields that identify a row, except thread and call site.
type rowKind struct {
	Call      string
	Class     profile.Class
	Direction profile.Direction
	Spread    profile.Spread
	Comm      int32
	Peer      int32
	SizeClass uint8
	Slice     uint32
}

type rowSums struct{ Calls, Messages, Bytes uint64 }

// rowsBy returns the sums of each rank's rows by kind.
func rowsBy(ranks []*profile.Profile) []map[rowKind]rowSums {
	out := make([]map[rowKind]rowSums, len(ranks))
	for i, p := range ranks {
		out[i] = map[rowKind]rowSums{}
		for _, r := range p.Rows {
			kind := rowKind{r.Call, r.Class, r.Direction, r.Spread, r.Comm, r.Peer, r.SizeClass, r.Slice}
			sum := out[i][kind]
			out[i][kind] = rowSums{sum.Calls + r.Calls, sum.Messages + r.Messages, sum.Bytes + r.Bytes}
		}
	}
	return out
}

// undisturbed runs a program with and without MPI_T. Both recordings must be
// the same.
func (m implementation) undisturbed(t *testing.T, program string, args ...string) job {
	t.Helper()
	path := m.compile(t, program)
	with := m.run(t, 2, path, args...)
	without := m.run(t, 2, "env", append([]string{"MPIT_OFF=1", path}, args...)...)
	if strings.Contains(with.stdout, "\n0 checks") || !strings.Contains(without.stdout, "\n0 checks") {
		t.Errorf("with MPI_T it prints %q, and without %q", with.stdout, without.stdout)
	}
	diff(t, "rows with MPI_T and without", rowsBy(without.ranks), rowsBy(with.ranks))
	for i, p := range with.ranks {
		diff(t, "slices", len(without.ranks[i].Slices), len(p.Slices))
		diff(t, "communicators", len(without.ranks[i].Comms), len(p.Comms))
	}
	return with
}

// besideMonitoring runs f for each MPI, and for Open MPI also while its own
// monitoring offers variables of the same names.
func besideMonitoring(t *testing.T, has func(implementation) bool, f func(*testing.T, implementation)) {
	withEach(t, has, func(t *testing.T, m implementation) {
		f(t, m)
		if openMPI(m) {
			t.Run("monitoring", func(t *testing.T) {
				setenv(t, "OMPI_MCA_pml_monitoring_enable", "2")
				f(t, m)
			})
		}
	})
}

// TestServed checks the variables that the library offers to programs against
// the Standard: each routine, each error code.
func TestServed(t *testing.T) {
	besideMonitoring(t, anyMPI, func(t *testing.T, m implementation) {
		for _, program := range []string{"mpit_conformance", "mpit_errors"} {
			m.run(t, 2, m.compile(t, program))
		}
	})
}

// TestServedScopes writes to each variable of ours that is writable according
// to its scope. Tools that do so, such as MPICH's test suite, must not be
// refused.
func TestServedScopes(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) { m.run(t, 1, m.compile(t, "cvar_scopes")) })
}

// TestServedSettings checks that variables show the settings as they are set.
func TestServedSettings(t *testing.T) {
	for name, value := range map[string]string{"MAX_MB": "32", "STACK": "3", "RECEIVES": "off", "QUIET": "on", "INTERVAL": "5s",
		"WATCH_UNEXPECTED": "1000", "PVAR": "nobody's", "PVAR_INTERVAL": "20ms", "PROF": filepath.Join(t.TempDir(), "p")} {
		setenv(t, "MPITRACE_"+name, value)
	}
	withEach(t, debian, func(t *testing.T, m implementation) { m.run(t, 2, m.compile(t, "mpit_errors")) })
}

// TestServedValues compares values with the program's own record of everything
// sent and its model of sessions and handles. The run's profile must be the
// same as without MPI_T.
func TestServedValues(t *testing.T) {
	besideMonitoring(t, anyMPI, func(t *testing.T, m implementation) {
		m.undisturbed(t, "mpit_values", "500")
		m.undisturbed(t, "mpit_now")
	})
}

func TestServedValuesSampled(t *testing.T) {
	setenv(t, "MPITRACE_TIMING", "sampled")
	withEach(t, debian, func(t *testing.T, m implementation) {
		m.undisturbed(t, "mpit_values", "500")
		m.undisturbed(t, "mpit_now")
	})
}

// TestServedThreads has eight threads use MPI_T while four others communicate.
func TestServedThreads(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		servedThreads(30).check(t, m.undisturbed(t, "mpit_threads", "30").ranks)
	})
}

// servedThreads returns what mpit_threads N does.
func servedThreads(n uint64) want {
	sent, all := volumes{}, volumes{}
	for r := range 2 {
		for thread := range uint64(4) {
			sent.add(r, 1-r, thread*n, n)
			all.add(r, 1-r, 16*n, n)
		}
	}
	return want{
		sent:     map[string]volumes{"Sendrecv": sent, "Alltoallv": all, "Barrier": message(0, 1, 0).plus(message(1, 0, 0))},
		received: map[string]volumes{"Sendrecv": sent},
		calls:    map[string][]uint64{"Sendrecv": {4 * n, 4 * n}, "Alltoallv": {4 * n, 4 * n}},
	}
}

// TestServedEnds opens and closes MPI_T at all times of a program, and ends
// without freeing everything.
func TestServedEnds(t *testing.T) {
	besideMonitoring(t, anyMPI, func(t *testing.T, m implementation) {
		for how, sent := range map[string]uint64{"early": 10, "late": 5, "left": 5, "again": 15} {
			v := volumes{}
			v.add(0, 1, sent, sent)
			v.add(1, 0, sent, sent)
			sendrecvs(v).check(t, m.run(t, 2, m.compile(t, "mpit_ends"), how).ranks)
		}
	})
}

// TestServedAlone uses only MPI_T. Nothing may be recorded, and nothing
// printed.
func TestServedAlone(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		out := succeed(t, nil, m.launch(2, preload(m.library(t), []string{"MPITRACE_DIR=" + dir}, m.compile(t, "mpit_ends"), "only")...)...)
		if !strings.HasPrefix(out.stdout, "ok\n") || strings.Contains(out.stdout+out.stderr, "mpitrace:") {
			t.Errorf("it printed\n%s%s", out.stdout, out.stderr)
		}
		if ranks := readRecordings(t, dir); len(ranks) > 0 {
			t.Errorf("%d recordings without MPI_Init", len(ranks))
		}
	})
}

// TestServedBeside checks that the MPI's own variables follow ours, unchanged.
func TestServedBeside(t *testing.T) {
	beside := func(t *testing.T, m implementation) {
		program := m.compile(t, "mpit_own")
		alone := succeed(t, nil, m.launch(2, program)...).stdout
		under := m.run(t, 2, program).stdout
		number := func(text string) string {
			_, text, _ = strings.Cut(text, "checks\n")
			text, _, _ = strings.Cut(text, " of the MPI's own")
			return text
		}
		if number(alone) != number(under) || number(alone) == "" || !strings.Contains(under, "26 of ours") {
			t.Errorf("it printed %q with the library, and %q without", under, alone)
		}
	}
	besideMonitoring(t, anyMPI, beside)
	t.Run("ob1", func(t *testing.T) { withOb1(t, beside) })
}
