package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
)

// lasting is the number of ranks of lasting.c in these tests. Its jobs do not
// end by themselves.
const lasting = 3

// soon is when a report must be there at the latest after a signal. On an idle machine
// it takes less than launch.Grace. The limit is ten times that, so that it holds beside
// other processes, and ends what waits for a job that does not end.
const soon = 10 * launch.Grace

// TestInterrupted ends jobs in each way that people and batch systems do, with
// and without mpitrace. They must end alike, and with mpitrace there must be a
// report.
func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		name, mode string
		interrupt  func(*session)
		apart      bool // without a controlling terminal
	}{
		{"Ctrl-C", "ring", func(s *session) { s.terminal.Write([]byte{3}) }, false},
		{"SIGINT from elsewhere", "ring", func(s *session) { s.cmd.Process.Signal(syscall.SIGINT) }, true},
		{"SIGTERM", "ring", func(s *session) { s.cmd.Process.Signal(syscall.SIGTERM) }, false},
		{"terminal closed", "ring", func(s *session) { s.terminal.Close() }, false},
		{"launcher killed", "ring", func(s *session) { syscall.Kill(s.launcher(), syscall.SIGKILL) }, false},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "_"), func(t *testing.T) {
			withEach(t, debian, func(t *testing.T, m implementation) {
				bare := m.onTerminal(t, !test.apart, nil, test.mode)
				test.interrupt(bare)
				bare.wait(t)
				dir := filepath.Join(t.TempDir(), "run")
				s := m.onTerminal(t, !test.apart, []string{mpitrace, "run", "-o", dir, "--"}, test.mode)
				start := time.Now()
				test.interrupt(s)
				s.wait(t)
				if took := time.Since(start); took > soon {
					t.Errorf("the report came after %v", took)
				}
				if s.code() != bare.code() && !(m.name == "mpich" && either(s.code(), bare.code())) {
					t.Errorf("exit status %d, without mpitrace %d", s.code(), bare.code())
				}
				if left, want := s.ranksLeft(), bare.ranksLeft(); left != want {
					t.Errorf("%d ranks are left, without mpitrace %d", left, want)
				}
				checkInterrupted(t, s, dir)
				if t.Failed() {
					t.Logf("with mpitrace:\n%s\nwithout:\n%s", s.text(), bare.text())
				}
			})
		})
	}
}

// TestBackground has a script start the job with `&`, so that it starts with
// SIGINT ignored, and then send it SIGINT. Launchers end on that, and must do
// so under mpitrace, too.
func TestBackground(t *testing.T) {
	script := []string{"sh", "-c", `"$@" & job=$!; trap 'kill -INT $job' USR1; wait $job; wait $job`, "sh"}
	withEach(t, debian, func(t *testing.T, m implementation) {
		end := func(before ...string) *session {
			s := m.onTerminal(t, false, slices.Concat(script, before), "ring")
			start := time.Now()
			s.cmd.Process.Signal(syscall.SIGUSR1)
			s.wait(t)
			if took := time.Since(start); took > soon {
				t.Errorf("%v: ended %v after SIGINT", before, took)
			}
			return s
		}
		bare, dir := end(), filepath.Join(t.TempDir(), "run")
		s := end(mpitrace, "run", "-o", dir, "--")
		if s.code() != bare.code() && !(m.name == "mpich" && either(s.code(), bare.code())) {
			t.Errorf("exit status %d, without mpitrace %d", s.code(), bare.code())
		}
		if left := s.ranksLeft(); left > 0 {
			t.Errorf("%d ranks are left", left)
		}
		checkInterrupted(t, s, dir)
	})
}

// TestSecondSignal sends SIGINT twice to a job whose ranks ignore it. MPICH's
// launcher kills its ranks on the second one; Open MPI's leaves them running.
func TestSecondSignal(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		end := func(before ...string) (code, left int) {
			s := m.onTerminal(t, false, before, "deaf")
			s.cmd.Process.Signal(syscall.SIGINT)
			time.Sleep(time.Second)
			s.cmd.Process.Signal(syscall.SIGINT)
			s.wait(t)
			code, left = s.code(), s.ranksLeft()
			s.killRanks()
			return code, left
		}
		code, left := end()
		dir := filepath.Join(t.TempDir(), "run")
		if c, l := end(mpitrace, "run", "-o", dir, "--"); c != code || l > left {
			t.Errorf("exit status %d, %d ranks left; without mpitrace %d, %d", c, l, code, left)
		}
		execute(t, nil, mpitrace, "collect", dir) // collects the recordings of ranks that were left running
	})
}

// TestFinalizeHangs ends a job by Ctrl-C while all ranks except one wait in
// MPI_Finalize. Open MPI's mpirun then ends its ranks, but sometimes hangs or
// crashes itself, also without mpitrace. There must be a report all the same.
func TestFinalizeHangs(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		s := m.onTerminal(t, true, []string{mpitrace, "run", "-o", dir, "--"}, "finalize")
		launcher, start := s.launcher(), time.Now()
		s.terminal.Write([]byte{3})
		s.await(t, "what does not add up:\n  partial: ranks 0-2")
		if took := time.Since(start); took > soon {
			t.Errorf("the report came after %v", took)
		}
		if left := s.ranksLeft(); left > 0 {
			t.Errorf("%d ranks are left", left)
		}
		select {
		case <-s.done:
		case <-time.After(2 * time.Second):
			s.await(t, "waiting for the job to end")
			syscall.Kill(launcher, syscall.SIGKILL)
			s.wait(t)
		}
		checkInterrupted(t, s, dir)
	})
}

// either reports whether both statuses are among those that hydra exits with
// after the same signal, also without mpitrace: 0 or 2 after Ctrl-C, 0 or 15
// after SIGTERM (0 in 1 of 25 runs).
func either(a, b int) bool {
	among := func(one, other int) bool { return (a == one || a == other) && (b == one || b == other) }
	return among(0, 2) || among(0, int(syscall.SIGTERM))
}

// checkInterrupted requires all recordings, a report, and the ends of the
// processes in run.json.
func checkInterrupted(t *testing.T, s *session, dir string) {
	t.Helper()
	ranks := readRecordings(t, dir)
	if len(ranks) != lasting {
		t.Fatalf("%d recordings, want %d", len(ranks), lasting)
	}
	for _, p := range ranks {
		if sent := pointToPoint([]*profile.Profile{p})[pair{p.Rank, (p.Rank + 1) % lasting}]; p.State != profile.Running || sent.Count < 3 {
			t.Errorf("rank %d: state %v, %d messages, want 3 or more of one that still ran", p.Rank, p.State, sent.Count)
		}
	}
	if report := succeed(t, nil, mpitrace, "report", "--full", dir); !strings.Contains(report.stdout, "partial") {
		t.Errorf("the report does not say that it is partial:\n%s", report.stdout)
	}
	if text := s.text(); !s.closed && (!strings.Contains(text, "partial") || !strings.Contains(text, "the files are in "+dir)) {
		t.Errorf("no report on the terminal")
	}
	info, err := rundir.Dir(dir).ReadInfo()
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Processes) != lasting || len(info.Uncollected) > 0 {
		t.Errorf("run.json: %d processes ended, %q not collected", len(info.Processes), info.Uncollected)
	}
	if info.ExitStatus == nil || *info.ExitStatus != s.code() {
		t.Errorf("run.json does not have the exit status %d", s.code())
	}
	for _, p := range info.Processes {
		if !slices.Contains(s.ranks, p.Pid) || p.Exit.At == 0 {
			t.Errorf("an end of process %d of %d at %v", p.Pid, s.ranks, p.Exit.At)
		}
	}
	if _, err := os.Stat(info.Spool); !os.IsNotExist(err) {
		t.Errorf("the spool is left: %v", err)
	}
}

// TestExitSeen has rank 1 end with status 5, either directly or after exec of
// another program. The launcher then kills the other ranks.
func TestExitSeen(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		exits := m.exits(t, "leave")
		for rank, e := range exits {
			// Hydra kills the others while the kernel still tears down rank 1.
			if early := time.Duration(exits[1].At - e.At); early > 0 && (m.name != "mpich" || early > time.Second) {
				t.Errorf("rank %d ended %v before rank 1, want it after that", rank, early)
			}
			if want := rank == 1; e.Known && (e.Signal == 0 && e.Status == 5) != want {
				t.Errorf("rank %d: %+v, want status 5 of rank 1 and only of that", rank, e)
			}
		}
		// After exec, rank 1 has no connection to hydra, which may therefore
		// kill it.
		if e := m.exits(t, "exec")[1]; e.Known && e.Status != 5 && (m.name != "mpich" || e.Signal != int(syscall.SIGKILL)) {
			t.Errorf("rank 1 that became another program: %+v, want status 5", e)
		}
	})
}

// exits runs lasting.c in a mode and returns how each rank ended.
func (m implementation) exits(t *testing.T, mode string) map[int]profile.Exit {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	s := m.onTerminal(t, true, []string{mpitrace, "run", "-o", dir, "--"}, mode)
	s.wait(t)
	checkInterrupted(t, s, dir)
	run, err := source.Open([]string{dir}, source.Options{Depth: source.Whole})
	if err != nil {
		t.Fatal(err)
	}
	exits := map[int]profile.Exit{}
	run.Each(func(p *profile.Profile) error {
		if exits[p.Rank] = p.Exit; p.Exit.At == 0 || !p.Exit.Known && kernelTellsExits() {
			t.Errorf("rank %d: %+v, want the time and the way it ended", p.Rank, p.Exit)
		}
		return nil
	})
	return exits
}

// kernelTellsExits reports whether the kernel is Linux 6.15 or later, which
// makes the exit status of any process available.
func kernelTellsExits() bool {
	var u unix.Utsname
	var major, minor int
	if unix.Uname(&u) == nil {
		fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	}
	return major > 6 || major == 6 && minor >= 15
}

// session is a command on its own terminal.
type session struct {
	cmd      *exec.Cmd
	terminal *os.File // the user's end
	closed   bool
	ranks    []int // process ids
	done     chan struct{}

	mutex  sync.Mutex
	screen bytes.Buffer
}

// onTerminal starts lasting.c on a terminal and waits until its ranks have
// exchanged some messages. `before` comes before the launcher in the command
// line. If controls is set, the terminal is the controlling terminal of the
// command: it sends signals, also when the command ends.
func (m implementation) onTerminal(t *testing.T, controls bool, before []string, mode string) *session {
	t.Helper()
	pids := filepath.Join(t.TempDir(), "pid")
	s := openSession(t, controls, slices.Concat(before, m.launch(lasting, m.compile(t, "lasting"), mode, pids)))
	for deadline := time.Now().Add(patience); len(s.ranks) < lasting; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("%s.%d", pids, len(s.ranks)))
		if pid, bad := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && bad == nil {
			s.ranks = append(s.ranks, pid)
		} else if time.Now().After(deadline) {
			t.Fatalf("the ranks did not start:\n%s", s.text())
		}
	}
	if mode == "finalize" {
		time.Sleep(100 * time.Millisecond) // until the ranks are in MPI_Finalize
	}
	return s
}

func openSession(t *testing.T, controls bool, command []string) *session {
	t.Helper()
	terminal, slave := openTerminal(t)
	s := &session{terminal: terminal, done: make(chan struct{})}
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Dir = t.TempDir()
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: controls}
	defaultSignals(func() {
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	})
	slave.Close()
	go s.read()
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.killRanks()
	})
	return s
}

// defaultSignals runs start, which must start a process that ignores no signal.
// The tests themselves may have been started with some ignored (nohup, or `&`
// in a script). Signals that are caught here are not ignored in the new
// process.
func defaultSignals(start func()) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(caught)
	start()
}

func (s *session) killRanks() {
	for _, pid := range s.ranks {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	s.ranksLeft()
}

// await waits until the terminal shows a text.
func (s *session) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(s.text(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was not printed in time:\n%s", text, s.text())
		}
	}
}

// openTerminal opens a pseudo-terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var errs [2]error
	raw.Control(func(fd uintptr) {
		errs[0] = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		n, errs[1] = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
	})
	if errs != [2]error{} {
		t.Fatal(errs)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// read stores what the terminal shows.
func (s *session) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.terminal.Read(buffer)
		s.mutex.Lock()
		s.screen.Write(buffer[:n])
		s.closed = s.closed || errors.Is(err, os.ErrClosed)
		s.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *session) text() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strings.ReplaceAll(s.screen.String(), "\r\n", "\n")
}

// launcher returns the process id of the launcher: the command itself, or its
// only child if the command is mpitrace.
func (s *session) launcher() int {
	pid := s.cmd.Process.Pid
	if s.cmd.Path != mpitrace {
		return pid
	}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range children {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				return child
			}
		}
	}
	return 0
}

// wait waits for the end of the command.
func (s *session) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatalf("the command did not end\n%s", s.text())
	}
}

// code returns the exit status as a shell would.
func (s *session) code() int {
	if ws := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.cmd.ProcessState.ExitCode()
}

// ranksLeft returns how many ranks still run a few seconds after the launcher
// has ended.
func (s *session) ranksLeft() int {
	left := 0
	deadline := time.Now().Add(3 * time.Second)
	for _, pid := range s.ranks {
		for running(pid) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		if running(pid) {
			left++
		}
	}
	return left
}

// running reports whether a process exists and is not a zombie. A process of which only the
// first thread has ended is a zombie with several tasks: the other threads still hold its files.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	if tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)); err == nil && len(tasks) > 1 {
		return true
	}
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(rest, []byte(" Z")) && !bytes.HasPrefix(rest, []byte(" X"))
}
