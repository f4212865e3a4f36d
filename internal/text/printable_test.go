package text

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

func TestForms(t *testing.T) {
	for _, test := range []struct {
		name string
		of   func(string) string
		in   string
		want string
	}{
		{"a plain line", Line, "Köln → 3 µs", "Köln → 3 µs"},
		{"an escape sequence", Line, "\x1b[2J\x9b2J\u009b", `\x1b[2J\x9b2J\u009b`},
		{"line ends and tabs", Line, "a\r\n\tb\x00\x7f", `a\r\n\tb\x00\x7f`},
		{"text that turns around", Line, "a\u202eb\u2028c", `a\u202eb\u2028c`},
		{"the sign for what is no UTF-8", Line, "\ufffd", "\ufffd"},
		{"not ASCII", ASCII, "µ\x1b", `\u00b5\x1b`},
		{"lines", Lines, "a\n\tb\x1b\r", "a\n\tb\\x1b\\r"},
		{"a field", Field, "a\tb\nc\xff\x1b", "a?b?c??"},
		{"a formula", Cell, "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
		{"a formula behind blanks", Cell, "  @SUM(1)", "'  @SUM(1)"},
		{"a formula behind a tab", Cell, "\t=1", `\t=1`},
		{"a number below 0", Cell, "-1+2", "'-1+2"},
		{"no formula", Cell, "a=1", "a=1"},
		{"an empty cell", Cell, "", ""},
		{"a path upwards", FileName, "../../etc/x", "_._.._etc_x"},
		{"the directory above", FileName, "..", "_."},
		{"an option", FileName, "-rf", "_rf"},
		{"a line end", FileName, "a\nb\x1b\xff", "a_b__"},
		{"a long one", FileName, strings.Repeat("é", 80), strings.Repeat("é", 50)},
		{"a usual one", FileName, "lmp_mpi 2", "lmp_mpi 2"},
	} {
		if got := test.of(test.in); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// JSON must not change the values for readers, and must leave no control
// character.
func TestJSON(t *testing.T) {
	const in = "\x00\x1b\x7f\u009b\u202e\U000e0001é<script>\n"
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(text)
	var back string
	if err := json.Unmarshal(out, &back); err != nil || back != in {
		t.Errorf("%s reads as %q, %v", out, back, err)
	}
	if i := strings.IndexFunc(string(out), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q has a control character", out)
	}
}

func TestShellQuote(t *testing.T) {
	for _, word := range []string{"", "plain/path-1.rec", "two words", "it's", "$(date)", "a\nb", "*", `back\slash`} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellQuote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %q, %v", word, out, err)
		}
	}
}
