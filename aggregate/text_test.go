package aggregate

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
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

func TestText(t *testing.T) {
	j := New(fixture())
	rank, err := j.RankSummary(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"summary.txt":       func(b *bytes.Buffer) error { return j.Summary().Text(b, TextOptions{Sites: -1}) },
		"summary_ascii.txt": func(b *bytes.Buffer) error { return j.Summary().Text(b, TextOptions{ASCII: true, Sites: -1}) },
		"rank.txt":          func(b *bytes.Buffer) error { return rank.Text(b, TextOptions{Sites: -1}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestTextIsHarmless: nothing that a job can choose reaches the terminal as a
// control character.
func TestTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\r\a\u202e\xff\u0085"
	ps := fixture()
	for _, p := range ps {
		p.Run, p.Program, p.Library, p.Host = evil, "/"+evil, evil, evil
		p.Comms[0].Name = evil
		p.Rows[2].Call = evil
	}
	ps[3].Library = "b" + evil
	j := New(ps)
	rank, err := j.RankSummary(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []TextOptions{{}, {ASCII: true}} {
		var b bytes.Buffer
		if err := j.Summary().Text(&b, o); err != nil {
			t.Fatal(err)
		}
		if err := rank.Text(&b, o); err != nil {
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

// All lists of the report have as many lines as TextOptions.Sites, and say how many
// others there are and where.
func TestListsAreShortened(t *testing.T) {
	s := New(fixture()).Summary()
	list := func(sites int, head string) string {
		var b bytes.Buffer
		if err := s.Text(&b, TextOptions{Sites: sites, ASCII: true}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(b.String(), "\n"+head)
		rest, _, _ = strings.Cut(rest, "\n\n")
		return rest
	}
	for head, more := range map[string]string{
		"call ":             " (mpitrace report --top all)",
		"messages by size ": " (mpitrace report --top all)",
		"pair ":             " (all: profile2mat DIR)",
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

// Communicators of one id are one, and calls without a communicator are told apart, so
// that the times add up to the time in MPI.
func TestCommunicatorsOfRank(t *testing.T) {
	row := func(call string, comm int32, ns uint64) profile.Row {
		return profile.Row{Call: call, Class: profile.P2P, Comm: comm, Calls: 1, TimeNs: ns}
	}
	comm := func(id string, freed bool) profile.Comm {
		return profile.Comm{ID: id, Constructor: "Comm_create", Members: profile.Group{Stride: 1, N: 2}, Freed: freed}
	}
	p := &profile.Profile{Rank: 0, Size: 1, State: profile.Finalized, Comms: []profile.Comm{comm("aa", true), comm("bb", true), comm("aa", false)},
		Rows: []profile.Row{row("Init", -1, 1000), row("Send", 0, 1), row("Send", 1, 20), row("Send", 2, 300), row("Waitall", -1, 400)}}
	s, err := New([]*profile.Profile{p}).RankSummary(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Comms) != 2 || s.Comms[0].TimeNs != 301 || s.Comms[0].Freed || s.Comms[1].TimeNs != 20 || !s.Comms[1].Freed {
		t.Errorf("got %+v, want aa with 301 ns, not freed, and bb with 20 ns", s.Comms)
	}
	var b bytes.Buffer
	if err := s.Text(&b, TextOptions{Sites: -1}); err != nil {
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

func TestSummaryOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := New(nil).Summary().Text(&b, TextOptions{Sites: -1}); err != nil || b.Len() == 0 {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 1536: "1.50 KiB", 10240: "10.0 KiB", 1 << 20: "1.00 MiB",
		1023 << 10: "1.00 MiB", 999 << 10: "999 KiB", 1<<64 - 1: "16.0 EiB", 5 << 30: "5.00 GiB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("bytesText(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 1<<64 - 1: "18,446,744,073,709,551,615"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
	for ns, want := range map[float64]string{
		0: "0 ns", 999: "999 ns", 999.6: "1.00 us", 1234: "1.23 us", 56_789: "56.8 us", 123_456: "123 us",
		999_600: "1.00 ms", 1.5e9: "1.50 s", 86_400e9: "86400 s",
	} {
		if got := durationText(ns, "us"); got != want {
			t.Errorf("durationText(%v) = %q, want %q", ns, got, want)
		}
	}
}

func TestHeatmapBins(t *testing.T) {
	var m matrix.Matrix
	const n = 100 // in bins of 4: 25
	for from := range n {
		m.Add(matrix.Pair{From: from, To: (from + 4) % n}, matrix.Volume{Bytes: 10, Messages: 1})
	}
	m.Add(matrix.Pair{From: 0, To: 99}, matrix.Volume{Bytes: 5, Messages: 1})
	h := NewHeatmap(&m, n)
	if h.RanksPerBin != 4 || len(h.Bytes) != 25 {
		t.Fatalf("got %d ranks in a bin, %d bins", h.RanksPerBin, len(h.Bytes))
	}
	for i, row := range h.Bytes {
		for k, v := range row {
			want := uint64(0)
			switch {
			case k == (i+1)%25:
				want = 40
			case i == 0 && k == 24:
				want = 5
			}
			if v != want {
				t.Errorf("bin %d, %d has %d bytes, want %d", i, k, v, want)
			}
		}
	}
	if low, high := h.extremes(); low != 5 || high != 40 {
		t.Errorf("extremes are %d and %d", low, high)
	}
	for size, bins := range map[int]int{1: 1, 32: 32, 33: 17, 64: 32, 65: 22, 1000: 32} {
		if got := len(NewHeatmap(new(matrix.Matrix), size).Bytes); got != bins {
			t.Errorf("%d ranks have %d bins, want %d", size, got, bins)
		}
	}
}

func TestShade(t *testing.T) {
	for _, c := range []struct {
		v, low, high uint64
		want         int
	}{
		{0, 1, 10, -1}, {7, 7, 7, 3}, {1, 1, 16, 0}, {2, 1, 16, 1}, {4, 1, 16, 2}, {8, 1, 16, 3}, {16, 1, 16, 3}, {3, 1, 16, 1},
		{1000, 999, 1000, 3}, {999, 999, 1000, 3}, {499, 499, 1000, 2}, {250, 200, 1000, 2}, {200, 200, 1000, 1}, {1, 1, 1, 3}, {1, 1, 256, 0}, {4, 1, 256, 1},
	} {
		if got := shade(c.v, c.low, c.high, 4); got != c.want {
			t.Errorf("shade(%d, %d, %d) = %d, want %d", c.v, c.low, c.high, got, c.want)
		}
	}
}

func TestLegend(t *testing.T) {
	for _, c := range []struct {
		low, high uint64
		want      string
	}{
		{7, 7, "█ 7 B"},
		{999, 1000, "█ 999 B ... 1000 B"},
		{1 << 30, 1<<30 + 1, "█ 1.00 GiB"},
		{300, 1000, "▓ 300 B ... █ 1000 B, log scale"},
		{3, 4, "█ 3 B ... 4 B"}, // the scale begins below 1 byte
		{1, 1000, "░ 1 B ... █ 1000 B, log scale"},
	} {
		if got := legend(c.low, c.high, TextOptions{}.shades()); got != c.want {
			t.Errorf("%d to %d: got %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// textOf is the text of a job's summary, or of a rank's if that is not below 0.
func textOf(t *testing.T, j *Job, rank int) string {
	t.Helper()
	var b bytes.Buffer
	err := error(nil)
	if rank < 0 {
		err = j.Summary().Text(&b, TextOptions{Sites: -1})
	} else {
		var s *RankSummary
		if s, err = j.RankSummary(rank); err == nil {
			err = s.Text(&b, TextOptions{Sites: -1})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextOfRanksThatDidNotFinalize(t *testing.T) {
	ps := fixture()
	for _, p := range ps[1:] {
		p.State, p.FinalizeStart = profile.Running, 0
	}
	ps[1].End = ps[1].InitEnd           // nothing is known after Init
	ps[2].End = ps[2].InitEnd + 300*ms  // of 600 ms in MPI
	ps[3].End = ps[3].InitEnd + 1400*ms // of 700 ms in MPI
	text := textOf(t, New(ps), -1)
	if want := "share of MPI time: mean 35.0 % of 2 ranks where it is known, min 20.0 % (rank 0), max 50.0 % (rank 3)\n"; !strings.Contains(text, want) {
		t.Errorf("got %s\nwant %s", text, want)
	}
	for rank := 1; rank <= 2; rank++ {
		text := textOf(t, New(ps), rank)
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
	if got := notFinalized(profile.RankSet{{First: 1, Last: 3}}); got != "partial: ranks 1-3 did not reach MPI_Finalize: their record ends with their last completed call" {
		t.Errorf("got %q", got)
	}
}

func TestTextWithoutCalls(t *testing.T) {
	for want, rows := range map[string]int{"\n\nno MPI calls but Init and Finalize\n\n": 2, "\n\nno MPI calls\n\n": 0} {
		ps := fixture()
		for _, p := range ps {
			p.Rows, p.Vectors = p.Rows[:rows], nil
		}
		for rank := -1; rank < 1; rank++ {
			text := textOf(t, New(ps), rank)
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
		if got := [2]string{line, LibraryName(line)}; got != want {
			t.Errorf("%q: got %q, want %q", version, got, want)
		}
	}
}
