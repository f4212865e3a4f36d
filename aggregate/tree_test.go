package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// divided returns ranks on one host, each between MPI_Init and MPI_Finalize for 10 s, with rows
// without peers.
func divided(rows ...[]profile.Row) []*profile.Profile {
	out := make([]*profile.Profile, len(rows))
	for rank, own := range rows {
		out[rank] = &profile.Profile{Rank: rank, Size: len(rows), Host: "a", State: profile.Finalized, Threads: 1,
			Start: start, InitEnd: start + second/2, FinalizeStart: start + second/2 + 10*second, End: start + 11*second,
			Comms: []profile.Comm{{ID: "world", Name: "MPI_COMM_WORLD", Rank: rank, Members: profile.Group{Stride: 1, N: len(rows)}}},
			Rows:  append([]profile.Row{timedRow("Init", second/2), timedRow("Finalize", second/4)}, own...)}
	}
	return out
}

// timedRow returns the row of one call.
func timedRow(call string, ns uint64) profile.Row { return timedRows(call, 1, ns, ns) }

// timedRows returns the row of some calls, of which the shortest took least.
func timedRows(call string, calls, ns, least uint64) profile.Row {
	return profile.Row{Call: call, Class: profile.CallNamed(call).Class, Peer: profile.PeerNone, Calls: calls, TimeNs: ns, MinNs: least, MaxNs: ns - least*(calls-1)}
}

type row = []profile.Row

const s = second

// late makes rank 1 begin 2 s later and end 1 s earlier than rank 0.
func late(ps []*profile.Profile) {
	ps[1].InitEnd += 2 * s
	ps[1].FinalizeStart -= s
}

// withoutCore makes a rank have no core for a share of its time.
func withoutCore(rank int, share float64) func(ps []*profile.Profile) {
	return func(ps []*profile.Profile) {
		for r, p := range ps {
			u := profile.Usage{WallNs: 10 * s, DelayKnown: true}
			if r == rank {
				u.RunDelayNs = uint64(share * 10 * s)
			}
			p.Usage = []profile.Usage{u}
		}
	}
}

// TestTimeTree checks the parts of jobs of which they are known, in seconds of all ranks.
func TestTimeTree(t *testing.T) {
	for _, test := range []struct {
		name   string
		rows   []row
		change func(ps []*profile.Profile)
		want   map[TimePart]float64
	}{
		{"computing only", []row{{}, {}}, nil, map[TimePart]float64{Computing: 20}},
		{"each part", []row{{timedRow("File_open", 1*s), timedRow("File_write_at_all", 1*s), timedRow("Comm_dup", s/2), timedRow("Send_init", s/2), timedRow("Recv", 3*s)}, {timedRow("Type_commit", s)}}, nil,
			map[TimePart]float64{FileIO: 2, SetUp: 2, MovingData: 3, Computing: 13}},
		{"begins later, ends early", []row{{}, {}}, late, map[TimePart]float64{EndedEarly: 3, Computing: 17}},
		{"on two hosts, whose clocks do not compare", []row{{}, {}}, func(ps []*profile.Profile) { // rank 1 takes 7 s, 100 s later
			ps[1].Host, ps[1].InitEnd, ps[1].FinalizeStart = "b", ps[1].InitEnd+100*s, ps[1].FinalizeStart+97*s
		}, map[TimePart]float64{EndedEarly: 3, Computing: 17}},
		{"waits for the last", []row{{timedRows("Barrier", 2, 5*s, 2*s)}, {timedRows("Barrier", 2, 2*s, s)}}, nil, // 7 s - 4 × 1 s
			map[TimePart]float64{Waiting: 3, MovingData: 4, Computing: 13}},
		{"other sizes", []row{{timedRow("Allreduce", 4*s)}, {func() profile.Row { r := timedRow("Allreduce", s); r.SizeClass = 5; return r }()}}, nil,
			map[TimePart]float64{MovingData: 5, Computing: 15}},
		{"other sites", []row{{timedRow("Allreduce", 4*s)}, {func() profile.Row { r := timedRow("Allreduce", s); r.Callsite = 64; return r }()}}, nil,
			map[TimePart]float64{MovingData: 5, Computing: 15}},
		{"other communicators", []row{{timedRow("Allreduce", 4*s)}, {timedRow("Allreduce", s)}}, func(ps []*profile.Profile) { ps[1].Comms[0].ID = "half" },
			map[TimePart]float64{MovingData: 5, Computing: 15}},
		{"some do not wait for all", []row{{timedRow("Scan", 2*s), timedRow("Ibarrier", s), timedRow("Bcast", s)}, {timedRow("Scan", s), timedRow("Ibarrier", s/2), timedRow("Bcast", s/2)}}, nil,
			map[TimePart]float64{MovingData: 6, Computing: 14}},
		{"one of two ranks", []row{{timedRows("Barrier", 2, 5*s, s)}, {}}, nil, map[TimePart]float64{MovingData: 5, Computing: 15}},
		{"one rank", []row{{timedRows("Barrier", 2, 5*s, s)}}, nil, map[TimePart]float64{MovingData: 5, Computing: 5}},
		// 20 s of two threads, of which 8 s in MPI, are 4 of 10 s.
		{"threads", []row{{timedRow("Barrier", 8*s)}, {timedRow("Barrier", 2*s)}}, func(ps []*profile.Profile) { ps[0].Threads, ps[0].Lifetimes = 2, 20*s },
			map[TimePart]float64{Waiting: 4 - 0.5*2, MovingData: 1 + 2, Computing: 6 + 8}}, // its call counts half
		{"estimates beyond the run", []row{{timedRow("File_open", 6*s), timedRow("Recv", 9*s)}, {}}, func(ps []*profile.Profile) { ps[0].Timing = profile.TimingSampled },
			map[TimePart]float64{FileIO: 4, MovingData: 6, Computing: 10}},
		{"not finalized", []row{{timedRow("Recv", s)}, {timedRow("Recv", s)}}, func(ps []*profile.Profile) {
			ps[1].State, ps[1].FinalizeStart, ps[1].End = profile.Running, 0, ps[1].InitEnd+4*s
			ps[1].Rows = slices.DeleteFunc(ps[1].Rows, func(r profile.Row) bool { return r.Call == "Finalize" })
		}, map[TimePart]float64{EndedEarly: 6, MovingData: 2, Computing: 12}},
		// Rank 0 has a core for half of its 4 s in Barrier, 1 s in Recv and 5 s outside MPI.
		{"no core", []row{{timedRow("Barrier", 4*s), timedRow("Recv", s)}, {timedRow("Barrier", s)}}, withoutCore(0, 0.5),
			map[TimePart]float64{Waiting: 1.5, MovingData: 0.5 + 0.5 + 1, Computing: 2.5 + 9, WithoutCore: 5}},
		{"no core, of the last", []row{{timedRow("Barrier", 4*s)}, {timedRow("Barrier", s)}}, withoutCore(1, 0.8),
			map[TimePart]float64{Waiting: 3, MovingData: 1 + 0.2, Computing: 6 + 1.8, WithoutCore: 8}},
	} {
		ps := divided(test.rows...)
		if test.change != nil {
			test.change(ps)
		}
		tree := New(ps).Summary().Tree
		got := map[TimePart]float64{}
		for part, ns := range tree.Parts {
			if ns != 0 {
				got[TimePart(part)] = float64(ns) / s
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		checkSums(t, test.name, tree)
		if want := 1e9 / 2; tree.InitNs != want || tree.FinalizeNs != want/2 {
			t.Errorf("%s: Init %g, Finalize %g ns", test.name, tree.InitNs, tree.FinalizeNs)
		}
	}
}

// checkSums checks that the parts add up, and that none is negative.
func checkSums(t *testing.T, name string, tree *TimeTree) {
	t.Helper()
	for _, parts := range []TimeParts{tree.Parts, tree.Before} {
		if parts.Sum() != tree.TotalNs() {
			t.Errorf("%s: %v add up to %d ns, not %d × %d", name, parts, parts.Sum(), tree.Ranks, tree.RuntimeNs)
		}
		for part, ns := range parts {
			if ns < 0 {
				t.Errorf("%s: %s %d ns", name, TimePart(part), ns)
			}
		}
	}
	if tree.NoCore != tree.Share(WithoutCore) {
		t.Errorf("%s: no core %g, but its part is %g", name, tree.NoCore, tree.Share(WithoutCore))
	}
}

// TestTimesOfTreeUnknown checks that there is no tree without times.
func TestTimesOfTreeUnknown(t *testing.T) {
	off := divided(nil, nil)
	for _, p := range off {
		p.Timing = profile.TimingOff
	}
	never := divided(nil)
	never[0].InitEnd, never[0].State = 0, profile.Running
	for name, ps := range map[string][]*profile.Profile{"off": off, "never left MPI_Init": never, "nobody": nil} {
		if tree := New(ps).Summary().Tree; tree != nil {
			t.Errorf("%s: %+v", name, tree)
		}
	}
}

// TestNoCoreKnown checks how well the time without a core is known.
func TestNoCoreKnown(t *testing.T) {
	known := profile.Usage{WallNs: 10 * second, DelayKnown: true}
	for _, test := range []struct {
		name   string
		change func(ps []*profile.Profile)
		want   NoCoreKnown
	}{
		{"all", func([]*profile.Profile) {}, NoCoreExact},
		{"no schedstat", func(ps []*profile.Profile) { ps[0].Usage[0].DelayKnown, ps[1].Usage = false, nil }, NoCoreUnknown},
		{"of one", func(ps []*profile.Profile) { ps[1].Usage = nil }, NoCoreAtLeast},
		{"threads", func(ps []*profile.Profile) { ps[1].Threads = 2 }, NoCoreAtLeast},
		{"killed", func(ps []*profile.Profile) { ps[1].State, ps[1].FinalizeStart = profile.Running, 0 }, NoCoreAtLeast},
	} {
		ps := divided(nil, nil)
		for _, p := range ps {
			p.Usage = []profile.Usage{known}
		}
		test.change(ps)
		tree := New(ps).Summary().Tree
		if got := tree.NoCoreKnown; got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		raw, err := json.Marshal(tree)
		if null := bytes.Contains(raw, []byte(`"no_core":null`)); err != nil || null != (test.want == NoCoreUnknown) {
			t.Errorf("%s: %v, %s", test.name, err, raw)
		}
	}
}

// TestUseWaits checks the parts with the waits of a trace: rank 0 waits 2 of the 3 s in Comm_dup and
// 1 of the 4 s in Barrier, half of it without a core. The clocks of the traces add 1 s.
func TestUseWaits(t *testing.T) {
	ps := divided(row{timedRow("Comm_dup", 3*second), timedRow("Barrier", 4*second)}, row{timedRow("Barrier", second)})
	ps[0].Usage = []profile.Usage{{WallNs: 10 * second, RunDelayNs: 5 * second, DelayKnown: true}}
	s := New(ps).Summary()
	s.UseWaits(11*second, func(rank int) RankWaits {
		if rank == 0 {
			return RankWaits{InConstructors: 2 * second, Elsewhere: second}
		}
		return RankWaits{}
	})
	want := TimeParts{EndedEarly: 2 * second, Waiting: 3 * second / 2, SetUp: second / 2, MovingData: 3*second/2 + second, Computing: 3*second/2 + 9*second, WithoutCore: 5 * second}
	if s.Tree.Parts != want || !s.Tree.Traced || s.Tree.NoCoreKnown != NoCoreAtLeast {
		t.Errorf("got %+v, want %v", s.Tree, want)
	}
	checkSums(t, "traced", s.Tree)
}

// TestSumsOfTree checks that the parts of all kinds of jobs add up.
func TestSumsOfTree(t *testing.T) {
	check := func(name string, src profile.Source) {
		j, err := Of(src, Options{})
		testenv.NoError(t, err)
		if tree := j.Summary().Tree; tree != nil {
			checkSums(t, name, tree)
		}
	}
	for name, ps := range map[string][]*profile.Profile{"fixture": fixture(), "sampled": sampledFixture(), "hung": hung(), "changed": changedFixture(), "sliced": sliced(), "full": jobs.Full("full")} {
		check(name, profile.List(ps))
	}
	for _, name := range append(append(synth.Shapes, synth.PatternShapes...), synth.FaultNames...) {
		for _, timing := range []profile.Timing{profile.TimingExact, profile.TimingSampled} {
			job, err := synth.Named(name, 128)
			testenv.NoError(t, err)
			job.Timing = timing
			check(fmt.Sprint(name, " ", timing), job)
		}
	}
}

func TestTimeTreeInJSON(t *testing.T) {
	tree := New(divided(row{timedRow("Barrier", 4*second)}, row{timedRow("Barrier", second)})).Summary().Tree
	raw, err := json.Marshal(tree)
	testenv.NoError(t, err)
	var back TimeTree
	testenv.NoError(t, json.Unmarshal(raw, &back))
	if diff := cmp.Diff(*tree, back); diff != "" {
		t.Error(diff)
	}
}

// TestLaterSessions checks that of three sessions the first Session_init and the last Session_finalize
// are outside the run time, and that the others are set-up and not computing.
func TestLaterSessions(t *testing.T) {
	ps := divided(nil, nil)
	for _, p := range ps { // the first Session_init and the last Session_finalize take 0.5 s, the others 1 s
		p.Rows = row{timedRows("Session_init", 3, s/2+2*s, s/2), timedRows("Session_finalize", 3, s/2+2*s, s/2), timedRow("Barrier", s)}
	}
	summary := New(ps).Summary()
	tree := summary.Tree
	want := TimeParts{SetUp: 2 * 4 * s, MovingData: 2 * s, Computing: 2 * 5 * s}
	if tree.Parts != want || tree.InitNs != s/2 || tree.FinalizeNs != s/2 {
		t.Errorf("got %+v, want %v", tree, want)
	}
	checkSums(t, "sessions", tree)
	if summary.POP.ParallelEfficiency != 0.5 || summary.MPITimeS != 2*5 || summary.InitFinalizeTimeS != 2*1 {
		t.Errorf("efficiency %g, %g s in MPI, %g s besides", summary.POP.ParallelEfficiency, summary.MPITimeS, summary.InitFinalizeTimeS)
	}
	if sum := summary.inMPI(); sum.TimeNs != 10*s || sum.OwnNs != 10*s {
		t.Errorf("diff compares %d and %d ns in MPI", sum.TimeNs, sum.OwnNs)
	}
}
