package views_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// causesOfRun returns the analysis of a run of two programs and two slices, 4 ranks and 10 s, whose waits have
// two causes: 6 s of calls, and 2 s of ranks that end early.
func causesOfRun() *trace.Result {
	recv, send := causes.Stop{Call: "Recv", Callsite: "solve solve.f90:10 < main solve.f90:90"}, causes.Stop{Call: "Send", Callsite: "solve solve.f90:31"}
	saves, few := 1.2, 0.1
	return &trace.Result{Ranks: 4, Size: 4, Runtime: 10, Patterns: []trace.PatternTotal{{Pattern: trace.LateSender, Count: 20, Time: 6, Share: 0.15}, {Pattern: trace.Undecided, Time: 9}},
		Causes: []causes.Cause{
			{Class: causes.Imbalance, Burst: &causes.Burst{Before: recv, After: send}, CostNs: 5e9, Share: 0.125, Waits: 12, Pairs: 3, Named: profile.RankSetOf(0, 1), SavesS: &saves,
				Seen:   []causes.Seen{{Stop: recv, Pattern: "late-sender", Ranks: profile.RankSetOf(2, 3), CostNs: 3e9}, {Stop: causes.Stop{Call: "Finalize"}, Pattern: causes.EndedEarly, Ranks: profile.RankSetOf(2), CostNs: 2e9}},
				Slices: map[string]int64{"step": 4e9, "output": 1e9}, From: "ocean", To: "ocean"},
			{Class: causes.InCall, Call: &send, CostNs: 3e9, Share: 0.075, Waits: 8, Pairs: 1, Named: profile.RankSetOf(3), SavesS: &few,
				Seen:   []causes.Seen{{Stop: recv, Pattern: "late-sender", Ranks: profile.RankSetOf(0), CostNs: 3e9}},
				Slices: map[string]int64{"output": 3e9}, From: "ocean", To: "atmos"},
		}}
}

// TestCauses checks the text of the causes, and that it says if they do not add up to the waits.
func TestCauses(t *testing.T) {
	found := causesOfRun()
	var b bytes.Buffer
	if err := Trace(&b, found, Options{Top: -1}); err != nil {
		t.Fatal(err)
	}
	golden(t, "causes.txt", b.Bytes())
	b.Reset()
	found.Causes[1].Named = profile.RankSetOf(0, 2, 4, 6, 8, 9)
	if err := Trace(&b, found, Options{Top: -1, Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters in a line: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "  0, 2, 4 … (6 in all) ") {
		t.Errorf("not all ranks, or none:\n%s", &b)
	}
	found.Causes = found.Causes[1:]
	b.Reset()
	if err := Trace(&b, found, Options{Top: -1}); err != nil {
		t.Fatal(err)
	}
	if want := "the causes cover 50.0 % of the time waited: 6.00 s in calls\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, &b)
	}
}
