package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// versionOf returns the runs of a program: on each number of ranks, a call site that
// takes a share of the time outside MPI.
func versionOf(id string, start time.Duration, share float64) synth.Scaling {
	return synth.Scaling{Name: "app", Version: id, Start: int64(start), Useful: synth.Growth{Ns: 8e9, Exponent: -0.9}, Sites: []synth.Growth{
		{Call: "Allreduce", Line: 10, Ns: 8e9 * share, Exponent: 0.5}, {Call: "Barrier", Line: 20, Ns: 1e9, Exponent: -1}}}
}

// writeRun writes a run directory. Up to two ranks have recordings of their own; more are in
// packed containers, which have the names of call sites.
func writeRun(t *testing.T, dir string, s synth.Scaling, ranks int) string {
	t.Helper()
	d := rundir.Dir(dir)
	testenv.Mkdir(t, d.Recordings())
	job := s.Job(ranks)
	if ranks > 2 {
		testenv.NoError(t, container.WriteAll(d.Recordings(), job, nil))
		return dir
	}
	for rank := range ranks {
		recordingtest.Record(t, filepath.Join(d.Recordings(), fmt.Sprintf("app.%d.rec", rank)), job.Profile(rank))
	}
	return dir
}

// readHistoryJSON returns what a command printed as JSON.
func readHistoryJSON(t *testing.T, args ...string) (h history.History, got output) {
	t.Helper()
	got = call(append([]string{"history", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(got.stdout), &h); err != nil {
		t.Fatalf("status %d, %v\n%s%s", got.code, err, got.stderr, got.stdout)
	}
	return h, got
}

// TestHistoryScaling compares efficiencies with those of `report`, and exponents with
// those that the jobs were made with, up to 4,096 ranks.
func TestHistoryScaling(t *testing.T) {
	testenv.At(t, testenv.Quick)
	dir, s := t.TempDir(), versionOf("aa", 0, 0.001)
	for _, ranks := range []int{1, 8, 64, 512, 4096} {
		writeRun(t, filepath.Join(dir, fmt.Sprint(ranks)), s, ranks)
	}
	h, got := readHistoryJSON(t, dir)
	if got.code != 0 || got.stderr != "" || len(h.Runs) != 5 || len(h.Scaling) != 1 || len(h.Scaling[0].Points) != 5 {
		t.Fatalf("status %d, %d runs: %s", got.code, len(h.Runs), got.stderr)
	}
	for i, p := range h.Scaling[0].Points {
		if want := popOfReport(t, h.Runs[i].Dir); *h.Runs[i].POP != want || p.ParallelEfficiency != want.ParallelEfficiency ||
			p.LoadBalance != want.LoadBalance || p.CommunicationEfficiency != want.CommunicationEfficiency {
			t.Errorf("%d ranks: %+v, report has %+v", p.Ranks, p, want)
		}
	}
	for i, want := range []struct {
		site     string
		exponent float64
	}{{"Allreduce", 0.5}, {"Barrier", -1}} {
		if g := h.Scaling[0].Sites[i]; g.Call != want.site || math.Abs(g.Exponent-want.exponent) > 0.02 {
			t.Errorf("%+v, want %g", g, want.exponent)
		}
	}
	text := call("history", dir)
	for _, line := range []string{"scaling: app --steps 100, version aa", "ideal", "exponent -1: divided among the ranks"} {
		if !strings.Contains(text.stdout, line) {
			t.Errorf("%q is not in\n%s", line, text.stdout)
		}
	}
}

// popOfReport returns the efficiency that `report` prints for a run.
func popOfReport(t *testing.T, dir string) aggregate.POP {
	t.Helper()
	var out struct {
		Jobs []struct{ POP *aggregate.POP }
	}
	got := call("report", "--json", dir)
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil || len(out.Jobs) != 1 || out.Jobs[0].POP == nil {
		t.Fatalf("%v: %s", err, got.stderr)
	}
	return *out.Jobs[0].POP
}

// twoVersions writes three runs of each of two versions on 4 ranks. The Allreduce takes
// 10 %, and a half of the time outside MPI in the second version.
func twoVersions(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 3 {
		at := time.Duration(i) * time.Minute
		writeRun(t, filepath.Join(dir, fmt.Sprintf("a%d", i)), versionOf("aa", at, 0.1), 4)
		writeRun(t, filepath.Join(dir, fmt.Sprintf("b%d", i)), versionOf("bb", time.Hour+at, 0.5), 4)
	}
	return dir
}

// TestVerdicts requires that diff and history begin with the verdict, in text and in JSON. Outside
// MPI are 8 s × 4^-0.9 = 2.30 s, in the Allreduce 0.8 s × √4 = 1.60 s and then 8 s, in the Barrier
// 0.25 s, and in MPI_Init and MPI_Finalize 49 ms.
func TestVerdicts(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	dir := twoVersions(t)
	a, b := filepath.Join(dir, "a0"), filepath.Join(dir, "b0")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"diff", a, b}, "B is 2.5 times slower (4.15 s → 10.5 s); MPI_Allreduce at step app.c:10 carries 100 % of the difference."},
		{[]string{"diff", "--ignore-time", a, b}, "Times are not compared (--ignore-time). B sends as many bytes and messages as A."},
		{[]string{"history", dir}, "Version bb is 2.5 times slower than aa on 4 ranks (4.20 s → 10.6 s), which is more than the spread of repetitions."},
	} {
		got := call(test.args...)
		if words, _, _ := strings.Cut(got.stdout, "\n\n"); strings.Join(strings.Fields(words), " ") != test.want {
			t.Errorf("%v: got %q, want %q", test.args, words, test.want)
		}
		type verdict struct{ Verdict string }
		var read struct {
			verdict
			Jobs []verdict
		}
		if err := json.Unmarshal([]byte(call(append(test.args, "--json")...).stdout), &read); err != nil {
			t.Fatal(err)
		}
		if got := append(read.Jobs, read.verdict)[0].Verdict; got != test.want {
			t.Errorf("%v --json: got %q, want %q", test.args, got, test.want)
		}
	}
}

// files returns the files below a directory with their sizes and times.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	if err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		all = append(all, fmt.Sprint(path, info.Size(), info.ModTime()))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHistoryVersions requires that the call site that is slower is named in every
// output, that limits work, and that nothing is written to the runs.
func TestHistoryVersions(t *testing.T) {
	dir := twoVersions(t)
	before := files(t, dir)
	h, got := readHistoryJSON(t, dir)
	if got.code != 0 || len(h.Evolution) != 1 || len(h.Evolution[0].Steps) != 1 || len(h.Configurations) != 2 {
		t.Fatalf("status %d: %s", got.code, got.stderr)
	}
	s := h.Evolution[0].Steps[0]
	i := slices.IndexFunc(s.Changes, func(c history.Change) bool { return c.Of == history.OfCallSite })
	if i < 0 || s.Changes[i].Name != "step app.c:10" || s.Changes[i].Call != "Allreduce" || s.Changes[i].Measure != history.Time ||
		math.Abs(s.Changes[i].Difference()-4*2*0.4*8e9) > 10 { // 4 ranks × √4 × (0.5 - 0.1) × 8 s
		t.Errorf("%+v", s.Changes)
	}
	var diff []*aggregate.Diff = diffs(t, call("diff", "--json", "--sort", "time", filepath.Join(dir, "a0"), filepath.Join(dir, "b0")))
	if s.Diff == nil || s.Diff.Total != diff[0].Total || len(s.Diff.CallSites) != len(diff[0].CallSites) {
		t.Errorf("%+v, diff has %+v", s.Diff, diff[0])
	}
	for _, args := range [][]string{{dir}, {"--markdown", dir}, {"--top", "all", filepath.Join(dir, "a0"), filepath.Join(dir, "b0"), dir}} {
		got := call(append([]string{"history"}, args...)...)
		words := strings.Join(strings.Fields(strings.ReplaceAll(got.stdout, "|", " ")), " ")
		if got.code != 0 || !strings.Contains(words, "step app.c:10 Allreduce") || strings.Contains(words, "step app.c:20 Barrier") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	checkHistoryLimits(t, dir)
	page := filepath.Join(t.TempDir(), "history.html")
	if got := call("history", "--html", page, dir); got.code != 0 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if after := files(t, dir); !slices.Equal(before, after) {
		t.Errorf("the runs changed:\n%q\n%q", before, after)
	}
}

// checkHistoryLimits checks limits against the time in MPI of each rank: 2 × 0.8 s and
// 0.25 s, then 2 × 4 s and 0.25 s. The total grows by 346 %, Allreduce by 400 %.
func checkHistoryLimits(t *testing.T, dir string) {
	t.Helper()
	for limit, want := range map[string][]string{"300%": {"total time", "Allreduce time"}, "time=390%": {"Allreduce time"}, "500%": nil, "bytes=0%": nil} {
		got := call("history", "--markdown", "--fail-if-worse", limit, dir)
		status := 0
		if len(want) > 0 {
			status = exitExceeded
		}
		if got.code != status || strings.Contains(got.stdout, "nothing grew by more than --fail-if-worse allows") != (want == nil) {
			t.Errorf("%s: status %d, want %d\n%s%s", limit, got.code, status, got.stdout, got.stderr)
		}
		for _, name := range []string{"total time", "Allreduce time"} {
			if strings.Contains(got.stderr, name) != slices.Contains(want, name) {
				t.Errorf("%s: %s", limit, got.stderr)
			}
		}
	}
	one := filepath.Join(dir, "a0")
	if got := call("history", "--fail-if-worse", "0%", one); got.code != 0 || !strings.Contains(got.stderr, "compared nothing") {
		t.Errorf("one version: %+v", got)
	}
	if got := call("history", "--fail-if-worse", "500%", one, filepath.Join(dir, "b0")); got.code != 0 || !strings.Contains(got.stderr, "the spread is not known") ||
		!strings.Contains(got.stdout, "The spread is not known") {
		t.Errorf("single runs: %+v", got)
	}
}

// TestHistorySkips requires that damaged and empty runs are named and left out.
func TestHistorySkips(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "good"), versionOf("aa", 0, 0.1), 2)
	cut := filepath.Join(writeRun(t, filepath.Join(dir, "cut"), versionOf("aa", 0, 0.1), 2), "recordings", "app.1.rec")
	testenv.NoError(t, os.Truncate(cut, 5000))
	testenv.Mkdir(t, filepath.Join(dir, "empty", "recordings"))
	testenv.WriteFile(t, filepath.Join(dir, "empty", "run.json"), "{}")
	testenv.Mkdir(t, filepath.Join(dir, "other"))
	h, got := readHistoryJSON(t, dir, filepath.Join(dir, "other"))
	var left []string
	for _, s := range h.Skipped {
		left = append(left, fmt.Sprint(filepath.Base(s.Dir), " ", s.Damaged))
	}
	slices.Sort(left)
	if got.code != 0 || len(h.Runs) != 1 || !slices.Equal(left, []string{"cut true", "empty false", "other false"}) {
		t.Errorf("%q, %s", left, got.stderr)
	}
	for _, name := range []string{"cut", "empty", "other"} {
		if !strings.Contains(got.stderr, "mpitrace: left out: "+filepath.Join(dir, name)+": ") {
			t.Errorf("%s is not named: %s", name, got.stderr)
		}
	}
	if got := call("history", "--fail-if-worse", "10%", dir); got.code != exitError || !strings.Contains(got.stderr, "does not accept damaged runs") {
		t.Errorf("%+v", got)
	}
}

func TestHistoryWrongUse(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct{ args, want string }{
		{"", "requires at least 1 arg"},
		{"none", "no run can be read in none"},
		{".", "no run can be read in .: give run directories"},
		{"--json --markdown .", "cannot be combined"},
		{"--fail-if-worse much .", "is not a percentage"},
		{"--fail-if-worse= .", "is not a percentage"},
		{"--force .", "need --html"},
		{"--top few .", "or all"},
	} {
		got := call(strings.Fields("history " + test.args)...)
		if got.code != exitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
			t.Errorf("%q: %+v, want %q", test.args, got, test.want)
		}
	}
}
