package aggregate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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
		"summary.txt":       func(b *bytes.Buffer) error { return j.Summary().Text(b, TextOptions{}) },
		"summary_ascii.txt": func(b *bytes.Buffer) error { return j.Summary().Text(b, TextOptions{ASCII: true}) },
		"rank.txt":          func(b *bytes.Buffer) error { return rank.Text(b, TextOptions{}) },
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

func TestSummaryOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := New(nil).Summary().Text(&b, TextOptions{}); err != nil || b.Len() == 0 {
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
	var m Matrix
	const n = 100 // in bins of 4: 25
	for from := range n {
		m.Add(Pair{from, (from + 4) % n}, Volume{Bytes: 10, Messages: 1})
	}
	m.Add(Pair{0, 99}, Volume{Bytes: 5, Messages: 1})
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
		if got := len(NewHeatmap(new(Matrix), size).Bytes); got != bins {
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
	} {
		if got := shade(c.v, c.low, c.high, 4); got != c.want {
			t.Errorf("shade(%d, %d, %d) = %d, want %d", c.v, c.low, c.high, got, c.want)
		}
	}
}

func TestSpans(t *testing.T) {
	for want, ranks := range map[string][]int{
		"rank 3": {3}, "ranks 0-2, 5": {0, 1, 2, 5}, "ranks 1, 3": {1, 1, 3},
		"ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ... (13 in all)": {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24},
	} {
		if got := spansOf(ranks).String(); got != want {
			t.Errorf("%v: got %q, want %q", ranks, got, want)
		}
	}
	if got := gaps([]int{1, 2, 5}, 1<<31).String(); got != "ranks 0, 3-4, 6-2147483647" {
		t.Errorf("got gaps %q", got)
	}
	if got := gaps([]int{0, 1}, 2); got != nil {
		t.Errorf("got gaps %v of all", got)
	}
}
