package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/profile"
)

// A plantedFault is a fault of the program stands_out.
type plantedFault struct {
	name          string
	ranks, nearly int // number of ranks, and of those of the program that nearly has the fault
	traced        bool
	rule          findings.Rule // that finds it
	at            profile.RankSet
	measured      bool                             // whether the program measures the share
	text          func(calls string) (part string) // that the finding contains; calls is the number that the program counted
}

var plantedFaults = []plantedFault{
	{"imbalance", 2, 2, false, findings.LoadImbalance, profile.RankSetOf(1), true, nil},
	{"collectives", 2, 2, false, findings.CollectiveWaits, profile.RankSetOf(1), true, nil},
	{"collectives", 2, 2, true, findings.CollectiveWaits, profile.RankSetOf(1), true, nil},
	{"late-sender", 2, 2, true, findings.LateSender, profile.RankSetOf(0), true, nil},
	{"late-receiver", 2, 2, true, findings.LateReceiver, profile.RankSetOf(1), true, nil},
	{"chain", 2, 2, true, findings.SerialChain, profile.RankSetOf(0, 1), true, nil},
	{"small-messages", 2, 2, false, findings.SmallMessages, nil, true, func(string) string { return "100 messages of 8 B on average, 100 to a rank" }},
	{"small-collectives", 2, 2, false, findings.SmallCollectives, nil, true, func(string) string { return "1,100 calls" }},
	{"hot-rank", 6, 4, false, findings.HotRank, profile.RankSetOf(0), false, func(string) string { return "40 messages point-to-point, the median is 8 messages" }},
	{"set-up", 2, 2, false, findings.SetUpInALoop, nil, true, func(string) string { return "120 calls" }},
	{"polling", 2, 2, false, findings.BusyPolling, nil, false, func(calls string) string { return calls + " calls of Test, Iprobe and the like for 4 messages" }},
	{"sparse", 5, 5, false, findings.SparseAllToAll, nil, true, func(string) string { return "nothing to 75.0 % of the ranks; on average a rank sends to 1." }},
	{"oversubscribed", 2, 1, false, findings.Oversubscribed, profile.RankSetOf(0, 1), false, func(string) string { return "run 2 threads on 1 core." }},
	{"killed", 2, 2, false, findings.EndedBadly, profile.RankSetOf(1), false, func(string) string { return "Rank 1 was killed by SIGKILL" }},
	{"lost", 2, 2, false, findings.NotMeasured, nil, false, func(string) string { return "1 pair of ranks" }},
}

// TestFindings runs programs with one fault each, and programs that nearly have it. A
// busy machine may add waits, so each has three attempts. That ranks shared cores with
// other processes, or with each other because the machine has few, is no fault of the
// programs.
func TestFindings(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "stands_out")
		attempts(t, "nothing", func() string {
			found, _ := m.findings(t, false, 2, program, "nothing")
			if found = ofProgram(found); len(found) > 0 {
				return fmt.Sprintf("found %+v in a program without a fault", found)
			}
			return ""
		})
		for _, f := range plantedFaults {
			attempts(t, f.name, func() string { return f.check(m.findings(t, f.traced, f.ranks, program, f.name)) })
			attempts(t, f.name+" nearly", func() string {
				found, _ := m.findings(t, f.traced, f.nearly, program, f.name, "nearly")
				if slices.ContainsFunc(found, func(g findings.Finding) bool { return g.Rule == f.rule }) {
					return fmt.Sprintf("found %+v", found)
				}
				return ""
			})
		}
	})
}

// attempts tries up to three times until a function returns no problem.
func attempts(t *testing.T, what string, try func() (problem string)) {
	t.Helper()
	problem := ""
	for range 3 {
		if problem = try(); problem == "" {
			return
		}
	}
	t.Errorf("%s: %s", what, problem)
}

// findings records a program and returns its findings and what it printed.
func (m implementation) findings(t *testing.T, traced bool, ranks int, command ...string) ([]findings.Finding, string) {
	t.Helper()
	var flags []string
	if traced {
		flags = []string{"--trace"}
	}
	j := record(t, flags, m.launch(ranks, command...)...)
	var report struct {
		Jobs []struct{ Findings []findings.Finding }
	}
	out := succeed(t, nil, mpitrace, "report", "--json", j.dir)
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil || len(report.Jobs) != 1 {
		t.Fatalf("%d jobs, %v\n%s%s", len(report.Jobs), err, j.stdout, j.stderr)
	}
	return report.Jobs[0].Findings, j.stdout
}

// ofProgram returns the findings that are about the program, not about the machine.
func ofProgram(found []findings.Finding) []findings.Finding {
	return slices.DeleteFunc(found, func(f findings.Finding) bool { return f.Rule == findings.Oversubscribed })
}

// check compares the first finding with what the program did and printed. It returns
// what differs.
func (f *plantedFault) check(found []findings.Finding, printed string) string {
	if f.rule != findings.Oversubscribed {
		found = ofProgram(found)
	}
	if len(found) == 0 || found[0].Rule != f.rule {
		return fmt.Sprintf("%s is not first in %+v", f.rule, found)
	}
	first := found[0]
	var share float64
	var line, calls int
	if at := strings.Index(printed, "share "); at >= 0 {
		if _, err := fmt.Sscanf(printed[at:], "share %g\nline %d\ncalls %d", &share, &line, &calls); err != nil {
			return fmt.Sprintf("%v in %q", err, printed)
		}
	}
	switch {
	case f.measured && math.Abs(first.Share-share) > 0.1*share:
		return fmt.Sprintf("share %.4f, the program measured %.4f", first.Share, share)
	case line > 0 && !strings.HasSuffix(first.Callsite, fmt.Sprintf(" stands_out.c:%d", line)):
		return fmt.Sprintf("%q is not line %d", first.Callsite, line)
	case first.Ranks.Compare(f.at) != 0:
		return fmt.Sprintf("%s, want %s", first.Ranks, f.at)
	case f.text != nil && !strings.Contains(first.Text, f.text(thousands(calls))):
		return fmt.Sprintf("%q lacks %q", first.Text, f.text(thousands(calls)))
	}
	return ""
}

// thousands returns a number with commas.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
