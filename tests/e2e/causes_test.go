package e2e

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/trace"
)

// A seededFault is a reason for which the ranks of tests/programs/seeded.c wait.
type seededFault struct {
	name    string
	ranks   int
	pattern trace.Pattern // of waits that last for planned seconds, summed over ranks
	planned float64
}

// The planned waits are a length in seconds times the number of waits.
var seededFaults = []seededFault{
	{"heavy", 4, trace.WaitAtNxN, 0.017 * 3 * 10},
	{"halo", 4, trace.LateSender, 0.017 * (2*9 + 8)}, // rank 3 learns of it a step later
	{"stairs", 4, trace.WaitAtNxN, 0.007 * (1 + 2 + 3) * 10},
	{"turns", 4, trace.WaitAtBarrier, 0.020 * 3 * 12},
	{"sender", 4, trace.LateSender, 0.015 * 3 * 10},
	{"receiver", 4, trace.LateReceiver, 0.015 * 3 * 10},
	{"root", 4, trace.LateBroadcast, 0.020 * 3 * 10},
	{"chain", 6, trace.LateSender, 0.012 * (1 + 2 + 3 + 4 + 5) * 5},
	{"server", 4, trace.LateSender, 0.008*(1+2+3) + 0.019*3*9 + 0.005}, // the first round, and the others
	{"writer", 4, trace.WaitAtNxN, 0.020 * 3 * 10},
	{"phases", 4, trace.WaitAtBarrier, 0.015 * 2 * 10},
	{"waitall", 4, trace.WaitAtNxN, (0.020 + 0.025) * 10}, // of ranks 1 and 3
	{"call", 4, trace.WaitAtBarrier, 0.020 * 3 * 10},
	{"tail", 4, trace.NoPattern, 0},
}

// TestSeededFaults runs programs whose ranks wait for a known reason.
func TestSeededFaults(t *testing.T) {
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "seeded")
		for _, f := range seededFaults {
			t.Run(f.name, func(t *testing.T) {
				var wrong string
				for try := range 6 { // on a busy machine, ranks are late for other reasons
					j := m.traceInto(t, filepath.Join(t.TempDir(), fmt.Sprint("run", try)), f.ranks, nil, program, f.name)
					if j.code != 0 {
						t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
					}
					if wrong = f.check(t, analyze(t, j.dir), overslept(t, j.stdout)); wrong == "" {
						return
					}
					t.Log(wrong)
				}
				t.Error(wrong)
			})
		}
	})
}

// check returns how an analysis differs from what the fault says. Each second that a rank overslept
// can change the waits of all others by as much.
func (f *seededFault) check(t *testing.T, found *trace.Result, overslept float64) string {
	t.Helper()
	checkMatched(t, &found.Matching)
	waited := 0.0
	for _, p := range found.Patterns {
		if p.Pattern == f.pattern {
			waited = p.Time
		}
	}
	if off := math.Abs(waited - f.planned); off > 0.2*f.planned+float64(f.ranks-1)*overslept {
		return fmt.Sprintf("waits of pattern %v last %.3f s, want %.3f s; overslept %.3f s", f.pattern, waited, f.planned, overslept)
	}
	return ""
}

// overslept returns by how much the ranks overslept together, in seconds.
func overslept(t *testing.T, stdout string) float64 {
	t.Helper()
	sum := 0.0
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var s float64
		if _, err := fmt.Sscanf(line, "overslept %f", &s); err != nil {
			t.Fatalf("the program printed %q: %v", line, err)
		}
		sum += s
	}
	return sum
}
