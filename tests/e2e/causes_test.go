package e2e

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/causes"
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

// A seededCause is the reason, as the analysis must name it: the class, the ranks, and the calls around
// the computing, or the call.
type seededCause struct {
	class         causes.Class
	ranks         string
	before, after string
}

func (c seededCause) String() string {
	return fmt.Sprintf("%v of %s between %q and %q", c.class, c.ranks, c.before, c.after)
}

// seededCauses are the first causes that the analysis must find, by fault. Any of a fault's is right.
var seededCauses = map[string][]seededCause{
	"heavy":    {{causes.Imbalance, "rank 2", "Allreduce", "Allreduce"}},
	"halo":     {{causes.Imbalance, "rank 1", "Waitall", "Irecv"}},
	"stairs":   {{causes.Imbalance, "ranks 2-3", "Allreduce", "Allreduce"}},
	"turns":    {{causes.Varying, "ranks 0-3", "Barrier", "Barrier"}},
	"sender":   {{causes.Order, "rank 0", "Barrier", "Send"}},
	"receiver": {{causes.Order, "rank 0", "Barrier", "Recv"}},
	"root":     {{causes.Imbalance, "rank 0", "Barrier", "Bcast"}},
	"chain":    {{causes.Chain, "ranks 1-4", "Recv", "Send"}},
	"server":   {{causes.Imbalance, "rank 0", "Recv", "Send"}},
	"writer":   {{causes.Imbalance, "rank 0", "Iprobe", "Iprobe"}},
	"phases":   {{causes.Imbalance, "ranks 0-1", "Allreduce", "Barrier"}, {causes.Imbalance, "ranks 2-3", "Barrier", "Allreduce"}}, // cost the same
	"waitall":  {{causes.Imbalance, "rank 2", "Allreduce", "Send"}},
	"call":     {{causes.InCall, "rank 1", "", "Reduce_local"}},
	"tail":     {{causes.Imbalance, "rank 0", "Barrier", "Finalize"}},
}

// TestSeededFaults runs programs whose ranks wait for a known reason.
func TestSeededFaults(t *testing.T) {
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "seeded")
		for _, f := range seededFaults {
			t.Run(f.name, func(t *testing.T) {
				var wrong string
				for try := range 10 { // on a busy machine, ranks are late for other reasons
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
	return f.checkCause(t, found)
}

// checkCause returns how the first cause differs from the fault. Calls are long while a rank has no
// core: those are left out, unless a call is the fault.
func (f *seededFault) checkCause(t *testing.T, found *trace.Result) string {
	t.Helper()
	want := seededCauses[f.name]
	list := found.Causes
	for want[0].class != causes.InCall && len(list) > 1 && list[0].Class == causes.InCall {
		list = list[1:]
	}
	if len(list) == 0 {
		t.Fatalf("no cause")
	}
	first := &list[0]
	got := seededCause{class: first.Class, ranks: first.Named.String()}
	switch {
	case first.Call != nil:
		got.after = first.Call.Call
	case first.Burst != nil:
		got.before, got.after = first.Burst.Before.Call, first.Burst.After.Call
		for _, at := range []causes.Stop{first.Burst.Before, first.Burst.After} {
			if want := cmp.Or(map[string]string{"Finalize": "main"}[at.Call], f.name); !strings.HasPrefix(at.Callsite, want+" seeded.c:") {
				t.Errorf("the first cause is at %+v, want a call in %s", at, want)
			}
		}
	}
	if !slices.Contains(want, got) {
		return fmt.Sprintf("the first cause is %v, want one of %v: %+v", got, want, *first)
	}
	// Shorter by nothing, or by more than all, would be no saving.
	tried := got.class != causes.InCall && got.class != causes.Chain && first.Share >= 0.02
	if tried != (first.SavesS != nil) || tried && (*first.SavesS <= 0 || *first.SavesS >= found.Runtime) || (got.class == causes.Chain) != (first.BoundS > 0) {
		return fmt.Sprintf("the first cause saves %v, or at most %g s of %g s: %v", first.SavesS, first.BoundS, found.Runtime, got)
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
