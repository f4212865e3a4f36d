package e2e

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// exportedSends returns the number of point-to-point messages sent in a run, or in a file of
// profiles, as export gives it.
func exportedSends(t *testing.T, input string) (sent int) {
	t.Helper()
	out := succeed(t, nil, mpitrace, "export", input, "--format", "csv", "-o", "-")
	rows, err := csv.NewReader(strings.NewReader(out.stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	class, direction, messages := slices.Index(rows[0], "class"), slices.Index(rows[0], "direction"), slices.Index(rows[0], "messages")
	for _, row := range rows[1:] {
		if row[class] == "p2p" && row[direction] == "send" {
			n, _ := strconv.Atoi(row[messages])
			sent += n
		}
	}
	return sent
}

// TestReportWhileRunning reports a job that was preloaded by hand while it runs.
// Afterwards everything must have all of its messages.
func TestReportWhileRunning(t *testing.T) {
	const half, ranks = 500, 2
	withEach(t, debian, func(t *testing.T, m implementation) {
		run := filepath.Join(t.TempDir(), "run")
		command := m.launch(ranks, preload(m.library(t), []string{"MPITRACE_DIR=" + run}, m.compile(t, "halves"), fmt.Sprint(half), run)...)
		job := exec.Command(command[0], command[1:]...)
		job.Stderr = os.Stderr
		if err := job.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(run + ".half"); err == nil {
				break
			}
			if time.Now().After(deadline) {
				job.Process.Kill()
				t.Fatal("the job does not come to its half")
			}
		}
		during := succeed(t, nil, mpitrace, "report", "--full", run)
		if !strings.Contains(during.stderr, "still running") {
			t.Errorf("report of a running job: %s", during.stderr)
		}
		if got := exportedSends(t, run); got != ranks*half {
			t.Errorf("%d messages at half, want %d", got, ranks*half)
		}
		if files, _ := filepath.Glob(filepath.Join(run, "*.arrow")); len(files) > 0 {
			t.Errorf("merged files of a running job: %q", files)
		}
		if err := os.WriteFile(run+".go", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := job.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := exportedSends(t, run); got != 2*ranks*half {
			t.Errorf("%d messages, want %d", got, 2*ranks*half)
		}
		succeed(t, nil, mpitrace, "report", "--full", run)
		if got := exportedSends(t, filepath.Join(run, "profile.arrow")); got != 2*ranks*half {
			t.Errorf("the merged file has %d messages, want %d", got, 2*ranks*half)
		}
	})
}

// TestContainerFullDisk records traced ranks on a disk that becomes full: the container is
// whole, has all calls, and can be packed.
func TestContainerFullDisk(t *testing.T) {
	const ranks, comms = 6, 60
	trials := 1
	if testenv.Runs(testenv.All) {
		trials = 12
	}
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "rings")
		for range trials {
			disk := testenv.SmallDisk(t, "800k")
			tmp := t.TempDir()
			run := filepath.Join(disk, "run")
			env := []string{"MPITRACE_DIR=" + run, "MPITRACE_TRACE=1", "TMPDIR=" + tmp}
			succeed(t, nil, m.launch(ranks, preload(m.library(t), env, program, fmt.Sprint(comms))...)...)
			copied := filepath.Join(t.TempDir(), "run") // there is no room for more
			succeed(t, nil, "cp", "-r", run, copied)
			succeed(t, nil, mpitrace, "collect", copied)
			if got, want := exportedSends(t, copied), ranks*comms*12; got != want {
				t.Errorf("%d messages, want %d", got, want)
			}
		}
	})
}
