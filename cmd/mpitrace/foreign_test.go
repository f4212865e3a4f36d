package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// wholeRun makes a run directory of two ranks, with a file of each kind.
func wholeRun(t *testing.T) rundir.Dir {
	t.Helper()
	dir := rundir.Dir(writeTraces(t, synth.NewHalo(2, 3)))
	testenv.Mkdir(t, dir.Recordings())
	for rank := range 2 {
		path := filepath.Join(dir.Recordings(), fmt.Sprintf("h-%d-1.rec", rank+1))
		recordingtest.Record(t, path, synth.NewRing(2).Profile(rank))
	}
	if got := call("report", string(dir)); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	return dir
}

// TestForeignFiles replaces each file of a run directory by what another user
// may have put there. Commands must neither block nor run out of memory.
func TestForeignFiles(t *testing.T) {
	kinds := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"sparse": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, 50<<30))
		},
	}
	for _, test := range []struct {
		file   string
		merged bool     // remove the recordings
		reads  []string // commands; only the first must name the file in an error
	}{
		{"run.json", false, []string{"report", "collect", "analyze"}},
		{"profile.arrow", true, []string{"report", "collect"}},
		{"pvars.arrow", true, []string{"report", "collect"}},
		{"trace.0.arrow", false, []string{"analyze", "timeline -o t.svg"}},
		{"recordings/h-1-1.rec", false, []string{"report", "collect", "dump"}},
		{"recordings/h-1-1.events", false, []string{"report", "analyze", "collect"}},
	} {
		for kind, put := range kinds {
			t.Run(test.file+" "+kind, func(t *testing.T) {
				dir := wholeRun(t)
				path := filepath.Join(string(dir), test.file)
				if test.merged {
					os.RemoveAll(dir.Recordings())
				}
				os.Remove(path)
				testenv.NoError(t, put(path))
				for i, command := range test.reads {
					of := string(dir)
					if command == "dump" {
						of = path
					}
					got := sh(t, t.TempDir(), "ulimit -v 8000000; exec timeout 30 $mpitrace "+command+" "+of)
					if got.code == 124 || got.code > 4 || strings.Contains(got.stderr, "goroutine") {
						t.Errorf("%s: exit status %d\n%.500s", command, got.code, got.stderr)
					}
					if i == 0 && !strings.Contains(got.stderr, filepath.Base(path)) {
						t.Errorf("%s does not name the file: %s", command, got.stderr)
					}
				}
			})
		}
	}
}
