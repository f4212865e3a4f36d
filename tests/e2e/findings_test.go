package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/profile"
)

// A plantedFault is a fault of the program stands_out.
type plantedFault struct {
	name     string
	rule     findings.Rule // that finds it
	at       profile.RankSet
	measured bool                             // whether the program measures the share
	text     func(calls string) (part string) // that the finding contains; calls is the number that the program counted
}

func says(part string) func(string) string { return func(string) string { return part } }

// faultyJobs are jobs with one fault or several. That each rule finds its fault first and
// with the right share, and does not find what is nearly one, is tested with synthetic
// jobs and clocks: TestFaults and TestTracedFaults of internal/findings.
var faultyJobs = []struct {
	ranks  int
	traced bool
	faults []plantedFault
}{
	{2, false, []plantedFault{{"small-messages", findings.SmallMessages, nil, true, says("100 messages of 8 B on average, 100 to a rank")}}},
	{2, false, []plantedFault{
		{"small-collectives", findings.SmallCollectives, nil, true, says("1,100 calls")},
		{"set-up", findings.SetUpInALoop, nil, true, says("120 calls")},
	}},
	{2, false, []plantedFault{{"polling", findings.BusyPolling, nil, false,
		func(calls string) string { return calls + " calls of Test, Iprobe and the like for 4 messages" }}}},
	{2, false, []plantedFault{{"files", findings.FileAccess, nil, false, says("20 calls move 19.5 KiB, 1000 B each")}}},
	{2, false, []plantedFault{{"imbalance", findings.LoadImbalance, profile.RankSetOf(1), true, nil}}},
	{2, true, []plantedFault{
		{"collectives", findings.LoadImbalance, profile.RankSetOf(1), true, nil},
		{"late-sender", findings.LateSender, profile.RankSetOf(0), true, nil},
		{"late-receiver", findings.LateReceiver, profile.RankSetOf(1), true, nil},
	}},
	{6, false, []plantedFault{
		{"hot-rank", findings.HotRank, profile.RankSetOf(0), false, says("40 messages point-to-point, the median rank 8 messages")},
		{"sparse", findings.SparseAllToAll, nil, true, says("nothing to 80.0 % of the ranks; on average a rank sends to 1.")},
	}},
	{2, false, []plantedFault{{"oversubscribed", findings.Oversubscribed, profile.RankSetOf(0, 1), false, says("run 2 threads on 1 core.")}}},
	{2, false, []plantedFault{{"killed", findings.EndedBadly, profile.RankSetOf(1), false, says("Rank 1 was killed by SIGKILL")}}},
	{2, false, []plantedFault{{"lost", findings.NotMeasured, nil, false, says("1 pair of ranks")}}},
}

// TestFindings runs programs with faults. A busy machine may add waits, so each has
// three attempts.
func TestFindings(t *testing.T) {
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		for _, job := range faultyJobs {
			command := []string{m.compile(t, "stands_out")}
			for _, f := range job.faults {
				command = append(command, f.name)
			}
			attempts(t, strings.Join(command[1:], " "), func() string {
				found, printed := m.findings(t, job.traced, job.ranks, command...)
				for _, f := range job.faults {
					if problem := f.check(found, printed); problem != "" {
						return f.name + ": " + problem
					}
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
		Jobs []struct {
			Verdict  string
			Findings []findings.Finding
			Tree     *aggregate.TimeTree `json:"time_tree"`
		}
	}
	out := succeed(t, nil, mpitrace, "report", "--json", j.dir)
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil || len(report.Jobs) != 1 {
		t.Fatalf("%d jobs, %v\n%s%s", len(report.Jobs), err, j.stdout, j.stderr)
	}
	job := &report.Jobs[0]
	if tree := job.Tree; tree == nil || tree.Parts.Sum() != tree.TotalNs() || tree.Ranks != ranks || tree.Traced != traced {
		t.Errorf("%q: the time divides into %+v", command[1:], tree)
	}
	if !strings.HasPrefix(job.Verdict, fmt.Sprintf("stands_out on %d ranks", ranks)) {
		t.Errorf("%q: %s", command[1:], job.Verdict)
	}
	const uncut = 180 // bytes, which fit into the lines of a verdict
	if words := strings.Join(strings.Fields(j.stderr), " "); !strings.Contains(words, job.Verdict[:min(len(job.Verdict), uncut)]) {
		t.Errorf("%q: run says something else than report, %q:\n%s", command[1:], job.Verdict, j.stderr)
	}
	return job.Findings, j.stdout
}

// check compares the finding of a fault with what the program did and printed. It returns
// what differs.
func (f *plantedFault) check(found []findings.Finding, printed string) string {
	var share float64
	var line, calls int
	if at := strings.Index(printed, "\n"+f.name+" "); at >= 0 { // a program that is killed prints nothing
		if _, err := fmt.Sscanf(printed[at+len(f.name)+2:], "%g %d %d", &share, &line, &calls); err != nil {
			return fmt.Sprintf("%v in %q", err, printed)
		}
	}
	at := fmt.Sprintf(" stands_out.c:%d", line)
	i := slices.IndexFunc(found, func(g findings.Finding) bool {
		return g.Rule == f.rule && (line == 0 || strings.HasSuffix(g.Callsite, at))
	})
	if i < 0 {
		return fmt.Sprintf("%s%s is not in %+v", f.rule, at, found)
	}
	switch g := found[i]; {
	case f.measured && math.Abs(g.Share-share) > 0.1*share:
		return fmt.Sprintf("share %.4f, the program measured %.4f", g.Share, share)
	case g.Ranks.Compare(f.at) != 0:
		return fmt.Sprintf("%s, want %s", g.Ranks, f.at)
	case f.text != nil && !strings.Contains(g.Text, f.text(thousands(calls))):
		return fmt.Sprintf("%q lacks %q", g.Text, f.text(thousands(calls)))
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
