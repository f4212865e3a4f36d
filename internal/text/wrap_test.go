package text

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestWrap(t *testing.T) {
	var out strings.Builder
	Wrap(&out, "a path of 30 letters: "+strings.Repeat("x", 30)+" and more", "* ", "  ", 20)
	want := `* a path of 30
  letters:
  xxxxxxxxxxxxxxxxxx
  xxxxxxxxxxxx and
  more
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

// TestSentences checks that whole sentences are left out, and only a single one is cut.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"All fits. And this.", 19, "All fits. And this."},
		{"All fits. And this.", 18, "All fits."},
		{"One. Two. Three.", 12, "One. Two."},
		{"rank 0 takes 1.5 s. More follows.", 30, "rank 0 takes 1.5 s."},
		{"one sentence only.", 10, "one…"},
		{"", 10, ""},
	} {
		if got := Sentences(c.text, c.width, false); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestFirstLines(t *testing.T) {
	words := "lmp on 2 ranks: computing 55 %, waiting 41 %. Move work off rank 0."
	for _, c := range []struct {
		n, width int
		want     string
	}{
		{2, 100, words},
		{2, 50, "lmp on 2 ranks: computing 55 %, waiting 41 %. Move|work off rank 0."},
		{2, 30, "lmp on 2 ranks: computing|55 %, waiting 41 %. Move work…"},
		{1, 30, "lmp on 2 ranks: computing…"},
		{3, 30, "lmp on 2 ranks: computing|55 %, waiting 41 %. Move work|off rank 0."},
	} {
		if got := strings.Join(FirstLines(words, c.n, c.width, false), "|"); got != c.want {
			t.Errorf("%d lines of %d: got %q, want %q", c.n, c.width, got, c.want)
		}
	}
}

// Prose is broken at spaces, no matter in which pieces it is written. Tables
// and pictures stay unchanged, and so does all text if there is no width.
func TestWrapper(t *testing.T) {
	const text = "short\n" +
		"a line of prose that is longer than it may be\n" +
		"  an indented line of prose that is longer, µ\n" +
		"exactly twenty here.\n" +
		"a row of a table  that is long  12 s\n" +
		" 0 |░░░░░░░░██████████|\n" +
		"with numbers of 27.1 % and of 9 µs (rank 7)\n" +
		"a last line that is longer"
	const want = "short\n" +
		"a line of prose that\n  is longer than it\n  may be\n" +
		"  an indented line\n    of prose that is\n    longer, µ\n" +
		"exactly twenty here.\n" +
		"a row of a table  that is long  12 s\n" +
		" 0 |░░░░░░░░██████████|\n" +
		"with numbers of\n  27.1 % and of 9 µs\n  (rank 7)\n" +
		"a last line that is longer"
	for _, test := range []struct {
		width, pieces int
		want          string
	}{{20, 1000, want}, {20, 1, want}, {20, 7, want}, {0, 7, text}} {
		t.Run(fmt.Sprintf("width %d in pieces of %d", test.width, test.pieces), func(t *testing.T) {
			var out strings.Builder
			w := &Wrapper{W: bufio.NewWriter(&out), Width: test.width}
			for left := text; left != ""; {
				n := min(test.pieces, len(left))
				if m, err := w.Write([]byte(left[:n])); m != n || err != nil {
					t.Fatal(m, err)
				}
				left = left[n:]
			}
			testenv.NoError(t, w.Flush())
			if out.String() != test.want {
				t.Errorf("got\n%s\nwant\n%s", &out, test.want)
			}
		})
	}
}
