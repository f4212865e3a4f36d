package trace

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/*.txt anew")

func TestText(t *testing.T) {
	j := pipeline()
	came(j, "Allreduce", -1, 95, 91, 92, 94)
	for _, p := range j {
		p.trace.FinalizeStart = at(100)
	}
	j[0].send("Send", 2, 96, 97)
	for _, test := range []struct {
		file    string
		o       TextOptions
		dropped uint64
	}{{"testdata/pipeline.txt", TextOptions{Top: 10}, 0}, {"testdata/top.txt", TextOptions{ASCII: true, Top: 1}, 0}, {"testdata/cut.txt", TextOptions{Top: 10}, 7}} {
		var b bytes.Buffer
		j[1].trace.Dropped = test.dropped
		got := analyze(t, j, Options{})
		if err := got.Text(&b, test.o); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(test.file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(test.file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.file, diff)
		}
		if test.o.ASCII && strings.ContainsFunc(b.String(), func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("%s is not ASCII:\n%s", test.file, &b)
		}
	}
}

// Names that the program chose cannot reach the terminal as they are, nor make
// lines longer than they may be.
func TestTextOfHostileNames(t *testing.T) {
	r := &Result{CriticalPath: &CriticalPath{Callsites: []PathPlace{{Call: "Recv\x1b[2J", Callsite: strings.Repeat("é", 300)}}},
		WaitStates: []WaitState{{Pattern: LateSender, Callsite: "f\n" + strings.Repeat("x", 300), Communicator: "\x1b]0;name\a"}}}
	var b bytes.Buffer
	if err := r.Text(&b, TextOptions{Top: -1, Width: textWidth}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\a") {
		t.Errorf("control characters in %q", &b)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
			t.Errorf("%d characters in a line: %s", n, line)
		}
	}
}
