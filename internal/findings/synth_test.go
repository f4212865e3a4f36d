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
			if wrong := differs(fault, &found[0]); wrong != "" {
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
	{"late sender", hub(4000, false), hub(900, false), func(job synth.Traced) *synth.Fault { return late("late sender", job, "sends later, in hub app.c:10") }},
	{"late receiver", hub(4000, true), hub(900, true), func(job synth.Traced) *synth.Fault {
		return late("late receiver", job, "posts the receive, in hub app.c:10")
	}},
	{"serial chain", &synth.Token{Ranks: 64, Rounds: 10, Work: time.Millisecond}, &synth.Token{Ranks: 64, Rounds: 10, Work: time.Millisecond, Alone: 260 * time.Millisecond}, chain},
	{"waiting in collectives", halo(200), halo(5), haloWaits},
}

func hub(lateUs int, receives bool) *synth.Hub {
	return &synth.Hub{Ranks: 512, Steps: 10, Peers: 100, Late: time.Duration(lateUs) * time.Microsecond, Receives: receives}
}

// late returns the finding about rank 0 of a hub.
func late(rule string, job synth.Traced, text string) *synth.Fault {
	h := job.(*synth.Hub)
	waits := h.Waits().Seconds()
	return &synth.Fault{Rule: rule, Ranks: profile.RankSetOf(0), Site: "spoke app.c:20", Text: text,
		Share: waits / float64(h.Ranks) / h.Runtime().Seconds(), Saves: waits / float64(h.Ranks)}
}

// chain returns the finding about ranks that compute in turn.
func chain(job synth.Traced) *synth.Fault {
	k := job.(*synth.Token)
	lost := (time.Duration(k.Rounds) * time.Duration(k.Ranks-1) * k.Work).Seconds()
	return &synth.Fault{Rule: "serial chain", Ranks: profile.RankSet{{Last: k.Ranks - 1}}, Site: "turn app.c:30", Share: lost / k.Runtime().Seconds(), Saves: lost}
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

func haloWaits(job synth.Traced) *synth.Fault {
	h := job.(*synth.Halo)
	_, allreduce := h.Waits()
	t := h.Sources()[0].Trace()
	waits := allreduce.Seconds() / float64(h.Ranks)
	return &synth.Fault{Rule: "waiting in collectives", Ranks: profile.RankSetOf(lateInHalo), Site: "main app.c:60", Share: waits / (1e-9 * float64(t.FinalizeStart-t.InitEnd)), Saves: waits}
}

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
			if wrong := differs(want, &found[0]); wrong != "" {
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
	return findings.Of(summaryOf(t, synth.Recorded(job)), traced)
}

// differs returns what a finding says differently from the formulas.
func differs(want *synth.Fault, got *findings.Finding) string {
	switch {
	case string(got.Rule) != want.Rule:
		return "want first: " + want.Rule
	case got.Ranks.Compare(want.Ranks) != 0:
		return fmt.Sprintf("ranks %s, want %s", got.Ranks, want.Ranks)
	case got.Callsite != want.Site:
		return fmt.Sprintf("call site %q, want %q", got.Callsite, want.Site)
	case !near(got.Share, want.Share):
		return fmt.Sprintf("share %.9f, want %.9f", got.Share, want.Share)
	case !near(got.SavesS, want.Saves):
		return fmt.Sprintf("saves %.9f s, want %.9f", got.SavesS, want.Saves)
	case !strings.Contains(got.Text, want.Text):
		return fmt.Sprintf("lacks %q", want.Text)
	}
	return ""
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }
