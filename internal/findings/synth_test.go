package findings_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const faultyRanks = 1000

// TestFaults finds the fault of each synthetic job first, with the ranks, the call site
// and the amounts that follow from formulas, and does not find it in the job that
// nearly has it.
func TestFaults(t *testing.T) {
	for _, name := range synth.FaultNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault, found := faulty(t, name, false)
			if len(found) == 0 {
				t.Fatal("nothing stands out")
			}
			if wrong := differs(fault, &found[0], exactly); wrong != "" {
				t.Errorf("%s: %+v", wrong, found[0])
			}
			_, found = faulty(t, name, true)
			if slices.ContainsFunc(found, func(f findings.Finding) bool { return string(f.Rule) == fault.Rule }) {
				t.Errorf("nearly: %+v", found)
			}
		})
	}
}

// faulty returns the findings of a job with a fault.
func faulty(t *testing.T, name string, nearly bool) (*synth.Fault, []findings.Finding) {
	t.Helper()
	job, err := synth.NewFaulty(name, faultyRanks, nearly)
	testenv.NoError(t, err)
	return job.Fault, findings.Of(summaryOf(t, job), nil)
}

func summaryOf(t *testing.T, src profile.Source) *aggregate.Summary {
	t.Helper()
	job, err := aggregate.Of(src, aggregate.Options{})
	testenv.NoError(t, err)
	return job.Summary()
}

// tracedFaults are traced jobs with a fault, and jobs that nearly have it.
var tracedFaults = []struct {
	name        string
	job, nearly synth.Traced
	want        func(job synth.Traced) *synth.Fault
}{
	{"sender with more work", hub(4000, false), hub(900, false), func(job synth.Traced) *synth.Fault { return busyHub(job, "two calls of Ssend at hub app.c:10") }},
	{"receiver with more work", hub(4000, true), hub(900, true), func(job synth.Traced) *synth.Fault { return busyHub(job, "two calls of Recv at hub app.c:10") }},
	{"serial chain", &synth.Token{Ranks: 64, Rounds: 10, Work: time.Millisecond}, &synth.Token{Ranks: 64, Rounds: 10, Work: time.Millisecond, Alone: 260 * time.Millisecond}, chain},
	{"a rank with more work in an exchange", halo(200), halo(5), busyInHalo},
}

func hub(lateUs int, receives bool) *synth.Hub {
	return &synth.Hub{Ranks: 512, Steps: 10, Peers: 100, Late: time.Duration(lateUs) * time.Microsecond, Receives: receives}
}

// busyHub returns the finding about rank 0 of a hub, which alone computes. It saves nothing: all ranks compute
// for the rest of each step.
func busyHub(job synth.Traced, between string) *synth.Fault {
	h := job.(*synth.Hub)
	waits := h.Waits().Seconds()
	return &synth.Fault{Rule: "load imbalance", Ranks: profile.RankSetOf(0), Site: "spoke app.c:20", Text: "Rank 0 alone computes while the others wait. Most of the computing is between " + between,
		Share: waits / float64(h.Ranks) / h.Runtime().Seconds()}
}

// chain returns the finding about ranks that compute in turn: in each round, each rank waits for the work of
// each other one. The first rank and the last, which work between other calls, cost too little to be named.
func chain(job synth.Traced) *synth.Fault {
	k := job.(*synth.Token)
	lost := (time.Duration(k.Rounds) * time.Duration(k.Ranks-1) * k.Work).Seconds()
	return &synth.Fault{Rule: "serial chain", Ranks: profile.RankSet{{First: 1, Last: k.Ranks - 2}}, Site: "main app.c:40", Share: lost / k.Runtime().Seconds(), Saves: lost,
		Text: "Ranks 1-62 compute one after the other. The computing is between Recv at turn app.c:30 and Send at turn app.c:32. You see it as: ranks 0-62 wait 20.2 s in Barrier at main app.c:40"}
}

const lateInHalo = 77

// halo returns an exchange in which a rank is late in each step. Messages are so fast
// that this rank is also the last in the Allreduce.
func halo(lateUs int) *synth.Halo {
	h := synth.NewHalo(512, 10)
	h.PerNode = h.Ranks // one clock, which the analysis leaves as it is
	h.Steady, h.Compute, h.Bytes, h.Latency = true, 2*time.Millisecond, 8, 100*time.Nanosecond
	for step := range h.Steps {
		h.Late = append(h.Late, synth.Late{Rank: lateInHalo, Step: step, By: time.Duration(lateUs) * time.Microsecond})
	}
	return h
}

// busyInHalo returns the finding about the late rank of a halo. The replay tries all steps but the first, which
// begins at MPI_Init and costs too little.
func busyInHalo(job synth.Traced) *synth.Fault {
	h := job.(*synth.Halo)
	sender, allreduce := h.Waits()
	t := h.Sources()[0].Trace()
	waits := (sender + allreduce).Seconds() / float64(h.Ranks)
	return &synth.Fault{Rule: "load imbalance", Ranks: profile.RankSetOf(lateInHalo), Site: "main app.c:60", Share: waits / (1e-9 * float64(t.FinalizeStart-t.InitEnd)), Saves: waits * float64(h.Steps-1) / float64(h.Steps),
		Text: "Most of the computing is between Allreduce at main app.c:60 and Irecv at exchange app.c:40; the rest is at 1 other place. You see it as: ranks 0-76, 78-511 wait"}
}

// otherCauses is the largest part of the waits of a synthetic job that another cause may have: calls take time,
// and the first step begins at MPI_Init.
const otherCauses = 0.03

// TestTracedFaults is TestFaults for what only a trace tells.
func TestTracedFaults(t *testing.T) {
	for _, f := range tracedFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			want := f.want(f.job)
			found := tracedFindings(t, f.job)
			if len(found) == 0 {
				t.Fatal("nothing stands out")
			}
			if wrong := differs(want, &found[0], otherCauses); wrong != "" {
				t.Errorf("%s: %+v", wrong, found[0])
			}
			found = tracedFindings(t, f.nearly)
			if slices.ContainsFunc(found, func(f findings.Finding) bool { return string(f.Rule) == want.Rule }) {
				t.Errorf("nearly: %+v", found)
			}
		})
	}
}

// TestTreeOfTrace checks the waits of traced jobs, and that all parts add up.
func TestTreeOfTrace(t *testing.T) {
	h := halo(200)
	sender, allreduce := h.Waits()
	for _, test := range []struct {
		job   synth.Traced
		waits time.Duration
	}{{hub(4000, false), hub(4000, false).Waits()}, {hub(4000, true), hub(4000, true).Waits()}, {h, sender + allreduce}} {
		traced, err := trace.Analyze(test.job.Sources(), trace.Options{})
		testenv.NoError(t, err)
		s := summaryOf(t, synth.Recorded(test.job))
		findings.UseTrace(s, traced)
		tree := s.Tree
		if tree == nil || !tree.Traced || tree.Parts.Sum() != tree.TotalNs() || !near(float64(tree.Parts[aggregate.Waiting]), float64(test.waits)) {
			t.Errorf("%T: waiting %v, want %v: %+v", test.job, time.Duration(tree.Parts[aggregate.Waiting]), test.waits, tree)
		}
	}
}

func tracedFindings(t *testing.T, job synth.Traced) []findings.Finding {
	t.Helper()
	traced, err := trace.Analyze(job.Sources(), trace.Options{})
	testenv.NoError(t, err)
	s := summaryOf(t, synth.Recorded(job))
	findings.UseTrace(s, traced)
	return findings.Of(s, traced)
}

// differs returns what a finding says differently from the formulas, whose numbers may differ by a part.
func differs(want *synth.Fault, got *findings.Finding, tolerance float64) string {
	switch {
	case string(got.Rule) != want.Rule:
		return "want first: " + want.Rule
	case got.Ranks.Compare(want.Ranks) != 0:
		return fmt.Sprintf("ranks %s, want %s", got.Ranks, want.Ranks)
	case got.Callsite != want.Site:
		return fmt.Sprintf("call site %q, want %q", got.Callsite, want.Site)
	case !within(got.Share, want.Share, tolerance):
		return fmt.Sprintf("share %.9f, want %.9f", got.Share, want.Share)
	case !within(got.SavesS, want.Saves, tolerance):
		return fmt.Sprintf("saves %.9f s, want %.9f", got.SavesS, want.Saves)
	case !strings.Contains(got.Text, want.Text):
		return fmt.Sprintf("lacks %q", want.Text)
	}
	return ""
}

// exactly is the rounding of numbers that are equal.
const exactly = 1e-6

func near(a, b float64) bool { return within(a, b, exactly) }

func within(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) }
