package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/live"
)

// TestWatch watches a job that hangs until its end: as JSON, and as text.
func TestWatch(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		h := hang(t, m, "recv")
		h.await(t, func(s *aggregate.JobStatus) bool { return s.Running == 4 }, h.dir)
		asJSON, lines := watch(t, h, "--json")
		_, text := watch(t, h)
		var found *live.LiveJob
		for found == nil && lines.Scan() {
			var r live.Snapshot
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%v: %s", err, lines.Bytes())
			}
			for i := range r.Jobs {
				if j := &r.Jobs[i]; len(j.Status.Deadlocks) > 0 && j.Status.Running == 4 && j.Hanging == "ranks 0-3" {
					found = j
				}
			}
		}
		if found == nil {
			h.Process.Signal(syscall.SIGTERM)
			h.Wait()
			t.Fatalf("no reading has the deadlock\n%s", h.said)
		}
		checkRecv(t, found.Status.Processes, found.Status.Deadlocks)
		var all strings.Builder
		const hanging = "hanging, in one call for more than 5 s: ranks 0-3"
		for text.Scan() {
			all.WriteString(text.Text() + "\n")
			if text.Text() == hanging { // a reading before it may have only some of the ranks
				break
			}
		}
		h.timeOut(t)
		for lines.Scan() { // the command ends with the job
		}
		if err := asJSON.Wait(); err != nil {
			t.Error(err)
		}
		for text.Scan() {
			all.WriteString(text.Text() + "\n")
		}
		checkText(t, all.String())
		for _, want := range []string{hanging + "\n", "per second: 0 calls, 0 messages, 0 B\n", "SIGTERM"} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%q is not in\n%s", want, all.String())
			}
		}
	})
}

// watch starts `mpitrace status --watch` for a job, and returns the lines that it prints.
func watch(t *testing.T, h *hanging, flags ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), mpitrace, append([]string{"status", "--watch", h.dir}, flags...)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(io.Reader(out))
	lines.Buffer(nil, 1<<24)
	return cmd, lines
}

// TestWatchHangsLater watches a job that hangs after some seconds. At the latest the
// second reading in which a rank is in the call that hangs shows for whom it waits, and the
// third the deadlock. Readings are a second apart.
func TestWatchHangsLater(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		h := hangIn(t, m, "hangs", "2")
		h.await(t, func(s *aggregate.JobStatus) bool { return s.Running == 4 }, h.dir)
		_, lines := watch(t, h, "--json")
		var readings, waiting, stuck int // the readings since the program hangs, and in which of them it is shown
		for stuck == 0 && lines.Scan() {
			var r live.Snapshot
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%v: %s", err, lines.Bytes())
			}
			for _, j := range r.Jobs {
				for i, e := range j.Status.Processes {
					if e.Rank != 0 || len(e.Calls) != 1 || e.Calls[0].Call != "Recv" {
						continue
					}
					readings++
					if j.Waits[i].For == "rank 1" && waiting == 0 {
						waiting = readings
					}
				}
				if len(j.Status.Deadlocks) > 0 {
					stuck = readings
				}
			}
		}
		h.timeOut(t)
		if waiting == 0 || waiting > 2 || stuck == 0 || stuck > 3 {
			t.Errorf("who waits for whom is shown in reading %d, the deadlock in reading %d", waiting, stuck)
		}
	})
}
