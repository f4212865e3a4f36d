package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestNewestRun checks that commands without a run take the newest one of the current directory,
// name it on standard error, and print what they print if it is named.
func TestNewestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{"report", "view", "analyze", "timeline", "status", "status --watch", "diff"} {
		got := call(strings.Fields(args)...)
		if got.code != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, "no run is named, and the current directory has no run directory") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	for i, name := range []string{"newest", "between", "oldest"} {
		testenv.Mkdir(t, name)
		writeMerged(t, rundir.Dir(name), profile.List{{Run: name, Size: 1, Program: "/bin/app", State: profile.Finalized, Start: int64(3-i) * 1e18 / 2}})
	}
	for _, args := range []string{"report", "report --full", "report --json", "report --brief --json", "report --rank 0", "status", "status --watch", "analyze", "timeline"} {
		got, named := call(strings.Fields(args)...), call(append(strings.Fields(args), "newest")...)
		if got.stdout != named.stdout || got.code != named.code || got.stderr != "mpitrace: the newest run: newest\n"+named.stderr {
			t.Errorf("%s: %+v, named: %+v", args, got, named)
		}
	}
	got, named := call("diff"), call("diff", "between", "newest")
	if got.stdout != named.stdout || got.code != 0 || !strings.HasPrefix(got.stderr, "mpitrace: the newest two runs of one program: A is between, B is newest\n") {
		t.Errorf("diff: %+v", got)
	}
	if got := call("diff", "newest"); got.code != exitUsage || !strings.Contains(got.stderr, "name two runs, or none for the newest two") {
		t.Errorf("diff of one: %+v", got)
	}
}

// TestReportLengths checks what each flag of report makes it print.
func TestReportLengths(t *testing.T) {
	run := syntheticRun(t, 40, "aa")
	lines := func(args ...string) int {
		got := call(append([]string{"report", run}, args...)...)
		if got.code != 0 {
			t.Fatalf("%q: %+v", args, got)
		}
		return strings.Count(got.stdout, "\n")
	}
	lines() // merges the run: only then is it known that it has ended
	short, full := lines(), lines("--full")
	if short > 25 || lines("--brief") != short || full < 50 || lines("--sort", "time") != full || lines("--top", "10") != full {
		t.Errorf("%d lines, with --full %d", short, full)
	}
	whole, brief := call("report", "--json", run).stdout, call("report", "--brief", "--json", run).stdout
	if call("report", "--json", "--full", run).stdout != whole || len(brief) > 8192 || !json.Valid([]byte(brief)) || len(whole) < 2*len(brief) {
		t.Errorf("%d bytes of JSON, with --brief %d", len(whole), len(brief))
	}
	for _, args := range []string{"--brief --full", "--brief --top all", "--brief --sort time", "--brief --rank 0", "--brief --html x.html"} {
		got := call(append([]string{"report", run}, strings.Fields(args)...)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, "--brief cannot be combined with") {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
