package findings

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// computing returns a summary of ranks that compute for the given seconds of a run of
// 10 s, and wait the rest of it in an Allreduce at one place.
func computing(useful ...float64) *aggregate.Summary {
	const run = 10.0
	s := &aggregate.Summary{Timing: profile.TimingExact.String(), RanksRecorded: len(useful)}
	p := &aggregate.POP{RuntimeNs: run * 1e9, Ranks: len(useful)}
	site := aggregate.CallSite{Site: aggregate.Site{NamedPlace: aggregate.NamedPlace{Label: "step app.c:7"}}, Call: "Allreduce", Class: profile.AllToAll.String()}
	for rank, u := range useful {
		ns := (run - u) * 1e9
		s.Ranks = append(s.Ranks, aggregate.RankTimes{Rank: rank, ApplicationTimeS: run, MPIShare: (run - u) / run, MPITimeS: run - u,
			Timing: s.Timing, State: profile.Finalized.String()})
		p.UsefulMeanNs += u * 1e9 / float64(len(useful))
		p.UsefulMaxNs = max(p.UsefulMaxNs, u*1e9)
		site.PerRank.MeanNs += ns / float64(len(useful))
		if rank == 0 || uint64(ns) < site.PerRank.MinNs {
			site.PerRank.MinNs, site.PerRank.MinRank = uint64(ns), rank
		}
	}
	site.PerRank.Ranks, site.OwnNs = len(useful), uint64(site.PerRank.MeanNs*float64(len(useful)))
	p.LoadBalance = p.UsefulMeanNs / p.UsefulMaxNs
	p.ParallelEfficiency = p.UsefulMeanNs / p.RuntimeNs
	s.Tree = treeOf(s.Ranks, run, float64(site.PerRank.MinNs))
	s.POP, s.CallSites, s.MPIShare = p, []aggregate.CallSite{site}, aggregate.ShareOf(s.Ranks)
	return s
}

// treeOf returns the tree of ranks whose time in MPI is in one collective; the rank that is there for
// the least time does not wait.
func treeOf(ranks []aggregate.RankTimes, run, leastNs float64) *aggregate.TimeTree {
	t := &aggregate.TimeTree{Ranks: len(ranks), RuntimeNs: int64(1e9 * run)}
	for i := range ranks {
		ns := 1e9 * ranks[i].MPITimeS
		t.Parts[aggregate.Computing] += t.RuntimeNs - int64(ns)
		t.Parts[aggregate.Waiting] += int64(ns - leastNs)
		t.Parts[aggregate.MovingData] += int64(leastNs)
	}
	t.Before = t.Parts
	return t
}

var nearlyEqual = cmp.Options{cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }), cmpopts.IgnoreUnexported(Finding{})}

func TestLoadImbalance(t *testing.T) {
	for _, test := range []struct {
		name   string
		useful []float64
		want   []Finding
	}{
		// The mean is 6, the longest 9: 3 of 10 s.
		{"one slow rank", []float64{5, 5, 9, 5}, []Finding{{Rule: LoadImbalance, Share: 0.3, Of: OfTime, SavesS: 3, Ranks: profile.RankSetOf(2),
			Call: "Allreduce", Callsite: "step app.c:7",
			Text: "Rank 2 computes 9.00 s, the mean is 6.00 s. The others wait in Allreduce at step app.c:7.",
			Try:  "Move work off rank 2; at most 3.00 s shorter.", Cause: "rank 2 computes up to 3.00 s longer than the mean"}}},
		{"two slow ranks", []float64{2, 8, 8, 2}, []Finding{{Rule: LoadImbalance, Share: 0.3, Of: OfTime, SavesS: 3, Ranks: profile.RankSetOf(1, 2),
			Call: "Allreduce", Callsite: "step app.c:7",
			Text: "Ranks 1-2 compute up to 8.00 s, the mean is 5.00 s. The others wait in Allreduce at step app.c:7.",
			Try:  "Move work off ranks 1-2; at most 3.00 s shorter.", Cause: "ranks 1-2 compute up to 3.00 s longer than the mean"}}},
		// Load balance 8.5/9.4: 0.904. The time in MPI is 6 of 40 s, of which 3.6 s are beyond 0.6 s for each rank.
		{"nearly", []float64{8.2, 8.2, 9.4, 8.2}, []Finding{{Rule: TimeInMPI, Share: 0.15, Of: OfTime,
			Call: "Allreduce", Callsite: "step app.c:7", Cause: "most in Allreduce at step app.c:7",
			Text: "15.0 % is in Allreduce at step app.c:7. About 9.0 % is waiting in collectives.",
			Try:  "Record who waits for whom with `mpitrace run --trace`."}}},
		{"balanced", []float64{9.9, 9.9, 9.9, 9.9}, []Finding{}},
	} {
		if diff := cmp.Diff(test.want, Of(computing(test.useful...), nil), nearlyEqual); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestOrder checks the order of findings, and that times are uncertain if ranks shared
// cores.
func TestOrder(t *testing.T) {
	s := computing(5, 5, 9, 5)
	s.Oversubscribed = []profile.Oversubscription{{Host: "node", Ranks: profile.RankSetOf(0, 1, 2, 3), Count: 2, Threads: 4}}
	s.Ends = []aggregate.End{{Rank: 3, State: profile.EndExited, Status: new(int)}}
	s.NotMeasured = []string{"no recording of rank 7"}
	var got []Rule
	for _, f := range Of(s, nil) {
		got = append(got, f.Rule)
		if uncertain := f.Uncertain != ""; uncertain != (f.Of == OfTime) {
			t.Errorf("%s: uncertain %q", f.Rule, f.Uncertain)
		}
	}
	if want := []Rule{EndedBadly, NotMeasured, LoadImbalance, Oversubscribed}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUntimed checks that runs whose times are not known, or that only started up, have
// no finding about time.
func TestUntimed(t *testing.T) {
	short := computing(5, 5, 9, 5)
	short.POP.RuntimeNs = leastRunNs - 1
	untimed := computing(5, 5, 9, 5)
	untimed.POP = nil
	for i, s := range []*aggregate.Summary{short, untimed} {
		if found := Of(s, nil); len(found) > 0 {
			t.Errorf("%d: %+v", i, found)
		}
	}
}

// TestSampled checks that estimates have no finding that needs the exact times of single calls.
func TestSampled(t *testing.T) {
	s := computing(5, 5, 9, 5)
	s.Timing = profile.TimingSampled.String()
	if found := Of(s, nil); len(found) != 1 || found[0].Rule != TimeInMPI || strings.Contains(found[0].Text, "waiting") {
		t.Errorf("%+v", found)
	}
}

func TestBytesBetweenNodes(t *testing.T) {
	order := func(name string, between uint64) aggregate.NodeOrder {
		return aggregate.NodeOrder{Name: name, Between: matrix.Volume{Bytes: between}, All: matrix.Volume{Bytes: 1000}}
	}
	for _, test := range []struct {
		was, block uint64
		want       int
	}{{333, 220, 1}, {333, 240, 0}, {199, 10, 0}, {200, 140, 1}} {
		s := computing(9.9, 9.9)
		s.Orders = []aggregate.NodeOrder{order("recorded", test.was), order("round-robin", 900), order("block", test.block)}
		found := Of(s, nil)
		if len(found) != test.want {
			t.Errorf("%d and %d of 1000 bytes: %+v", test.was, test.block, found)
		}
		if test.was == 333 && len(found) == 1 && found[0].Text != "33.3 % of the bytes between ranks leave their node. In block order it is 22.0 %." {
			t.Errorf("got %q", found[0].Text)
		}
	}
}

// A simple order is named unless the best one found has at least 2 % less bytes between
// nodes.
func TestBestOrderFound(t *testing.T) {
	for _, test := range []struct {
		found uint64
		text  string
		try   string
	}{
		{197, "In block order it is 20.0 %.", "Start the ranks in block order (mpirun --map-by, srun --distribution); `mpitrace reorder RUN` compares orders."},
		{195, "In the best order found it is 19.5 %.", "`mpitrace reorder RUN` finds this order and writes the launcher's file."},
		{0, "In the best order found it is 0.0 %.", "`mpitrace reorder RUN` finds this order and writes the launcher's file."},
	} {
		s := computing(9.9, 9.9)
		for _, o := range []struct {
			name    string
			between uint64
		}{{"recorded", 400}, {"block", 200}, {"round-robin", 900}, {aggregate.BestFound, test.found}} {
			s.Orders = append(s.Orders, aggregate.NodeOrder{Name: o.name, Between: matrix.Volume{Bytes: o.between}, All: matrix.Volume{Bytes: 1000}})
		}
		found := Of(s, nil)
		if len(found) != 1 || found[0].Text != "40.0 % of the bytes between ranks leave their node. "+test.text || found[0].Try != test.try {
			t.Errorf("%d bytes: %+v", test.found, found)
		}
	}
}

// TestImbalanceExplainsWaits checks that waits in a collective are not shown with the
// load imbalance that causes them, but are if they are longer.
func TestImbalanceExplainsWaits(t *testing.T) {
	for seconds, want := range map[float64][]Rule{12: {LoadImbalance}, 20: {CollectiveWaits, LoadImbalance}} {
		traced := &trace.Result{Ranks: 4, Runtime: 10, WaitStates: []trace.WaitState{{Pattern: trace.WaitAtNxN, Rank: 0, Peer: 2, Call: "Allreduce",
			Callsite: "step app.c:7", Communicator: "MPI_COMM_WORLD", Count: 1, Time: seconds, Share: seconds / 40}}}
		var got []Rule
		for _, f := range Of(computing(5, 5, 9, 5), traced) {
			got = append(got, f.Rule)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%g s: %q, want %q", seconds, got, want)
		}
	}
}

// TestWaitSite checks that the others do not wait in a call that never waits, which
// may take long where ranks share cores.
func TestWaitSite(t *testing.T) {
	s := computing(5, 5, 9, 5)
	posts := s.CallSites[0]
	posts.Call, posts.Class, posts.Label = "Irecv", profile.P2P.String(), "step app.c:8"
	posts.PerRank.MeanNs *= 2
	s.CallSites = append([]aggregate.CallSite{posts}, s.CallSites...)
	if found := Of(s, nil); len(found) != 1 || found[0].Call != "Allreduce" {
		t.Errorf("%+v", found)
	}
}

// TestWaitSiteOfOthers checks that a call site is named where only the others call, and none where
// ranks lose less than half of the time: the imbalance costs 4 × 3 s.
func TestWaitSiteOfOthers(t *testing.T) {
	for _, test := range []struct {
		name    string
		seconds float64 // of ranks 0, 1 and 3 in Recv; the rest of their 15 s is in Allreduce
		ranks   int
		most    int
		want    string
	}{
		{"of the others", 14, 3, 3, "Recv"},
		{"of the slow one too", 14, 3, 2, ""},
		{"at two call sites", 9.5, 3, 3, "Recv"},
		{"at several call sites", 5.9, 3, 3, ""},
	} {
		s := computing(5, 5, 9, 5)
		all := &s.CallSites[0] // of which 5.9 s are not enough
		all.PerRank.MeanNs, all.PerRank.MinNs, all.OwnNs = 5.9e9/4, 0, 5.9e9
		recv := aggregate.CallSite{Site: aggregate.Site{NamedPlace: aggregate.NamedPlace{Label: "step app.c:9"}}, Call: "Recv", Class: profile.P2P.String(),
			Totals: aggregate.Totals{OwnNs: uint64(1e9 * test.seconds)}, PerRank: aggregate.RankSpread{Ranks: test.ranks, MinRank: 0, MaxRank: test.most, MeanNs: 1e9 * test.seconds / 3}}
		s.CallSites = append(s.CallSites, recv)
		if f := loadImbalance(&facts{s, nil}); f == nil || f.Call != test.want {
			t.Errorf("%s: %+v", test.name, f)
		}
	}
}

// TestNoCore checks the findings about ranks that had no core for a part of their 10 s.
func TestNoCore(t *testing.T) {
	share := 0.25
	of := func(reason string, ranks profile.RankSet, hostRanks int) profile.Oversubscription {
		return profile.Oversubscription{Reason: reason, Host: "a", Ranks: ranks, HostRanks: hostRanks, Threads: 2, Count: 1, CPULimit: 1.5,
			CPU: &profile.CPUShare{WithoutProcessor: &share}}
	}
	unknown := of(profile.TooFewProcessors, profile.RankSetOf(0, 1), 4)
	unknown.CPU = nil
	for _, test := range []struct {
		name   string
		set    profile.Oversubscription
		noCore float64 // of each rank of the set
		change func(*aggregate.RankCores)
		share  float64
		text   string // empty: no finding
	}{
		{"oversubscribed", of(profile.TooFewProcessors, profile.RankSetOf(0, 1), 4), 0.25, nil, 0.25 * 2 / 4,
			"Ranks 0-1 on a run 2 threads on 1 core. They have no core in 25.0 % of the time."},
		{"one rank", of(profile.TooFewProcessors, profile.RankSetOf(2), 4), 0.25, nil, 0.25 / 4,
			"Rank 2 on a runs 2 threads on 1 core. It has no core in 25.0 % of the time."},
		{"at least", of(profile.TooFewProcessors, profile.RankSetOf(0, 1), 4), 0.25, func(c *aggregate.RankCores) { c.NoCoreAtLeast = true }, 0.25 * 2 / 4,
			"Ranks 0-1 on a run 2 threads on 1 core. They have no core in at least 25.0 % of the time."},
		{"a limit", of(profile.TooSmallLimit, profile.RankSetOf(0, 1), 4), 0.06, nil, 0.06 * 2 / 4,
			"Ranks 0-1 on a may use the time of 1.50 cores only: the limit of the control group. They have no core in 6.0 % of the time."},
		{"hardly any wait", of(profile.TooFewProcessors, profile.RankSetOf(0, 1), 4), 0.049, nil, 0, ""},
		{"the wait is not known", unknown, 0, func(c *aggregate.RankCores) { c.NoCore = nil }, 0, "Ranks 0-1 on a run 2 threads on 1 core."},
		{"others", of(profile.OtherProcesses, profile.RankSetOf(3), 4), 0.2, nil, 0.2 / 4,
			"Rank 3 on a has enough cores, but others use them: other programs, or threads that are bound to one core. It has no core in 20.0 % of the time."},
		{"others, one rank of many", of(profile.OtherProcesses, profile.RankSetOf(3), 8), 0.2, nil, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := computing(9.9, 9.9, 9.9, 9.9)
			share = test.noCore
			for rank := range test.set.Ranks.All() {
				s.Ranks[rank].Cores = &aggregate.RankCores{NoCore: &test.noCore}
				if test.change != nil {
					test.change(s.Ranks[rank].Cores)
				}
			}
			s.Oversubscribed = []profile.Oversubscription{test.set}
			found := Of(s, nil)
			if test.text == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Text != test.text || math.Abs(found[0].Share-test.share) > 1e-9 {
				t.Errorf("%+v, want %g, %q", found, test.share, test.text)
			}
		})
	}
}

// TestNoCoreFirst checks that a lack of cores comes before larger findings above 30 %.
func TestNoCoreFirst(t *testing.T) {
	for _, noCore := range []float64{0.29, 0.31} {
		s := computing(1, 1, 1, 9) // load imbalance of 60 %
		for i := range s.Ranks {
			s.Ranks[i].Cores = &aggregate.RankCores{NoCore: &noCore}
		}
		s.Tree.NoCore = noCore
		s.Oversubscribed = []profile.Oversubscription{{Reason: profile.TooFewProcessors, Host: "a", Ranks: profile.RankSet{{Last: 3}}, Threads: 4, Count: 2,
			CPU: &profile.CPUShare{WithoutProcessor: &noCore}}}
		want := map[bool]Rule{false: LoadImbalance, true: Oversubscribed}[noCore > 0.3]
		found := Of(s, nil)
		if len(found) != 2 || found[0].Rule != want || strings.Contains(found[0].Try, "not reliable") != (want == Oversubscribed) {
			t.Errorf("%g: %+v, want %s first", noCore, found, want)
		}
	}
}

func TestAbort(t *testing.T) {
	code, status := int32(-1), 255
	s := computing(9.9, 9.9)
	s.Ends = []aggregate.End{{Rank: 1, State: profile.EndExited, Status: &status, Calls: []aggregate.UnfinishedCall{{Call: "Abort", ErrorCode: &code,
		Callsite: &aggregate.Site{NamedPlace: aggregate.NamedPlace{Label: "fail app.c:9"}}}}}, {Rank: 0, State: profile.EndKilled, Signal: "SIGTERM"}}
	want := "Rank 1 called Abort at fail app.c:9 with error code -1. Afterwards 1 other process ended without MPI_Finalize."
	if found := Of(s, nil); len(found) != 1 || found[0].Text != want {
		t.Errorf("%+v", found)
	}
}

// TestCancelled checks that a job is taken to be cancelled only if SIGTERM ended nearly all ranks at
// the same time, and nothing else came before.
func TestCancelled(t *testing.T) {
	for _, test := range []struct {
		name    string
		signals []string
		ended   []float64
		want    string
	}{
		{"all", []string{"SIGTERM", "SIGTERM", "SIGTERM"}, []float64{5, 5.4, 5.9}, "SIGTERM ended 3 of 3 ranks within 1 s: the job was cancelled, or its time was over."},
		{"over a longer time", []string{"SIGTERM", "SIGTERM", "SIGTERM"}, []float64{5, 5.4, 6.1}, "Rank 0 was killed by SIGTERM. Afterwards 2 other processes ended without MPI_Finalize."},
		{"after a crash", []string{"SIGSEGV", "SIGTERM", "SIGTERM"}, []float64{5, 5.4, 5.9}, "Rank 0 was killed by SIGSEGV. Afterwards 2 other processes ended without MPI_Finalize."},
		{"one", []string{"SIGTERM"}, []float64{5}, "Rank 0 was killed by SIGTERM."},
	} {
		s := computing(9.9, 9.9, 9.9)
		for rank, signal := range test.signals {
			s.Ends = append(s.Ends, aggregate.End{Rank: rank, State: profile.EndKilled, Signal: signal, EndedS: test.ended[rank]})
		}
		if found := Of(s, nil); len(found) != 1 || found[0].Text != test.want {
			t.Errorf("%s: %+v", test.name, found)
		}
	}
}

// TestMostlyForOneRank checks that a rank is named for which others wait in a collective only if they
// wait for it more than half of the time.
func TestMostlyForOneRank(t *testing.T) {
	for second, want := range map[float64]Finding{
		5.9: {Ranks: profile.RankSetOf(2), Text: "Ranks wait 11.9 s in Allreduce at step app.c:7 on world, mostly for rank 2, which comes last."},
		6:   {Text: "Ranks wait 12.0 s in Allreduce at step app.c:7 on world for 2 ranks, which come last in turn."},
	} {
		wait := trace.WaitState{Pattern: trace.WaitAtNxN, Rank: 0, Peer: 2, Call: "Allreduce", Callsite: "step app.c:7", Communicator: "world", Count: 1, Time: 6, Share: 6. / 40}
		other := wait
		other.Rank, other.Peer, other.Time, other.Share = 2, 0, second, second/40
		f := collectiveWaits(&facts{computing(5, 5, 5, 5), &trace.Result{Ranks: 4, Runtime: 10, WaitStates: []trace.WaitState{wait, other}}})
		if f == nil || f.Text != want.Text || f.Ranks.Compare(want.Ranks) != 0 {
			t.Errorf("%g: %+v", second, f)
		}
	}
}
