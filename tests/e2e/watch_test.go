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
	"github.com/mpitrace/mpitrace/internal/view"
)

// TestWatch watches a job that hangs until its end: as JSON, and as text.
func TestWatch(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		h := hang(t, m, "recv")
		h.await(t, func(s *aggregate.JobStatus) bool { return s.Running == 4 }, h.dir)
		asJSON, lines := watch(t, h, "--json")
		_, text := watch(t, h)
		var found *view.Job
		for found == nil && lines.Scan() {
			var r view.Reading
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
		for text.Scan() {
			all.WriteString(text.Text() + "\n")
			if strings.HasPrefix(text.Text(), "hanging") {
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
		for _, want := range []string{"hanging, in one call for more than 5 s: ranks 0-3\n", "per second: 0 calls, 0 messages, 0 B\n", "SIGTERM"} {
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
