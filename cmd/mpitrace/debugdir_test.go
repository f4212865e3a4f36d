package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The call sites of a stripped program have the functions and lines that addr2line finds in its
// debug file, once --debug-dir names the directory of that file. Before, the report says why they
// have none.
func TestDebugDir(t *testing.T) {
	m := mpis[1]
	testenv.Need(t, "objcopy", "strip", "addr2line")
	ring, err := filepath.Abs("testdata/ring.c")
	testenv.NoError(t, err)
	dir := t.TempDir()
	built := sh(t, dir, "mkdir debug && mpicc."+m.name+" -g -O2 "+ring+" -o app && objcopy --only-keep-debug app debug/app.debug && strip app")
	if run := sh(t, dir, "$mpitrace run -o run -- ./app 100"); built.code+run.code != 0 {
		t.Fatal(built.stderr, run.stderr)
	}
	const why = "call sites in app have no names: it is stripped, and no debug file was found"
	if got := sh(t, dir, "$mpitrace report --full run"); !strings.Contains(got.stdout, why) {
		t.Errorf("the report does not say %q:\n%s", why, got.stdout)
	}
	got := sh(t, dir, "$mpitrace report --json --debug-dir debug run")
	var report struct {
		Jobs []struct {
			CallSites []struct {
				Function, File, Module string
				Line                   int
				Offset                 uint64
			}
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || len(report.Jobs) != 1 || len(report.Jobs[0].CallSites) < 3 {
		t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	for _, c := range report.Jobs[0].CallSites {
		lines := strings.Split(sh(t, dir, fmt.Sprintf("addr2line -f -e debug/app.debug %#x", c.Offset-1)).stdout, "\n")
		place, _, _ := strings.Cut(lines[1], " (discriminator")
		if lines[0] != c.Function || place != fmt.Sprintf("%s:%d", c.File, c.Line) {
			t.Errorf("%+v, addr2line has %q", c, lines)
		}
	}
}
