package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// oneWays are the ways in which tests/programs/oneway.c is called. pattern is what
// ranks wait for in their last calls, and note what is said of the clocks.
var oneWays = []struct {
	name    string
	ranks   int
	pattern trace.Pattern
	note    string
}{
	{"producer", 2, trace.NoPattern, "is not known: messages go one way only"},
	{"answered", 2, trace.LateSender, "they agree within"},
	{"ring", 4, trace.NoPattern, "they agree within"},
	{"server", 3, trace.WaitAtNxN, "they agree within"},
}

// TestClocksOneWay runs each rank on a host of its own, whose clock is the same
// as the others' but has another id. The clocks must not be moved, although
// messages one way are received late, and waits must agree with the machine's
// clock. Hosts under one kernel have one clock.
func TestClocksOneWay(t *testing.T) {
	testenv.Need(t, "unshare", "hostname")
	if os.Geteuid() != 0 {
		testenv.Skip(t, "another host name needs root")
	}
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		same, other := m.library(t), m.libraryWith(t, "clocks.h", "-O0", "-DBOOT_OF_ANOTHER_HOST")
		program := m.compile(t, "oneway")
		for _, way := range oneWays {
			dir, stdout := m.onHosts(t, other, way.ranks, program, way.name)
			found := analyze(t, dir)
			if found.Clocks == nil || len(found.Clocks.Hosts) != way.ranks || !strings.Contains(strings.Join(found.ClockNotes, " "), way.note) {
				t.Errorf("%s: %+v, %q", way.name, found.Clocks, found.ClockNotes)
			}
			checkUnmoved(t, dir, way.ranks)
			checkLastCall(t, way.name, found, way.pattern, stdout)
		}
		dir, stdout := m.onHosts(t, same, 3, program, "server")
		found := analyze(t, dir)
		if found.Clocks != nil || found.ClockNotes != nil {
			t.Errorf("one clock: %+v, %q", found.Clocks, found.ClockNotes)
		}
		checkLastCall(t, "one clock", found, trace.WaitAtNxN, stdout)
	})
}

// onHosts runs a traced program with each rank on a host of its own, and
// converts the events.
func (m implementation) onHosts(t *testing.T, lib string, ranks int, program ...string) (dir, stdout string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	host := []string{"unshare", "--uts", "sh", "-c", `hostname node-${PMI_RANK:-$OMPI_COMM_WORLD_RANK} && exec "$@"`, "sh"}
	out := succeed(t, nil, m.launch(ranks, append(host, preload(lib, []string{"MPITRACE_DIR=" + dir, "MPITRACE_TRACE=on"}, program...)...)...)...)
	succeed(t, nil, mpitrace, "report", "--full", dir)
	return dir, out.stdout
}

// checkUnmoved requires that no clock was moved by more than 50 µs, and none got
// a drift.
func checkUnmoved(t *testing.T, dir string, ranks int) {
	t.Helper()
	for rank := range ranks {
		src, err := tracefile.Open(filepath.Join(dir, fmt.Sprintf("trace.%d.arrow", rank)))
		if err != nil {
			t.Fatal(err)
		}
		own := src.Trace()
		if own.Host != fmt.Sprintf("node-%d", rank) {
			t.Errorf("rank %d is on %q", rank, own.Host)
		}
		if by := own.Clock; by != nil && (math.Abs(by.Offset) > float64(50*time.Microsecond) || by.Drift != 0) {
			t.Errorf("rank %d: %+v was added to its clock", rank, by)
		}
	}
}

// checkLastCall requires that the ranks waited in their last calls until the
// last rank came, and otherwise for little.
func checkLastCall(t *testing.T, name string, found *trace.Result, pattern trace.Pattern, stdout string) {
	t.Helper()
	var came []float64
	for line := range strings.Lines(stdout) {
		var rank int
		var at float64
		if n, _ := fmt.Sscan(line, &rank, &at); n == 2 {
			came = append(came, at)
		}
	}
	want, got := 0.0, 0.0
	for _, at := range came {
		if pattern != trace.NoPattern {
			want += slices.Max(came) - at
		}
	}
	for _, w := range found.WaitStates {
		if w.Pattern == pattern {
			got += w.Time
		}
	}
	if tolerance := 0.02 + 0.05*want; len(came) < 2 || math.Abs(got-want) > tolerance {
		t.Errorf("%s: ranks came at %v and waited %.3f s for the last, want %.3f", name, came, got, want)
	}
}
