package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// merged makes a run directory of one rank, merged and without recordings.
func merged(t *testing.T) rundir.Dir {
	t.Helper()
	dir := rundir.Dir(t.TempDir())
	writeMerged(t, dir, profile.List{{Run: "a", Size: 1, Program: "/bin/app", State: profile.Finalized, Start: 1}})
	return dir
}

// writeMerged writes the tables of a run and run.json, as a merge writes them.
func writeMerged(t *testing.T, dir rundir.Dir, ps profile.List) {
	t.Helper()
	opened, err := source.Split(ps, source.Options{})
	testenv.NoError(t, err)
	err = errors.Join(readback.WriteTables(string(dir), opened), export.Merge(dir, opened, nil, new(rundir.Info), trace.EstimateClocks))
	testenv.NoError(t, err)
}

func TestReportWithDamagedInfo(t *testing.T) {
	reportWithDamagedInfo(t, merged(t), "app")
}

// Without ranks.arrow, processes without rows and programs are not known.
func TestReportOfRowsWithDamagedInfo(t *testing.T) {
	exported(t, "run")
	dir := rundir.Dir("run")
	testenv.NoError(t, errors.Join(os.Remove(dir.Ranks()), os.Remove(dir.Comms())))
	reportWithDamagedInfo(t, dir, "Allreduce")
}

// reportWithDamagedInfo damages run.json, and requires reports that have a text.
func reportWithDamagedInfo(t *testing.T, dir rundir.Dir, text string) {
	t.Helper()
	testenv.WriteFile(t, dir.Info(), "junk\n")
	for _, args := range [][]string{{"report"}, {"report", "--json"}, {"report", "--format", "prof"}} {
		got := call(append(args, string(dir))...)
		if got.code != 0 || !strings.Contains(got.stdout, text) || strings.Count(got.stderr, dir.Info()) != 1 {
			t.Errorf("%q: got %+v, want a report and a warning that names the file", args, got)
		}
		if args[len(args)-1] == "--json" && !json.Valid([]byte(got.stdout)) {
			t.Errorf("not JSON: %s", got.stdout)
		}
	}
	if b, err := os.ReadFile(dir.Info()); err != nil || string(b) != "junk\n" {
		t.Errorf("the file is now %q, %v", b, err)
	}
}

func TestReportOfRecordings(t *testing.T) {
	t.Chdir(t.TempDir())
	recordings := rundir.Dir("twice").Recordings()
	testenv.Mkdir(t, recordings)
	testenv.WriteFile(t, filepath.Join(recordings, "h-1-2.rec"), "")
	check := func(path, want string) {
		t.Helper()
		if got := call("report", path); got.code != exitUsage || got.stderr != "mpitrace: "+want+"\n" {
			t.Errorf("%s: got %+v, want %s", path, got, want)
		}
	}
	check("twice/recordings", "that is the recordings of twice: give twice")
	check("twice/recordings/", "that is the recordings of twice: give twice")
	parent, err := filepath.Abs("twice")
	testenv.NoError(t, err)
	t.Chdir(recordings)
	check(".", "that is the recordings of "+parent+": give "+parent)
}
