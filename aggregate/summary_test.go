package aggregate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSummaryCircumstances(t *testing.T) {
	s := New(fixture()).Summary()
	if s.Run != "run-7" || s.Program != "halo" || s.Library != "Open MPI v4.1.4, package: Debian" || !slices.Equal(s.Command, []string{"halo", "-n", "8"}) {
		t.Errorf("got %q %q %q %q", s.Run, s.Program, s.Library, s.Command)
	}
	if s.RanksExpected != 4 || s.RanksRecorded != 4 || s.RanksFinalized != 4 {
		t.Errorf("got %d of %d ranks, %d finalized", s.RanksRecorded, s.RanksExpected, s.RanksFinalized)
	}
	if !slices.Equal(s.Hosts, []Host{{"node0", 2}, {"node1", 2}}) {
		t.Errorf("got hosts %v", s.Hosts)
	}
	if !s.Started.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("started %v", s.Started)
	}
	if len(s.Problems) != 0 {
		t.Errorf("got problems %q", s.Problems)
	}
}

func TestSummaryTimes(t *testing.T) {
	s := New(fixture()).Summary()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"wall time", s.WallTimeS, 2.206 - 3e-9}, // wall time of rank 3
		{"application time", s.ApplicationTimeS, 4 * 2},
		{"MPI time", s.MPITimeS, (0.1 + 0.2 + 0.3 + 0.4) + 4*(0.2+0.1)},
		{"Init and Finalize", s.InitFinalizeTimeS, 4 * 0.008},
		{"mean share", s.MPIShare.Mean, (0.4 + 0.5 + 0.6 + 0.7) / 4 / 2},
		{"min share", s.MPIShare.Min, 0.2},
		{"max share", s.MPIShare.Max, 0.35},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if s.MPIShare.MinRank != 0 || s.MPIShare.MaxRank != 3 {
		t.Errorf("ranks of min and max share: %d and %d", s.MPIShare.MinRank, s.MPIShare.MaxRank)
	}
}

func TestTimesOfRanksThatDidNotFinalize(t *testing.T) {
	p := fixtureRank(1)
	p.State, p.FinalizeStart, p.Threads = profile.Running, 0, 4
	got := timesOf(p)
	app := float64(p.End-p.InitEnd) / 1e9
	if !near(got.ApplicationTimeS, app) || !near(got.MPIShare, 0.5/(4*app)) {
		t.Errorf("got %+v", got)
	}
	p.InitEnd, p.End = 0, 0
	if got := timesOf(p); got.WallTimeS != 0 || got.ApplicationTimeS != 0 || got.MPIShare != 0 {
		t.Errorf("never left Init: got %+v", got)
	}
}

func TestSummaryTotals(t *testing.T) {
	s := New(fixture()).Summary()
	byCall := map[string]CallTotals{}
	for _, c := range s.Calls {
		byCall[c.Call] = c
	}
	for call, want := range map[string]CallTotals{
		"Send": {Class: "p2p", Totals: Totals{12, 12, 138, 1000 * ms, 0, 1000 * ms}, MeanNs: 1000. * ms / 12, MinNs: 1, MaxNs: 70 * ms,
			Sent: matrix.Volume{Bytes: 138, Messages: 12}},
		"Recv": {Class: "p2p", Totals: Totals{12, 12, 138, 800 * ms, 0, 800 * ms}, MeanNs: 800. * ms / 12, MinNs: ms, MaxNs: 150 * ms,
			Received: matrix.Volume{Bytes: 138, Messages: 12}},
		"Bcast": {Class: "O2A", Totals: Totals{4, 3, 300, 0, 0, 0}, Sent: matrix.Volume{Bytes: 300, Messages: 3}},
		"Irecv": {Class: "p2p", Totals: Totals{0, 2, 14, 0, 0, 0}, Received: matrix.Volume{Bytes: 14, Messages: 2}},
		"Get":   {Class: "one-sided", Totals: Totals{1, 1, 50, 0, 0, 0}, Received: matrix.Volume{Bytes: 50, Messages: 1}},
	} {
		want.Call = call
		if diff := cmp.Diff(want, byCall[call]); diff != "" {
			t.Errorf("%s:\n%s", call, diff)
		}
	}
	// Send, Recv, Allreduce, Isend + Irecv, Bcast, Scatterv, Put, Get.
	want := Totals{
		Calls:    2*4 + 4 + 12 + 12 + 8 + 2 + 4 + 1 + 1 + 1,
		Messages: 12 + 12 + 24 + 2 + 2 + 3 + 3 + 1 + 1,
		Bytes:    138 + 138 + 192 + 14 + 14 + 300 + 8 + 60 + 50,
		TimeNs:   2200*ms + 32*ms,
		OwnNs:    2200*ms + 32*ms,
	}
	if s.Totals != want {
		t.Errorf("got totals %+v, want %+v", s.Totals, want)
	}
	if !slices.IsSortedFunc(s.Calls, func(a, b CallTotals) int { return int(b.TimeNs) - int(a.TimeNs) }) {
		t.Error("calls are not sorted by time")
	}
}

func TestSummaryClassesAndTraffic(t *testing.T) {
	s := New(fixture()).Summary()
	wantClasses := []ClassTotals{
		{"p2p", Totals{26, 14, 152, 1800 * ms, 0, 1800 * ms}},
		{"O2A", Totals{5, 6, 308, 0, 0, 0}},
		{"A2A", Totals{8, 24, 192, 400 * ms, 0, 400 * ms}},
		{"one-sided", Totals{2, 2, 110, 0, 0, 0}},
		{"other", Totals{12, 0, 0, 32 * ms, 0, 32 * ms}},
	}
	testenv.Equal(t, wantClasses, s.Classes)
	wantTraffic := []MatrixTotals{
		{"all", matrix.Volume{Bytes: 762, Messages: 46}, 12},
		{"external", matrix.Volume{Bytes: 152, Messages: 14}, 6},
		{"osc", matrix.Volume{Bytes: 110, Messages: 2}, 2},
		{"coll", matrix.Volume{Bytes: 500, Messages: 30}, 12},
	}
	testenv.Equal(t, wantTraffic, s.Traffic)
	if want := (MatrixTotals{"direct", matrix.Volume{Bytes: 262, Messages: 16}, 6}); s.Direct != want {
		t.Errorf("got %+v, want %+v", s.Direct, want)
	}
}

// TestCollectivesAreApart checks that no pair's point-to-point and one-sided
// bytes include those of an Allreduce.
func TestCollectivesAreApart(t *testing.T) {
	s := New(fixture()).Summary()
	want := []PairTotals{
		{matrix.Cell{Pair: matrix.Pair{From: 0, To: 2}, Volume: matrix.Volume{Bytes: 60 + 7, Messages: 2}}, matrix.Volume{Bytes: 16 + 100, Messages: 3}},
		{matrix.Cell{Pair: matrix.Pair{From: 1, To: 3}, Volume: matrix.Volume{Bytes: 50 + 7, Messages: 2}}, matrix.Volume{Bytes: 16 + 4, Messages: 3}},
		{matrix.Cell{Pair: matrix.Pair{From: 3, To: 0}, Volume: matrix.Volume{Bytes: 3 * 13, Messages: 3}}, matrix.Volume{Bytes: 16, Messages: 2}},
		{matrix.Cell{Pair: matrix.Pair{From: 2, To: 3}, Volume: matrix.Volume{Bytes: 3 * 12, Messages: 3}}, matrix.Volume{Bytes: 16, Messages: 2}},
		{matrix.Cell{Pair: matrix.Pair{From: 1, To: 2}, Volume: matrix.Volume{Bytes: 3 * 11, Messages: 3}}, matrix.Volume{Bytes: 16 + 3, Messages: 3}},
		{matrix.Cell{Pair: matrix.Pair{From: 0, To: 1}, Volume: matrix.Volume{Bytes: 3 * 10, Messages: 3}}, matrix.Volume{Bytes: 16 + 100, Messages: 3}},
	}
	testenv.Equal(t, want, s.Pairs)
	for _, h := range []struct {
		name string
		got  *BinnedMatrix
		want [][]uint64
	}{
		{"direct", s.Heatmap, [][]uint64{{0, 30, 67, 0}, {0, 0, 33, 57}, {0, 0, 0, 36}, {39, 0, 0, 0}}},
		{"collectives", s.CollectiveHeatmap, [][]uint64{{0, 116, 116, 116}, {17, 0, 19, 20}, {16, 16, 0, 16}, {16, 16, 16, 0}}},
	} {
		if diff := cmp.Diff(h.want, h.got.Bytes); diff != "" {
			t.Errorf("%s:\n%s", h.name, diff)
		}
	}
	// Without point-to-point and one-sided messages, the pairs are those of
	// collectives.
	ps := fixture()
	for _, p := range ps {
		p.Rows = slices.DeleteFunc(p.Rows, func(r profile.Row) bool { return !r.Class.Collective() })
	}
	s = New(ps).Summary()
	if len(s.Pairs) != topPairs || s.Pairs[0] != (PairTotals{matrix.Cell{Pair: matrix.Pair{From: 0, To: 1}}, matrix.Volume{Bytes: 116, Messages: 3}}) {
		t.Errorf("got %v", s.Pairs)
	}
}

func TestMessageSizes(t *testing.T) {
	got := map[string][]SizeCount{}
	s := New(fixture()).Summary()
	for _, c := range s.MessageSizes {
		got[c.Call] = c.Sizes
	}
	want := map[string][]SizeCount{
		"Send":      {{SizeClass: 4, Least: 8, Most: 15, Calls: 12, Volume: matrix.Volume{Bytes: 3 * (10 + 11 + 12 + 13), Messages: 12}}},
		"Isend":     {{SizeClass: 3, Least: 4, Most: 7, Calls: 2, Volume: matrix.Volume{Bytes: 14, Messages: 2}}},
		"Allreduce": {{SizeClass: 4, Least: 8, Most: 15, Calls: 8, Volume: matrix.Volume{Bytes: 4 * 2 * 3 * 8, Messages: 24}}},
	}
	for call, sizes := range want {
		if diff := cmp.Diff(sizes, got[call]); diff != "" {
			t.Errorf("%s:\n%s", call, diff)
		}
	}
	if _, ok := got["Recv"]; ok {
		t.Error("receives count where they were sent")
	}
}

// TestSummaryIgnoresOrder checks that the summary does not depend on the order
// of the recordings or on how they are merged.
func TestSummaryIgnoresOrder(t *testing.T) { checkAnyOrder(t, 50, fixture) }

// checkAnyOrder adds up three or more profiles in random orders and groupings.
// profiles must return new profiles each time.
func checkAnyOrder(t *testing.T, tries int, profiles func() []*profile.Profile) {
	t.Helper()
	want, err := json.Marshal(New(profiles()).Summary())
	testenv.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	for range tries {
		ps := profiles()
		r.Shuffle(len(ps), func(i, k int) { ps[i], ps[k] = ps[k], ps[i] })
		merged := func(jobs ...*Job) *Job {
			for _, j := range jobs[1:] {
				jobs[0].Merge(j)
			}
			return jobs[0]
		}
		a, b, c := func() *Job { return New(ps[:1]) }, func() *Job { return New(ps[1:2]) }, func() *Job { return New(ps[2:]) }
		for _, j := range []*Job{New(ps), merged(merged(a(), b()), c()), merged(a(), merged(b(), c())), merged(NewJob(Options{}), c(), a(), b())} {
			if got, _ := json.Marshal(j.Summary()); string(got) != string(want) {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(ps []*profile.Profile) []*profile.Profile
		want   []string
	}{
		{"a rank is missing", func(ps []*profile.Profile) []*profile.Profile { return slices.Delete(ps, 2, 3) },
			[]string{"no recording of rank 2, of 4 in all"}},
		{"a rank was killed", func(ps []*profile.Profile) []*profile.Profile {
			ps[1].State = profile.Running
			ps[1].Rows[2].Messages--
			return ps
		}, []string{"partial: rank 1 did not reach MPI_Finalize: its record ends with its last completed call"}},
		{"a message was lost", func(ps []*profile.Profile) []*profile.Profile {
			ps[3].Rows[3].Messages, ps[3].Rows[3].Bytes = 2, 24
			return ps
		}, []string{"sent and received differ for 1 pair of ranks"}},
		{"a rank comes twice", func(ps []*profile.Profile) []*profile.Profile {
			twin := fixtureRank(0)
			twin.Rows = nil
			return append(ps, twin)
		}, []string{"more than one recording of rank 0: these may be of several runs"}},
		{"a process without a rank", func(ps []*profile.Profile) []*profile.Profile {
			return append(ps, &profile.Profile{Rank: -1, Size: -1, Host: "node9", Pid: 7, State: profile.Running})
		}, []string{"process 7 on node9 ended before its rank was known: it is in no matrix"}},
		{"losses", func(ps []*profile.Profile) []*profile.Profile {
			ps[0].Losses.Folded, ps[1].Losses.Folded, ps[3].Losses.Folded = 1, 1000, 1
			return ps
		}, []string{"1,002 calls were counted without their peer and communicator (ranks 0-1, 3)"}},
		{"a message to another world", func(ps []*profile.Profile) []*profile.Profile {
			ps[2].Comms[0].Inter, ps[2].Comms[0].Remote = true, profile.Group{List: []int32{0, 1, 2, profile.PeerElsewhere}}
			ps[2].Rows = ps[2].Rows[:3]
			ps[3].Rows = slices.Delete(ps[3].Rows, 3, 4)
			return ps
		}, []string{"not in any matrix: 3 messages (36 bytes) to other worlds, or to peers that were not kept",
			"sent and received differ for 2 pairs of ranks"}},
		{"other sizes of the world", func(ps []*profile.Profile) []*profile.Profile {
			ps[3].Size = 5
			return ps
		}, []string{"no recording of rank 4, of 5 in all", "rank 3 counts 5 ranks, others 4: these may be of several runs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.Equal(t, c.want, New(c.change(fixture())).Summary().Problems)
		})
	}
}

func TestRankSummary(t *testing.T) {
	s, err := New(fixture()).RankSummary(1)
	testenv.NoError(t, err)
	if s.Rank != 1 || s.RanksExpected != 4 || !near(s.MPITimeS, 0.5) || len(s.Ranks) != 1 || len(s.Problems) != 0 {
		t.Errorf("got %+v", s)
	}
	wantPeers := []Peer{
		{3, matrix.Volume{Bytes: 57, Messages: 2}, matrix.Volume{}, matrix.Volume{Bytes: 20, Messages: 3}, matrix.Volume{Bytes: 16, Messages: 2}},
		{2, matrix.Volume{Bytes: 33, Messages: 3}, matrix.Volume{}, matrix.Volume{Bytes: 19, Messages: 3}, matrix.Volume{Bytes: 16, Messages: 2}},
		{0, matrix.Volume{}, matrix.Volume{Bytes: 30, Messages: 3}, matrix.Volume{Bytes: 17, Messages: 3}, matrix.Volume{Bytes: 116, Messages: 3}},
	}
	testenv.Equal(t, wantPeers, s.Peers)
	wantComms := []CommTotals{
		{ID: "00000000000000000000000000000001", Label: "MPI_COMM_WORLD", Rank: 1, Size: 4,
			Totals: Totals{3 + 3 + 2 + 1 + 1, 3 + 3 + 6 + 3, 33 + 30 + 48 + 8, 500 * ms, 0, 500 * ms}, Sent: matrix.Volume{Bytes: 33 + 48 + 8, Messages: 12}},
		{ID: "0000000000000000000000000000abc1", Label: "Comm_split#00000000", Rank: 1, Size: 2,
			Totals: Totals{1, 1, 7, 0, 0, 0}, Sent: matrix.Volume{Bytes: 7, Messages: 1}},
	}
	testenv.Equal(t, wantComms, s.Comms)
	_, err = New(fixture()[:2]).RankSummary(3)
	if err == nil || !strings.Contains(err.Error(), "recorded: ranks 0-1 of 4") {
		t.Errorf("rank without a recording: got %v", err)
	}
}

func TestNotFinalized(t *testing.T) {
	if got := notFinalized(profile.RankSet{{First: 1, Last: 3}}); got.Text != "partial: ranks 1-3 did not reach MPI_Finalize: their record ends with their last completed call" {
		t.Errorf("got %q", got.Text)
	}
}
