package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// running is mpitrace as a process of its own.
type running struct {
	*exec.Cmd
	out, errs *bufio.Reader
}

func startCommand(t *testing.T, environment []string, args ...string) *running {
	t.Helper()
	return startProgram(t, environment, binary, args...)
}

func startProgram(t *testing.T, environment []string, name string, args ...string) *running {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), environment...)
	out, err := cmd.StdoutPipe()
	testenv.NoError(t, err)
	errs, err := cmd.StderrPipe()
	testenv.NoError(t, err)
	testenv.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &running{cmd, bufio.NewReader(out), bufio.NewReader(errs)}
}

// line returns the next line that contains a text.
func line(t *testing.T, from *bufio.Reader, with string) string {
	t.Helper()
	for {
		text, err := from.ReadString('\n')
		if strings.Contains(text, with) {
			return strings.TrimSpace(text)
		}
		if err != nil {
			t.Fatalf("no line with %q: %v", with, err)
		}
	}
}

// status waits for the end and returns the exit status.
func (r *running) status(t *testing.T) int {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, r.errs)
		r.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return r.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return -1
	}
}

// get returns the JSON at a path of a served page.
func get(t *testing.T, address, path string, v any) {
	t.Helper()
	site, token, found := strings.Cut(address, "/?token=")
	if !found {
		t.Fatalf("address %q", address)
	}
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	got, err := http.Get(site + path + separator + "token=" + token)
	testenv.NoError(t, err)
	defer got.Body.Close()
	if err := json.NewDecoder(got.Body).Decode(v); err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, got.Status, err)
	}
}

func TestViewUsage(t *testing.T) {
	empty := t.TempDir()
	dir := string(receiving(t))
	for want, args := range map[string][]string{
		"no such file or directory": {filepath.Join(empty, "nothing")},
		"no run":                    {empty},
		"--port 70000: ports are":   {"--port", "70000", dir},
		"listen on 203.0.113.1":     {"--listen", "203.0.113.1", dir},
	} {
		if got := call(append([]string{"view"}, args...)...); got.code != exitUsage || want != "no run" && !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestView serves a run of which a rank waits: the values are those of status, the token is in
// no command line, and nothing changes in the run directory.
func TestView(t *testing.T) {
	dir := receiving(t)
	before := contents(t, dir)
	v := startCommand(t, []string{"SSH_CONNECTION=192.0.2.1 1000 192.0.2.2 22"}, "view", string(dir))
	address := line(t, v.out, "http")
	host, _ := os.Hostname()
	port := strings.TrimPrefix(strings.Split(address, "/?")[0], "http://127.0.0.1:")
	if got, want := line(t, v.errs, "ssh"), fmt.Sprintf("mpitrace: first, on your own machine: ssh -L %s:127.0.0.1:%s %s", port, port, host); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var reading, status struct{ Jobs []map[string]any }
	get(t, address, "/data", &reading)
	got := call("status", "--json", string(dir))
	if err := json.Unmarshal([]byte(got.stdout), &status); err != nil || len(reading.Jobs) != 1 || len(status.Jobs) != 1 {
		t.Fatalf("%v, %+v", err, reading)
	}
	live := reading.Jobs[0]["status"].(map[string]any)
	for _, s := range []map[string]any{live, status.Jobs[0]} { // they change with time
		delete(s, "age_s")
		for _, p := range s["processes"].([]any) {
			p := p.(map[string]any)
			delete(p, "alive_s")
			for _, c := range p["calls"].([]any) {
				delete(c.(map[string]any), "for_s")
			}
		}
	}
	if got, want := fmt.Sprint(live), fmt.Sprint(status.Jobs[0]); got != want {
		t.Errorf("live %s\nstatus %s", got, want)
	}
	_, token, _ := strings.Cut(address, "token=")
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	testenv.NoError(t, err)
	for _, file := range all {
		for _, of := range []string{file, filepath.Join(filepath.Dir(file), "environ")} {
			if text, _ := os.ReadFile(of); bytes.Contains(text, []byte(token)) {
				t.Errorf("%s has the token", of)
			}
		}
	}
	v.Process.Signal(syscall.SIGINT)
	if code := v.status(t); code != 0 {
		t.Errorf("exit status %d after Ctrl-C", code)
	}
	if after := contents(t, dir); after != before {
		t.Errorf("before %s\nafter %s", before, after)
	}
}

// TestViewOther warns if other machines may connect.
func TestViewOther(t *testing.T) {
	v := startCommand(t, nil, "view", "--listen", "0.0.0.0", string(receiving(t)))
	if got := line(t, v.errs, "warning"); !strings.Contains(got, "other machines can connect to 0.0.0.0") {
		t.Error(got)
	}
}

// TestViewIgnored requires that a signal that was ignored at the start does not end the server.
func TestViewIgnored(t *testing.T) {
	v := startProgram(t, nil, "sh", "-c", `trap "" INT; exec "$0" "$@"`, binary, "view", string(receiving(t)))
	address := line(t, v.out, "http")
	v.Process.Signal(syscall.SIGINT)
	time.Sleep(200 * time.Millisecond)
	var reading struct{ Jobs []any }
	get(t, address, "/data", &reading)
	v.Process.Signal(syscall.SIGTERM)
	if code := v.status(t); code != 0 {
		t.Errorf("exit status %d after SIGTERM", code)
	}
}

// TestRunViewSignal ends a job that somebody looks at by a signal: mpitrace ends with the status
// of the job, and does not go on serving.
func TestRunViewSignal(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := filepath.Join(t.TempDir(), "run")
		script := fmt.Sprintf("%s -n 2 %s && echo ready >&2; exec sleep 60", m.launcher, m.ring(t))
		r := startCommand(t, nil, "run", "--view", "--mpi", m.name, "-o", dir, "--", "sh", "-c", script)
		_, address, _ := strings.Cut(line(t, r.errs, "watch the run at"), " at ")
		line(t, r.errs, "ready")
		var reading struct{ Jobs []any }
		if get(t, address, "/data", &reading); len(reading.Jobs) != 1 {
			t.Errorf("%d jobs", len(reading.Jobs))
		}
		r.Process.Signal(syscall.SIGTERM)
		if code := r.status(t); code != 128+int(syscall.SIGTERM) {
			t.Errorf("exit status %d, want that of the job", code)
		}
	})
}

// TestRunView serves the page of a job. If nobody looks, it ends with the job; otherwise it
// serves the report until Ctrl-C. The exit status is that of the job.
func TestRunView(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		for _, looks := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "run")
			script := fmt.Sprintf("%s -n 2 %s && sleep 1; exit 7", m.launcher, m.ring(t))
			r := startCommand(t, nil, "run", "--view", "--mpi", m.name, "-o", dir, "--", "sh", "-c", script)
			_, address, _ := strings.Cut(line(t, r.errs, "watch the run at"), " at ")
			if looks {
				var reading struct{ Finished bool }
				for number := 0; !reading.Finished; number++ {
					get(t, address, "/data", &reading)
				}
				var report struct {
					Kind, Error string
					Jobs        []struct{ Sections []views.Section }
				}
				if get(t, address, "/report", &report); report.Kind != "report" || len(report.Jobs) != 1 || report.Jobs[0].Sections[0].ID != "verdict" ||
					!strings.Contains(report.Jobs[0].Sections[1].Blocks[0].Text.Text, "on 2 of 2 ranks") {
					t.Errorf("report %+v", report)
				}
				line(t, r.errs, "the page is served until Ctrl-C")
				r.Process.Signal(syscall.SIGINT)
			}
			if code := r.status(t); code != 7 {
				t.Errorf("looks %v: exit status %d, want that of the job, 7", looks, code)
			}
			if !rundir.Dir(dir).Used() {
				t.Error("nothing was recorded")
			}
		}
	})
}
