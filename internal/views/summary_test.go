package views_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s:\n%s", path, diff)
	}
}

// Options are those of a view and of the terminal.
type Options struct {
	ASCII      bool
	Width, Top int
}

func write(w io.Writer, sections []views.Section, o Options) error {
	return terminal.Write(w, sections, terminal.Options{ASCII: o.ASCII, Width: o.Width, Whole: "less"})
}

// Summary writes the summary of a job.
func Summary(w io.Writer, s *aggregate.Summary, o Options) error {
	return write(w, views.Of(s, views.Options{Top: o.Top}), o)
}

// Rank writes the summary of a rank.
func Rank(w io.Writer, r *aggregate.RankSummary, o Options) error {
	return write(w, views.OfRank(r, views.Options{Top: o.Top}), o)
}

// Status writes the calls that processes are in.
func Status(w io.Writer, s *aggregate.JobStatus, o Options) error {
	return write(w, views.Status(s), o)
}

func TestText(t *testing.T) {
	j := aggregate.New(jobs.Fixture())
	rank, err := j.RankSummary(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"summary.txt":       func(b *bytes.Buffer) error { return Summary(b, j.Summary(), Options{Top: -1}) },
		"summary_ascii.txt": func(b *bytes.Buffer) error { return Summary(b, j.Summary(), Options{ASCII: true, Top: -1}) },
		"rank.txt":          func(b *bytes.Buffer) error { return Rank(b, rank, Options{Top: -1}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestSummaryOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, aggregate.New(nil).Summary(), Options{Top: -1}); err != nil || b.Len() == 0 {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// textOf returns the text of a job's summary or, if rank is not negative, of a
// rank's.
func textOf(t *testing.T, j *aggregate.Job, rank int) string {
	t.Helper()
	var b bytes.Buffer
	err := error(nil)
	if rank < 0 {
		err = Summary(&b, j.Summary(), Options{Top: -1})
	} else {
		var s *aggregate.RankSummary
		if s, err = j.RankSummary(rank); err == nil {
			err = Rank(&b, s, Options{Top: -1})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextOfRanksThatDidNotFinalize(t *testing.T) {
	ps := jobs.Fixture()
	for _, p := range ps[1:] {
		p.State, p.FinalizeStart = profile.Running, 0
	}
	ps[1].End = ps[1].InitEnd                // nothing is known after Init
	ps[2].End = ps[2].InitEnd + 300*jobs.MS  // of 600 ms in MPI
	ps[3].End = ps[3].InitEnd + 1400*jobs.MS // of 700 ms in MPI
	text := textOf(t, aggregate.New(ps), -1)
	if want := "share of MPI time: mean 35.0 % of 2 ranks where it is known, min 20.0 % (rank 0), max 50.0 % (rank 3)\n"; !strings.Contains(text, want) {
		t.Errorf("got %s\nwant %s", text, want)
	}
	for rank := 1; rank <= 2; rank++ {
		text := textOf(t, aggregate.New(ps), rank)
		for _, want := range []string{
			", not finalized\n",
			"share of MPI time: –\n",
			fmt.Sprintf("partial: rank %d did not reach MPI_Finalize: its record ends with its last completed call\n", rank),
		} {
			if !strings.Contains(text, want) {
				t.Errorf("rank %d: got %s\nwant %q", rank, text, want)
			}
		}
	}
}

func TestTextWithoutCalls(t *testing.T) {
	for want, rows := range map[string]int{"\n\nno MPI calls but Init and Finalize\n\n": 2, "\n\nno MPI calls\n\n": 0} {
		ps := jobs.Fixture()
		for _, p := range ps {
			p.Rows, p.Vectors = p.Rows[:rows], nil
		}
		for rank := -1; rank < 1; rank++ {
			text := textOf(t, aggregate.New(ps), rank)
			if !strings.Contains(text, want) || strings.Contains(text, "class ") || strings.Contains(text, "peer ") || strings.Contains(text, "bytes between ranks:") {
				t.Errorf("rank %d: got %s\nwant %q and no empty table", rank, text, want)
			}
		}
	}
}

func TestLibraryName(t *testing.T) {
	for version, want := range map[string][2]string{
		"Open MPI v4.1.4, package: Debian\nmore":        {"Open MPI v4.1.4, package: Debian", "Open MPI v4.1.4"},
		"MPICH Version:\t4.0.2\nMPICH Release date:\tx": {"MPICH Version: 4.0.2", "MPICH Version: 4.0.2"},
		"Some MPI 2021.1,  for Linux":                   {"Some MPI 2021.1, for Linux", "Some MPI 2021.1, for Linux"},
	} {
		line := (&profile.Profile{Library: version}).LibraryLine()
		if got := [2]string{line, profile.LibraryName(line)}; got != want {
			t.Errorf("%q: got %q, want %q", version, got, want)
		}
	}
}

// If there are many slices, those with the most time are shown.
func TestLongestSlices(t *testing.T) {
	var all []aggregate.SliceTotals
	for i := range 40 {
		all = append(all, aggregate.SliceTotals{Slice: fmt.Sprint(i), Totals: aggregate.Totals{TimeNs: uint64(i * 7 % 40)}})
	}
	got := slices.Sorted(maps.Keys(views.Longest(all, 3)))
	// 17, 34 and 11 times 7 are 39, 38 and 37 modulo 40.
	if d := cmp.Diff([]string{"11", "17", "34"}, got); d != "" {
		t.Error(d)
	}
}

func TestTimingText(t *testing.T) {
	rank, err := aggregate.New(jobs.Untimed()).RankSummary(2)
	if err != nil {
		t.Fatal(err)
	}
	sampled, untimed := aggregate.New(jobs.Sampled()).Summary(), aggregate.New(jobs.Untimed()).Summary()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"sampled.txt":       func(b *bytes.Buffer) error { return Summary(b, sampled, Options{Top: -1}) },
		"sampled_ascii.txt": func(b *bytes.Buffer) error { return Summary(b, sampled, Options{ASCII: true, Top: -1}) },
		"untimed.txt":       func(b *bytes.Buffer) error { return Summary(b, untimed, Options{Top: -1}) },
		"untimed_rank.txt":  func(b *bytes.Buffer) error { return Rank(b, rank, Options{Top: -1}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestTextIsHarmless checks that no text that a job chooses reaches the
// terminal with control characters.
func TestTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\r\a\u202e\xff\u0085"
	ps := jobs.Fixture()
	for _, p := range ps {
		p.Run, p.Program, p.Library, p.Host = evil, "/"+evil, evil, evil
		p.Comms[0].Name = evil
		p.Rows[2].Call = evil
	}
	ps[3].Library = "b" + evil
	j := aggregate.New(ps)
	rank, err := j.RankSummary(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {ASCII: true}} {
		var b bytes.Buffer
		if err := Summary(&b, j.Summary(), o); err != nil {
			t.Fatal(err)
		}
		if err := Rank(&b, rank, o); err != nil {
			t.Fatal(err)
		}
		for i, c := range b.String() {
			if c < ' ' && c != '\n' || c == '\u202e' || c == '\u0085' || c == utf8.RuneError || o.ASCII && c > '~' {
				t.Fatalf("%q at %d of %q", c, i, b.String())
			}
		}
		if !strings.Contains(b.String(), `\x1b[2J\r\a\u202e\xff\u0085`) {
			t.Error("the text is not there in its escaped form")
		}
	}
}

// All lists of the report have Options.Top lines, and tell how many entries are
// left out and how to see them.
func TestListsAreShortened(t *testing.T) {
	s := aggregate.New(jobs.Fixture()).Summary()
	list := func(sites int, head string) string {
		var b bytes.Buffer
		if err := Summary(&b, s, Options{Top: sites, ASCII: true}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(b.String(), "\n"+head)
		rest, _, _ = strings.Cut(rest, "\n\n")
		return rest
	}
	for head, more := range map[string]string{
		"call ":             " (mpitrace report --top all)",
		"messages by size ": " (mpitrace report --top all)",
		"pair ":             " (all: mpitrace matrix DIR)",
	} {
		all := strings.Count(list(-1, head), "\n")
		if all < 2 {
			t.Errorf("%q: %d lines", head, all)
		}
		got := list(1, head)
		if lines := strings.Split(got, "\n"); len(lines) < 3 || !strings.HasPrefix(lines[2], "and ") || !strings.HasSuffix(lines[2], more) {
			t.Errorf("%q: %q, want one line and how many others%s", head, got, more)
		}
		if got := list(0, head); got != "" {
			t.Errorf("%q: %q, want nothing", head, got)
		}
	}
}

// Communicators with the same id are one, and calls without a communicator have
// their own line, so that the times add up to the time in MPI.
func TestCommunicatorsOfRank(t *testing.T) {
	row := func(call string, comm int32, ns uint64) profile.Row {
		return profile.Row{Call: call, Class: profile.P2P, Comm: comm, Calls: 1, TimeNs: ns}
	}
	comm := func(id string, freed bool) profile.Comm {
		return profile.Comm{ID: id, Constructor: "Comm_create", Members: profile.Group{Stride: 1, N: 2}, Freed: freed}
	}
	p := &profile.Profile{Rank: 0, Size: 1, State: profile.Finalized, Comms: []profile.Comm{comm("aa", true), comm("bb", true), comm("aa", false)},
		Rows: []profile.Row{row("Init", -1, 1000), row("Send", 0, 1), row("Send", 1, 20), row("Send", 2, 300), row("Waitall", -1, 400)}}
	s, err := aggregate.New([]*profile.Profile{p}).RankSummary(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Comms) != 2 || s.Comms[0].TimeNs != 301 || s.Comms[0].Freed || s.Comms[1].TimeNs != 20 || !s.Comms[1].Freed {
		t.Errorf("got %+v, want aa with 301 ns, not freed, and bb with 20 ns", s.Comms)
	}
	var b bytes.Buffer
	if err := Rank(&b, s, Options{Top: -1}); err != nil {
		t.Fatal(err)
	}
	const want = "\n" +
		"communicator       rank  size  calls    time  msgs sent  sent\n" +
		"Comm_create#aa        0     2      2  301 ns          0   0 B\n" +
		"Comm_create#bb        0     2      1   20 ns          0   0 B\n" +
		"none (as in Wait)     –     –      1  400 ns          –     –\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no%sin\n%s", want, &b)
	}
}

// Lines of the summary, depending on what the job did.
func TestLines(t *testing.T) {
	twoThreads := jobs.Computing(0, 4)
	for r, stderr := range []uint64{600 * jobs.MS, 800 * jobs.MS} {
		twoThreads[r].Timing, twoThreads[r].Threads, twoThreads[r].Rows[1].TimeErrorNs = profile.TimingSampled, 2, stderr
	}
	unfinished := jobs.Computing(6, 10)
	unfinished[0].State, unfinished[0].FinalizeStart = profile.Running, 0
	untimed := jobs.Computing(6)
	untimed[0].Timing = profile.TimingOff
	collective := jobs.Fixture()
	for _, p := range collective {
		p.Rows = slices.DeleteFunc(p.Rows, func(r profile.Row) bool { return !r.Class.Collective() })
	}
	unnamed := jobs.HungRank(0)
	unnamed.Late = []profile.Late{{Call: "Recv", Comm: -1, Peer: profile.PeerLost, Count: 1, Queued: 3}}
	variables := jobs.WithVariables(func(r int) []profile.Variable {
		return []profile.Variable{jobs.Asked("btl_eager_limit", "8192", profile.ScopeReadOnly),
			jobs.Asked("own", []string{"a", "b"}[r/2], profile.ScopeLocal), {Name: "OMPI_MCA_pml", Value: "ob1"}}
	})
	for _, c := range []struct {
		name  string
		ps    []*profile.Profile
		lines []string
	}{
		{"two hosts", jobs.Fixture(), []string{"sent within nodes: 231 B (30.3 %), between nodes: 531 B (69.7 %)\n"}},
		{"efficiency", jobs.Computing(6, 10), []string{"parallel efficiency: 66.7 % = load balance 80.0 % × communication efficiency 83.3 %\n"}},
		{"efficiency of an estimate", twoThreads, []string{"parallel efficiency: 58.3 % ±2.1 = load balance 87.5 % × communication efficiency 66.7 %\n"}},
		{"efficiency of one rank", unfinished, []string{"parallel efficiency, of 1 of 2 ranks: 83.3 %\n"}},
		{"no efficiency", untimed, []string{"parallel efficiency: –\n"}},
		{"slices", jobs.Sliced(), []string{
			"slice   calls    time  % of MPI  msgs  bytes\n",
			"output      2  1.00 s    33.3 %     0    0 B\n",
			"solve       6  2.00 s    66.7 %     3   30 B\n"}},
		{"collectives alone", collective, []string{"top pairs: collectives alone (logical volume)\n"}},
		{"physical", jobs.Sent(), []string{"logical and physical (of 3 of 4 ranks)   pairs", "physical: the library's own                  3     9  348 B",
			"11 messages (116 B)", "rank 2 is unknown: the disk was full"}},
		{"late receives without a setting", []*profile.Profile{unnamed}, []string{
			"late: posted while more than --watch-unexpected messages waited to be received\n"}},
		{"variables", variables, []string{
			"\nMPI variables set: btl_eager_limit=8192 (--cvar), own=a (--cvar on ranks 0-1), own=b (--cvar on ranks 2-3), OMPI_MCA_pml=ob1 (environment)\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := textOf(t, aggregate.New(c.ps), -1)
			for _, line := range c.lines {
				if !strings.Contains(got, line) {
					t.Errorf("no %q in\n%s", line, got)
				}
			}
		})
	}
}
