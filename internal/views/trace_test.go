package views_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

// Trace writes the analysis of a trace.
func Trace(w io.Writer, found *trace.Result, o Options) error {
	return write(w, views.Trace(found, views.Options{Top: o.Top}), o)
}

// The text of the analysis of pipeline.json, a job of the tests of
// internal/trace.
func TestTrace(t *testing.T) {
	for _, test := range []struct {
		golden, result string
		o              Options
	}{{"trace.txt", "pipeline.json", Options{Top: 10}}, {"trace_top.txt", "pipeline.json", Options{ASCII: true, Top: 1}}, {"trace_cut.txt", "cut.json", Options{Top: 10}}} {
		raw, err := os.ReadFile(filepath.Join("../trace/testdata", test.result))
		if err != nil {
			t.Fatal(err)
		}
		var found trace.Result
		if err := json.Unmarshal(raw, &found); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Trace(&b, &found, test.o); err != nil {
			t.Fatal(err)
		}
		golden(t, test.golden, b.Bytes())
		if test.o.ASCII && strings.ContainsFunc(b.String(), func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("%s is not ASCII:\n%s", test.golden, &b)
		}
	}
}

// Names that the program chose are escaped, and do not make lines too long.
func TestTextOfHostileNames(t *testing.T) {
	clocks := "the clock of \x1b[2J" + strings.Repeat(" host", 50) + " agrees within 3µs"
	r := &trace.Result{ClockNotes: []string{clocks}, CriticalPath: &trace.CriticalPath{Callsites: []trace.PathPlace{{Call: "Recv\x1b[2J", Callsite: strings.Repeat("é", 300)}}},
		WaitStates: []trace.WaitState{{Pattern: trace.LateSender, Callsite: "f\n" + strings.Repeat("x", 300), Communicator: "\x1b]0;name\a"}}}
	var b bytes.Buffer
	if err := Trace(&b, r, Options{Top: -1, Width: 100}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\a") || !strings.Contains(b.String(), "agrees within 3µs\n") {
		t.Errorf("control characters, or no clocks, in %q", &b)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d characters in a line: %s", n, line)
		}
	}
}

// Receives wait for sends at several places, and for several pairs of ranks.
// The row has the pair with the most time. The line below it has the place with
// the most time and the number of other places.
func TestTextOfPartners(t *testing.T) {
	wait := func(rank, peer int, site string, time float64) trace.WaitState {
		return trace.WaitState{Pattern: trace.LateSender, Rank: rank, Peer: peer, Call: "Wait", Callsite: "take mg.f90:9", PeerCallsite: site, Communicator: "MPI_COMM_WORLD", Count: 1, Time: time}
	}
	const one, two, three = "give mg.f90:1", "give mg.f90:2", "give mg.f90:3"
	for _, test := range []struct {
		name  string
		waits []trace.WaitState
		want  string
	}{
		{"places of one pair", []trace.WaitState{wait(0, 1, one, 3), wait(0, 1, two, 2), wait(0, 1, three, 1)},
			"6.00 s              0 for 1\n  sender: give mg.f90:1, 3.00 s; 2 other places, 3.00 s\n"},
		{"the place of most time is not that of the longest pair", []trace.WaitState{wait(0, 1, one, 3), wait(2, 1, two, 2), wait(3, 1, two, 2)},
			"7.00 s      0 for 1, 3.00 s\n  sender: give mg.f90:2, 4.00 s; 1 other place, 3.00 s\n"},
		{"a pair of several places", []trace.WaitState{wait(0, 1, one, 3), wait(2, 1, one, 2), wait(2, 1, two, 2)},
			"7.00 s      2 for 1, 4.00 s\n  sender: give mg.f90:1, 5.00 s; 1 other place, 2.00 s\n"},
		{"one place", []trace.WaitState{wait(0, 1, one, 3), wait(2, 1, one, 1)},
			"4.00 s      0 for 1, 3.00 s\n  sender: give mg.f90:1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Trace(&b, &trace.Result{WaitStates: test.waits}, Options{Top: -1}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), test.want) {
				t.Errorf("no %q in\n%s", test.want, &b)
			}
		})
	}
}

// At 80 columns all lines fit and places can be distinguished. The communicator
// is left out.
func TestTextFits(t *testing.T) {
	p := func(line string, pattern trace.Pattern) trace.WaitState {
		return trace.WaitState{Pattern: pattern, Rank: 100, Peer: 200, Callsite: "clover_module::clover_send_recv_message_left clover.f90:" + line, PeerCallsite: "clover_module::clover_send_recv_message_bottom clover.f90:3237",
			Communicator: "MPI_COMM_WORLD", Count: 123456, Time: 123, Call: "Waitall"}
	}
	waits := []trace.WaitState{p("895", trace.LateSender), p("3237", trace.WaitAtCommCreate), p("895", trace.LateSender), p("897", trace.WaitForProgress)}
	waits[2].Peer, waits[2].PeerCallsite = 201, "other"
	r := &trace.Result{Size: 256, Ranks: 256, WaitStates: waits,
		POP:            &trace.POPFactors{Ranks: 256, Runtime: 2.28, IdealRuntime: 0.11, UsefulMean: 0.0484, UsefulMax: 0.0584, UsefulMaxRank: 100, ParallelEfficiency: 0.02, LoadBalance: 0.83, CommunicationEfficiency: 0.02, Serialisation: 0.53, Transfer: 0.05},
		Oversubscribed: []profile.Oversubscription{{Reason: profile.OtherProcesses, Ranks: profile.RankSet{{First: 0, Last: 255}}, HostRanks: 256}},
		Calls:          []trace.CallTotal{{Call: "Reduce_scatter_block", Count: 1234567, Time: 123, Waiting: 123, Undecided: 1}},
		EagerLimits:    []trace.ObservedEagerLimit{{Path: profile.InNode, Bytes: 4096, Variable: "btl_vader_eager_limit"}, {Path: profile.ToSelf, Bytes: 1024, Variable: "btl_self_eager_limit"}}}
	for pattern := range trace.Undecided + 1 {
		r.Patterns = append(r.Patterns, trace.PatternTotal{Pattern: pattern, Count: 1234567, Time: 123, Share: 1})
	}
	r.Communicators = []trace.CommunicatorTotal{{Communicator: "Comm_create#2cb71bcf", Count: 123456, Time: 123, Share: 1, Patterns: []trace.PatternTotal{{Pattern: trace.WaitAtCommCreate, Time: 123}}}}
	var b bytes.Buffer
	if err := Trace(&b, r, Options{Top: -1, Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters in a line: %s", n, line)
		}
	}
	for _, want := range []string{" clover.f90:895 ", " clover.f90:3237 ", " clover.f90:897 ", "110 ms of 2.28 s; lost in MPI or waiting for a core\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "to itself") {
		t.Errorf("a limit of messages of a rank to itself, which nobody waited for, in\n%s", &b)
	}
	const module = "Cdgebr2d+0x2da (libscalapack-mpich.so.2.2)" // module and offset are kept
	for i := range waits {
		waits[i].Callsite = module
	}
	b.Reset()
	if err := Trace(&b, &trace.Result{WaitStates: waits}, Options{Top: -1, Width: 80}); err != nil {
		t.Fatal(err)
	}
	const rows = "where                                       waits                 time\n" +
		module + "  late-sender          246 s\n"
	const omitted = "left out to fit 80 characters: communicator, number, most: rank for rank (to see\n  them: less)\n"
	if !strings.Contains(b.String(), rows) || !strings.Contains(b.String(), omitted) {
		t.Errorf("no\n%s%sin\n%s", rows, omitted, &b)
	}
}
