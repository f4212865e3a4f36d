package matrices

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestSizes(t *testing.T) {
	for largest, want := range map[int][]int{100_000: {1000, 10_000, 100_000}, 1000: {1000}, 2500: {1000, 2500}, 7: {7}} {
		if got := sizes(largest); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", largest, got, want)
		}
	}
}

func TestSummarySizes(t *testing.T) {
	for largest, want := range map[int][]int{1 << 20: {10_000, 100_000, 1 << 20}, 10_000: {10_000}, 300: {300}} {
		if got := summarySizes(largest); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", largest, got, want)
		}
	}
}

func TestCommandRefuses(t *testing.T) {
	for _, args := range [][]string{{"--part", "pear"}, {"--rounds", "0"}, {"--scale", "0"}, {"more"}} {
		c := Command()
		c.SetArgs(args)
		c.SetErr(io.Discard)
		if err := c.Execute(); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
	if o := (options{rounds: 7}); o.phaseRounds() != 3 {
		t.Errorf("%d rounds over phases, want 3", o.phaseRounds())
	}
}

func TestWritePeers(t *testing.T) {
	var s samples
	for _, seconds := range []float64{4, 2, 3} {
		s.add(subject{"p2p", perl}, cost{seconds, seconds / 2, 200})
	}
	s.add(subject{"p2p", ours}, cost{0.05, 0.025, 15})
	s.add(subject{"p2p", ours}, cost{0.15, 0.125, 20})
	var text strings.Builder
	testenv.NoError(t, s.writePeers(&text, perl))
	want := `| input | tool | median s | minimum s | CPU s |   MiB | × time | × CPU | × memory |
| ----- | ---- | -------: | --------: | ----: | ----: | -----: | ----: | -------: |
| p2p   | Perl |    3.000 |     2.000 | 1.000 | 200.0 |        |       |          |
| p2p   | ours |    0.100 |     0.050 | 0.025 |  20.0 |   40.0 |  40.0 |     10.0 |
`
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

func TestSameMatrices(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		testenv.Mkdir(t, filepath.Dir(path))
		testenv.WriteFile(t, path, text)
	}
	same := func() error { return sameMatrices(filepath.Join(dir, "a"), filepath.Join(dir, "b")) }
	put("a/note", "no matrix")
	put("b/note", "nor this")
	if same() == nil {
		t.Error("directories without matrices pass")
	}
	put("a/x.mat", "0 1 \n")
	if same() == nil {
		t.Error("a matrix that is in one only passes")
	}
	put("b/x.mat", "0 1 \n")
	if err := same(); err != nil {
		t.Error(err)
	}
	put("b/x.mat", "0 1 \n\n")
	if err := same(); err == nil || !strings.Contains(err.Error(), "byte 5") {
		t.Errorf("a longer one: %v", err)
	}
	put("b/x.mat", "0 2 \n")
	if err := same(); err == nil || !strings.Contains(err.Error(), "byte 2") {
		t.Errorf("another one: %v", err)
	}
}
