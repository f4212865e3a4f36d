package collect

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// recorder is a process that has mapped a recording with its process id in the
// name.
type recorder struct {
	cmd  *exec.Cmd
	name string
}

const recorderDir = "MPITRACE_TEST_RECORDER_DIR"

// TestRecorder is not a test: startRecorder runs it as a process, which exits
// with 7 when its standard input ends.
func TestRecorder(t *testing.T) {
	dir := os.Getenv(recorderDir)
	if dir == "" {
		t.Skip("only for other tests")
	}
	state := profile.Running
	if filepath.Base(dir) == "finalized" {
		state = profile.Finalized
	}
	path := filepath.Join(dir, fmt.Sprintf("some-host-%d-5.rec", os.Getpid()))
	p, mapAt := &profile.Profile{Size: 1, State: state, Threads: 1, Pid: os.Getpid(), Start: 5}, int64(0)
	err := error(nil)
	if filepath.Base(dir) == "contained" {
		c := recordingtest.NewContainer("some-host")
		err = c.Add(p)
		path, mapAt = filepath.Join(dir, liveName), layout.Granule
		err = errors.Join(err, os.WriteFile(path, c.Bytes(), 0o600))
	} else {
		err = recordingtest.WriteFile(path, p)
	}
	testenv.NoError(t, err)
	f, err := os.Open(path)
	testenv.NoError(t, err)
	if _, err := syscall.Mmap(int(f.Fd()), mapAt, 4096, syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	fmt.Println("mapped")
	os.Stdin.Read(make([]byte, 1))
	os.Exit(7)
}

func startRecorder(t *testing.T, dir string) (*recorder, func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRecorder$")
	cmd.Env = append(os.Environ(), recorderDir+"="+dir)
	in, _, err := testenv.StartWaiting(t, cmd, "mapped")
	t.Cleanup(func() { cmd.Process.Kill() })
	testenv.NoError(t, err)
	return &recorder{cmd, fmt.Sprintf("some-host-%d-5.rec", cmd.Process.Pid)}, func() { in.Close() }
}

func TestWatch(t *testing.T) {
	dir, finalized, contained := t.TempDir(), filepath.Join(t.TempDir(), "finalized"), filepath.Join(t.TempDir(), "contained")
	for _, made := range []string{finalized, contained} {
		testenv.NoError(t, os.Mkdir(made, 0o700))
	}
	// Another process has made the container: this one only opens it.
	testenv.WriteFile(t, filepath.Join(contained, liveName), "")
	w := NewWatch(dir, finalized, contained)
	leaves, leave := startRecorder(t, dir)
	killed, _ := startRecorder(t, dir)
	whole, end := startRecorder(t, finalized)
	shares, stop := startRecorder(t, contained)
	stays, _ := startRecorder(t, dir)
	// A recording whose name has the process id of a process that does not
	// write it.
	other := filepath.Join(dir, fmt.Sprintf("some-host-%d-6.rec", killed.cmd.Process.Pid))
	testenv.WriteFile(t, other, "")
	time.Sleep(checkUntil) // a hundred times as long as it takes to be seen
	before := time.Now()
	leave()
	leaves.cmd.Wait()
	killed.cmd.Process.Kill()
	killed.cmd.Wait()
	end()
	whole.cmd.Wait()
	stop()
	shares.cmd.Wait()
	w.Close()
	exits := w.Ended()
	if len(exits) != 4 {
		t.Fatalf("saw %+v, want four ends", exits)
	}
	for i, want := range []struct {
		*recorder
		status, signal int
		finalized      bool
	}{{leaves, 7, 0, false}, {killed, 0, int(unix.SIGKILL), false}, {whole, 7, 0, true}, {shares, 7, 0, false}} {
		e := exits[i]
		if e.Recording != want.name || e.Pid != want.cmd.Process.Pid || e.Finalized != want.finalized ||
			e.Exit.At < before.UnixNano() || e.Exit.At > time.Now().UnixNano() {
			t.Errorf("got %+v, want the end of %s, finalized %v", e, want.name, want.finalized)
		}
		if e.Exit.Known && (e.Exit.Status != want.status || e.Exit.Signal != want.signal) || !e.Exit.Known && kernelTells(t) {
			t.Errorf("%s: %+v; want status %d, signal %d", want.name, e.Exit, want.status, want.signal)
		}
	}
	if err := stays.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process that is left alone: %v", err)
	}
}

// kernelTells reports whether the descriptor of a reaped process tells how it
// ended, as since Linux 6.15.
func kernelTells(t *testing.T) bool {
	t.Helper()
	cmd := exec.Command("true")
	testenv.NoError(t, cmd.Start())
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	cmd.Wait()
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_, ok := pidfdStatus(fd)
	return ok
}

// Watching a missing directory is no error; nothing is seen.
func TestWatchNothing(t *testing.T) {
	w := NewWatch("/no/such/directory")
	w.Close()
	if exits := w.Ended(); len(exits) > 0 {
		t.Errorf("saw %+v", exits)
	}
}

// The status of a process that was not reaped yet is known on any kernel.
func TestZombieStatus(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exit 3")
	testenv.NoError(t, cmd.Start())
	defer cmd.Wait()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); strings.Contains(string(stat), ") Z ") {
			break
		}
	}
	if status, ok := zombieStatus(cmd.Process.Pid); !ok || status.ExitStatus() != 3 {
		t.Errorf("status %v, %v; want 3", status, ok)
	}
	if _, ok := zombieStatus(os.Getpid()); ok {
		t.Error("the status of a process that runs")
	}
}

// A running process causes no work for the watch.
func TestWatchIsIdle(t *testing.T) {
	dir := t.TempDir()
	w := NewWatch(dir)
	startRecorder(t, dir)
	time.Sleep(checkUntil)
	w.Close() // from here on it is nobody else's
	if w.deadline = (time.Time{}); len(w.live) != 1 || w.timeout() >= 0 {
		t.Errorf("%d processes are followed, and it waits for %v; want one, and any time", len(w.live), w.timeout())
	}
}
