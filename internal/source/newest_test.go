package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// makeRun makes a run directory with a run.json.
func makeRun(t *testing.T, dir, name string, started int64, programs ...string) {
	t.Helper()
	d, err := rundir.CreateAt(filepath.Join(dir, name))
	testenv.NoError(t, err)
	info := &rundir.Info{Start: time.Unix(started, 0)}
	for _, program := range programs {
		info.Jobs = append(info.Jobs, rundir.JobInfo{Program: program})
	}
	testenv.NoError(t, d.WriteInfo(info))
}

// TestNewest checks that the start of a run decides, not its name or the time at which its files
// were written.
func TestNewest(t *testing.T) {
	dir := t.TempDir()
	if _, err := Newest(dir); err == nil || !strings.Contains(err.Error(), "no run is named, and "+dir+" has no run directory") || !errors.As(err, new(*rundir.InputError)) {
		t.Errorf("no run: %v", err)
	}
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "other"), 0o755))
	makeRun(t, dir, "b", 3000, "ocean")
	makeRun(t, dir, "z", 1000, "ocean")
	makeRun(t, dir, "a", 2000, "atmos")
	if got, err := Newest(dir); err != nil || got != filepath.Join(dir, "b") {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := Newest(filepath.Join(dir, "a")); err != nil || got != filepath.Join(dir, "a") {
		t.Errorf("in a run: got %s, %v", got, err)
	}
	if _, err := Newest(filepath.Join(dir, "a", "recordings")); err == nil || !strings.Contains(err.Error(), "that is the recordings of "+filepath.Join(dir, "a")) {
		t.Errorf("in its recordings: %v", err)
	}
	if _, err := Newest(filepath.Join(dir, "none")); err == nil {
		t.Error("no directory, and no error")
	}
}

// TestNewestWithoutInfo checks that a run whose ranks recorded themselves has a start.
func TestNewestWithoutInfo(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, "before", 1000, "app")
	d, err := rundir.CreateAt(filepath.Join(dir, "self"))
	testenv.NoError(t, err)
	testenv.WriteFile(t, filepath.Join(d.Recordings(), "h-1-1.rec"), "")
	if got, err := Newest(dir); err != nil || got != string(d) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestNewestTwo(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, "only", 9000, "other")
	if _, _, err := NewestTwo(dir); err == nil || !strings.Contains(err.Error(), "has only one run of other that is yours, "+filepath.Join(dir, "only")) {
		t.Errorf("one run: %v", err)
	}
	makeRun(t, dir, "first", 10_000, "ocean", "atmos")
	makeRun(t, dir, "second", 11_000, "ocean", "atmos")
	makeRun(t, dir, "single", 11_500, "ocean")
	makeRun(t, dir, "third", 12_000, "ocean-job1", "atmos-job2")
	a, b, err := NewestTwo(dir)
	if err != nil || a != filepath.Join(dir, "second") || b != filepath.Join(dir, "third") {
		t.Errorf("got %s, %s, %v", a, b, err)
	}
}

// TestNewestOfOthers checks that no run of another user is taken without being named.
func TestNewestOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can give a directory to another user; in CI, the tests run as root
	}
	dir := t.TempDir()
	makeRun(t, dir, "theirs", 3000, "app")
	testenv.NoError(t, os.Chown(filepath.Join(dir, "theirs"), 65533, 65533))
	if _, err := Newest(dir); err == nil || !strings.Contains(err.Error(), "has no run of yours, only 1 run of other users, such as "+filepath.Join(dir, "theirs")) {
		t.Errorf("got %v", err)
	}
	makeRun(t, dir, "mine", 1000, "app")
	if got, err := Newest(dir); err != nil || got != filepath.Join(dir, "mine") {
		t.Errorf("got %s, %v", got, err)
	}
}
