package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestList requires one line for each run in a directory, the latest first,
// with data from run.json and the recordings. Other directories are ignored.
func TestList(t *testing.T) {
	dir := t.TempDir()
	killed, failed, day := 137, 3, time.Date(2026, 1, 2, 15, 4, 5, 0, time.Local)
	for name, info := range map[string]rundir.Info{
		"killed": {Start: day, WallNs: 90e9, ExitStatus: &killed,
			Jobs: []rundir.JobInfo{{Program: "app", Size: 64, Library: "Open MPI v4.1.4, package: x"}}},
		"script": {Start: day.Add(time.Hour), WallNs: 1500e6, ExitStatus: &failed, MPI: map[string]any{"flavour": "mpich", "version": "4.0.2"},
			Jobs: []rundir.JobInfo{{Program: "app-job1", Size: 2}, {Program: "app-job2", Size: 4}}},
	} {
		testenv.Mkdir(t, filepath.Join(dir, name))
		testenv.NoError(t, rundir.Dir(filepath.Join(dir, name)).WriteInfo(&info))
	}
	// Without run.json, as if the ranks had recorded themselves.
	runDir := string(wholeRun(t))
	os.Remove(filepath.Join(runDir, "run.json"))
	testenv.NoError(t, os.Rename(runDir, filepath.Join(dir, "ranks")))
	testenv.Mkdir(t, filepath.Join(dir, "other"))
	t.Chdir(dir)
	got := call("list")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || got.stderr != "" || len(lines) != 4 {
		t.Fatalf("%+v, want 3 runs", got)
	}
	for i, want := range []string{
		`^run +program +ranks +MPI +started +time +ended +size$`,
		`^script +app +2\+4 +MPICH 4\.0\.2 +2026-01-02 16:04:05 +1\.50 s +exit 3 +\d+ B$`,
		`^killed +app +64 +Open MPI v4\.1\.4 +2026-01-02 15:04:05 +90\.0 s +137 \(SIGKILL\) +\d+ B$`,
		`^ranks +ring +2 .* \? +finalized +[0-9.]+ KiB$`,
	} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d: %q, want %s", i, lines[i], want)
		}
	}
	var runs []source.Entry
	if got := call("list", "--json", "killed"); json.Unmarshal([]byte(got.stdout), &runs) != nil || len(runs) != 1 ||
		*runs[0].ExitStatus != 137 || runs[0].WallNs != 90e9 || runs[0].Jobs[0].Size != 64 {
		t.Errorf("got %+v", got)
	}
	if got := call("list", "other"); got.code != 0 || got.stdout != "" {
		t.Errorf("no run: %+v", got)
	}
	if got := call("list", "none"); got.code != exitUsage {
		t.Errorf("no directory: %+v", got)
	}
}
