package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestInputs gives each command everything that holds what a run recorded. A command that reads
// profiles must find the bytes that the job's formula tells, or say what to give it instead.
func TestInputs(t *testing.T) {
	const ranks = 60
	t.Chdir(t.TempDir())
	containers, members := makeInputs(t, ranks)
	total := synth.NewStencil(ranks).TotalP2P()
	read := []string{"run", "runs/a", "containers", "run/profile.arrow", "run/arrow", "dataset", "tables"}
	for _, path := range read {
		var found struct {
			Jobs []struct {
				Direct synth.Volume `json:"direct_traffic"`
			}
		}
		got := call("report", "--json", path)
		if err := json.Unmarshal([]byte(got.stdout), &found); err != nil || len(found.Jobs) != 1 || found.Jobs[0].Direct != total {
			t.Errorf("report %s: %v, %+v, want %+v\n%s", path, err, found, total, got.stderr)
		}
	}
	part := append(read, containers[0], members[0], "run/arrow/stencil.33.arrow")
	const (
		profOnly = "it holds traffic between ranks only: mpitrace matrix makes matrices of it"
		several  = "runs is not a run, but a directory of runs, such as runs/a: give one"
		within   = "is a part of the run run: give run"
		recs     = "that is the recordings of run: give run"
	)
	other := map[string]string{"run/prof": profOnly, "run/prof/stencil.0.prof": profOnly, "runs": several, "run/recordings": recs}
	runs := map[string]string{"run/arrow": within, "runs": several, "run/recordings": recs, "run/profile.arrow": "is a file", containers[0]: "is a file"}
	for _, test := range []struct {
		args    []string
		runOnly bool              // files are not read
		want    map[string]string // what is said of inputs that are not read
	}{
		{[]string{"report", "--json"}, false, other},
		{[]string{"report", "--html", "report.html", "--force"}, false, other},
		{[]string{"status"}, false, other},
		{[]string{"diff", "run"}, false, other},
		{[]string{"history"}, false, map[string]string{"run/prof": profOnly, "run/prof/stencil.0.prof": profOnly, "run/recordings": "it contains no run"}},
		{[]string{"export", "--format", "csv", "-o", "-"}, false, other},
		{[]string{"config", "--run"}, false, other},
		{[]string{"status", "--watch"}, true, runs},
		{[]string{"view"}, true, runs},
		{[]string{"merge"}, true, runs},
		{[]string{"analyze"}, true, runs},
		{[]string{"timeline"}, true, runs},
		{[]string{"list"}, true, map[string]string{"run/profile.arrow": "is a file, not a directory of runs: mpitrace report shows it"}},
	} {
		for path, want := range test.want {
			if got := call(append(slices.Clone(test.args), path)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
				t.Errorf("%q %s: got %+v, want %q", test.args, path, got, want)
			}
		}
		for _, path := range part {
			if test.runOnly {
				break
			}
			if got := call(append(slices.Clone(test.args), path)...); got.code != 0 {
				t.Errorf("%q %s: got status %d, %s", test.args, path, got.code, got.stderr)
			}
		}
	}
	if got := call("history", "--json", "runs", "tables"); got.code != 0 || strings.Count(got.stdout, `"run": `) != 3 {
		t.Errorf("history: %s %s", got.stderr, got.stdout)
	}
	if got := call("report", "--format", "prof", "run/profile.arrow"); got.code != exitUsage || !strings.Contains(got.stderr, "mpitrace export -o writes files of ranks") {
		t.Errorf("report --format: %+v", got)
	}
}

// makeInputs makes a run directory, files of all kinds that commands read, and copies of parts of
// the run. It returns the paths of the run's containers and of the recordings in the first container.
func makeInputs(t *testing.T, ranks int) (containers, members []string) {
	t.Helper()
	testenv.NoError(t, os.Rename(syntheticRun(t, ranks, "aa"), "run"))
	must := func(args ...string) {
		t.Helper()
		if got := call(args...); got.code != 0 {
			t.Fatalf("%q: %+v", args, got)
		}
	}
	must("report", "--format", "prof,arrow", "run")
	must("export", "--format", "arrow", "--partition", "7", "-o", "dataset", "run")
	must("export", "--format", "arrow", "--tables", "all", "-o", "tables", "run")
	containers = rundir.Dir("run").Containers()
	for i, dir := range []string{"runs/a", "runs/b", "containers"} {
		testenv.Mkdir(t, dir)
		for _, from := range containers {
			to := filepath.Join(rundir.Dir(dir).Recordings(), filepath.Base(from))
			if i == 2 {
				to = filepath.Join(dir, filepath.Base(from))
			}
			os.MkdirAll(filepath.Dir(to), 0o777)
			testenv.NoError(t, os.Link(from, to))
		}
	}
	members, err := recording.Members(containers[0])
	testenv.NoError(t, err)
	return containers, members
}

// TestUnknownLifetimes has profile.arrow without ranks.arrow, which has when processes ran.
func TestUnknownLifetimes(t *testing.T) {
	t.Chdir(t.TempDir())
	run := syntheticRun(t, 8, "aa")
	if got := call("report", run); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	testenv.NoError(t, os.Link(rundir.Dir(run).Profile(), "alone.arrow"))
	var d struct {
		Jobs []struct {
			Wall struct{ A, B, Change, Relative *float64 } `json:"wall_time_ns"`
			App  struct{ A, B, Change, Relative *float64 } `json:"application_time_ns"`
			MPI  struct {
				Time struct{ A, B *float64 } `json:"time_ns"`
			} `json:"total"`
		}
	}
	for i, args := range [][]string{{"alone.arrow", run}, {run, "alone.arrow"}} {
		got := call(append([]string{"diff", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(got.stdout), &d); err != nil || len(d.Jobs) != 1 {
			t.Fatalf("%v: %+v", err, got)
		}
		j := d.Jobs[0]
		if i == 1 {
			j.Wall.A, j.Wall.B, j.App.A, j.App.B = j.Wall.B, j.Wall.A, j.App.B, j.App.A
		}
		if j.Wall.A != nil || j.App.A != nil || j.Wall.B == nil || j.App.B == nil || j.Wall.Change != nil || j.App.Relative != nil {
			t.Errorf("%q: got %+v", args, j)
		}
		if *j.MPI.Time.A != *j.MPI.Time.B {
			t.Errorf("%q: time in MPI %v and %v", args, *j.MPI.Time.A, *j.MPI.Time.B)
		}
	}
	t.Setenv("LC_ALL", "C")
	text := call("diff", "alone.arrow", run).stdout
	for _, line := range []string{`wall time +- +1\.\d+ s +-`, `application +- +\d.* s +-`} {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(text) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	if got := call("report", "--full", "alone.arrow"); got.code != 0 || !strings.Contains(got.stdout, "wall time -; over all ranks: application -, of which in MPI ") {
		t.Errorf("%+v", got)
	}
	if got := call("report", "--json", "alone.arrow"); !strings.Contains(got.stdout, `"wall_time_s": null`) || strings.Contains(got.stdout, `_time_s": 0,`) {
		t.Errorf("%+v", got)
	}
}
