package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// TestLate has a launcher that ignores SIGTERM. The report must be written all
// the same. The job continues until it ends, and `mpitrace collect` must then
// collect what it has recorded since.
func TestLate(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		deaf := []string{mpitrace, "run", "--mpi", m.name, "-o", dir, "--", "sh", "-c", `trap "" TERM; "$@"; exit 7`, "sh"}
		s := m.onTerminal(t, false, deaf, "ring")
		start := time.Now()
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.await(t, "waiting for the job to end")
		if took := time.Since(start); took > soon {
			t.Errorf("the report came after %v", took)
		}
		if text := s.text(); !strings.Contains(text, "partial") || !strings.Contains(text, "3 of 3 ranks") {
			t.Errorf("no report:\n%s", text)
		}
		checkUncollected(t, dir, lasting)
		copies, err := filepath.Glob(filepath.Join(dir, "recordings", "*.rec"))
		if err != nil || len(copies) != lasting {
			t.Errorf("%q are copied into the run directory, want %d recordings: %v", copies, lasting, err)
		}
		early := messageCount(readFiles(t, copies))
		if early < 3*lasting {
			t.Errorf("%d messages in the first report, want %d or more", early, 3*lasting)
		}
		s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.done:
			t.Error("a second SIGTERM ended mpitrace while the job continues")
		case <-time.After(300 * time.Millisecond):
		}
		s.cmd.Process.Kill()
		s.wait(t)
		checkRunning(t, s)
		if out := execute(t, nil, mpitrace, "collect", dir); out.code != 1 || strings.Count(out.stderr, "its process is still running") != lasting {
			t.Errorf("collected while the job runs: status %d\n%s", out.code, out.stderr)
		}
		s.killRanks()
		checkCollected(t, dir)
		if late := messageCount(readRecordings(t, dir)); late <= early {
			t.Errorf("%d messages collected, want more than the %d of the first report", late, early)
		}
	})
}

// TestRunKilled kills mpitrace itself. The job must continue unharmed, and
// `mpitrace collect` must collect its recordings afterwards.
func TestRunKilled(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		s := m.onTerminal(t, false, []string{mpitrace, "run", "-o", dir, "--"}, "ring")
		launcher := s.launcher()
		s.cmd.Process.Kill()
		s.wait(t)
		checkRunning(t, s)
		checkUncollected(t, dir, 1) // the spool
		if out := succeed(t, nil, mpitrace, "report", "--full", dir); !strings.Contains(out.stdout, "3 of 3 ranks") {
			t.Errorf("no report while the job runs:\n%s", out.stdout)
		}
		syscall.Kill(launcher, syscall.SIGTERM)
		if s.ranksLeft() > 0 {
			t.Error("the launcher did not end its ranks")
		}
		checkCollected(t, dir)
		if n := messageCount(readRecordings(t, dir)); n < 3*lasting {
			t.Errorf("%d messages, want %d or more", n, 3*lasting)
		}
	})
}

// checkRunning requires that the ranks still run.
func checkRunning(t *testing.T, s *session) {
	t.Helper()
	for _, pid := range s.ranks {
		if !running(pid) {
			t.Errorf("process %d of the job ended", pid)
		}
	}
}

// checkUncollected requires that run.json lists n uncollected items, and at
// least one in the spool.
func checkUncollected(t *testing.T, dir string, n int) {
	t.Helper()
	info, err := rundir.Dir(dir).ReadInfo()
	if err != nil {
		t.Fatal(err)
	}
	inSpool := func(place string) bool { return strings.HasPrefix(place, info.Host+":"+info.Spool) }
	if len(info.Uncollected) != n || info.ExitStatus != nil || !slices.ContainsFunc(info.Uncollected, inSpool) {
		t.Errorf("not collected: %q, want %d in %s", info.Uncollected, n, info.Spool)
	}
}

// checkCollected collects, and requires that all recordings of the job are
// there and that nothing is left in the spool or half written.
func checkCollected(t *testing.T, dir string) {
	t.Helper()
	succeed(t, nil, mpitrace, "collect", dir)
	info, err := rundir.Dir(dir).ReadInfo()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(info.Spool); !os.IsNotExist(err) || len(info.Uncollected) > 0 {
		t.Errorf("not collected: %q; the spool: %v", info.Uncollected, err)
	}
	if n := len(readRecordings(t, dir)); n != lasting || len(info.Jobs) != 1 || info.Jobs[0].Recorded != lasting {
		t.Errorf("%d recordings, jobs %+v", n, info.Jobs)
	}
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".part") {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
}

// messageCount returns the number of messages that the job sent.
func messageCount(ranks []*profile.Profile) (n uint64) {
	for _, sent := range pointToPoint(ranks) {
		n += sent.Count
	}
	return n
}
