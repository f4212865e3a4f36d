package findings

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

type parts = map[aggregate.TimePart]float64

// dividedInto returns a summary of two ranks and 10 s whose time is divided into shares; the rest is
// computing.
func dividedInto(shares parts) *aggregate.Summary {
	s := computing(9.9, 9.9)
	s.Program, s.RanksExpected = "app", 2
	t := &aggregate.TimeTree{Ranks: 2, RuntimeNs: 10e9}
	rest := 1.0
	for part, share := range shares {
		t.Parts[part] = int64(20e9 * share)
		rest -= share
	}
	t.Parts[aggregate.Computing] = int64(20e9 * rest)
	t.NoCore, t.NoCoreKnown = shares[aggregate.WithoutCore], aggregate.NoCoreExact
	t.Before, s.Tree = t.Parts, t
	s.MPIShare.Mean = t.InMPI()
	return s
}

// TestVerdict checks the branches of the verdict.
func TestVerdict(t *testing.T) {
	traced := &trace.Result{Ranks: 2, Runtime: 10}
	imbalance := Finding{Rule: LoadImbalance, Of: OfTime, Share: 0.4, Cause: "rank 0 computes 8.00 times as long as the other", Try: "Move work off rank 0; at most 4.00 s shorter."}
	for _, test := range []struct {
		name   string
		shares parts
		change func(s *aggregate.Summary)
		found  []Finding
		want   string
	}{
		{"cores were missing", parts{aggregate.WithoutCore: 0.31, aggregate.MovingData: 0.4}, nil, []Finding{{Rule: Oversubscribed, Of: OfTime, Share: 0.31, Try: "Start fewer ranks on a node."}, imbalance},
			"app on 2 ranks, 10.0 s: in MPI 40 %, waiting for a core about 31 %, computing 29 %. The ranks often had no core to run on, so the other times are not reliable: start fewer ranks on a node."},
		{"cores were not missing", parts{aggregate.WithoutCore: 0.29, aggregate.MovingData: 0.4}, nil, nil,
			"app on 2 ranks, 10.0 s: in MPI 40 %, computing 31 %, waiting for a core about 29 %. 40 % in MPI, waiting or moving data, most in Allreduce at step app.c:7: record who waits for whom with `mpitrace run --trace`."},
		{"at least", parts{aggregate.WithoutCore: 0.5}, func(s *aggregate.Summary) { s.Tree.NoCoreKnown = aggregate.NoCoreAtLeast }, nil,
			"app on 2 ranks, 10.0 s: computing 50 %, waiting for a core at least 50 %. The ranks often had no core to run on, so the other times are not reliable: start fewer ranks on a node, or ask for the whole node."},
		{"computing dominates", parts{aggregate.MovingData: 0.2}, nil, nil, "app on 2 ranks, 10.0 s: computing 80 %, in MPI 20 %. The program mostly computes."},
		{"computing dominates, with a loss", parts{aggregate.Waiting: 0.1}, nil, []Finding{{Rule: SetUpInALoop, Of: OfTime, Share: 0.08, Call: "Comm_dup", Callsite: "step app.c:9", Try: "Create it once, before the loop."}},
			"app on 2 ranks, 10.0 s: computing 90 %, in MPI 10 % (about 10 % waiting). The program mostly computes; the largest loss is set-up in a loop (8 %): in Comm_dup at step app.c:9; create it once, before the loop."},
		{"computing does not dominate", parts{aggregate.MovingData: 0.21}, nil, nil,
			"app on 2 ranks, 10.0 s: computing 79 %, in MPI 21 %. 21 % in MPI, waiting or moving data, most in Allreduce at step app.c:7: record who waits for whom with `mpitrace run --trace`."},
		{"traced: ranks wait", parts{aggregate.Waiting: 0.41, aggregate.MovingData: 0.04}, func(s *aggregate.Summary) { s.Tree.Traced, s.Tree.InitNs = true, 0.6e9 }, []Finding{imbalance},
			"app on 2 ranks, 10.0 s: computing 55 %, waiting 41 %, moving data 4 % (and 600 ms to start MPI). The ranks wait for each other: rank 0 computes 8.00 times as long as the other; move work off rank 0; at most 4.00 s shorter."},
		{"not traced: they compute for different times", parts{aggregate.MovingData: 0.45}, nil, []Finding{imbalance},
			"app on 2 ranks, 10.0 s: computing 55 %, in MPI 45 %. The ranks wait for each other: rank 0 computes 8.00 times as long as the other; move work off rank 0; at most 4.00 s shorter."},
		{"not traced: the imbalance explains too little", parts{aggregate.MovingData: 0.85}, nil, []Finding{imbalance},
			"app on 2 ranks, 10.0 s: in MPI 85 %, computing 15 %. 85 % in MPI, waiting or moving data, most in Allreduce at step app.c:7: record who waits for whom with `mpitrace run --trace`."},
		{"not traced: ranks wait in collectives", parts{aggregate.Waiting: 0.5, aggregate.MovingData: 0.1}, nil, nil,
			"app on 2 ranks, 10.0 s: in MPI 60 % (about 50 % waiting), computing 40 %. The ranks wait for each other, most in Allreduce at step app.c:7: record who waits for whom with `mpitrace run --trace`."},
		{"ranks end early", parts{aggregate.EndedEarly: 0.4}, nil, nil, "app on 2 ranks, 10.0 s: computing 60 %, ended early or began later 40 %. The ranks wait for each other: some end early or begin later."},
		{"communication", parts{aggregate.MovingData: 0.3, aggregate.Waiting: 0.1}, func(s *aggregate.Summary) { s.Tree.Traced = true }, []Finding{{Rule: SmallMessages, Of: OfTime, Share: 0.25, Call: "Isend", Callsite: "step app.c:8", Try: "Pack them into one message. Could save 1 s."}},
			"app on 2 ranks, 10.0 s: computing 60 %, moving data 30 %, waiting 10 %. Communication costs 30 %: many small messages in Isend at step app.c:8; pack them into one message."},
		{"not traced: many small messages", parts{aggregate.MovingData: 0.4}, nil, []Finding{{Rule: SmallMessages, Of: OfTime, Share: 0.25, Call: "Isend", Callsite: "step app.c:8", Try: "Pack them into one message."}},
			"app on 2 ranks, 10.0 s: computing 60 %, in MPI 40 %. 40 % in MPI, mostly many small messages: in Isend at step app.c:8; pack them into one message."},
		{"files", parts{aggregate.FileIO: 0.32}, nil, []Finding{{Rule: FileAccess, Of: OfTime, Share: 0.32, Cause: "most in File_open at step app.c:9", Try: "Open the file once."}},
			"app on 2 ranks, 10.0 s: computing 68 %, MPI-IO 32 %. File input/output costs 32 %: most in File_open at step app.c:9; open the file once."},
		{"set-up", parts{aggregate.SetUp: 0.32, aggregate.FileIO: 0.019}, nil, nil, "app on 2 ranks, 10.0 s: computing 66 %, set-up 32 %. Set-up costs 32 %."},
		{"ended badly", parts{aggregate.MovingData: 0.3}, nil, []Finding{{Rule: EndedBadly, Text: "Rank 1 was killed by SIGSEGV.", Try: "Start with rank 1, which ended first."}, {Rule: NotMeasured}},
			"app on 2 ranks, 10.0 s (not all was measured): computing 70 %, in MPI 30 %. Rank 1 was killed by SIGSEGV. Start with rank 1, which ended first."},
		{"to start MPI", parts{aggregate.Waiting: 0.1}, func(s *aggregate.Summary) { s.Tree.InitNs, s.Tree.FinalizeNs = 0.2e9, 0.1e9 }, nil,
			"app on 2 ranks, 10.0 s: computing 90 %, in MPI 10 % (about 10 % waiting); and 200 ms to start MPI, 100 ms to end MPI. The program mostly computes."},
		{"estimates", parts{aggregate.MovingData: 0.1}, func(s *aggregate.Summary) { s.Tree.ErrorNs = 0.3e9 }, nil, "app on 2 ranks, 10.0 s: computing 90 % ± 2, in MPI 10 %. The program mostly computes."},
		{"not timed", nil, func(s *aggregate.Summary) { s.Tree, s.Timing = nil, profile.TimingOff.String() }, nil,
			"app on 2 ranks: times were not recorded (--timing off); calls, messages and bytes are exact."},
		{"short", nil, func(s *aggregate.Summary) { s.Tree.RuntimeNs = 9e6 }, nil, "app on 2 ranks, 9.00 ms: too short to say what costs time."},
		{"ended badly, soon", nil, func(s *aggregate.Summary) { s.Tree.RuntimeNs = 9e6 }, []Finding{{Rule: EndedBadly, Text: "Rank 1 was killed by SIGSEGV."}},
			"app on 2 ranks ended badly. Rank 1 was killed by SIGSEGV."},
		{"its trace was not read", parts{aggregate.MovingData: 0.3}, func(s *aggregate.Summary) { s.TraceWanted = true }, nil,
			"app on 2 ranks, 10.0 s: computing 70 %, in MPI 30 %. 30 % in MPI, waiting or moving data, most in Allreduce at step app.c:7: its trace tells who waits for whom: `mpitrace analyze`."},
	} {
		s := dividedInto(test.shares)
		if test.change != nil {
			test.change(s)
		}
		j := &facts{s, nil}
		if s.Tree != nil && s.Tree.Traced {
			j.trace = traced
		}
		if got := j.verdict(test.found); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestNothingStandsOut checks that it is said only if no time is lost, and nothing of the record.
func TestNothingStandsOut(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *aggregate.Summary)
		want   bool
	}{
		"nothing":         {func(*aggregate.Summary) {}, true},
		"in MPI":          {func(s *aggregate.Summary) { *s = *dividedInto(parts{aggregate.MovingData: 0.051}) }, false},
		"hardly in MPI":   {func(s *aggregate.Summary) { *s = *dividedInto(parts{aggregate.MovingData: 0.049}) }, true},
		"imbalance":       {func(s *aggregate.Summary) { s.POP.LoadBalance = 0.94 }, false},
		"without a core":  {func(s *aggregate.Summary) { s.Tree.NoCore = 0.06 }, false},
		"not measured":    {func(s *aggregate.Summary) { s.NotMeasured = []string{"no recording of rank 7"} }, false},
		"times not known": {func(s *aggregate.Summary) { s.POP, s.Tree = nil, nil }, false},
	} {
		s := dividedInto(nil)
		test.change(s)
		r := ReportOf(s, nil)
		if r.NothingStandsOut != test.want || test.want && len(r.Findings) > 0 {
			t.Errorf("%s: %v, %+v", name, r.NothingStandsOut, r.Findings)
		}
	}
}

// TestNotExplained checks the share of the time in MPI that is in no finding, and that findings
// about the same call count once.
func TestNotExplained(t *testing.T) {
	at := func(rule Rule, share float64, site string) Finding {
		return Finding{Rule: rule, Of: OfTime, Share: share, Callsite: site}
	}
	for _, test := range []struct {
		name   string
		shares parts
		found  []Finding
		rest   float64
		rule   bool // whether TimeInMPI applies
	}{
		{"all", parts{aggregate.MovingData: 0.4}, []Finding{at(SmallMessages, 0.4, "a")}, 0, false},
		{"too little is left", parts{aggregate.MovingData: 0.4}, []Finding{at(SmallMessages, 0.36, "a")}, 0, false},
		{"some", parts{aggregate.MovingData: 0.4}, []Finding{at(SmallMessages, 0.25, "a")}, 0.15, false},
		{"less than half", parts{aggregate.MovingData: 0.4}, []Finding{at(SmallMessages, 0.19, "a")}, 0.21, true},
		{"one call", parts{aggregate.Waiting: 0.4}, []Finding{at(SmallMessages, 0.19, "a"), at(HotRank, 0.18, "a")}, 0.21, true},
		{"two calls", parts{aggregate.Waiting: 0.4}, []Finding{at(SmallMessages, 0.19, "a"), at(HotRank, 0.18, "b")}, 0, false},
		{"of ranks that end early", parts{aggregate.MovingData: 0.2, aggregate.EndedEarly: 0.2}, []Finding{at(LoadImbalance, 0.31, "a")}, 0.09, false},
		{"of cores and bytes", parts{aggregate.MovingData: 0.2}, []Finding{at(Oversubscribed, 0.3, "a"), {Rule: BytesBetweenNodes, Of: OfBytes, Share: 0.5}}, 0.2, true},
		{"cores were missing", parts{aggregate.MovingData: 0.2, aggregate.WithoutCore: 0.4}, nil, 0.2, false},
	} {
		j := &facts{dividedInto(test.shares), nil}
		if got := j.notExplained(test.found); got-test.rest > 1e-9 || test.rest-got > 1e-9 {
			t.Errorf("%s: %g, want %g", test.name, got, test.rest)
		}
		if f := timeInMPI(j, test.found); (f != nil) != test.rule {
			t.Errorf("%s: %+v", test.name, f)
		}
	}
}
