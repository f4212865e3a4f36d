package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// TestKilled kills a rank with SIGKILL while it sends. The rank announces each
// send that has finished. The recording must have the announced sends, and at
// most one more, which had finished but was not announced yet.
func TestKilled(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		for range 3 { // each time at another instruction
			killOnce(t, m)
		}
	})
}

func killOnce(t *testing.T, m implementation) {
	t.Helper()
	dir, n, talk := killSender(t, m)
	checkKilled(t, dir, n)
	if t.Failed() {
		t.Logf("mpitrace said\n%s", talk)
	}
}

// killSender records the program announce with these flags, and kills its rank
// 1. n is the number of sends that the rank has announced; talk is mpitrace's
// output.
func killSender(t *testing.T, m implementation, flags ...string) (dir string, n uint64, talk *bytes.Buffer) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	announced := filepath.Join(t.TempDir(), "announced")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := append(append([]string{"run", "-o", dir}, append(flags, "--")...), m.launch(2, m.compile(t, "announce"), announced)...)
	cmd := exec.CommandContext(ctx, mpitrace, command...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	talk = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = talk, talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := awaitAnnounced(ctx, t, announced, 500)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("exit status 0 of a job that lost a rank\n%s", talk)
	}
	return dir, uint64(len(readAll(t, announced))), talk
}

// awaitAnnounced waits until a rank has announced n sends, and returns its
// process id.
func awaitAnnounced(ctx context.Context, t *testing.T, path string, n int64) int {
	t.Helper()
	for {
		if info, err := os.Stat(path); err == nil && info.Size() >= n {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%d sends were never announced", n)
		}
		time.Sleep(time.Millisecond)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(readAll(t, path+".pid"))))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkKilled requires that rank 1 has n sends or one more, and that the report
// says that it is partial.
func checkKilled(t *testing.T, dir string, n uint64) {
	t.Helper()
	ranks := readRecordings(t, dir)
	if len(ranks) != 2 {
		t.Fatalf("%d recordings, want 2", len(ranks))
	}
	if ranks[1].State != profile.Running {
		t.Errorf("state of the killed rank: %v, want running", ranks[1].State)
	}
	got := pointToPoint(ranks)[pair{1, 0}]
	checkSends(t, 1, got.Count, got.Bytes, n)
	report := succeed(t, nil, mpitrace, "report", "--full", dir)
	if !strings.Contains(report.stdout+report.stderr, "partial") {
		t.Errorf("the report does not say that it is partial:\n%s%s", report.stdout, report.stderr)
	}
}
